//! The smallest program for every trap.

use super::{Options, Order, RunError, run_with, trap};
use crate::tensor::Tensor;
use crate::{ArgumentError, Arguments, Interpreter, TrapKind};

fn vector(name: &str, n: usize) -> Arguments {
    Arguments::new().with(name, Tensor::vector(&vec![1.0_f64; n]))
}

/// A map over `range` that writes `target` from `source`, both subsets of `A`.
fn copy_in_map(range: &str, source: &str, target: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N]
  state s {{
    access a = A
    access b = A
    map m [i = {range}] {{
      tasklet t (x) -> (y) {{ y = x }}
      m.A -> t.x: A[{source}]
      t.y -> m.A: A[{target}]
    }}
    a -> m.A
    m.A -> b
  }}
}}"
    )
}

#[test]
fn out_of_bounds() {
    let source = "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access A
    map m [i = 0:K] {
      tasklet t () -> (y) { y = 0.0 }
      order m -> t
      t.y -> m.A: A[i]
    }
    order A0 -> m
    access A0 = A
    m.A -> A
  }
}";
    let source = source
        .replace("  symbol N: i64", "  symbol N: i64\n  symbol K: i64")
        .replace("    order A0 -> m\n    access A0 = A\n", "");
    let found = trap(&source, vector("A", 4).with_symbol("K", 5));
    assert_eq!(found, TrapKind::OutOfBounds { container: "A".into(), index: vec![4], shape: vec![4] });
}

#[test]
fn pointer_out_of_its_subset() {
    let source = "sdfg p {
  symbol N: i64
  symbol k: i64
  array A: f64[N]
  state s {
    access A
    access b = A
    tasklet t (x) -> (y) { y = x[k] }
    A -> t.x: A[1:3]
    t.y -> b: A[0]
  }
}";
    let found = trap(source, vector("A", 4).with_symbol("k", 2));
    assert_eq!(found, TrapKind::OutOfBounds { container: "A".into(), index: vec![2], shape: vec![2] });
}

#[test]
fn undefined_read() {
    let source = "sdfg p {
  array A: f64[4]
  transient array T: f64[4]
  state s {
    access T
    access A
    tasklet w () -> (y) { y = 1.0 }
    w.y -> T: T[1]
    T -> A: T[1:3] -> A[0:2]
  }
}";
    let found = trap(source, vector("A", 4));
    assert_eq!(found, TrapKind::UndefinedRead { container: "T".into(), index: vec![2] });
}

#[test]
fn conflicts() {
    let accesses =
        |source: &str, target: &str| match trap(&copy_in_map("0:N - 1", source, target), vector("A", 4)) {
            TrapKind::Conflict { first, second, .. } => {
                let mut memlets = [first.memlet, second.memlet];
                memlets.sort();
                memlets
            }
            other => panic!("{other}"),
        };
    assert_eq!(accesses("i", "i + 1"), ["A[i + 1]", "A[i]"]);
    assert_eq!(accesses("i + 1", "i"), ["A[i + 1]", "A[i]"]);
}

#[test]
fn unordered_nodes_conflict() {
    let source = "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    access b = A
    tasklet t () -> (y) { y = 1.0 }
    tasklet u () -> (y) { y = 2.0 }
    t.y -> a: A[1]
    u.y -> b: A[1]
  }
}";
    assert!(matches!(trap(source, vector("A", 4)), TrapKind::Conflict { index, .. } if index == [1]));
    let ordered = source.replace("u.y -> b: A[1]", "u.y -> b: A[1]\n    order t -> u");
    super::run(&ordered, vector("A", 4));
}

#[test]
fn conflict_with_a_resolved_write() {
    let source = "sdfg p {
  symbol N: i64
  array A: f64[N]
  scalar s: f64
  state main {
    access A
    access r = s
    access w = s
    map m [i = 0:N] {
      tasklet t (x, o) -> (y) { y = x + o }
      m.A -> t.x: A[i]
      m.s -> t.o: s
      t.y -> m.s: s wcr(sum)
    }
    A -> m.A
    r -> m.s
    m.s -> w
  }
}";
    let arguments = vector("A", 3).with("s", Tensor::scalar(0.0));
    assert!(matches!(trap(source, arguments), TrapKind::Conflict { .. }));
}

#[test]
fn deadlock() {
    let source = "sdfg p {
  array A: f64[4]
  transient stream S: f64[2]
  state main {
    access S
    access A
    tasklet t (x) -> (y) { y = x }
    S -> t.x: S[1]
    t.y -> A: A[0]
  }
}";
    let found = trap(source, vector("A", 4));
    let TrapKind::Deadlock { waiting } = &found else { panic!("{found}") };
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].to_string(), "p/main/t waits for an element in queue 1 of `S`");
}

