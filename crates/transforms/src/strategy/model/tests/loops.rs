//! Tests of loops with unknown trip counts, and of jumps.

use std::collections::BTreeMap;

use sdfg::symbolic::Symbol;

use super::program;
use crate::strategy::model::{Machine, Model, ModelError, ModelOptions};
use crate::strategy::{Operations, Problem};

/// Halves an array until something that data decide; in a nested SDFG it is called once for each of three steps.
const CONVERGING: &str = "sdfg outer {
  array A: f64[12]
  for steps: t = 0:3 {
    state s {
      access before = A
      access after = A
      nested call (x) -> (x) sdfg inner {
        array x: f64[12]
        transient scalar e: f64
        state zero {
          access e
          tasklet f () -> (o) { o = 1.0 }
          f.o -> e
        }
        while converging: e > 0.1 {
          state half {
            access x
            access after = x
            map m [i = 0:12] {
              tasklet f (a) -> (b) { b = 0.5 * a }
              m.x -> f.a: x[i]
              f.b -> m.x: x[i]
            }
            x -> m.x
            m.x -> after
          }
          if small: e < 0.2 { break done }
          state measure {
            access x
            access e
            tasklet f (a) -> (o) { o = a }
            x -> f.a: x[0]
            f.o -> e
          }
        }
      }
      before -> call.x
      call.x -> after
    }
  }
}
";

fn told(text: &str, iterations: &[(&str, u64)]) -> Result<Model, ModelError> {
    let iterations: BTreeMap<String, u64> =
        iterations.iter().map(|(label, n)| ((*label).to_owned(), *n)).collect();
    let machine = Machine { ranks: 3, ..Machine::default() };
    let values: BTreeMap<Symbol, i64> = BTreeMap::new();
    Model::new(&program(text), &values, &machine, &ModelOptions { iterations, ..ModelOptions::default() })
}

#[test]
fn a_loop_that_does_not_count_runs_as_often_as_it_is_told() {
    for label in ["converging", "s.call.converging"] {
        let model = told(CONVERGING, &[(label, 7)]).expect("a model");
        let executions: Vec<u64> = (0..model.n_vertices()).map(|vertex| model.executions(vertex)).collect();
        assert_eq!(executions, [3, 21, 21]);
        let notes = [
            "s.call.done: a jump may skip what follows; all of it is counted",
            "s.call.small: which arm runs is not known; each is counted, every time",
        ];
        let mut found = model.approximations().to_vec();
        found.sort();
        assert_eq!(found, notes);
        // What is halved is halved next, measured, and, after whichever jump, halved by the next call.
        let edges: Vec<(usize, usize, u64)> = model
            .edges()
            .iter()
            .enumerate()
            .map(|(at, edge)| (edge.source, edge.target, model.times(at)))
            .collect();
        assert_eq!(edges, [(1, 1, 20), (1, 2, 21)]);
    }
    let never = told(CONVERGING, &[("converging", 0)]).expect("a model");
    assert_eq!((never.n_vertices(), never.edges().len()), (1, 0));
}

#[test]
fn without_being_told_the_loop_is_named() {
    let error = told(CONVERGING, &[]).expect_err("a loop that does not count").to_string();
    assert!(error.starts_with("s.call.converging: how often this loop runs is not known"), "{error}");
    assert!(error.contains("--iterations converging=N"), "{error}");
    let error = told(CONVERGING, &[("converging", 1), ("unknown", 2)]).expect_err("a loop").to_string();
    assert!(error.starts_with("there is no loop `unknown`"), "{error}");
    let many = told(CONVERGING, &[("converging", u64::MAX)]).expect_err("too many").to_string();
    assert!(many.contains("the number of iterations exceeds 2^53"), "{many}");
}

#[test]
fn a_loop_whose_count_changes_may_be_told_its_mean() {
    let text = "sdfg triangle {
  array A: f64[9]
  for rows: i = 0:9 {
    for columns: j = 0:i {
      state s {
        access A
        access after = A
        tasklet f (a) -> (b) { b = a }
        A -> f.a: A[i]
        f.b -> after: A[j]
      }
    }
  }
}
";
    let middle = told(text, &[]).expect("a model");
    assert_eq!(middle.executions(0), 36);
    let note = "columns: `max(0, i)` changes with a loop; its value in the middle is taken";
    assert!(middle.approximations().iter().any(|found| found == note), "{:?}", middle.approximations());
    assert_eq!(told(text, &[("columns", 3)]).expect("a model").executions(0), 27);
}

#[test]
fn ranges_that_change_with_a_loop_are_those_of_its_middle() {
    let text = "sdfg shrinking {
  array A: f64[9, 9]
  for rows: i = 0:9 {
    state s {
      access A
      access after = A
      map m [j = i:9] {
        tasklet f (a) -> (b) { b = 2.0 * a }
        m.A -> f.a: A[i, j]
        f.b -> m.after: A[i, j]
      }
      A -> m.A
      m.after -> after
    }
  }
}
";
    let model = told(text, &[]).expect("a model");
    assert_eq!((model.executions(0), model.domain(0)), (9, &[5][..]));
    assert!(!model.approximations().is_empty());
    // So are the extents of a container.
    let text =
        text.replace("array A: f64[9, 9]", "transient array A: f64[9, i + 1]").replace("A[i, j]", "A[j, 0]");
    let model = told(&text, &[]).expect("a model");
    let note = "container A: `i + 1` changes with a loop; its value in the middle is taken";
    assert!(model.approximations().iter().any(|found| found == note), "{:?}", model.approximations());
}

#[test]
fn loops_count_up_to_scalar_arguments_of_known_values() {
    let text = "sdfg steps {
  scalar n: i64
  array A: f64[9]
  for times: t = 0:n {
    state s {
      access A
      access after = A
      map m [i = 0:9] {
        tasklet f (a) -> (b) { b = 2.0 * a }
        m.A -> f.a: A[i]
        f.b -> m.after: A[i]
      }
      A -> m.A
      m.after -> after
    }
  }
}
";
    let of = |text: &str| {
        let values = BTreeMap::from([(Symbol::of("n"), 7)]);
        let machine = Machine { ranks: 3, ..Machine::default() };
        Model::new(&program(text), &values, &machine, &ModelOptions::default())
    };
    assert_eq!(of(text).expect("a model").executions(0), 7);
    // The value of a scalar that the program writes is not that of the caller.
    let written = text.replace(
        "state s {",
        "state w {
      access n
      tasklet g () -> (b) { b = 3 }
      g.b -> n: n
    }
    state s {",
    );
    assert!(matches!(of(&written), Err(ModelError::Uncounted { .. })));
}
