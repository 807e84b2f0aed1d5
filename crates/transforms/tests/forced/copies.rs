//! Containers that are removed or get other places.

use sdfg_transforms::rewrites::{
    DeadDataflowElimination, LocalStorage, MapFusion, RedundantArray, RedundantSecondArray,
    TrivialTaskletElimination,
};

use super::support::{applies, refuses_rightly};
use super::{map, program, refuses_rightly_at};

#[test]
fn values_that_are_read_are_not_dead() {
    let text = program(&format!(
        "transient array T: f64[N + 2]
state s {{\n{}\n}}\nstate later {{\n access T\n access B\n T -> B: T[0:N] -> B[0:N]\n}}",
        map("m", "i = 0:N + 2", "A[i]", "y = x + 1", "T[i]")
    ));
    let reason = refuses_rightly_at(&text, &DeadDataflowElimination::default(), "p/s/w_m");
    assert!(reason.contains("`T` is used elsewhere"), "{reason}");
}

#[test]
fn tasklets_that_compute_are_no_copies() {
    let text = program(
        "state s {\n access A\n access B\n tasklet t (x) -> (y) { y = -x }\n A -> t.x: A[0]\n t.y -> B: B[1]\n}",
    );
    let reason = refuses_rightly(&text, &TrivialTaskletElimination::default());
    assert!(reason.contains("does more than to hand its input on"), "{reason}");
}

/// Two maps over a transient; a third one uses it, or it keeps its elements.
fn fused(declared: &str, third: &str) -> String {
    let mut maps = map("m", "i = 0:N", "A[i]", "y = x + 1", "T[i]");
    maps.push_str(&map("n", "j = 0:N", "T[j]", "y = 2 * x", "B[j]"));
    let maps =
        maps.replace("  access r_n = T\n", "").replace("access r_n = T\n", "").replace("r_n ->", "w_m ->");
    program(&format!("{declared}\nstate s {{\n{maps}{third}\n}}"))
}

#[test]
fn a_transient_between_maps_that_is_needed_later_stays() {
    let transient = "transient array T: f64[N]";
    applies(&fused(transient, ""), &MapFusion::default());
    let third = "access C\n w_m -> C: T[0:N] -> C[1:N + 1]";
    let reason = refuses_rightly(&fused(transient, third), &MapFusion::default());
    assert!(reason.contains("`T` is used elsewhere"), "{reason}");
    let reason = refuses_rightly(&fused("array T: f64[N]", ""), &MapFusion::default());
    assert!(reason.contains("`T` is no transient array"), "{reason}");
}

/// A tasklet reads a copy of `A`; another one overwrites `A` before, or after that.
fn overwritten(order: &str) -> String {
    program(&format!(
        "transient array T: f64[N + 2]
state s {{
  access A
  access T
  access B
  access later = A
  A -> T
  tasklet t () -> (y) {{ y = 7 }}
  order T -> t
  t.y -> later: A[0]
  tasklet u (x) -> (y) {{ y = x + 1 }}
  T -> u.x: T[0]
  u.y -> B: B[0]
  order {order}
}}"
    ))
}

#[test]
fn copies_that_outlive_their_source_stay() {
    let reason = refuses_rightly_at(&overwritten("later -> u"), &RedundantSecondArray::default(), "p/s/T");
    assert!(reason.contains("`A` is used elsewhere, too"), "{reason}");
}

/// In the second step of the loop, the copy brings elements of the first one.
#[test]
fn transients_that_are_written_in_part_stay() {
    let text = program(&format!(
        "transient array T: f64[N + 2]
for l: k = 0:2 {{
state set {{
  access B
  tasklet f () -> (y) {{ y = 99 }}
  f.y -> B: B[N + 1]
}}
state s {{\n{}\n access to = B\n w_m -> to\n}}
}}",
        map("m", "i = 0:N + 2 - k", "A[i]", "y = x + 1", "T[i]"),
    ));
    let reason = refuses_rightly_at(&text, &RedundantArray::default(), "p/s/w_m");
    assert!(reason.contains("every execution of the state writes all of `T`"), "{reason}");
    applies(&text.replace("i = 0:N + 2 - k", "i = 0:N + 2"), &RedundantArray::default());
}

