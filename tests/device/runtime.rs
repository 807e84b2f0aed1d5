//! The device runtime below programs: copies of rows, memory that runs out, instances at once, and times.

use sdfg::interpret::Arguments;
use sdfg_codegen::interface::ProfileFormat;
use sdfg_codegen::lower::{Instrumentation, LowerOptions, ProfileLevel, lower};
use sdfg_programs::random::Device;
use sdfg_programs::trusted;

use super::device::start::{runs, started};
use super::device::{interpreted, on_device, parsed, plan_of, planned, small_numbers, transformed};

/// Without enough memory of the device, a run ends with a status and the sizes, of which one is a part of a text, and the next run
/// succeeds.
pub(crate) fn memory_that_a_device_does_not_have_is_an_error_with_sizes(device: Device, part: &str) {
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
    let plan = plan_of(&program, device).unwrap_or_else(|error| panic!("{error}"));
    let library = device.load(&plan).unwrap_or_else(|error| panic!("{error}"));
    let run = |n: i64| {
        let mut arguments = Arguments::new().with_symbol("N", n);
        arguments.set("A", small_numbers([1], 1));
        trusted::run(&library, &mut arguments, None).map(|()| arguments)
    };
    let text = run(1 << 40).map(|_| ()).expect_err("no memory").to_string();
    assert!(text.contains("the device has no 8796093022208 bytes (") && text.contains(part), "{text}");
    let results = run(4).unwrap_or_else(|error| panic!("{error}"));
    let found = results.get("A").and_then(|tensor| tensor.values().next());
    assert_eq!(found, Some(sdfg::value::Value::F64(3.0)));
}

/// Several instances of several libraries begin at once in one process, and give the results of the interpreter.
pub(crate) fn instances_that_begin_at_once(device: Device) -> Result<(), String> {
    const INSTANCES: usize = 6;
    let program = planned("blocks");
    let plan = plan_of(&program, device).unwrap_or_else(|error| panic!("{error}"));
    let mut given = Arguments::new().with_symbol("N", 8);
    for (name, factor) in [("A", 3), ("B", 5), ("C", 2)] {
        given.set(name, small_numbers([8, 8], factor));
    }
    let expected = interpreted(&program, &given);
    let ready = std::sync::Barrier::new(INSTANCES);
    let one = || {
        let library = device.load(&plan);
        ready.wait();
        let mut found = given.clone();
        trusted::run(&library?, &mut found, None).map_err(|error| error.to_string())?;
        Ok::<_, String>(found)
    };
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..INSTANCES).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for found in all {
        assert_eq!(expected.get("C"), found?.get("C"));
    }
    Ok(())
}

/// The device measures kernels and copies, and the table has the bytes and operations that they reach.
pub(crate) fn kernels_and_copies_are_measured_by_the_device(device: Device) {
    const N: i64 = 1000;
    const RUNS: usize = 3;
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
    let plan = lower(&program, &device.target(), &options).unwrap_or_else(|error| panic!("{error}"));
    let library = device.load(&plan).unwrap_or_else(|error| panic!("{error}"));
    let (mut a, mut b) = (small_numbers([N], 3), small_numbers([N], 1));
    let call = library.call().symbol("N", N).tensor("A", &mut a).tensor("B", &mut b);
    let mut call = call.prepare().unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..RUNS {
        trusted::run_prepared(&mut call).unwrap_or_else(|error| panic!("{error}"));
    }
    let table = call.profile(ProfileFormat::Table).expect("memory");
    // `A` is copied to the device, and the caller's memory of `B` in both directions.
    let expected = [
        // Tests give the kernel indices of 64 bits.
        ("kernel", "measured_m_wide", 1, 16 * N, Some(2 * N)),
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

/// Rows of parts of arrays go to the device, on it, and back, between memories whose rows lie at different distances.
pub(crate) fn rows_of_parts_are_copied(device: Device) {
    let program = parsed(
        "sdfg parts {
  symbol N: i64
  array A: f64[N, 9]
  array B: f64[7, N]
  transient array T: f64[4, 5] storage(gpu_global)
  transient array U: f64[6, 7] storage(gpu_global)
  state s {
    access A
    access T
    access U
    access B
    A -> T: A[1:5, 2:6] -> T[0:4, 1:5]
    T -> U: T[0:4, 1:5] -> U[2:6, 3:7]
    U -> B: U[2:6, 3:7] -> B[3:7, 1:5]
  }
}",
    );
    let mut given = Arguments::new().with_symbol("N", 8);
    given.set("A", small_numbers([8, 9], 5));
    given.set("B", small_numbers([7, 8], 3));
    let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
    assert_eq!(expected.get("B"), found.get("B"));
}

/// Maps over ranges that the program sets become kernels, whose data has the extents of its containers on the device.
pub(crate) fn ranges_that_the_program_sets_become_kernels(device: Device) {
    let program = parsed(
        "sdfg ranges {
  symbol N: i64
  array A: f64[N]
  array W: i64[1]
  transient array T: f64[N]
  array B: f64[N]
  for steps: k = 0:3 {
    state before {}
    -> s with (L = W[0] + k)
    state s {
      access A
      access T
      access B
      map m [i = k:L] {
        tasklet t (x) -> (y) { y = 2.0 * x }
        m.A -> t.x: A[i]
        t.y -> m.T: T[i]
      }
      map n [i = k:L] {
        tasklet u (x, z) -> (y) { y = x + z }
        n.T -> u.x: T[i]
        n.A -> u.z: A[L - 1 - i + k]
        u.y -> n.B: B[i]
      }
      A -> m.A
      m.T -> T
      T -> n.T
      A -> n.A
      n.B -> B
    }
  }
}",
    );
    let (program, kernels) = transformed(program.sdfg());
    assert_eq!(kernels, 2);
    // No iterations, some, and all.
    for last in [0, 3, 6] {
        let mut given = Arguments::new().with_symbol("N", 8);
        given.set("A", small_numbers([8], 3));
        given.set("B", small_numbers([8], 2));
        let words = i64::to_le_bytes(last).to_vec();
        let word = sdfg::tensor::Tensor::from_bytes(sdfg::dtype::ScalarType::I64.into(), vec![1], words);
        given.set("W", word.unwrap_or_else(|error| panic!("{error}")));
        let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
        assert_eq!(expected.get("B"), found.get("B"), "{last}");
    }
}

