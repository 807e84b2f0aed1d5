//! MapFusion of other elements than those that the iteration wrote, and maps that count downwards.

use sdfg_transforms::Transformation;
use sdfg_transforms::rewrites::{
    AccumulateTransient, MapFusion, MapSplit, MapTiling, MapToForLoop, MapUnroll, Size, StripMining,
};

use super::support::{applies, difference, parsed, refuses, refuses_rightly};

#[test]
fn issue_1539_an_iteration_that_writes_several_elements_is_not_fused() {
    let text = include_str!("1539.sdft");
    let reason = refuses_rightly(text, &MapFusion::default());
    assert!(reason.contains("does not write one element of the transient in each iteration"), "{reason}");
}

/// The issue notes that DaCe looks for other readers in the same state alone.
#[test]
fn issue_1539_a_transient_that_another_state_reads_stays() {
    let text = include_str!("1553.sdft").replace("READ", "j");
    let later = "  state later {\n access T\n access A\n T -> A\n }\n}";
    let read = format!("{}{later}", text.trim_end().trim_end_matches('}'));
    let reason = refuses_rightly(&read, &MapFusion::default());
    assert!(reason.contains("`T` is used elsewhere, too: `shifted/later/T`"), "{reason}");
}

#[test]
fn issue_1553_shifted_elements_are_not_fused() {
    let text = include_str!("1553.sdft");
    for read in ["(j + 1) % N", "N - 1 - j", "0", "min(j + 1, N - 1)"] {
        let reason = refuses_rightly(&text.replace("READ", read), &MapFusion::default());
        assert!(reason.contains("are different elements"), "{read}: {reason}");
    }
    applies(&text.replace("READ", "j"), &MapFusion::default());
}

#[test]
fn issue_1553_shifted_ranges_are_not_fused() {
    let text = include_str!("1553.sdft").replace("READ", "j");
    let later = text.replace("[j = 0:N]", "[j = 1:N]");
    let reason = refuses_rightly(&later, &MapFusion::default());
    assert!(reason.contains("has the range [1:N], and the first map [0:N]"), "{reason}");
    // Both write and read behind the same distance.
    let shifted =
        text.replace("T: f64[N]", "T: f64[N + 3]").replace("T[i]", "T[i + 3]").replace("T[j]", "T[3 + j]");
    applies(&shifted, &MapFusion::default());
}

fn downwards(range: &str) -> String {
    include_str!("2333.sdft").replace("RANGE", range)
}

#[test]
fn issue_2333_maps_that_count_downwards_keep_their_iterations() {
    let three = || Size::from(3);
    let rewrites: [Box<dyn Transformation>; 4] = [
        Box::new(MapTiling::new([2])),
        Box::new(MapSplit { count: three(), dimension: 0, ..MapSplit::default() }),
        Box::new(StripMining { dimension: 0, size: three() }),
        Box::new(MapToForLoop::default()),
    ];
    for range in ["N - 1:-1:-1", "N - 1:-1:-2"] {
        for transformation in &rewrites {
            applies(&downwards(range), transformation.as_ref());
        }
        // A range that is read upwards has no iterations, or others.
        let upwards = parsed(&downwards(&range.replace(":-1:-", ":-1:")));
        assert!(difference(&parsed(&downwards(range)), &upwards).is_some());
    }
    applies(&downwards("0:-1:-1"), &MapUnroll::default());
}

/// The step is the value of a symbol of unknown sign: the tiles of a positive step are wrong.
#[test]
fn issue_2333_steps_of_unknown_sign_are_not_tiled() {
    let text = downwards("N - 1:-1:-K").replace("symbol N: i64", "symbol N: i64\n  symbol K: i64");
    let rewrites: [&dyn Transformation; 2] =
        [&MapTiling::new([2]), &MapSplit { count: Size::from(3), dimension: 0, ..MapSplit::default() }];
    for transformation in rewrites {
        let reason = refuses(&text, transformation);
        assert!(reason.contains("the step -K is positive, or that it is negative"), "{reason}");
    }
    let tiles = "map tiles [t = N - 1:-1:-2*K] {\n    map m [i = t:min(t - 2*K, -1):-K] {";
    let wrong = text
        .replace("map m [i = N - 1:-1:-K] {", tiles)
        .replace("    A -> m.A\n", "    tiles.A -> m.A\n    m.B -> tiles.B\n    }\n    A -> tiles.A\n")
        .replace("    m.B -> B\n", "    tiles.B -> B\n");
    assert!(difference(&parsed(&text), &parsed(&wrong)).is_some());
}

/// Sums through a view stay sums into the array that the view names.
#[test]
fn issue_2582_sums_through_a_view_stay_sums() {
    let text = include_str!("2582.sdft");
    applies(text, &MapTiling::new([2]));
    let written = parsed(&text.replace(" wcr(sum)", ""));
    assert!(difference(&parsed(text), &written).is_some());
    let summed = applies(text, &AccumulateTransient::default());
    assert!(summed.contains("transient array V_sum0"), "{summed}");
}

/// An iteration of the outer map reads by another name what the inner map adds to.
#[test]
fn issue_2582_sums_through_a_view_are_not_kept_back_from_readers_of_the_array() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  view V: f64[N]
  state s {
    access A
    access B
    access C
    access D = B
    access V
    map rows [i = 0:N] {
      map columns [j = 0:3] {
        tasklet t (x) -> (y) { y = x + j }
        columns.A -> t.x: A[i]
        t.y -> columns.V: V[i] wcr(sum)
      }
      rows.A -> columns.A
      columns.V -> rows.V
      tasklet u (x) -> (y) { y = x }
      order columns -> u
      rows.B -> u.x: B[i]
      u.y -> rows.C: C[i]
    }
    A -> rows.A
    B -> rows.B
    rows.V -> V
    bind V -> D: B[0:N]
    rows.C -> C
  }
}";
    let reason = refuses_rightly(text, &AccumulateTransient::default());
    assert!(reason.contains("`V[i]` and `B[i]` may touch the same elements"), "{reason}");
}

/// An iteration of the inner map overwrites what it added to.
#[test]
fn sums_are_not_kept_back_from_other_writes_of_the_inner_map() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N, 3]
  array B: f64[N, 3]
  state s {
    access A
    access B
    map rows [i = 0:N] {
      map columns [j = 0:3] {
        tasklet t (x) -> (y) { y = x + j }
        tasklet u (x) -> (y) { y = 2 * x }
        order t -> u
        columns.A -> t.x: A[i, j]
        columns.A -> u.x: A[i, j]
        t.y -> columns.P: B[i, j] wcr(sum)
        u.y -> columns.Q: B[i, j]
      }
      rows.A -> columns.A
      columns.P -> rows.P
      columns.Q -> rows.Q
    }
    A -> rows.A
    rows.P -> B
    rows.Q -> B
  }
}";
    let reason = refuses_rightly(text, &AccumulateTransient::default());
    assert!(reason.contains("may touch the same elements"), "{reason}");
}
