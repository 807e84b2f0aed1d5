//! Tests of reductions under conditions with known smallest programs.

use std::convert::Infallible;

use sdfg_graph::ir::{BlockKind, NodeKind, Sdfg};
use sdfg_graph::text;
use sdfg_interpret::tensor::Tensor;
use sdfg_interpret::{Arguments, Interpreter, Options, TrapKind};
use sdfg_validate::{Validated, validate};

use super::{Minimized, candidates, minimize};

/// The example programs.
const PROGRAMS: [(&str, &str); 13] = [
    ("blas", include_str!("../../../../programs/blas.sdft")),
    ("branching", include_str!("../../../../programs/branching.sdft")),
    ("butterfly", include_str!("../../../../programs/butterfly.sdft")),
    ("fibonacci", include_str!("../../../../programs/fibonacci.sdft")),
    ("histogram", include_str!("../../../../programs/histogram.sdft")),
    ("jacobi2d", include_str!("../../../../programs/jacobi2d.sdft")),
    ("laplace", include_str!("../../../../programs/laplace.sdft")),
    ("mandelbrot", include_str!("../../../../programs/mandelbrot.sdft")),
    ("matmul", include_str!("../../../../programs/matmul.sdft")),
    ("query", include_str!("../../../../programs/query.sdft")),
    ("spmv", include_str!("../../../../programs/spmv.sdft")),
    ("systolic", include_str!("../../../../programs/systolic.sdft")),
    ("triangular_solve", include_str!("../../../../programs/triangular_solve.sdft")),
];

fn read(source: &str) -> Validated {
    validate(text::parse("test", source).unwrap()).unwrap()
}

fn reduced(program: &Validated, fails: impl Fn(&Sdfg) -> bool) -> Minimized {
    assert!(fails(program.sdfg()));
    minimize(program, None, |candidate| Ok::<_, Infallible>(fails(candidate.sdfg))).unwrap()
}

fn any_node(sdfg: &Sdfg, is_meant: impl Fn(&NodeKind) -> bool) -> bool {
    sdfg.states().flat_map(|(_, state)| state.nodes()).any(|(_, node)| is_meant(&node.kind))
}

fn resolutions(sdfg: &Sdfg) -> usize {
    let edges = sdfg.states().flat_map(|(_, state)| state.edges());
    edges.filter(|(_, edge)| edge.memlet.resolution().is_some()).count()
}

/// No step is left: each one loses the failure.
fn assert_minimal(program: &Validated, fails: impl Fn(&Sdfg) -> bool) {
    for smaller in candidates(program) {
        assert!(!fails(smaller.sdfg()), "a step is left:\n{}", text::print(smaller.sdfg()));
    }
}