/// Code of the host has memory for transients in storage `register`.
pub(crate) fn registers_of_the_host_are_its_memory(device: Device) {
    let program = parsed(
        "sdfg registers {
  symbol N: i64
  array A: f64[N]
  transient scalar r: f64 storage(register)
  transient array R: f64[N] storage(register)
  array B: f64[N] storage(gpu_global)
  state first {
    access A
    access r
    access R
    tasklet t (x) -> (y) { y = 3.0 * x }
    A -> t.x: A[0]
    t.y -> r
    map h [i = 0:N] {
      tasklet v (x, z) -> (y) { y = x + z }
      h.A -> v.x: A[i]
      h.r -> v.z: r
      v.y -> h.R: R[i]
    }
    A -> h.A
    r -> h.r
    h.R -> R
  }
  state second {
    access R
    access B
    R -> B
  }
  state third {
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (x) -> (y) { y = 2.0 * x }
      m.B -> t.x: B[i]
      t.y -> m.B: B[i]
    }
    access C = B
    B -> m.B
    m.B -> C
  }
}",
    );
    let mut given = Arguments::new().with_symbol("N", 6);
    given.set("A", small_numbers([6], 3));
    given.set("B", small_numbers([6], 2));
    let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
    assert_eq!(expected.get("B"), found.get("B"));
}

/// A transient of an iteration in storage `gpu_global` is refused with its reason.
pub(crate) fn memory_of_the_device_for_each_iteration_is_refused(device: Device) {
    let program = parsed(
        "sdfg own {
  array A: f64[4] storage(gpu_global)
  transient array T: f64[2] storage(gpu_global)
  state s {
    access A
    map m [i = 0:4] schedule(gpu_grid) {
      access T
      tasklet t () -> (y) { y = 1.0 }
      tasklet u (x) -> (y) { y = x }
      t.y -> T: T[0]
      T -> u.x: T[0]
      u.y -> m.A: A[i]
    }
    m.A -> A
  }
}",
    );
    let text = plan_of(&program, device).map(|_| ()).expect_err("it is refused").to_string();
    assert!(text.contains("`T` in storage `gpu_global`, of which each iteration has one"), "{text}");
}

/// Streams of another device and kernels that fail have messages.
pub(crate) fn failures_of_started_runs_are_told(device: Device) {
    runs(&started(), "errors.c", &[], device);
}

/// An argument whose strides reach further than its size says is copied to the device and back up to its last element.
pub(crate) fn arguments_are_lent_up_to_their_last_element(device: Device) {
    let program = parsed(
        "sdfg reaches {
  symbol N: i64
  symbol S: i64
  array A: f64[N] strides(S) size(N) storage(gpu_global)
  state s {
    access A
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (x) -> (y) { y = 2.0 * x }
      m.A -> t.x: A[i]
      t.y -> m.A: A[i]
    }
    access B = A
    A -> m.A
    m.A -> B
  }
}",
    );
    runs(&program, "reaches.c", &[], device);
}
