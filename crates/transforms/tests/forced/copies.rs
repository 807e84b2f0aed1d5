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
    assert!(reason.contains("it is read"), "{reason}");
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
    assert!(reason.contains("`A` is used elsewhere, too: another node of the state"), "{reason}");
}

/// A part of a transient is written, so that the copy brings what was there.
#[test]
fn transients_that_are_written_in_part_stay() {
    let text = program(&format!(
        "transient array T: f64[N + 2]
state zero {{\n{}\n}}
state s {{\n{}\n access to = B\n w_m -> to\n}}",
        map("z", "i = 0:N + 2", "A[i]", "y = 3 * x", "T[i]"),
        map("m", "i = 0:N", "C[i]", "y = x + 1", "T[i]")
    ));
    let reason = refuses_rightly(&text, &RedundantArray::default());
    assert!(reason.contains("is used elsewhere") || reason.contains("writes all of `T`"), "{reason}");
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