#[test]
fn full_queue_deadlocks() {
    let source = "sdfg p {
  symbol N: i64
  array A: f64[N]
  transient stream S: f64 capacity(2)
  state main {
    access A
    access S
    A -> S: A[0:N] -> S
  }
}";
    super::run(source, vector("A", 2));
    let found = trap(source, vector("A", 3));
    assert!(matches!(&found, TrapKind::Deadlock { waiting } if waiting[0].to_push), "{found}");
}

#[test]
fn index_overflow() {
    let source = "sdfg p {
  symbol N: i64
  symbol K: i64
  array A: f64[N]
  state s {
    access A
    tasklet t () -> (y) { y = 0.0 }
    t.y -> A: A[K * K]
  }
}";
    let found = trap(source, vector("A", 4).with_symbol("K", 1 << 40));
    assert_eq!(found, TrapKind::IndexOverflow);
}

#[test]
fn missing_output() {
    let source = "sdfg p {
  array A: f64[4]
  state s {
    access a = A
    access A
    tasklet t (x) -> (y) {
      if x > 5.0:
          y = x
    }
    a -> t.x: A[0]
    t.y -> A: A[1]
  }
}";
    assert_eq!(trap(source, vector("A", 4)), TrapKind::MissingOutput { connector: "y".into() });
    let optional = source.replace("A: A[1]", "A: A[1] atmost(1)");
    assert_eq!(super::run(&optional, vector("A", 4)), vector("A", 4));
}

#[test]
fn outside_declared_memlet() {
    let source = copy_in_map("0:N", "i", "i").replace("a -> m.A", "a -> m.A: A[0:2]");
    let found = trap(&source, vector("A", 4));
    assert!(matches!(found, TrapKind::OutsideDeclared { index, .. } if index == [2]));
}

#[test]
fn unreachable_memory() {
    let source = copy_in_map("0:N", "i", "i").replace("[i = 0:N]", "[i = 0:N] schedule(gpu_grid)");
    let parsed = sdfg_graph::text::parse("test.sdft", &source).unwrap();
    // Validation foresees this one.
    let mut interpreter = Interpreter::of(&parsed).unwrap();
    let refused = interpreter.run(&mut vector("A", 4), &Options::default()).unwrap_err();
    assert!(
        matches!(&refused.trap().unwrap().kind, TrapKind::UnreachableMemory { container } if container == "A")
    );
}

#[test]
fn each_memory_has_its_code() {
    // Where the container lies, the schedule around the tasklet, and whether it may read there.
    let cases = [
        ("cpu_heap", "sequential", true),
        ("cpu_heap", "gpu_grid", false),
        ("cpu_pinned", "sequential", true),
        ("cpu_pinned", "gpu_grid", true),
        ("gpu_global", "sequential", false),
        ("gpu_global", "cpu_multicore", false),
        ("gpu_global", "gpu_grid", true),
    ];
    for (storage, schedule, is_reached) in cases {
        let source = copy_in_map("0:N", "i", "i")
            .replace("f64[N]", &format!("f64[N] storage({storage})"))
            .replace("[i = 0:N]", &format!("[i = 0:N] schedule({schedule})"));
        let parsed = sdfg_graph::text::parse("test.sdft", &source).unwrap();
        let found = Interpreter::of(&parsed).unwrap().run(&mut vector("A", 4), &Options::default());
        let trap = found.as_ref().err().and_then(|error| error.trap()).map(|trap| &trap.kind);
        let unreachable = TrapKind::UnreachableMemory { container: "A".into() };
        assert_eq!(trap, (!is_reached).then_some(&unreachable), "{storage} {schedule}");
        assert_eq!(sdfg_validate::validate(parsed).is_ok(), is_reached, "{storage} {schedule}");
    }
}

#[test]
fn control_flow_reads_every_memory() {
    let source = "sdfg p {
  scalar s: i64 storage(gpu_global)
  scalar r: i64
  state a { }
  -> b if s > 0 with (k = 2 * s)
  state b {
    access r
    tasklet t () -> (o) { o = k }
    t.o -> r
  }
}";
    for storage in ["gpu_global", "fpga_global", "cpu_pinned", "cpu_heap"] {
        let arguments = Arguments::new().with("s", Tensor::scalar(3_i64)).with("r", Tensor::scalar(0_i64));
        let found = super::run(&source.replace("gpu_global", storage), arguments);
        assert_eq!(found.get("r").unwrap().to_vec::<i64>().unwrap(), [6], "{storage}");
    }
}

#[test]
fn step_limit() {
    let source = "sdfg p {
  array A: f64[4]
  while forever: True {
    state s { }
  }
}";
    assert!(matches!(trap(source, vector("A", 4)), TrapKind::StepLimit { .. }));
}

