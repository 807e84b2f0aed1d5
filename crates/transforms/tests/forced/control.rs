//! Loops whose iterations share more than elements of arrays.

use sdfg_transforms::rewrites::{LoopToMap, StateFusion};

use super::support::{applies, refuses_rightly};
use super::{program, refuses_rightly_at};

/// The elements come in the order of iterations.
#[test]
fn loops_that_push_keep_the_order() {
    let text = program(
        "transient stream S: f64
for l: i = 0:N {
  state s {
    access A
    access S
    tasklet t (x) -> (y) { y = x + i }
    A -> t.x: A[i]
    t.y -> S: S
  }
}
for k: j = 0:N {
  state r {
    access S
    access B
    tasklet u (x) -> (y) { y = x }
    S -> u.x: S
    u.y -> B: B[j]
  }
}",
    );
    let reason = refuses_rightly_at(&text, &LoopToMap::default(), "p/l");
    assert!(reason.contains("is a stream"), "{reason}");
}

/// The reference names what the loop writes.
#[test]
fn loops_over_references_of_what_they_write_stay() {
    let text = program(
        "reference R: f64[N + 2]
state set {
  access A
  access R
  bind A -> R: A[0:N + 2]
}
for l: i = 0:N {
  state s {
    access R
    access A
    tasklet t (x) -> (y) { y = x + 1 }
    R -> t.x: R[i]
    t.y -> A: A[i + 1]
  }
}",
    );
    let reason = refuses_rightly(&text, &LoopToMap::default());
    assert!(reason.contains("is a view or reference"), "{reason}");
}

/// All calls of the SDFG have one memory.
#[test]
fn loops_that_call_what_keeps_elements_stay() {
    let text = program(
        "for l: i = 0:N {
  state s {
    access A
    access B
    nested f (x) -> (y) sdfg f {
      scalar x: f64
      scalar y: f64
      transient array kept: f64[1] lifetime(persistent)
      state first {
        access kept
        access x
        access y
        tasklet t (a) -> (c) { c = a }
        tasklet u (a) -> (c) { c = 2 * a }
        x -> t.a: x
        t.c -> kept: kept[0]
        kept -> u.a: kept[0]
        u.c -> y: y
      }
    }
    A -> f.x: A[i]
    f.y -> B: B[i]
  }
}",
    );
    let reason = refuses_rightly(&text, &LoopToMap::default());
    assert!(reason.contains("last from call to call"), "{reason}");
}

/// Each iteration has another size of the transient.
#[test]
fn loops_that_decide_a_size_stay() {
    let text = program(
        "transient array T: f64[k]
state begin { }
-> l with (k = 1)
for l: i = 0:N {
  state a { }
  -> s with (k = i + 1)
  state s {
    access A
    access T
    access B
    map m [j = 0:k] {
      tasklet t (x) -> (y) { y = x + j }
      m.A -> t.x: A[j]
      t.y -> m.T: T[j]
    }
    A -> m.A
    m.T -> T
    T -> B: T[i] -> B[i]
  }
}",
    );
    let reason = refuses_rightly(&text, &LoopToMap::default());
    assert!(reason.contains("on which the shape or distribution of `T` depends"), "{reason}");
}

/// Two states of one tasklet each, `before` and `between` on the ways to them. Their index is `k`, and the second one writes `B`.
fn two_states(before: &str, first: &str, between: &str) -> String {
    program(&format!(
        "state begin {{ }}
-> s {before}
state s {{
  access A
  access S = {}
  tasklet t (x) -> (y) {{ y = 2 * x + 1 }}
  A -> t.x: A[1]
  t.y -> S: {first}
}}
-> e {between}
state e {{
  access A
  access B
  tasklet u (x) -> (y) {{ y = x }}
  A -> u.x: A[k]
  u.y -> B: B[k]
}}",
        first.split('[').next().unwrap_or_default()
    ))
}

#[test]
fn symbols_are_set_on_the_way_to_the_first_state() {
    for (before, between) in [
        ("with (j = 0)", "with (k = 1)"),
        ("with (j = 1)", "with (k = N // 2)"),
        ("with (j = 1)", "with (k = i64(A[0]) % 2 + 1)"),
    ] {
        let text = applies(&two_states(before, "B[0]", between), &StateFusion::default());
        assert!(text.contains("k = ") && !text.contains("state e"), "{text}");
    }
}

#[test]
fn symbols_are_not_set_before_a_state_that_nothing_leads_to() {
    let text = two_states("", "B[0]", "with (k = 1)").replace("state begin { }\n-> s", "");
    let reason = refuses_rightly(&text, &StateFusion::default());
    assert!(reason.contains("begins its region"), "{reason}");
}

#[test]
fn symbols_are_not_set_before_a_state_that_uses_them() {
    let text = two_states("with (j = 0)", "B[k]", "with (k = 1)").replace("j = 0", "k = 0");
    let reason = refuses_rightly_at(&text, &StateFusion::default(), "p/e");
    assert!(reason.contains("uses `k`"), "{reason}");
}

#[test]
fn symbols_are_not_set_before_a_state_that_decides_them() {
    let text = two_states("", "C[0]", "with (k = C[0] > 0)");
    let text = text.replace("k = C[0] > 0", "k = i64(C[0]) % 3");
    let reason = refuses_rightly_at(&text, &StateFusion::default(), "p/e");
    assert!(reason.contains("may write `C`"), "{reason}");
}

#[test]
fn symbols_are_not_set_twice_on_one_way() {
    for (before, between) in [("with (j = 1)", "with (k = j)"), ("with (k = 2)", "with (k = 1)")] {
        let text = two_states(before, "C[0]", between);
        let reason = refuses_rightly_at(&text, &StateFusion::default(), "p/e");
        assert!(reason.contains("as well"), "{reason}");
    }
}
