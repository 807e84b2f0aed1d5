//! OpenCL source: programs whose maps are kernels give the results of the interpreter. Kernels run on the device that
//! `SDFG_DEVICE` names, or the first one: PoCL, which runs them on this processor. The tests report that they are skipped on a
//! machine without a driver of OpenCL; `cargo xtask setup` installs one.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

mod device;
#[path = "device/runtime.rs"]
mod runtime;

use device::{parsed, plan_of};
use sdfg::interpret::Arguments;
use sdfg::ir::FloatMode;
use sdfg_codegen::source::{SourceOptions, opencl_source};
use sdfg_programs::random::Device;
use sdfg_programs::trusted;

/// A program with one kernel.
const ONE: &str = "sdfg one {
  array A: f64[1] storage(gpu_global)
  state s {
    access A
    map m [i = 0:1] schedule(gpu_grid) {
      tasklet t () -> (y) { y = 1 }
      t.y -> m.A: A[i]
    }
    m.A -> A
  }
}";

/// Whether this machine has a device of OpenCL; a note if it has none.
fn has_opencl() -> bool {
    let program = parsed(ONE);
    let plan = plan_of(&program, Device::OpenCl).unwrap_or_else(|error| panic!("{error}"));
    let library = Device::OpenCl.load(&plan).unwrap_or_else(|error| panic!("{error}"));
    let mut arguments = Arguments::new();
    arguments.set("A", device::small_numbers([1], 1));
    match trusted::run(&library, &mut arguments, None) {
        Ok(()) => true,
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("no driver of OpenCL") || text.contains("OpenCL has no device"), "{text}");
            println!("skipped: {text}");
            false
        }
    }
}

/// See `device::polybench_runs_on_the_device`.
#[test]
fn first_third_of_polybench_runs_on_the_device() {
    if !has_opencl() {
        return;
    }
    device::polybench_runs_on_the_device(Device::OpenCl, 0);
}

/// See `device::polybench_runs_on_the_device`.
#[test]
fn second_third_of_polybench_runs_on_the_device() {
    if !has_opencl() {
        return;
    }
    device::polybench_runs_on_the_device(Device::OpenCl, 1);
}

/// See `device::polybench_runs_on_the_device`.
#[test]
fn last_third_of_polybench_runs_on_the_device() {
    if !has_opencl() {
        return;
    }
    device::polybench_runs_on_the_device(Device::OpenCl, 2);
}

/// See `device::random_programs_run_on_the_device`.
#[test]
fn random_programs_run_on_the_device() {
    if !has_opencl() {
        return;
    }
    device::random_programs_run_on_the_device(Device::OpenCl, 6_000_000..6_000_016);
}

/// See `device::conflicts_are_resolved_by_atomic_functions`.
#[test]
fn conflicts_are_resolved_by_atomic_functions() {
    if !has_opencl() {
        return;
    }
    device::conflicts_are_resolved_by_atomic_functions(Device::OpenCl);
}

/// See `device::blocks_accumulate_before_they_combine`.
#[test]
fn blocks_accumulate_before_they_combine() {
    if !has_opencl() {
        return;
    }
    device::blocks_accumulate_before_they_combine(Device::OpenCl);
}

/// See `device::a_tiled_product_has_memory_of_blocks`.
#[test]
fn a_tiled_product_has_memory_of_blocks() {
    if !has_opencl() {
        return;
    }
    device::a_tiled_product_has_memory_of_blocks(Device::OpenCl);
}

/// See `device::halves_are_rounded_on_the_device`.
#[test]
fn halves_are_rounded_on_the_device() {
    if !has_opencl() {
        return;
    }
    device::halves_are_rounded_on_the_device(Device::OpenCl);
}

/// See `device::nested_sdfgs_have_kernels`.
#[test]
fn nested_sdfgs_have_kernels() {
    if !has_opencl() {
        return;
    }
    device::nested_sdfgs_have_kernels(Device::OpenCl);
}

/// See `device::calls::calls_run_in_kernels`.
#[test]
fn calls_run_in_kernels() {
    if !has_opencl() {
        return;
    }
    device::calls::calls_run_in_kernels(Device::OpenCl);
}

