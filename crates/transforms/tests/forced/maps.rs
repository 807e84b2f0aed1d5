//! Ranges and schedules of maps.

use sdfg_transforms::rewrites::{
    MapCollapse, MapInterchange, MapSplit, MapTiling, MapToForLoop, Size, TrivialMapElimination,
};
use sdfg_transforms::{Transformation, apply, places};

use super::support::{applies, difference, parsed, refuses, refuses_rightly};
use super::{map, program};

fn one(range: &str) -> String {
    program(&format!("state s {{\n{}\n}}", map("m", range, "A[i]", "y = 2 * x + i", "B[i]")))
}

#[test]
fn a_map_of_several_iterations_is_not_its_first_one() {
    let text = one("i = 0:N");
    let reason = refuses(&text, &TrivialMapElimination::default());
    assert!(reason.contains("0:N has one value"), "{reason}");
    // The edit keeps dimensions of several values; with the first value alone, results differ.
    assert!(difference(&parsed(&text), &parsed(&one("i = 0:1"))).is_some());
}

#[test]
fn tiles_that_do_not_divide_the_range_reach_beyond_it() {
    let even = MapTiling { divides_evenly: true, ..MapTiling::new([4]) };
    let text = one("i = 0:N + 2");
    let reason = refuses(&text, &even);
    assert!(reason.contains("4 divides N + 2"), "{reason}");
    // Tiles without the smaller one at the end.
    let mut tiled = parsed(&text);
    apply(&mut tiled, &MapTiling::new([4]), &places(&parsed(&text), &MapTiling::new([4]))[0]).expect("tiles");
    let tiled = sdfg::text::print(&tiled);
    let whole = tiled.replace("min(N, i_tile0 + 2) + 2", "i_tile0 + 4");
    assert_ne!(whole, tiled, "{tiled}");
    assert!(difference(&parsed(&text), &parsed(&whole)).is_some());
}

#[test]
fn a_map_is_not_split_at_a_value_of_its_own() {
    let split = MapSplit { count: Size(sdfg::symbolic::Expr::sym("i")), dimension: 0, ..MapSplit::default() };
    let reason = refuses_rightly(&one("i = 0:N"), &split);
    assert!(reason.contains("`i` is no symbol outside of the map"), "{reason}");
}

/// Pairs of a triangle.
const TRIANGLE: &str = "sdfg p {
  symbol N: i64
  array A: f64[N, N]
  state s {
    access A
    map outer [i = 0:N] {
      map inner [j = 0:i + 1] {
        tasklet t () -> (y) { y = i + 2 * j }
        t.y -> inner.A: A[i, j]
      }
      inner.A -> outer.A
    }
    outer.A -> A
  }
}";

#[test]
fn ranges_stay_behind_the_parameters_that_they_use() {
    let reason = refuses_rightly(TRIANGLE, &MapInterchange::default());
    assert!(reason.contains("the range 0:i + 1 depends on `i`"), "{reason}");
}

/// An iteration pops what the one after it pushes.
#[test]
fn maps_whose_iterations_wait_for_later_ones_are_no_loops() {
    let text = program(
        "transient stream S: f64[N + 1]
state s {
  access A
  access B
  access S
  access T = S
  map m [i = 0:N] {
    tasklet t (x) -> (y) { y = x }
    tasklet u (x) -> (y) { y = x }
    m.A -> t.x: A[i]
    t.y -> m.S: S[i]
    m.S -> u.x: S[(i + 1) % N]
    u.y -> m.B: B[i]
  }
  A -> m.A
  m.S -> T
  S -> m.S
  m.B -> B
}",
    );
    let reason = refuses_rightly(&text, &MapToForLoop::default());
    assert!(reason.contains("is a stream: an iteration may wait"), "{reason}");
}

/// A tasklet of the outer map runs once, not for each iteration of the inner one.
#[test]
fn maps_with_other_contents_are_not_joined_or_swapped() {
    let beside = "inner.A -> outer.A\n      tasklet u () -> (y) { y = i }\n      u.y -> outer.B: B[i]";
    let text = TRIANGLE
        .replace("j = 0:i + 1", "j = 0:N")
        .replace("array A: f64[N, N]", "array A: f64[N, N]\n  array B: f64[N]")
        .replace("access A", "access A\n    access B")
        .replace("inner.A -> outer.A", beside)
        .replace("outer.A -> A", "outer.A -> A\n    outer.B -> B");
    for transformation in [&MapCollapse::default() as &dyn Transformation, &MapInterchange::default()] {
        let reason = refuses_rightly(&text, transformation);
        assert!(reason.contains("`outer` contains `u` besides the inner map"), "{reason}");
    }
}

/// A view that is bound outside of the map names the same elements in both of its parts.
#[test]
fn maps_over_views_are_split() {
    let text = program(
        "view V: f64[N]
state s {
  access A
  access B
  access V
  bind A -> V: A[1:N + 1]
  map m [i = 0:N] {
    tasklet t (x) -> (y) { y = x + 1 }
    m.V -> t.x: V[i]
    t.y -> m.B: B[i]
  }
  V -> m.V
  m.B -> B
}",
    );
    applies(&text, &MapSplit { count: Size::from(1), dimension: 0, ..MapSplit::default() });
}