#[test]
fn wrong_arguments() {
    let source = copy_in_map("0:N", "i", "i");
    let refused = |arguments: Arguments| match run_with(&source, &mut arguments.clone(), &Options::default())
    {
        Err(RunError::Arguments(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(Arguments::new()), ArgumentError::Missing { .. }));
    assert!(matches!(refused(vector("B", 2)), ArgumentError::Unknown { .. }));
    assert!(matches!(
        refused(Arguments::new().with("A", Tensor::vector(&[1.0_f32]))),
        ArgumentError::WrongElement { .. }
    ));
    assert!(matches!(
        refused(Arguments::new().with("A", Tensor::new(&[1, 1], &[1.0]).unwrap())),
        ArgumentError::WrongRank { expected: 1, found: 2, .. }
    ));
    assert!(matches!(refused(vector("A", 2).with_symbol("N", 3)), ArgumentError::WrongExtent { .. }));
}

#[test]
fn without_conflict_checks_anything_goes() {
    let source = copy_in_map("0:N - 1", "i", "i + 1");
    let options = Options { check_conflicts: false, order: Order::Fixed, ..Options::default() };
    assert!(run_with(&source, &mut vector("A", 4), &options).is_ok());
}

#[test]
fn conflicts_name_both_iterations() {
    let source = "sdfg p {
  symbol N: i64
  array A: f64[N]
  state s {
    access a = A
    access b = A
    map o [i = 0:2, k = i:2] {
      map m [j = 2:N:2] {
        tasklet t (x) -> (y) { y = x }
        m.A -> t.x: A[j + i]
        t.y -> m.A: A[j + i - 2 * k]
      }
      o.A -> m.A
      m.A -> o.A
    }
    a -> o.A
    o.A -> b
  }
}";
    for order in [Order::Fixed, Order::Random(3), Order::Random(4)] {
        let options = Options { order, ..Options::default() };
        let error = run_with(source, &mut vector("A", 6), &options).unwrap_err();
        let TrapKind::Conflict { first, second, index, .. } = &error.trap().unwrap().kind else {
            panic!("{error}");
        };
        for accessor in [first, second] {
            let value = |name: &str| accessor.iteration.iter().find(|(n, _)| n == name).unwrap().1;
            let (i, k, j) = (value("i"), value("k"), value("j"));
            let element = if accessor.writes { j + i - 2 * k } else { j + i };
            assert_eq!(vec![element], *index, "{error}");
            assert_eq!(accessor.path.to_string().split('/').nth(1), Some("s"));
        }
        assert_ne!(first.iteration, second.iteration, "{error}");
        assert_eq!(error.trap().unwrap().iteration, second.iteration);
    }
}

#[test]
fn traps_tell_their_iteration() {
    let source = copy_in_map("1:N", "i", "2 * i - 1");
    let error =
        run_with(&source, &mut vector("A", 4), &Options { check_conflicts: false, ..Options::default() })
            .unwrap_err();
    assert_eq!(error.trap().unwrap().iteration, [("i".to_owned(), 3)], "{error}");
    assert!(error.to_string().ends_with(", with i = 3"), "{error}");
}

#[test]
fn limits_of_memory_and_code() {
    let source = "sdfg p {
  symbol N: i64
  array A: f64[4]
  transient stream S: f64
  state s {
    access A
    access S
    tasklet t (x) -> (s) {
      for i in range(N):
          s = x
    }
    A -> t.x: A[0]
    t.s -> S: S dynamic
  }
}";
    let run = |n: i64, options: Options<'_>| {
        run_with(source, &mut vector("A", 4).with_symbol("N", n), &options)
            .map_err(|error| error.trap().unwrap().kind.clone())
    };
    let limited = Options { memory_limit: 8000, ..Options::default() };
    assert!(run(800, limited).is_ok());
    assert_eq!(run(1000, limited).unwrap_err(), TrapKind::MemoryLimit { limit: 8000 });
    let limited = Options { step_limit: Some(50), ..Options::default() };
    assert!(run(40, limited).is_ok());
    assert_eq!(run(60, limited).unwrap_err(), TrapKind::StepLimit { limit: 50 });
    let source = "sdfg p {
  symbol N: i64
  array A: f64[4]
  transient array T: f64[N]
  state s {
    access A
    access T
    A -> T: A[0] -> T[0]
    T -> B: T[0] -> A[1]
    access B = A
  }
}";
    let limited = Options { memory_limit: 1 << 20, ..Options::default() };
    let error = run_with(source, &mut vector("A", 4).with_symbol("N", 1 << 20), &limited).unwrap_err();
    assert!(matches!(error.trap().unwrap().kind, TrapKind::OutOfMemory { .. }), "{error}");
    assert!(run_with(source, &mut vector("A", 4).with_symbol("N", 1 << 10), &limited).is_ok());
}