#[test]
fn examples_shrink_to_what_is_asked_for() {
    type Condition = (&'static str, fn(&Sdfg) -> bool, usize, usize);
    let conditions: [Condition; 4] = [
        ("a map", |sdfg| any_node(sdfg, |kind| matches!(kind, NodeKind::MapEntry(_))), 2, 1),
        ("a tasklet", |sdfg| any_node(sdfg, |kind| matches!(kind, NodeKind::Tasklet(_))), 1, 1),
        ("a conflict resolution", |sdfg| resolutions(sdfg) > 0, 2, 1),
        ("a loop", |sdfg| sdfg.blocks().any(|(_, block)| matches!(block.kind, BlockKind::Loop(_))), 0, 1),
    ];
    let mut met = [0; 4];
    for (name, source) in PROGRAMS {
        let program = read(source);
        for (n, (what, fails, nodes, blocks)) in conditions.iter().enumerate() {
            if !fails(program.sdfg()) {
                continue;
            }
            met[n] += 1;
            let found = reduced(&program, fails);
            let printed = text::print(found.program.sdfg());
            let size = found.after;
            assert!(fails(found.program.sdfg()), "{name}: {what} is lost");
            assert!(size.nodes <= *nodes && size.blocks <= *blocks, "{name}, {what}: {size}\n{printed}");
            assert!(found.complete && size < found.before);
            assert_minimal(&found.program, fails);
            assert_eq!(text::print(reduced(&program, fails).program.sdfg()), printed, "{name}");
        }
    }
    assert!(met.iter().all(|met| *met >= 3), "{met:?}");
}

/// Two iterations write one element, behind a loop, a branch, an unrelated nested SDFG and a copy.
const RACE: &str = "
sdfg race {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  array half: f64[N]
  transient array copy: f64[N, N]
  state before {
    access A
    access copy
    A -> copy: A[0:N, 0:N] -> copy[0:N, 0:N]
  }
  for steps: t = 0:3 {
    if choice: t > 0 {
      state inner {
        access copy
        access half
        map cells [i = 0:N, j = 0:N] schedule(cpu_multicore) {
          tasklet t (a, b) -> (o) {
            s = exp(a)
            if a > b:
              s = s + 1.0
            o = s * b
          }
          cells.copy -> t.a: copy[i, j]
          cells.copy -> t.b: copy[j, i]
          t.o -> cells.half: half[i // 2]
        }
        copy -> cells.copy
        cells.half -> half
      }
    } else {
      state other {
        access B
        tasklet one () -> (o) { o = 1.0 }
        one.o -> B: B[0, 0]
      }
    }
  }
}
";

/// Whether a run traps with a conflict.
fn conflicts(sdfg: &Sdfg) -> bool {
    let program = validate(sdfg.clone()).unwrap();
    let mut arguments = Arguments::new();
    for (symbol, _) in sdfg.symbols() {
        arguments.set_symbol(symbol.as_str(), 4);
    }
    for (_, container) in sdfg.arguments() {
        let shape: Vec<i64> =
            container.shape().iter().map(|extent| extent.eval(&|_| Some(4)).unwrap()).collect();
        let bytes = vec![0; shape.iter().product::<i64>() as usize * container.element.size()];
        arguments.set(&container.name, Tensor::from_bytes(container.element, shape, bytes).unwrap());
    }
    let options = Options { step_limit: Some(10_000), ..Options::default() };
    let run = Interpreter::new(&program).unwrap().run(&mut arguments, &options);
    run.is_err_and(|error| error.trap().is_some_and(|trap| matches!(trap.kind, TrapKind::Conflict { .. })))
}

#[test]
fn a_conflict_is_found_in_one_map() {
    let program = read(RACE);
    let found = reduced(&program, conflicts);
    let printed = text::print(found.program.sdfg());
    assert!(conflicts(found.program.sdfg()));
    assert_minimal(&found.program, conflicts);
    // With a number of iterations that is known, validation would refuse it.
    assert_eq!((found.after.blocks, found.after.nodes, found.after.names), (1, 4, 2), "{printed}");
    insta::assert_snapshot!(printed, @r"
    sdfg race {
      symbol N: i64
      scalar half: f64

      state inner {
        access half
        map cells [j = 0:N] {
          tasklet t () -> (o) { o = 0 }
          t.o -> cells.half: half
          order cells -> t
        }
        cells.half -> half
      }
    }
    ");
}

#[test]
fn nested_programs_and_code_are_simplified_too() {
    let source = "
sdfg outer {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  state call {
    access A
    access B
    nested call (a) -> (b) with (K = N) sdfg inner {
      symbol K: i64
      array a: f64[K]
      array b: f64[K]
      transient scalar unused: i32
      state first {}
      state second {
        access a
        access b
        map all [i = 0:K] {
          tasklet t (x) -> (y) {
            z = x * 2.0
            for k in range(3):
              z += sqrt(x + float(k))
            y = z if x > 0.0 else -x
          }
          all.a -> t.x: a[i]
          t.y -> all.b: b[i]
        }
        a -> all.a
        all.b -> b
      }
    }
    A -> call.a: A[0:N]
    call.b -> B: B[0:N]
  }
}
";
    let program = read(source);
    let calls_root = |sdfg: &Sdfg| {
        sdfg.states().flat_map(|(_, state)| state.nodes()).any(|(_, node)| {
            matches!(&node.kind, NodeKind::Nested(nested) if text::print(&nested.sdfg).contains("sqrt("))
        })
    };
    let found = reduced(&program, calls_root);
    assert_minimal(&found.program, calls_root);
    insta::assert_snapshot!(text::print(found.program.sdfg()), @r"
    sdfg outer {
      state call {
        nested call () -> () sdfg inner {
          state second {
            tasklet t () -> () { z = sqrt(0) }
          }
        }
      }
    }
    ");
}

#[test]
fn the_caller_limits_and_ends_the_search() {
    let program = read(RACE);
    let mut asked = 0;
    let found = minimize(&program, Some(3), |_| {
        asked += 1;
        Ok::<_, Infallible>(false)
    });
    let found = found.unwrap();
    assert_eq!((asked, found.tries, found.complete), (3, 3, false));
    assert_eq!((found.before, text::print(found.program.sdfg())), (found.after, text::print(program.sdfg())));
    let stopped = minimize(&program, None, |candidate| {
        assert_eq!(text::print(candidate.sdfg), candidate.text);
        Err(candidate.step.to_owned())
    });
    assert_eq!(stopped.unwrap_err(), "without the state `before` and 4 more");
    let nothing = minimize(&program, None, |_| Ok::<_, Infallible>(true)).unwrap();
    assert_eq!(text::print(nothing.program.sdfg()), "sdfg race {}\n");
}
