//! Tests of programs with streams.

use super::run;
use crate::tensor::Tensor;
use crate::{Arguments, TrapKind};

#[test]
fn fibonacci_by_consume() {
    let source = "sdfg fibonacci {
  symbol P: i64
  scalar n: i64
  scalar out: i64
  transient stream S: i64
  state main {
    access n
    access S
    access out
    n -> S
    consume work [p = 0:P] {
      tasklet fib (v) -> (o, s) {
        if v < 2:
            o = v
        else:
            s = v - 1
            s = v - 2
      }
      work.stream -> fib.v: S
      fib.o -> work.out: out wcr(sum) atmost(1)
      fib.s -> work.S: S dynamic
    }
    S -> work.stream
    work.out -> out
    access S1 = S
    work.S -> S1
  }
}";
    let arguments = Arguments::new()
        .with("n", Tensor::scalar(12_i64))
        .with("out", Tensor::scalar(0_i64))
        .with_symbol("P", 4);
    assert_eq!(run(source, arguments).get("out").unwrap().to_vec::<i64>().unwrap(), [144]);
}

#[test]
fn systolic_chain() {
    let source = "sdfg systolic {
  symbol N: i64
  symbol P: i64
  array A: f64[N]
  array B: f64[N]
  transient stream pipe: f64[P + 1] capacity(2)
  state main {
    access A
    access B
    access first = pipe
    access last = pipe
    access taken = pipe
    access given = pipe
    A -> first: A[0:N] -> pipe[0]
    last -> B: pipe[P] -> B[0:N]
    map elements [p = 0:P] {
      map times [k = 0:N] {
        tasklet pe (x) -> (y) { y = x + p }
        times.pipe -> pe.x: pipe[p]
        pe.y -> times.pipe: pipe[p + 1]
      }
      elements.pipe -> times.pipe
      times.pipe -> elements.pipe
    }
    taken -> elements.pipe
    elements.pipe -> given
  }
}";
    let source = source.replace("map times [k = 0:N] {", "map times [k = 0:N] schedule(sequential) {");
    let values: Vec<f64> = (0..7).map(f64::from).collect();
    let arguments = Arguments::new()
        .with("A", Tensor::vector(&values))
        .with("B", Tensor::vector(&[0.0; 7]))
        .with_symbol("P", 4);
    let mut found = run_sorted(&source, arguments);
    found.sort_by(f64::total_cmp);
    assert_eq!(found, values.iter().map(|v| v + 6.0).collect::<Vec<_>>());
}

/// Results whose order the order of pushes decides.
fn run_sorted(source: &str, arguments: Arguments) -> Vec<f64> {
    let mut results = Vec::new();
    for order in [super::Order::Fixed, super::Order::Random(1), super::Order::Random(7)] {
        let mut arguments = arguments.clone();
        let options = super::Options { order, ..super::Options::default() };
        super::run_with(source, &mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
        let mut result = arguments.get("B").unwrap().to_vec::<f64>().unwrap();
        result.sort_by(f64::total_cmp);
        results.push(result);
    }
    assert!(results.iter().all(|result| *result == results[0]));
    results.remove(0)
}

#[test]
fn query_pushes_what_it_finds_and_drains() {
    let source = "sdfg query {
  symbol N: i64
  array column: f64[N]
  array B: f64[N]
  scalar size: i64
  transient stream S: f64
  state main {
    access column
    access S
    access B
    access size
    map rows [i = 0:N] {
      tasklet filter (x) -> (s, n) {
        if x > 0.5:
            s = x
            n = 1
      }
      rows.column -> filter.x: column[i]
      filter.s -> rows.S: S dynamic
      filter.n -> rows.size: size wcr(sum) atmost(1)
    }
    column -> rows.column
    rows.S -> S
    rows.size -> size
    S -> B: S -> B[0:N] dynamic
  }
}";
    let column = [0.25, 0.75, 1.0, 0.5, 0.625];
    let arguments = Arguments::new()
        .with("column", Tensor::vector(&column))
        .with("B", Tensor::vector(&[0.0; 5]))
        .with("size", Tensor::scalar(0_i64));
    assert_eq!(run_sorted(source, arguments), [0.0, 0.0, 0.625, 0.75, 1.0]);
}

#[test]
fn a_condition_ends_consumption() {
    let source = "sdfg c {
  scalar count: i64
  transient stream S: i64
  state main {
    access seed_stream = S
    access S
    access again = S
    access count
    tasklet seed () -> (s) { s = 1 }
    seed.s -> S: S
    consume work [p = 0:2] condition(count >= 5) {
      tasklet step (v) -> (s, n) { s = v + 1
n = 1 }
      work.stream -> step.v: S
      step.s -> work.S: S
      step.n -> work.count: count wcr(sum)
    }
    S -> work.stream
    work.S -> again
    work.count -> count
  }
}";
    let source = source.replace("    access seed_stream = S\n", "");
    let arguments = Arguments::new().with("count", Tensor::scalar(0_i64));
    assert_eq!(run(&source, arguments).get("count").unwrap().to_vec::<i64>().unwrap(), [5]);
}

