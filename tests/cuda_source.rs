//! CUDA source: programs whose maps are kernels give the results of the interpreter. Kernels run on threads of this processor
//! (`tests/cuda/cuda_runtime.h`).

mod device;
#[path = "device/indices.rs"]
mod indices;

use device::{parsed, plan_of};
use sdfg_programs::random::Device;

/// See `device::polybench_runs_on_the_device`.
#[test]
fn first_third_of_polybench_runs_on_the_device() {
    device::polybench_runs_on_the_device(Device::Cuda, 0);
}

/// See `device::polybench_runs_on_the_device`.
#[test]
fn second_third_of_polybench_runs_on_the_device() {
    device::polybench_runs_on_the_device(Device::Cuda, 1);
}

/// See `device::polybench_runs_on_the_device`.
#[test]
fn last_third_of_polybench_runs_on_the_device() {
    device::polybench_runs_on_the_device(Device::Cuda, 2);
}

/// See `device::random_programs_run_on_the_device`.
#[test]
fn random_programs_run_on_the_device() {
    device::random_programs_run_on_the_device(Device::Cuda, 6_000_000..6_000_032);
}

/// See `device::conflicts_are_resolved_by_atomic_functions`.
#[test]
fn conflicts_are_resolved_by_atomic_functions() {
    device::conflicts_are_resolved_by_atomic_functions(Device::Cuda);
}

/// See `device::blocks_accumulate_before_they_combine`.
#[test]
fn blocks_accumulate_before_they_combine() {
    device::blocks_accumulate_before_they_combine(Device::Cuda);
}

/// See `device::a_tiled_product_has_memory_of_blocks`.
#[test]
fn a_tiled_product_has_memory_of_blocks() {
    device::a_tiled_product_has_memory_of_blocks(Device::Cuda);
}

/// See `device::halves_are_rounded_on_the_device`.
#[test]
fn halves_are_rounded_on_the_device() {
    device::halves_are_rounded_on_the_device(Device::Cuda);
}

/// See `device::nested_sdfgs_have_kernels`.
#[test]
fn nested_sdfgs_have_kernels() {
    device::nested_sdfgs_have_kernels(Device::Cuda);
}

/// See `device::calls::calls_run_in_kernels`.
#[test]
fn calls_run_in_kernels() {
    device::calls::calls_run_in_kernels(Device::Cuda);
}

/// See `device::scalars_of_the_host_are_given_by_value`.
#[test]
fn scalars_of_the_host_are_given_by_value() {
    device::scalars_of_the_host_are_given_by_value(Device::Cuda);
}

/// See `device::blocks_share_memory`.
#[test]
fn blocks_share_memory() {
    device::blocks_share_memory(Device::Cuda);
}

/// See `device::conditions_of_blocks_are_those_of_all_threads`.
#[test]
fn conditions_of_blocks_are_those_of_all_threads() {
    device::conditions_of_blocks_are_those_of_all_threads(Device::Cuda);
}

/// The text of the refusal of a kernel with this grid, in which the threads of a block run `inner`.
fn refused(containers: &str, grid: &str, inner: &str) -> String {
    let program = parsed(&format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N] storage(gpu_global)
{containers}
  state s {{
    access A
    map m [i = 0:N] schedule(gpu_grid) {grid} {{
{inner}
    }}
    m.A -> A
  }}
}}"
    ));
    plan_of(&program, Device::Cuda).map_or_else(|error| error.to_string(), |_| "nothing".to_owned())
}

/// Blocks have limits, which lowering knows.
#[test]
fn blocks_have_limits() {
    let threads = |block: &str| {
        format!(
            "      map n [j = 0:N] schedule(gpu_block) {block} {{
        tasklet t () -> (y) {{ y = 1 }}
        t.y -> n.A: A[i, j]
      }}
      n.A -> m.A"
        )
    };
    assert_eq!(refused("", "", &threads("")), "nothing");
    let text = refused("", "block(N)", &threads(""));
    assert!(text.contains("a block of N threads"), "{text}");
    let text = refused("", "", &threads("block(2048)"));
    assert!(text.contains("not a number from 1 to 1024"), "{text}");
    let text = refused("", "block(64)", &threads("block(128)"));
    assert!(text.contains("a map for more than 64 threads of a block"), "{text}");
    let shared = |size: u64| {
        let containers = format!("  transient array T: f64[{size}] storage(gpu_shared)");
        let inner = "      access T
      tasklet t () -> (y) { y = 1 }
      tasklet u (x) -> (y) { y = x }
      t.y -> T: T[0]
      T -> u.x: T[0]
      u.y -> m.A: A[i, i]";
        refused(&containers, "", inner)
    };
    assert_eq!(shared(6 << 10), "nothing");
    let text = shared((6 << 10) + 1);
    assert!(text.contains("`T` with more than 49152 bytes in each block"), "{text}");
    let two = "  transient array T: f64[4096] storage(gpu_shared)\n  transient array U: f64[4096] storage(gpu_shared)";
    let inner = "      access T
      access U
      tasklet t () -> (y, z) { y = 1; z = 2 }
      tasklet u (x, z) -> (y) { y = x + z }
      t.y -> T: T[0]
      t.z -> U: U[0]
      T -> u.x: T[0]
      U -> u.z: U[0]
      u.y -> m.A: A[i, i]";
    let text = refused(two, "", inner);
    assert!(text.contains("65536 bytes that a block shares in the kernel `m` (at most 49152)"), "{text}");
}

