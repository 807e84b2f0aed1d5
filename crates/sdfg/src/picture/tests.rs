//! Tests of pictures of a program with loops, scopes, branches and a nested SDFG: well formed, complete,
//! deterministic.

use sdfg_graph::ir::Sdfg;

use super::{dot, svg};

/// The smoothing of a field over time, its sum, and a branch on it.
const PROGRAM: &str = r#"
sdfg field {
  symbol N: i64
  symbol T: i64
  array A: f64[2, N] storage(cpu_heap)
  transient scalar total: f64

  for steps: t = 0:T {
    state step {
      access old = A
      access new = A
      map cells [i = 1:N - 1] schedule(cpu_multicore) {
        tasklet smooth (l, c, r) -> (o) { o = l - 2.0 * c + r }
        cells.A -> smooth.l: A[t % 2, i - 1]
        cells.A -> smooth.c: A[t % 2, i]
        cells.A -> smooth.r: A[t % 2, i + 1]
        smooth.o -> cells.A: A[(t + 1) % 2, i]
      }
      old -> cells.A
      cells.A -> new
    }
  }
  state sum {
    access A
    access total
    map all [i = 0:N] {
      tasklet add (a) -> (o) { o = a }
      all.A -> add.a: A[0, i]
      add.o -> all.total: total wcr(sum)
    }
    A -> all.A
    all.total -> total
  }
  if large: total > 1.0 {
    state scale {
      access before = A
      access after = A
      nested half (x) -> (x) sdfg inner {
        array x: f64[2]
        state main {
          access x_in = x
          access x_out = x
          tasklet t (a) -> (b) { b = a / 2.0 }
          x_in -> t.a: x[0]
          t.b -> x_out: x[0]
        }
      }
      before -> half.x: A[0:2, 0]
      half.x -> after: A[0:2, 0]
    }
  }
}
"#;

fn program() -> Sdfg {
    sdfg_graph::text::parse("field.sdft", PROGRAM).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// What a reader looks for, whichever picture it is; `<` is written in the way of the format.
const SHOWN: [&str; 9] = [
    "steps: t = 0; ",
    "cells [i = 1:N - 1]",
    "o = l - 2.0 * c + r",
    "A[t % 2, i - 1]",
    "wcr sum",
    "if total ",
    "b = a / 2.0",
    "total",
    "sum",
];

#[test]
fn everything_is_shown_and_always_the_same() {
    let program = program();
    let picture = svg::write(&program, &svg::Options::default());
    let source = dot::write(&program);
    for text in SHOWN {
        assert!(picture.contains(text), "no `{text}` in the SVG");
        assert!(source.contains(text), "no `{text}` in the Graphviz source");
    }
    assert_eq!(picture, svg::write(&program.clone(), &svg::Options::default()));
    assert_eq!(source, dot::write(&program.clone()));
    assert!(picture.contains("stroke-dasharray=\"6,3\""), "conflict resolutions are dashed");
    assert!(source.contains("style=dashed"), "conflict resolutions are dashed");
}

#[test]
fn markup_is_balanced_and_finite() {
    let picture = svg::write(&program(), &svg::Options::default());
    for element in ["svg", "text", "defs", "marker", "title"] {
        let (opened, closed) = (format!("<{element}"), format!("</{element}>"));
        assert_eq!(picture.matches(&opened).count(), picture.matches(&closed).count(), "{element}");
    }
    assert!(!picture.contains("NaN") && !picture.contains("inf"), "a coordinate is not finite");
    assert!(picture.contains("t &lt; T") && !picture.contains("t < T"));
    let source = dot::write(&program());
    assert_eq!(source.matches('{').count(), source.matches('}').count());
}

#[test]
fn boxes_below_the_depth_are_closed_and_say_what_they_hold() {
    let at = |depth| svg::write(&program(), &svg::Options { depth });
    let shown = |depth, text: &str| assert!(at(depth).contains(text), "no `{text}` at depth {depth}");
    let hidden = |depth, text: &str| assert!(!at(depth).contains(text), "`{text}` at depth {depth}");
    shown(0, "steps: t = 0; ");
    shown(0, "1 state, 5 nodes");
    hidden(0, "cells [i = 1:N - 1]");
    // The loop is open, its state is closed.
    shown(1, ">step<");
    hidden(1, "cells [i = 1:N - 1]");
    // The state is open, its map is closed.
    shown(2, "cells [i = 1:N - 1]");
    shown(2, ">1 node<");
    hidden(2, "o = l - 2.0 * c + r");
    shown(3, "o = l - 2.0 * c + r");
    // The branch, its state, the nested program and the state in it.
    hidden(3, "b = a / 2.0");
    shown(4, "b = a / 2.0");
    assert_eq!(at(5), svg::write(&program(), &svg::Options::default()));
}

#[test]
fn an_empty_program_has_a_picture() {
    let empty = Sdfg::new("nothing");
    assert!(svg::write(&empty, &svg::Options::default()).contains("nothing"));
    assert!(dot::write(&empty).starts_with("digraph \"nothing\""));
}