/// See `device::scalars_of_the_host_are_given_by_value`.
#[test]
fn scalars_of_the_host_are_given_by_value() {
    if !has_opencl() {
        return;
    }
    device::scalars_of_the_host_are_given_by_value(Device::OpenCl);
}

/// See `device::blocks_share_memory`.
#[test]
fn blocks_share_memory() {
    if !has_opencl() {
        return;
    }
    device::blocks_share_memory(Device::OpenCl);
}

/// See `device::conditions_of_blocks_are_those_of_all_threads`.
#[test]
fn conditions_of_blocks_are_those_of_all_threads() {
    if !has_opencl() {
        return;
    }
    device::conditions_of_blocks_are_those_of_all_threads(Device::OpenCl);
}

/// See `runtime::memory_that_a_device_does_not_have_is_an_error_with_sizes`.
#[test]
fn memory_that_a_device_does_not_have_is_an_error_with_sizes() {
    if !has_opencl() {
        return;
    }
    runtime::memory_that_a_device_does_not_have_is_an_error_with_sizes(Device::OpenCl, "(at most ");
}

/// See `runtime::instances_that_begin_at_once`. No other one found the device before: drivers are not always ready for that.
#[test]
fn instances_that_begin_at_once_take_turns() {
    let ended = runtime::instances_that_begin_at_once(Device::OpenCl);
    if !has_opencl() {
        return;
    }
    ended.unwrap_or_else(|error| panic!("{error}"));
}

/// See `runtime::kernels_and_copies_are_measured_by_the_device`.
#[test]
fn kernels_and_copies_are_measured_by_the_device() {
    if !has_opencl() {
        return;
    }
    runtime::kernels_and_copies_are_measured_by_the_device(Device::OpenCl);
}

/// See `runtime::rows_of_parts_are_copied`.
#[test]
fn rows_of_parts_are_copied() {
    if !has_opencl() {
        return;
    }
    runtime::rows_of_parts_are_copied(Device::OpenCl);
}

/// The statuses of the device's functions in C are those of programs.
#[test]
fn statuses_of_devices_are_those_of_programs() {
    use sdfg_codegen::interface::Status;
    let (memory, device) = (Status::OutOfMemory.code(), Status::Device.code());
    let text = format!("enum {{ SDFG_DEVICE_MEMORY = {memory}, SDFG_DEVICE_FAILED = {device} }};");
    let plan = plan_of(&parsed("sdfg none {\n  state s {\n  }\n}"), Device::OpenCl);
    let plan = plan.unwrap_or_else(|error| panic!("{error}"));
    // A program without kernels needs no device.
    let library = Device::OpenCl.load(&plan).unwrap_or_else(|error| panic!("{error}"));
    trusted::run(&library, &mut Arguments::new(), None).unwrap_or_else(|error| panic!("{error}"));
    let source = sdfg_codegen::source::opencl_source(&plan, &sdfg_codegen::source::SourceOptions::default());
    assert!(source.unwrap_or_else(|error| panic!("{error}")).contains(&text));
}

/// Containers, symbols and maps may have names that are keywords or functions of OpenCL C.
#[test]
fn names_of_opencl_are_free_for_programs() {
    if !has_opencl() {
        return;
    }
    let program = parsed(
        "sdfg words {
  symbol step: i64
  array global: f64[step] storage(gpu_global)
  array kernel: f64[step] storage(gpu_global)
  state s {
    access global
    access kernel
    map barrier [half = 0:step] schedule(gpu_grid) {
      tasklet t (uint) -> (double4) { double4 = min(uint, 2.0) + half }
      barrier.A -> t.uint: global[half]
      t.double4 -> barrier.B: kernel[half]
    }
    global -> barrier.A
    barrier.B -> kernel
  }
}",
    );
    let mut given = Arguments::new().with_symbol("step", 5);
    given.set("global", device::small_numbers([5], 3));
    given.set("kernel", device::small_numbers([5], 1));
    let (expected, found) =
        (device::interpreted(&program, &given), device::on_device(&program, &given, Device::OpenCl));
    assert_eq!(expected.get("kernel"), found.get("kernel"));
}

/// See `device::checked::faults_of_kernels_have_the_messages_of_the_processor`.
#[test]
fn faults_of_kernels_have_the_messages_of_the_processor() {
    if !has_opencl() {
        return;
    }
    device::checked::faults_of_kernels_have_the_messages_of_the_processor(Device::OpenCl);
}

