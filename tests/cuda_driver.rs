//! Kernels by way of the driver of CUDA: programs whose maps are kernels give the results of the interpreter. The driver and NVRTC are
//! stand-ins, which run kernels on threads of this processor (`tests/cuda`).

#[path = "device/agreement.rs"]
mod agreement;
mod device;
#[path = "device/indices.rs"]
mod indices;
#[path = "device/runtime.rs"]
mod runtime;

use sdfg_programs::random::Device;

/// See `device::polybench_runs_on_the_device`.
#[test]
fn first_third_of_polybench_runs_on_the_device() {
    device::polybench_runs_on_the_device(Device::CudaDriver, 0);
}

/// See `device::polybench_runs_on_the_device`.
#[test]
fn second_third_of_polybench_runs_on_the_device() {
    device::polybench_runs_on_the_device(Device::CudaDriver, 1);
}

/// See `device::polybench_runs_on_the_device`.
#[test]
fn last_third_of_polybench_runs_on_the_device() {
    device::polybench_runs_on_the_device(Device::CudaDriver, 2);
}

/// See `agreement::programs_of_agreement_run_on_the_device`.
#[test]
fn first_half_of_the_programs_of_agreement_runs_on_the_device() {
    agreement::programs_of_agreement_run_on_the_device(Device::CudaDriver, 0, 2, 15);
}

/// See `agreement::programs_of_agreement_run_on_the_device`.
#[test]
fn second_half_of_the_programs_of_agreement_runs_on_the_device() {
    agreement::programs_of_agreement_run_on_the_device(Device::CudaDriver, 1, 2, 15);
}

/// See `device::random_programs_run_on_the_device`.
#[test]
fn random_programs_run_on_the_device() {
    device::random_programs_run_on_the_device(Device::CudaDriver, 6_100_000..6_100_012);
}

/// See `device::conflicts_are_resolved_by_atomic_functions`.
#[test]
fn conflicts_are_resolved_by_atomic_functions() {
    device::conflicts_are_resolved_by_atomic_functions(Device::CudaDriver);
}

/// See `device::blocks_accumulate_before_they_combine`.
#[test]
fn blocks_accumulate_before_they_combine() {
    device::blocks_accumulate_before_they_combine(Device::CudaDriver);
}

/// See `device::a_tiled_product_has_memory_of_blocks`.
#[test]
fn a_tiled_product_has_memory_of_blocks() {
    device::a_tiled_product_has_memory_of_blocks(Device::CudaDriver);
}

/// See `device::halves_are_rounded_on_the_device`.
#[test]
fn halves_are_rounded_on_the_device() {
    device::halves_are_rounded_on_the_device(Device::CudaDriver);
}

/// See `device::nested_sdfgs_have_kernels`.
#[test]
fn nested_sdfgs_have_kernels() {
    device::nested_sdfgs_have_kernels(Device::CudaDriver);
}

/// See `device::calls::calls_run_in_kernels`.
#[test]
fn calls_run_in_kernels() {
    device::calls::calls_run_in_kernels(Device::CudaDriver);
}

/// See `device::scalars_of_the_host_are_given_by_value`.
#[test]
fn scalars_of_the_host_are_given_by_value() {
    device::scalars_of_the_host_are_given_by_value(Device::CudaDriver);
}

/// See `device::blocks_share_memory`.
#[test]
fn blocks_share_memory() {
    device::blocks_share_memory(Device::CudaDriver);
}

/// See `device::conditions_of_blocks_are_those_of_all_threads`.
#[test]
fn conditions_of_blocks_are_those_of_all_threads() {
    device::conditions_of_blocks_are_those_of_all_threads(Device::CudaDriver);
}

/// See `device::checked::faults_of_kernels_have_the_messages_of_the_processor`.
#[test]
fn faults_of_kernels_have_the_messages_of_the_processor() {
    device::checked::faults_of_kernels_have_the_messages_of_the_processor(Device::CudaDriver);
}

/// See `device::checked::the_first_fault_is_told`.
#[test]
fn the_first_fault_is_told() {
    device::checked::the_first_fault_is_told(Device::CudaDriver);
}

/// See `device::checked::traps_are_seen_in_kernels`.
#[test]
fn traps_are_seen_in_kernels() {
    device::checked::traps_are_seen_in_kernels(Device::CudaDriver);
}

/// See `device::checked_kernels_refuse_what_the_interpreter_refuses`.
#[test]
fn checked_kernels_refuse_what_the_interpreter_refuses() {
    device::checked_kernels_refuse_what_the_interpreter_refuses(Device::CudaDriver, 7_100_000..7_100_012);
}

/// See `device::random_schedules_run_on_the_device`.
#[test]
fn random_schedules_run_on_the_device() {
    device::random_schedules_run_on_the_device(Device::CudaDriver, 8_100_000..8_100_007);
}

/// The example programs run with their maps as kernels.
#[test]
fn example_programs_run_on_the_device() {
    agreement::example_programs_run_on_the_device(Device::CudaDriver);
}

/// See `runtime::memory_that_a_device_does_not_have_is_an_error_with_sizes`.
#[test]
fn memory_that_a_device_does_not_have_is_an_error_with_sizes() {
    runtime::memory_that_a_device_does_not_have_is_an_error_with_sizes(Device::CudaDriver, " are free)");
}

/// See `runtime::instances_that_begin_at_once`.
#[test]
fn instances_that_begin_at_once_give_the_same_results() {
    let ended = runtime::instances_that_begin_at_once(Device::CudaDriver);
    ended.unwrap_or_else(|error| panic!("{error}"));
}

