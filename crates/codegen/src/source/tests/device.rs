//! Tests of printed text for devices, where results are the same without: what the threads of a warp do together, memory of the caller
//! that no element reaches, and the ends of runs and handles.

use std::num::NonZeroU32;

use sdfg::text::parse;
use sdfg::validate::validate;

use super::super::*;
use crate::lower::{LowerOptions, Target, lower};

fn plan_with(program: &str, streams: NonZeroU32) -> Plan {
    let program = parse("p.sdft", program).unwrap_or_else(|errors| panic!("{errors:?}\n{program}"));
    let program = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options =
        LowerOptions { device_streams: streams, serial_components: true, ..LowerOptions::default() };
    lower(&program, &Target::cuda(), &options).unwrap_or_else(|error| panic!("{error}"))
}

fn cuda(program: &str) -> String {
    cuda_source(&plan_with(program, NonZeroU32::MIN), &SourceOptions::default()).unwrap()
}

/// Accumulators of one element of 4 or 8 bytes are combined by shuffles in each warp, others by the tree of the block alone.
#[test]
fn warps_combine_registers_by_shuffles() {
    let sum = |ty: &str| {
        cuda(&format!(
            "sdfg p {{
  symbol N: i64
  array A: {ty}[N] storage(gpu_global)
  array S: {ty}[1] storage(gpu_global)
  state s {{
    access A
    access S
    map m [i = 0:N] schedule(gpu_grid) {{
      tasklet t (x) -> (y) {{ y = x }}
      m.A -> t.x: A[i]
      t.y -> m.S: S[0] wcr(sum)
    }}
    A -> m.A
    m.S -> S
  }}
}}"
        ))
    };
    for ty in ["f64", "f32", "i64"] {
        assert!(sum(ty).contains("__shfl_down_sync(0xffffffffu, "), "{ty}");
    }
    assert!(!sum("i16").contains("__shfl_down_sync"));
}

/// Threads of a warp that push to the only queue of a stream need not ask each other which queue they mean.
#[test]
fn threads_that_push_to_one_queue_push_together() {
    let push = |queues: &str, queue: &str| {
        cuda(&format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  transient stream S: f64{queues} storage(gpu_global)
  state s {{
    access A
    access S
    map m [i = 0:N] schedule(gpu_grid) {{
      tasklet t (x) -> (y) {{ y = x }}
      m.A -> t.x: A[i]
      t.y -> m.S: S{queue}
    }}
    A -> m.A
    m.S -> S
  }}
}}"
        ))
    };
    let (one, two) = (push("", ""), push("[2]", "[i % 2]"));
    assert!(one.contains(", __activemask());") && !one.contains("sdfg_queue_together("), "{one}");
    assert!(two.contains("sdfg_queue_together("), "{two}");
}

/// An array of the caller without elements has no memory to copy, whatever its strides.
#[test]
fn arrays_without_elements_lend_no_memory() {
    let program = "sdfg p {
  symbol N: i64
  symbol M: i64
  symbol K: i64
  array A: f64[N, M] strides(1, K) size(N * M) storage(gpu_global)
  state s {
    access A
    map m [i = 0:N, j = 0:M] schedule(gpu_grid) {
      tasklet t () -> (y) { y = 1 }
      t.y -> m.A: A[i, j]
    }
    m.A -> A
  }
}";
    let source = cuda_driver_source(&plan_with(program, NonZeroU32::MIN), &SourceOptions::default()).unwrap();
    // The least of the number of elements and 1 is a factor of what the strides reach.
    assert!(source.contains("sdfg_min_i64(sdfg_mul_noting(M, N, "), "{source}");
}

/// Runs whose commands all go to one stream wait for it before they fail: the caller may free its memory then.
#[test]
fn runs_that_fail_wait_for_their_commands() {
    let program = "sdfg p {
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  state s {
    access A
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t () -> (y) { y = 1 }
      t.y -> m.A: A[i]
    }
    m.A -> A
  }
}";
    for streams in [NonZeroU32::MIN, LowerOptions::DEVICE_STREAMS] {
        let source = cuda_source(&plan_with(program, streams), &SourceOptions::default()).unwrap();
        assert!(source.contains("if (status != 0) { (void)cudaDeviceSynchronize(); }"), "{source}");
    }
}

/// A handle frees the persistent memory of a device that it keeps.
#[test]
fn handles_free_their_memory_of_the_device() {
    let program = "sdfg p {
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  transient array kept: f64[N] storage(gpu_global) lifetime(persistent)
  state s { access A; access kept; A -> kept: A[0:N] -> kept[0:N] }
}";
    assert!(cuda(program).contains("(void)cudaFree(handle->kept);"));
}