/// See `device::checked::the_first_fault_is_told`.
#[test]
fn the_first_fault_is_told() {
    if !has_opencl() {
        return;
    }
    device::checked::the_first_fault_is_told(Device::OpenCl);
}

/// See `device::checked::traps_are_seen_in_kernels`.
#[test]
fn traps_are_seen_in_kernels() {
    if !has_opencl() {
        return;
    }
    device::checked::traps_are_seen_in_kernels(Device::OpenCl);
}

/// See `device::checked_kernels_refuse_what_the_interpreter_refuses`.
#[test]
fn checked_kernels_refuse_what_the_interpreter_refuses() {
    if !has_opencl() {
        return;
    }
    device::checked_kernels_refuse_what_the_interpreter_refuses(Device::OpenCl, 7_000_000..7_000_016);
}

/// See `device::random_schedules_run_on_the_device`.
#[test]
fn random_schedules_run_on_the_device() {
    if !has_opencl() {
        return;
    }
    device::random_schedules_run_on_the_device(Device::OpenCl, 8_000_000..8_000_009);
}

/// See `device::checked::one_thread_of_a_block_combines`.
#[test]
fn one_thread_of_a_block_combines() {
    if !has_opencl() {
        return;
    }
    device::checked::one_thread_of_a_block_combines(Device::OpenCl);
}

/// See `device::queues::kernels_push_to_queues`.
#[test]
fn kernels_push_to_queues() {
    if !has_opencl() {
        return;
    }
    device::queues::kernels_push_to_queues(Device::OpenCl);
}

/// See `device::queues::full_queues_end_the_run`.
#[test]
fn full_queues_end_the_run() {
    if !has_opencl() {
        return;
    }
    device::queues::full_queues_end_the_run(Device::OpenCl);
}

/// See `device::queues::runs_that_fail_free_their_memory`.
#[test]
fn runs_that_fail_free_their_memory() {
    if !has_opencl() {
        return;
    }
    device::queues::runs_that_fail_free_their_memory(Device::OpenCl);
}

/// See `device::queues::empty_queues_end_the_run`.
#[test]
fn empty_queues_end_the_run() {
    if !has_opencl() {
        return;
    }
    device::queues::empty_queues_end_the_run(Device::OpenCl);
}

/// See `device::queues::the_query_runs_on_the_device`.
#[test]
fn the_query_runs_on_the_device() {
    if !has_opencl() {
        return;
    }
    device::queues::the_query_runs_on_the_device(Device::OpenCl);
}

/// See `device::queues::random_programs_push_to_queues`.
#[test]
fn random_programs_push_to_queues() {
    if !has_opencl() {
        return;
    }
    device::queues::random_programs_push_to_queues(Device::OpenCl, 9_200_000);
}

/// See `device::queues::consume_scopes_run_in_rounds`.
#[test]
fn consume_scopes_run_in_rounds() {
    if !has_opencl() {
        return;
    }
    device::queues::consume_scopes_run_in_rounds(Device::OpenCl);
}

/// See `device::streams::independent_chains_run_side_by_side`.
#[test]
fn independent_chains_run_side_by_side() {
    if !has_opencl() {
        return;
    }
    device::streams::independent_chains_run_side_by_side(Device::OpenCl);
}

/// See `device::streams::memory_of_one_stream_serves_another`.
#[test]
fn memory_of_one_stream_serves_another() {
    if !has_opencl() {
        return;
    }
    device::streams::memory_of_one_stream_serves_another(Device::OpenCl);
}

/// See `device::streams::transients_in_turn_wait_for_copies`.
#[test]
fn transients_in_turn_wait_for_copies() {
    if !has_opencl() {
        return;
    }
    device::streams::transients_in_turn_wait_for_copies(Device::OpenCl);
}

/// See `device::streams::constructs_gather_their_own_streams`.
#[test]
fn constructs_gather_their_own_streams() {
    if has_opencl() {
        device::streams::constructs_gather_their_own_streams(Device::OpenCl);
    }
}

