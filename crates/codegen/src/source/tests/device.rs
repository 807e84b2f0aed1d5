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

/// A kernel over some dimensions of a program with the extents `N` and `M`, which writes an element of `A`.
fn kernel_over(dimensions: &str, array: &str, grid: &str, inner: &str) -> String {
    cuda(&format!(
        "sdfg p {{
  symbol N: i64
  symbol M: i64
  array A: f64{array} storage(gpu_global)
  state s {{
    access A
    map m [{dimensions}] schedule(gpu_grid) {grid} {{
      {inner}
    }}
    m.A -> A
  }}
}}"
    ))
}

/// The blocks of a grid and the threads of a block follow the dimensions of a kernel, or its attribute, or the threads that run an
/// iteration together.
#[test]
fn launches_have_the_blocks_and_threads_of_kernels() {
    let element = |index: &str| format!("tasklet t () -> (y) {{ y = 1 }}\n t.y -> m.A: A[{index}]");
    let together = "map n [j = 0:64] schedule(gpu_block) {
        tasklet t () -> (y) { y = 1 }
        t.y -> n.A: A[i, j]
      }
      n.A -> m.A";
    let sum = "tasklet t () -> (y) { y = 1 }\n t.y -> m.A: A[0] wcr(sum)";
    let (one, two, four) = ("i = 0:N", "i = 0:N, j = 0:M", "h = 0:2, i = 0:N, j = 0:M, k = 0:3");
    let cases = [
        (one, "[N]", "", &*element("i"), "(sdfg_blocks(sdfg_t1, 256, 2147483647), 1, 1), dim3(256, 1, 1)"),
        (
            two,
            "[N, M]",
            "",
            &*element("i, j"),
            "(sdfg_blocks(sdfg_t2, 32, 2147483647), sdfg_blocks(sdfg_t1, 8, 65535), 1), dim3(32, 8, 1)",
        ),
        (
            four,
            "[2, N, M, 3]",
            "",
            &*element("h, i, j, k"),
            "(sdfg_blocks(sdfg_t4, 32, 2147483647), sdfg_blocks(sdfg_t3, 8, 65535), \
             sdfg_blocks(sdfg_t1 * sdfg_t2, 1, 65535)), dim3(32, 8, 1)",
        ),
        (
            two,
            "[N, M]",
            "block(64)",
            &*element("i, j"),
            "(sdfg_blocks(sdfg_t2, (unsigned)64, 2147483647), sdfg_blocks(sdfg_t1, 1, 65535), 1), \
             dim3((unsigned)64, 1, 1)",
        ),
        (one, "[N, 64]", "", together, "(sdfg_blocks(sdfg_t1, 1, 2147483647), 1, 1), dim3(64)"),
        (one, "[1]", "", sum, "(sdfg_blocks(sdfg_t1, (unsigned)256, 1024), 1, 1), dim3((unsigned)256, 1, 1)"),
    ];
    for (dimensions, array, grid, inner, expected) in cases {
        let text = kernel_over(dimensions, array, grid, inner);
        let launch = format!("SDFG_LAUNCH(p_m, handle->sdfg_stream, dim3{expected}, ");
        let found = text.lines().find(|line| line.contains("SDFG_LAUNCH(p_m,"));
        assert!(text.contains(&launch), "{dimensions}: {found:?}");
        // The outer dimensions have one axis together.
        assert_eq!(text.contains(" % sdfg_t2;"), dimensions == four, "{dimensions}: {text}");
    }
}

/// Kernels that depend on nothing go to the stream with the fewest commands if all have some.
#[test]
fn independent_kernels_go_to_streams_in_turn() {
    let kernel = |number: usize| {
        format!(
            "    access A{number}
    map m{number} [i = 0:N] schedule(gpu_grid) {{
      tasklet t{number} () -> (y) {{ y = 1 }}
      t{number}.y -> m{number}.A: A{number}[i]
    }}
    m{number}.A -> A{number}\n"
        )
    };
    let arrays: String = (0..5).map(|at| format!("  array A{at}: f64[N] storage(gpu_global)\n")).collect();
    let kernels: String = (0..5).map(kernel).collect();
    let program = format!("sdfg p {{\n  symbol N: i64\n{arrays}  state s {{\n{kernels}  }}\n}}");
    let text = plan_with(&program, NonZeroU32::new(2).unwrap()).to_string();
    assert_eq!(text.matches("grid m").count(), 5, "{text}");
    // The last one is the event for which stream 0 waits.
    assert_eq!(text.matches("stream 1").count(), 3, "{text}");
}

/// Kernels count iterations in 32 bits where these are at most 2^30 along each axis; the launch asks for what is not known.
#[test]
fn few_iterations_are_counted_in_32_bits() {
    let versions = |dimensions: &str| {
        let inner = "tasklet t () -> (y) { y = 1 }\n t.y -> m.A: A[i % 8] wcr(max)";
        let text = kernel_over(dimensions, "[8]", "", inner);
        let fits = text.lines().find(|line| line.contains("<= 1073741824"));
        let counts = ["uint32_t", "int64_t"].map(|ty| text.contains(&format!("= ({ty})blockIdx.x *")));
        (counts, fits.unwrap_or_default().trim().to_owned())
    };
    assert_eq!(versions("i = 0:1073741824"), ([true, false], String::new()));
    assert_eq!(versions("i = 0:1073741825"), ([false, true], String::new()));
    assert_eq!(versions("i = 0:N"), ([true, true], "if (sdfg_t1 <= 1073741824) {".to_owned()));
    // The outer dimensions have one axis together.
    let outer = "if (sdfg_t1 * sdfg_t2 <= 1073741824) {";
    assert_eq!(versions("h = 0:N, i = 0:8, j = 0:4, k = 0:4"), ([true, true], outer.to_owned()));
    assert_eq!(versions("h = 0:65536, i = 0:65536, j = 0:4, k = 0:4"), ([false, true], String::new()));
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
