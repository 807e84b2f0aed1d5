//! Tests of layouts, lifetimes and aliases.

use sdfg_language::dtype::ScalarType;

use super::{Options, Order, program, run};
use crate::tensor::Tensor;
use crate::{Arguments, Interpreter, RunError, TrapKind};

#[test]
fn arguments_with_strides_keep_their_elements() {
    let source = "sdfg s {
  array A: i32[2, 3] strides(1, 4) offset(1) size(12)
  array B: i32[3, 2]
  state main {
    access A
    access B
    access C = A
    map m [i = 0:2, j = 0:3] {
      tasklet t (a) -> (b, c) { b = a
c = 10 * a }
      m.A -> t.a: A[i, j]
      t.b -> m.B: B[j, i]
      t.c -> m.A: A[i, j]
    }
    A -> m.A
    m.B -> B
    m.A -> C
  }
}";
    let arguments = Arguments::new()
        .with("A", Tensor::new(&[2, 3], &[1, 2, 3, 4, 5, 6]).unwrap())
        .with("B", Tensor::new(&[3, 2], &[0_i32; 6]).unwrap());
    let found = run(source, arguments);
    assert_eq!(found.get("A"), Some(&Tensor::new(&[2, 3], &[10, 20, 30, 40, 50, 60]).unwrap()));
    assert_eq!(found.get("B"), Some(&Tensor::new(&[3, 2], &[1, 4, 2, 5, 3, 6]).unwrap()));
}

#[test]
fn persistent_transients_keep_their_size() {
    let source = "sdfg p {
  symbol N: i64
  array A: i64[N]
  transient array kept: i64[N] lifetime(persistent)
  state s {
    access A
    access kept
    A -> kept
  }
}";
    let program = program(source);
    let mut interpreter = Interpreter::new(&program).unwrap();
    let mut run = |n: i64| {
        let mut arguments =
            Arguments::new().with("A", Tensor::zeros(ScalarType::I64.into(), vec![n]).unwrap());
        arguments.set_symbol("N", n);
        interpreter.run(&mut arguments, &Options::default())
    };
    run(4).unwrap();
    run(4).unwrap();
    let RunError::Trap(trap) = run(2).unwrap_err() else { panic!("it traps") };
    let (kept, found) = (vec![4], vec![2]);
    assert_eq!(trap.kind, TrapKind::PersistentSize { container: "kept".to_owned(), kept, found });
}

#[test]
fn persistent_transients_last_from_run_to_run() {
    let source = "sdfg p {
  symbol first: i64
  scalar out: i64
  transient scalar kept: i64 lifetime(persistent)
  state begin { }
  -> clear if first == 1
  -> count
  state clear {
    access kept
    tasklet zero () -> (k) { k = 0 }
    zero.k -> kept
  }
  state count {
    access old = kept
    access new = kept
    access out
    tasklet add (a) -> (b, o) { b = a + 1
o = a + 1 }
    old -> add.a
    add.b -> new
    add.o -> out
  }
}";
    let validated = program(source);
    let mut interpreter = Interpreter::new(&validated).unwrap();
    let mut results = Vec::new();
    for first in [1, 0, 0] {
        let mut arguments = Arguments::new().with("out", Tensor::scalar(0_i64)).with_symbol("first", first);
        interpreter.run(&mut arguments, &Options::default()).unwrap();
        results.extend(arguments.get("out").unwrap().to_vec::<i64>().unwrap());
    }
    assert_eq!(results, [1, 2, 3]);
}

#[test]
fn references_keep_their_target() {
    let source = "sdfg r {
  symbol T: i64
  array A: f64[4]
  array B: f64[4]
  reference R: f64[4]
  state init {
    access A
    access R
    bind A -> R: A[0:4]
  }
  for l: t = 0:T {
    state write {
      access R
      map m [i = 0:4] {
        tasklet set () -> (o) { o = t + 1 }
        order m -> set
        set.o -> m.R: R[i]
      }
      m.R -> R
    }
    -> next if t == 1
    -> last
    state next {
      access B
      access R
      bind B -> R: B[0:4]
    }
    state last { }
  }
}";
    let source = source.replace("        order m -> set\n", "");
    let arguments =
        Arguments::new().with("A", Tensor::vector(&[0.0; 4])).with("B", Tensor::vector(&[0.0; 4]));
    let found = run(&source, arguments.with_symbol("T", 4));
    assert_eq!(found.get("A").unwrap().to_vec::<f64>().unwrap(), [2.0; 4]);
    assert_eq!(found.get("B").unwrap().to_vec::<f64>().unwrap(), [4.0; 4]);
}

#[test]
fn runs_are_independent_after_a_trap() {
    let source = "sdfg q {
  symbol N: i64
  array A: f64[N]
  state s {
    access a = A
    access b = A
    tasklet t (x) -> (y) { y = x }
    a -> t.x: A[1]
    t.y -> b: A[0]
  }
}";
    let validated = program(source);
    let mut interpreter = Interpreter::new(&validated).unwrap();
    let mut short = Arguments::new().with("A", Tensor::vector(&[1.0]));
    assert!(interpreter.run(&mut short, &Options::default()).is_err());
    assert_eq!(short.get("A"), Some(&Tensor::vector(&[1.0])));
    let mut long = Arguments::new().with("A", Tensor::vector(&[1.0, 2.0]));
    interpreter.run(&mut long, &Options { order: Order::Random(3), ..Options::default() }).unwrap();
    assert_eq!(long.get("A"), Some(&Tensor::vector(&[2.0, 2.0])));
}