#[test]
fn a_tasklet_takes_several_elements() {
    let source = "sdfg several {
  symbol N: i64
  array A: i64[2 * N]
  array B: i64[N]
  transient stream S: i64 capacity(3)
  transient stream T: i64
  state main {
    access A
    access S
    access taken = S
    access T
    access B
    A -> S: A[0:2 * N] -> S
    map pairs [i = 0:N] schedule(sequential) {
      tasklet t (v) -> (o) { o = 10 * v[0] + v[1] }
      pairs.S -> t.v: S volume(2)
      t.o -> pairs.T: T
    }
    taken -> pairs.S
    pairs.T -> T
    tasklet collect (all) -> (b) {
      for i in range(N):
          b[i] = all[i]
    }
    T -> collect.all: T volume(N)
    collect.b -> B: B[0:N]
  }
}";
    let values: Vec<i64> = (1..=6).collect();
    let arguments = || {
        Arguments::new()
            .with("A", Tensor::vector(&values))
            .with("B", Tensor::vector(&[0_i64; 3]))
            .with_symbol("N", 3)
    };
    // Which iteration takes which pair is not determined, nor whether pairs are neighbours.
    let mut fixed = arguments();
    super::run_with(source, &mut fixed, &super::Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let found = fixed.get("B").unwrap().to_vec::<i64>().unwrap();
    let digits = |all: &[i64]| {
        let mut digits: Vec<i64> = all.iter().flat_map(|x| [x / 10, x % 10]).collect();
        digits.sort_unstable();
        digits
    };
    assert_eq!(digits(&found), [1, 2, 3, 4, 5, 6]);
    let beyond = source.replace("v[1] }", "v[2] }");
    let error = super::run_with(&beyond, &mut arguments(), &super::Options::default()).unwrap_err();
    let expected = TrapKind::OutOfBounds { container: "S".into(), index: vec![2], shape: vec![2] };
    assert_eq!(error.trap().map(|trap| &trap.kind), Some(&expected));
}

#[test]
fn several_queues_are_used_in_turn() {
    let source = "sdfg turns {
  array A: i64[6]
  array B: i64[6]
  array C: i64[3]
  transient stream S: i64[2]
  state main {
    access A
    access S
    access B
    A -> S: A[0:6] -> S[0:2] volume(6)
    S -> B: S[1] -> B[0:3] volume(3)
    access C
    S -> C: S[0] -> C[0:3] atmost(2)
  }
}";
    let arguments = Arguments::new()
        .with("A", Tensor::vector(&[1_i64, 2, 3, 4, 5, 6]))
        .with("B", Tensor::vector(&[0_i64; 6]))
        .with("C", Tensor::vector(&[0_i64; 3]));
    let found = run(source, arguments);
    assert_eq!(found.get("B").unwrap().to_vec::<i64>().unwrap(), [2, 4, 6, 0, 0, 0]);
    assert_eq!(found.get("C").unwrap().to_vec::<i64>().unwrap(), [1, 3, 0]);
}

#[test]
fn lengths_of_queues_decide() {
    let source = "sdfg lengths {
  array A: i64[5]
  scalar out: i64
  transient stream S: i64[2]
  state fill {
    access A
    access S
    A -> S: A[0:5] -> S[1]
  }
  while l: len(S[1]) > 2 {
    state drop {
      access S
      access out
      tasklet t (v) -> (o) { o = v }
      S -> t.v: S[1]
      t.o -> out: out wcr(sum)
    }
  }
  -> count with (held = 100 * len(S[0]) + len(S[1]))
  state count {
    access out
    tasklet c () -> (o) { o = 1000 * held }
    c.o -> out: out wcr(sum)
  }
}";
    let arguments =
        Arguments::new().with("A", Tensor::vector(&[1_i64, 2, 3, 4, 5])).with("out", Tensor::scalar(0_i64));
    assert_eq!(run(source, arguments).get("out").unwrap().to_vec::<i64>().unwrap(), [2006]);
    let refused = |text: &str| {
        let changed = source.replace("len(S[1]) > 2", text);
        sdfg_validate::validate(sdfg_graph::text::parse("test.sdft", &changed).unwrap())
            .unwrap_err()
            .to_string()
    };
    assert!(refused("len(A) > 2").contains("`A` is no stream"));
    assert!(refused("len(S) > 2").contains("`S` has 1 dimensions and is indexed with 0"));
    assert!(refused("len(S[0], S[1]) > 2").contains("one argument"));
}

#[test]
fn a_condition_may_come_to_hold_without_an_element() {
    let source = "sdfg idle {
  array A: i64[4]
  transient stream S: i64
  transient scalar stop: i64
  scalar sum: i64
  state first {
    access stop
    tasklet zero () -> (o) { o = 0 }
    zero.o -> stop
  }
  state main {
    access A
    access S
    access sum
    access flag = stop
    A -> S: A[0:4] -> S
    consume work [p = 0:2] condition(stop > 0 and len(S) == 0) {
      tasklet add (v) -> (s) { s = v }
      work.stream -> add.v: S
      add.s -> work.sum: sum wcr(sum)
    }
    S -> work.stream
    work.sum -> sum
    tasklet end () -> (o) { o = 1 }
    end.o -> flag
  }
}";
    let arguments =
        Arguments::new().with("A", Tensor::vector(&[1_i64, 2, 3, 4])).with("sum", Tensor::scalar(0_i64));
    assert_eq!(run(source, arguments).get("sum").unwrap().to_vec::<i64>().unwrap(), [10]);
}