/// See `device::checked::faults_of_kernels_have_the_messages_of_the_processor`.
#[test]
fn faults_of_kernels_have_the_messages_of_the_processor() {
    device::checked::faults_of_kernels_have_the_messages_of_the_processor(Device::Cuda);
}

/// See `device::checked::the_first_fault_is_told`.
#[test]
fn the_first_fault_is_told() {
    device::checked::the_first_fault_is_told(Device::Cuda);
}

/// See `device::checked::traps_are_seen_in_kernels`.
#[test]
fn traps_are_seen_in_kernels() {
    device::checked::traps_are_seen_in_kernels(Device::Cuda);
}

/// See `device::checked_kernels_refuse_what_the_interpreter_refuses`.
#[test]
fn checked_kernels_refuse_what_the_interpreter_refuses() {
    device::checked_kernels_refuse_what_the_interpreter_refuses(Device::Cuda, 7_000_000..7_000_016);
}

/// See `device::random_schedules_run_on_the_device`.
#[test]
fn random_schedules_run_on_the_device() {
    device::random_schedules_run_on_the_device(Device::Cuda, 8_000_000..8_000_009);
}

/// See `device::checked::one_thread_of_a_block_combines`.
#[test]
fn one_thread_of_a_block_combines() {
    device::checked::one_thread_of_a_block_combines(Device::Cuda);
}

/// See `device::queues::kernels_push_to_queues`.
#[test]
fn kernels_push_to_queues() {
    device::queues::kernels_push_to_queues(Device::Cuda);
}

/// See `device::queues::full_queues_end_the_run`.
#[test]
fn full_queues_end_the_run() {
    device::queues::full_queues_end_the_run(Device::Cuda);
}

/// See `device::queues::runs_that_fail_free_their_memory`.
#[test]
fn runs_that_fail_free_their_memory() {
    device::queues::runs_that_fail_free_their_memory(Device::Cuda);
}

/// See `device::queues::empty_queues_end_the_run`.
#[test]
fn empty_queues_end_the_run() {
    device::queues::empty_queues_end_the_run(Device::Cuda);
}

/// See `device::queues::the_query_runs_on_the_device`.
#[test]
fn the_query_runs_on_the_device() {
    device::queues::the_query_runs_on_the_device(Device::Cuda);
}

/// See `device::queues::random_programs_push_to_queues`.
#[test]
fn random_programs_push_to_queues() {
    device::queues::random_programs_push_to_queues(Device::Cuda, 9_000_000);
}

/// See `device::queues::consume_scopes_run_in_rounds`.
#[test]
fn consume_scopes_run_in_rounds() {
    device::queues::consume_scopes_run_in_rounds(Device::Cuda);
}

/// See `device::streams::independent_chains_run_side_by_side`.
#[test]
fn independent_chains_run_side_by_side() {
    device::streams::independent_chains_run_side_by_side(Device::Cuda);
}

/// See `device::streams::memory_of_one_stream_serves_another`.
#[test]
fn memory_of_one_stream_serves_another() {
    device::streams::memory_of_one_stream_serves_another(Device::Cuda);
}

/// See `device::streams::transients_in_turn_wait_for_copies`.
#[test]
fn transients_in_turn_wait_for_copies() {
    device::streams::transients_in_turn_wait_for_copies(Device::Cuda);
}

/// See `indices::elements_beyond_32_bits_are_reached`.
#[test]
fn elements_beyond_32_bits_are_reached() {
    indices::elements_beyond_32_bits_are_reached(Device::Cuda);
}

/// See `indices::parts_of_indices_may_be_negative`.
#[test]
fn parts_of_indices_may_be_negative() {
    indices::parts_of_indices_may_be_negative(Device::Cuda);
}

/// See `indices::large_literals_wrap_with_other_indices`.
#[test]
fn large_literals_wrap_with_other_indices() {
    indices::large_literals_wrap_with_other_indices(Device::Cuda);
}

/// See `device::streams::constructs_gather_their_own_streams`.
#[test]
fn constructs_gather_their_own_streams() {
    device::streams::constructs_gather_their_own_streams(Device::Cuda);
}

/// See `device::streams::memory_that_a_branch_uses_first_is_there`.
#[test]
fn memory_that_a_branch_uses_first_is_there() {
    device::streams::memory_that_a_branch_uses_first_is_there(Device::Cuda);
}

/// See `device::start::runs_are_commands_of_the_callers_stream`.
#[test]
fn runs_are_commands_of_the_callers_stream() {
    device::start::runs_are_commands_of_the_callers_stream(Device::Cuda);
}

/// See `device::start::memory_of_the_host_lasts_for_started_runs`.
#[test]
fn memory_of_the_host_lasts_for_started_runs() {
    device::start::memory_of_the_host_lasts_for_started_runs(Device::Cuda);
}

/// See `device::start::ends_of_started_runs_may_fail`.
#[test]
fn ends_of_started_runs_may_fail() {
    device::start::ends_of_started_runs_may_fail(Device::Cuda);
}

/// See `device::start::calls_start_runs`.
#[test]
fn calls_start_runs() {
    device::start::calls_start_runs(Device::Cuda);
}