/// See `runtime::kernels_and_copies_are_measured_by_the_device`.
#[test]
fn kernels_and_copies_are_measured_by_the_device() {
    runtime::kernels_and_copies_are_measured_by_the_device(Device::CudaDriver);
}

/// See `runtime::rows_of_parts_are_copied`.
#[test]
fn rows_of_parts_are_copied() {
    runtime::rows_of_parts_are_copied(Device::CudaDriver);
}

/// See `device::checked::one_thread_of_a_block_combines`.
#[test]
fn one_thread_of_a_block_combines() {
    device::checked::one_thread_of_a_block_combines(Device::CudaDriver);
}

/// See `device::queues::kernels_push_to_queues`.
#[test]
fn kernels_push_to_queues() {
    device::queues::kernels_push_to_queues(Device::CudaDriver);
}

/// See `device::queues::full_queues_end_the_run`.
#[test]
fn full_queues_end_the_run() {
    device::queues::full_queues_end_the_run(Device::CudaDriver);
}

/// See `device::queues::runs_that_fail_free_their_memory`.
#[test]
fn runs_that_fail_free_their_memory() {
    device::queues::runs_that_fail_free_their_memory(Device::CudaDriver);
}

/// See `device::queues::empty_queues_end_the_run`.
#[test]
fn empty_queues_end_the_run() {
    device::queues::empty_queues_end_the_run(Device::CudaDriver);
}

/// See `device::queues::the_query_runs_on_the_device`.
#[test]
fn the_query_runs_on_the_device() {
    device::queues::the_query_runs_on_the_device(Device::CudaDriver);
}

/// See `device::queues::random_programs_push_to_queues`.
#[test]
fn random_programs_push_to_queues() {
    device::queues::random_programs_push_to_queues(Device::CudaDriver, 9_100_000);
}

/// See `device::queues::consume_scopes_run_in_rounds`.
#[test]
fn consume_scopes_run_in_rounds() {
    device::queues::consume_scopes_run_in_rounds(Device::CudaDriver);
}

/// See `device::streams::independent_chains_run_side_by_side`.
#[test]
fn independent_chains_run_side_by_side() {
    device::streams::independent_chains_run_side_by_side(Device::CudaDriver);
}

/// See `device::streams::memory_of_one_stream_serves_another`.
#[test]
fn memory_of_one_stream_serves_another() {
    device::streams::memory_of_one_stream_serves_another(Device::CudaDriver);
}

/// See `device::streams::transients_in_turn_wait_for_copies`.
#[test]
fn transients_in_turn_wait_for_copies() {
    device::streams::transients_in_turn_wait_for_copies(Device::CudaDriver);
}

/// See `indices::elements_beyond_32_bits_are_reached`.
#[test]
fn elements_beyond_32_bits_are_reached() {
    indices::elements_beyond_32_bits_are_reached(Device::CudaDriver);
}

/// See `indices::parts_of_indices_may_be_negative`.
#[test]
fn parts_of_indices_may_be_negative() {
    indices::parts_of_indices_may_be_negative(Device::CudaDriver);
}

/// See `indices::large_literals_wrap_with_other_indices`.
#[test]
fn large_literals_wrap_with_other_indices() {
    indices::large_literals_wrap_with_other_indices(Device::CudaDriver);
}

/// See `device::streams::constructs_gather_their_own_streams`.
#[test]
fn constructs_gather_their_own_streams() {
    device::streams::constructs_gather_their_own_streams(Device::CudaDriver);
}

/// See `device::streams::memory_that_a_branch_uses_first_is_there`.
#[test]
fn memory_that_a_branch_uses_first_is_there() {
    device::streams::memory_that_a_branch_uses_first_is_there(Device::CudaDriver);
}

/// See `device::start::runs_are_commands_of_the_callers_stream`.
#[test]
fn runs_are_commands_of_the_callers_stream() {
    device::start::runs_are_commands_of_the_callers_stream(Device::CudaDriver);
}

/// See `device::start::memory_of_the_host_lasts_for_started_runs`.
#[test]
fn memory_of_the_host_lasts_for_started_runs() {
    device::start::memory_of_the_host_lasts_for_started_runs(Device::CudaDriver);
}

/// See `runtime::failures_of_started_runs_are_told`.
#[test]
fn failures_of_started_runs_are_told() {
    runtime::failures_of_started_runs_are_told(Device::CudaDriver);
}

/// See `device::start::ends_of_started_runs_may_fail`.
#[test]
fn ends_of_started_runs_may_fail() {
    device::start::ends_of_started_runs_may_fail(Device::CudaDriver);
}

/// See `device::start::calls_start_runs`.
#[test]
fn calls_start_runs() {
    device::start::calls_start_runs(Device::CudaDriver);
}

/// See `runtime::ranges_that_the_program_sets_become_kernels`.
#[test]
fn ranges_that_the_program_sets_become_kernels() {
    runtime::ranges_that_the_program_sets_become_kernels(Device::CudaDriver);
}

/// See `runtime::registers_of_the_host_are_its_memory`.
#[test]
fn registers_of_the_host_are_its_memory() {
    runtime::registers_of_the_host_are_its_memory(Device::CudaDriver);
}

/// See `runtime::arguments_are_lent_up_to_their_last_element`.
#[test]
fn arguments_are_lent_up_to_their_last_element() {
    runtime::arguments_are_lent_up_to_their_last_element(Device::CudaDriver);
}

/// See `runtime::memory_of_the_device_for_each_iteration_is_refused`.
#[test]
fn memory_of_the_device_for_each_iteration_is_refused() {
    runtime::memory_of_the_device_for_each_iteration_is_refused(Device::CudaDriver);
}
