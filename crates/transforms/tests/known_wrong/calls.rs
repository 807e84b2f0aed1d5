//! Arguments of called SDFGs that share memory: two names of the same elements.

use sdfg::ir::Sdfg;
use sdfg_transforms::rewrites::{LoopToMap, StateFusion, TrivialTaskletElimination};
use sdfg_transforms::{Match, Transformation, apply, places};

use super::support::{applies, difference, parsed};
use super::{at, forced};

/// The reason for which a transformation refuses a match. The forced rewrite is wrong.
pub(super) fn refuses_rightly(before: &Sdfg, transformation: &dyn Transformation, found: &Match) -> String {
    let refusal = apply(&mut before.clone(), transformation, found).expect_err("a refusal").to_string();
    let wrong = forced(before, transformation, found);
    assert!(wrong.is_err() || wrong.is_ok_and(|wrong| difference(before, &wrong).is_some()), "{refusal}");
    refusal
}

#[test]
fn issue_1445_states_that_meet_in_a_row_of_two_names_are_not_fused() {
    let before = parsed(include_str!("1445.sdft"));
    let found = at(&before, &StateFusion::default(), "rows/s/call/twice");
    let reason = refuses_rightly(&before, &StateFusion::default(), &found);
    assert!(reason.contains("may share elements, and one is written"), "{reason}");
    // Under one name, the states wait for each other.
    let one = include_str!("1445.sdft")
        .replace("T_in", "T")
        .replace("T_out", "T")
        .replace("M_in", "M")
        .replace("M_out", "M");
    let one = one.replace(
        "        array T: f64[N]\n        array T: f64[N]\n        array M: f64[N]\n",
        "        array T: f64[N]\n",
    );
    let one = parsed(&one);
    let mut fused = one.clone();
    let found = at(&one, &StateFusion::default(), "rows/s/call/twice");
    apply(&mut fused, &StateFusion::default(), &found).expect("a fusion");
    assert!(difference(&before, &fused).is_none());
}

/// A call with the parts `X` and `Y` of `A`, or of a view of it.
fn call(parts: [&str; 2], declared: &str, bound: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[2*N]
  {declared}
  state s {{
    access A
    access D = A
    {bound}
    nested call (X) -> (Y) with (N = N) sdfg inner {{
      symbol N: i64
      array X: f64[N]
      array Y: f64[N]
      for l: i = 0:N - 1 {{
        state b {{
          access X
          access Y
          tasklet t (x) -> (y) {{ y = x + 1 }}
          X -> t.x: X[i]
          t.y -> Y: Y[i + 1]
        }}
      }}
    }}
    {}
    call.Y -> D: A[{}]
  }}
}}",
        parts[0], parts[1]
    )
}

#[test]
fn loops_over_two_names_of_an_array_are_refused() {
    let view = ("view V: f64[N]", "access V\n bind A -> V: A[0:N]");
    for (read, declared, bound) in [("A -> call.X: A[0:N]", "", ""), ("V -> call.X: V[0:N]", view.0, view.1)]
    {
        let before = parsed(&call([read, "0:N"], declared, bound));
        let found = places(&before, &LoopToMap::default()).remove(0);
        let reason = refuses_rightly(&before, &LoopToMap::default(), &found);
        assert!(reason.contains("`Y` is written, and may share elements with `X`"), "{reason}");
    }
    // Halves have no element in common.
    applies(&call(["A -> call.X: A[N:2*N]", "0:N"], "", ""), &LoopToMap::default());
}

/// A call with `A` as `X` and `Y`, of which `Y` is written, and two arrays of one name.
fn two_names(blocks: &str) -> Sdfg {
    parsed(&format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 2]
  array B: f64[N + 2]
  array C: f64[N + 2]
  state s {{
    access A
    access B
    access C
    access D = A
    access E = B
    nested call (X, V, W) -> (Y, W) with (N = N) sdfg inner {{
      symbol N: i64
      array X: f64[N + 2]
      array Y: f64[N + 2]
      array V: f64[N + 2]
      array W: f64[N + 2]
      {blocks}
    }}
    A -> call.X: A[0:N + 2]
    B -> call.W: B[0:N + 2]
    C -> call.V: C[0:N + 2]
    call.Y -> D: A[0:N + 2]
    call.W -> E: B[0:N + 2]
  }}
}}"
    ))
}

/// A state with a tasklet from one element to another.
fn one_tasklet(label: &str, code: &str, from: &str, to: &str) -> String {
    let name = |element: &str| element.split('[').next().unwrap_or_default().to_owned();
    format!(
        "state {label} {{
  access from = {}
  access to = {}
  tasklet t (x) -> (y) {{ {code} }}
  from -> t.x: {from}
  t.y -> to: {to}
}}
",
        name(from),
        name(to)
    )
}

/// As in `mandelbrot1` of NPBench.
#[test]
fn tasklets_between_two_names_of_an_array_are_copies_if_they_only_hand_on() {
    let remove = TrivialTaskletElimination::default();
    let before = two_names(&one_tasklet("s", "y = x", "X[0]", "Y[1]"));
    let mut after = before.clone();
    let found = places(&before, &remove).remove(0);
    apply(&mut after, &remove, &found).expect("a copy");
    assert!(difference(&before, &after).is_none());
    let before = two_names(&one_tasklet("s", "y = -x - 1", "X[0]", "Y[1]"));
    let reason = refuses_rightly(&before, &remove, &places(&before, &remove).remove(0));
    assert!(reason.contains("does more than to hand its input on"), "{reason}");
}

#[test]
fn states_are_fused_if_no_two_names_of_an_array_meet_in_them() {
    let fuse = StateFusion::default();
    let state = |label: &str, from: &str, to: &str| one_tasklet(label, "y = 2 * x + 1", from, to);
    // `X` and `Y` are in one state, and the other one uses none of them, or only the one.
    for states in [
        [state("a", "X[0]", "Y[1]"), state("b", "W[0]", "W[1]")],
        [state("a", "W[0]", "W[1]"), state("b", "X[0]", "Y[1]")],
        [state("a", "X[0]", "W[0]"), state("b", "X[1]", "W[0]")],
        [state("a", "W[0]", "Y[1]"), state("b", "W[1]", "Y[1]")],
    ] {
        let before = two_names(&states.concat());
        let mut after = before.clone();
        let found = at(&before, &fuse, "p/s/call/a");
        apply(&mut after, &fuse, &found).unwrap_or_else(|error| panic!("{states:?}: {error}"));
        assert!(difference(&before, &after).is_none(), "{states:?}");
    }
    for states in [
        [state("a", "X[1]", "W[0]"), state("b", "V[1]", "Y[1]")],
        [state("a", "V[0]", "Y[1]"), state("b", "X[1]", "W[1]")],
    ] {
        let before = two_names(&states.concat());
        let reason = refuses_rightly(&before, &fuse, &at(&before, &fuse, "p/s/call/a"));
        assert!(reason.contains("may share elements, and one is written"), "{states:?}: {reason}");
    }
}