/// See `device::streams::memory_that_a_branch_uses_first_is_there`.
#[test]
fn memory_that_a_branch_uses_first_is_there() {
    if !has_opencl() {
        return;
    }
    device::streams::memory_that_a_branch_uses_first_is_there(Device::OpenCl);
}

/// See `device::start::runs_are_commands_of_the_callers_stream`.
#[test]
fn runs_are_commands_of_the_callers_stream() {
    if has_opencl() {
        device::start::runs_are_commands_of_the_callers_stream(Device::OpenCl);
    }
}

/// See `device::start::memory_of_the_host_lasts_for_started_runs`.
#[test]
fn memory_of_the_host_lasts_for_started_runs() {
    if has_opencl() {
        device::start::memory_of_the_host_lasts_for_started_runs(Device::OpenCl);
    }
}

/// See `runtime::failures_of_started_runs_are_told`.
#[test]
fn failures_of_started_runs_are_told() {
    if has_opencl() {
        runtime::failures_of_started_runs_are_told(Device::OpenCl);
    }
}

/// See `device::start::ends_of_started_runs_may_fail`.
#[test]
fn ends_of_started_runs_may_fail() {
    if has_opencl() {
        device::start::ends_of_started_runs_may_fail(Device::OpenCl);
    }
}

/// See `device::start::calls_start_runs`.
#[test]
fn calls_start_runs() {
    if has_opencl() {
        device::start::calls_start_runs(Device::OpenCl);
    }
}

/// See `runtime::ranges_that_the_program_sets_become_kernels`.
#[test]
fn ranges_that_the_program_sets_become_kernels() {
    if has_opencl() {
        runtime::ranges_that_the_program_sets_become_kernels(Device::OpenCl);
    }
}

/// See `runtime::registers_of_the_host_are_its_memory`.
#[test]
fn registers_of_the_host_are_its_memory() {
    if has_opencl() {
        runtime::registers_of_the_host_are_its_memory(Device::OpenCl);
    }
}

/// See `runtime::arguments_are_lent_up_to_their_last_element`.
#[test]
fn arguments_are_lent_up_to_their_last_element() {
    if has_opencl() {
        runtime::arguments_are_lent_up_to_their_last_element(Device::OpenCl);
    }
}

/// See `runtime::memory_of_the_device_for_each_iteration_is_refused`.
#[test]
fn memory_of_the_device_for_each_iteration_is_refused() {
    if has_opencl() {
        runtime::memory_of_the_device_for_each_iteration_is_refused(Device::OpenCl);
    }
}

/// Devices join a product and a sum only where the floating-point mode lets them.
#[test]
fn strict_kernels_have_no_contraction() {
    let plan = plan_of(&parsed(ONE), Device::OpenCl).unwrap_or_else(|error| panic!("{error}"));
    let source = |floats| {
        let options = SourceOptions { floats: Some(floats), ..SourceOptions::default() };
        opencl_source(&plan, &options).unwrap_or_else(|error| panic!("{error}"))
    };
    let strict = source(FloatMode::Strict);
    assert!(strict.contains("FP_CONTRACT OFF") && !strict.contains("-cl-fast-relaxed-math"));
    let contracted = source(FloatMode::Contract);
    assert!(contracted.contains("FP_CONTRACT ON") && !contracted.contains("-cl-fast-relaxed-math"));
    assert!(source(FloatMode::Fast).contains("-cl-fast-relaxed-math"));
}

/// A run that copies a scalar by value waits for its commands: the scalar is memory of the call.
#[test]
fn started_runs_wait_for_copies_of_scalars_by_value() {
    let program = parsed(
        "sdfg lone {
  scalar s: f64
  array B: f64[4] storage(gpu_global)
  transient scalar S: f64 storage(gpu_global)
  state one {
    access s
    access S
    access B
    map m [i = 0:4] schedule(gpu_grid) {
      tasklet t (z) -> (y) { y = z }
      m.S -> t.z: S
      t.y -> m.B: B[i]
    }
    s -> S
    S -> m.S
    m.B -> B
  }
}",
    );
    let plan = plan_of(&program, Device::OpenCl).unwrap_or_else(|error| panic!("{error}"));
    let text = opencl_source(&plan, &SourceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(text.contains("sdfg_device_finish(handle->device)"), "{text}");
    assert!(!text.contains("if (!handle->sdfg_starts)"), "{text}");
}