/// The iteration of the outer map writes what the inner map reads.
#[test]
fn local_copies_do_not_miss_writes_of_the_iteration() {
    let text = program(
        "state s {
  access A
  access C
  access D = C
  access B
  map outer [i = 0:N] {
    tasklet before (x) -> (y) { y = x - 1 }
    outer.A -> before.x: A[i]
    before.y -> outer.C: C[i]
    map inner [j = 0:2] {
      tasklet t (x) -> (y) { y = x + j }
      inner.C -> t.x: C[i]
      t.y -> inner.B: B[i] wcr(sum)
    }
    order before -> inner
    outer.C -> inner.C
    inner.B -> outer.B
  }
  A -> outer.A
  C -> outer.C
  outer.C -> D
  outer.B -> B
}",
    );
    let reason = refuses_rightly(&text, &LocalStorage::of_input("C"));
    assert!(reason.contains("may touch the same elements in one iteration of the outer map"), "{reason}");
}

/// A copy that combines would begin with undefined elements.
#[test]
fn local_copies_of_sums_begin_with_nothing() {
    let text = program(
        "state s {
  access A
  access B
  map outer [i = 0:N] {
    map inner [j = 0:2] {
      tasklet t (x) -> (y) { y = x + j }
      inner.A -> t.x: A[i]
      t.y -> inner.B: B[i] wcr(sum)
    }
    outer.A -> inner.A
    inner.B -> outer.B
  }
  A -> outer.A
  outer.B -> B
}",
    );
    let reason = refuses_rightly(&text, &LocalStorage::of_output("B"));
    assert!(reason.contains("use AccumulateTransient"), "{reason}");
}

/// Two maps over `T`; the second has the symbol `code` and writes to `target`, bound to `bound`.
fn pair(declared: &str, code: &str, target: &str, bound: &str) -> String {
    let maps = fused("transient array T: f64[N]", bound);
    let maps = maps.replace("y = 2 * x", code).replace("access w_n = B", &format!("access w_n = {target}"));
    maps.replace("transient array T", &format!("{declared}\ntransient array T"))
        .replace("n.q: B[j]", &format!("n.q: {target}[N - 1 - j]"))
}

#[test]
fn parameters_do_not_capture_symbols_of_the_other_map() {
    let reason = refuses_rightly(&pair("symbol i: i64", "y = 2 * x + i", "B", ""), &MapFusion::default());
    assert!(reason.contains("uses the symbol `i`, a parameter of the first map"), "{reason}");
}

#[test]
fn maps_that_meet_through_a_view_are_not_fused() {
    let view = |of: &str| {
        let bound = format!("access last = {of}\n bind w_n -> last: {of}[0:N + 2]");
        pair("view V: f64[N + 2]", "y = 2 * x", "V", &bound)
    };
    let reason = refuses_rightly(&view("A"), &MapFusion::default());
    assert!(reason.contains("is written by one of the maps and used by the other"), "{reason}");
    applies(&view("B"), &MapFusion::default());
}

/// Each run writes what it reads: no run sees the elements of the one before.
#[test]
fn transients_that_last_are_fused_too() {
    applies(&fused("transient array T: f64[N] lifetime(persistent)", ""), &MapFusion::default());
}

#[test]
fn tasklets_that_convert_are_no_copies() {
    let text = program(
        "array F: f32[1]\nstate s {\n access A\n access F\n tasklet t (x) -> (y) { y = x }\n A -> t.x: A[1]\n t.y -> F: F[0]\n}",
    );
    let reason = refuses_rightly(&text, &TrivialTaskletElimination::default());
    assert!(reason.contains("converts its input to another type"), "{reason}");
}

#[test]
fn what_is_written_before_the_copy_stays_before_it() {
    let text = |other: &str| {
        program(&format!(
            "transient array T: f64[1]
state s {{
  access A
  access T
  access B
  tasklet f (x) -> (y, z) {{ y = x; z = 7 }}
  A -> f.x: A[0]
  f.y -> T: T[0]
  T -> B: T[0:1] -> B[0:1]
  {other}
}}"
        ))
    };
    let reason = refuses_rightly(&text("f.z -> B: B[0]"), &RedundantArray::default());
    assert!(reason.contains("is written before the copy, too"), "{reason}");
    let beside = "tasklet g (x) -> (y) { y = x + 1 }\n  A -> g.x: A[1]\n  g.y -> B: B[1]";
    applies(&text(beside).replace("(y, z) { y = x; z = 7 }", "(y) { y = x }"), &RedundantArray::default());
}
