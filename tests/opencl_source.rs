//! OpenCL source: programs whose maps are kernels give the results of the interpreter. Kernels run on the device that
//! `SDFG_DEVICE` names, or the first one: PoCL, which runs them on this processor. The tests report that they are skipped on a
//! machine without a driver of OpenCL; `cargo xtask setup` installs one.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

mod device;

use device::{parsed, plan_of, planned};
use sdfg::interpret::Arguments;
use sdfg_codegen::interface::ProfileFormat;
use sdfg_codegen::lower::{Instrumentation, LowerOptions, ProfileLevel, lower};
use sdfg_programs::random::Device;
use sdfg_programs::trusted;

/// Whether this machine has a device of OpenCL; a note if it has none.
fn has_opencl() -> bool {
    let program = parsed(
        "sdfg one {
  array A: f64[1] storage(gpu_global)
  state s {
    access A
    map m [i = 0:1] schedule(gpu_grid) {
      tasklet t () -> (y) { y = 1 }
      t.y -> m.A: A[i]
    }
    m.A -> A
  }
}",
    );
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

/// Without enough memory of the device, a run ends with a status and the sizes, and the next run succeeds.
#[test]
fn memory_that_a_device_does_not_have_is_an_error_with_sizes() {
    if !has_opencl() {
        return;
    }
    let program = parsed(
        "sdfg large {
  symbol N: i64
  array A: f64[1]
  transient array T: f64[N] storage(gpu_global)
  state s {
    access A
    access T
    map m [i = 0:1] schedule(gpu_grid) {
      tasklet t () -> (y) { y = 3 }
      t.y -> m.T: T[i]
    }
    m.T -> T
    T -> A: T[0] -> A[0]
  }
}",
    );
    let plan = plan_of(&program, Device::OpenCl).unwrap_or_else(|error| panic!("{error}"));
    let library = Device::OpenCl.load(&plan).unwrap_or_else(|error| panic!("{error}"));
    let run = |n: i64| {
        let mut arguments = Arguments::new().with_symbol("N", n);
        arguments.set("A", device::small_numbers([1], 1));
        trusted::run(&library, &mut arguments, None).map(|()| arguments)
    };
    let text = run(1 << 40).map(|_| ()).expect_err("no memory").to_string();
    assert!(text.contains("the device has no 8796093022208 bytes (at most "), "{text}");
    let results = run(4).unwrap_or_else(|error| panic!("{error}"));
    let found = results.get("A").and_then(|tensor| tensor.values().next());
    assert_eq!(found, Some(sdfg::value::Value::F64(3.0)));
}

/// Several instances of several libraries begin at once in one process. No other one found the device before: drivers are
/// not always ready for that.
#[test]
fn instances_that_begin_at_once_take_turns() {
    const INSTANCES: usize = 6;
    let program = planned("blocks");
    let plan = plan_of(&program, Device::OpenCl).unwrap_or_else(|error| panic!("{error}"));
    let mut given = Arguments::new().with_symbol("N", 8);
    for (name, factor) in [("A", 3), ("B", 5), ("C", 2)] {
        given.set(name, device::small_numbers([8, 8], factor));
    }
    let expected = device::interpreted(&program, &given);
    let ready = std::sync::Barrier::new(INSTANCES);
    let one = || {
        let library = Device::OpenCl.load(&plan);
        ready.wait();
        let mut found = given.clone();
        trusted::run(&library?, &mut found, None).map_err(|error| error.to_string())?;
        Ok::<_, String>(found)
    };
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..INSTANCES).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    if !has_opencl() {
        return;
    }
    for found in all {
        assert_eq!(expected.get("C"), found.unwrap_or_else(|error| panic!("{error}")).get("C"));
    }
}

/// The device measures kernels and copies, and the table has the bytes and operations that they reach.
#[test]
fn kernels_and_copies_are_measured_by_the_device() {
    const N: i64 = 1000;
    const RUNS: usize = 3;
    if !has_opencl() {
        return;
    }
    let program = parsed(
        "sdfg measured {
  symbol N: i64
  array A: f64[N]
  transient array D: f64[N] storage(gpu_global)
  array B: f64[N] storage(gpu_global)
  state s {
    access A
    access D
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (x) -> (y) { y = 2.0 * x + 1.0 }
      m.A -> t.x: D[i]
      t.y -> m.B: B[i]
    }
    A -> D
    D -> m.A
    m.B -> B
  }
}",
    );
    let instrumentation = Some(Instrumentation { level: ProfileLevel::Map, counters: false });
    let options = LowerOptions { serial_components: true, instrumentation, ..LowerOptions::default() };
    let plan = lower(&program, &Device::OpenCl.target(), &options).unwrap_or_else(|error| panic!("{error}"));
    let library = Device::OpenCl.load(&plan).unwrap_or_else(|error| panic!("{error}"));
    let (mut a, mut b) = (device::small_numbers([N], 3), device::small_numbers([N], 1));
    let call = library.call().symbol("N", N).tensor("A", &mut a).tensor("B", &mut b);
    let mut call = call.prepare().unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..RUNS {
        trusted::run_prepared(&mut call).unwrap_or_else(|error| panic!("{error}"));
    }
    let table = call.profile(ProfileFormat::Table).expect("memory");
    // `A` is copied to the device, and the caller's memory of `B` in both directions.
    let expected = [
        ("kernel", "measured_m", 1, 16 * N, Some(2 * N)),
        ("copy", "to the device", 2, 8 * N, None),
        ("copy", "to the host", 1, 8 * N, None),
    ];
    for (kind, name, count, bytes, operations) in expected {
        let is_it = |line: &&str| line.starts_with(kind) && line.ends_with(name);
        let line = table.lines().find(is_it).unwrap_or_else(|| panic!("{table}"));
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<f64>().unwrap_or_else(|error| panic!("{error}: {line}"));
        let (count, time) = ((count * RUNS) as f64, number(2));
        assert_eq!(number(1), count, "{table}");
        // A rate times a total time is a total, up to the digits of the table.
        let is_close = |rate: f64, total: i64| {
            let (reached, total) = (rate * time * 1e3, count * total as f64);
            (reached - total).abs() <= 0.02 * total + 0.001 * time * 1e3
        };
        assert!(is_close(number(6), bytes), "{bytes} bytes: {table}");
        match operations {
            Some(operations) => assert!(is_close(number(8), operations), "{operations} operations: {table}"),
            None => assert_eq!(words[8], "-", "{table}"),
        }
    }
    let trace = call.profile(ProfileFormat::Trace).expect("memory");
    assert_eq!(trace.matches("\"ph\": \"X\"").count(), 4 * RUNS, "{trace}");
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
    device::random_schedules_run_on_the_device(Device::OpenCl, 8_000_000..8_000_006);
}
