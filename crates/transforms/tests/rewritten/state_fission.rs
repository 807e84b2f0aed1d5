//! Maps that get a state of their own.

use super::support::{applies, difference, parsed};
use sdfg_transforms::rewrites::StateFission;
use sdfg_transforms::{Match, apply, places};

/// Three maps of one state: two write halves of `B`, and the third reads it.
const HALVES: &str = "sdfg p {
  symbol N: i64
  array A: f64[2*N]
  array B: f64[2*N]
  array C: f64[2*N]
  state s {
    access A
    access B
    access C
    map low [i = 0:N] {
      tasklet t (x) -> (y) { y = 2.0 * x }
      low.A -> t.x: A[i]
      t.y -> low.B: B[i]
    }
    map high [i = N:2*N] {
      tasklet u (x) -> (y) { y = 3.0 * x }
      high.A -> u.x: A[i]
      u.y -> high.B: B[i]
    }
    map both [i = 0:2*N] {
      tasklet v (x) -> (y) { y = x + 1.0 }
      both.B -> v.x: B[i]
      v.y -> both.C: C[i]
    }
    A -> low.A
    A -> high.A
    low.B -> B
    high.B -> B
    B -> both.B
    both.C -> C
  }
}";

/// The match at a map.
fn at(text: &str, label: &str) -> Match {
    let program = parsed(text);
    let is_there = |found: &Match| found.paths(&program)[0].to_string().ends_with(&format!("/{label}"));
    places(&program, &StateFission::default()).into_iter().find(is_there).expect("a map")
}

/// A map that writes an access node together with another one writes before it, in its own state.
#[test]
fn maps_leave_others_that_write_the_same_container() {
    for label in ["low", "high"] {
        let before = parsed(HALVES);
        let mut after = before.clone();
        apply(&mut after, &StateFission::default(), &at(HALVES, label)).expect("a state");
        let text = sdfg::text::print(&after);
        assert_eq!(text.matches("state ").count(), 2, "{text}");
        let first = text.split("state ").nth(1).expect("a state");
        assert!(first.contains(&format!("map {label}")) && !first.contains("map both"), "{text}");
        assert_eq!(difference(&before, &after), None, "{text}");
    }
    // All that the third map reads comes before it.
    let before = parsed(HALVES);
    let mut after = before.clone();
    apply(&mut after, &StateFission::default(), &at(HALVES, "both")).expect("a state");
    assert_eq!(difference(&before, &after), None, "{}", sdfg::text::print(&after));
}

/// Sums that two maps add to the same elements are complete when the second state ends.
#[test]
fn sums_of_two_maps_are_those_of_two_states() {
    let sums = HALVES
        .replace("t.y -> low.B: B[i]", "t.y -> low.B: B[0] wcr(sum)")
        .replace("u.y -> high.B: B[i]", "u.y -> high.B: B[0] wcr(sum)");
    let text = applies(&sums, &StateFission::default());
    assert_eq!(text.matches("wcr(sum)").count(), 2, "{text}");
}

/// A tasklet before a map has two results, and the map waits for one of them alone.
const RESULTS: &str = "sdfg p {
  symbol N: i64
  array s: f64[1]
  array A: f64[N]
  array kept: f64[1]
  array sum: f64[1]
  array B: f64[1]
  state s {
    access s
    access kept
    access sum
    access A
    access total = sum
    access B
    tasklet old (x) -> (o, c) {
      o = x
      c = 0.5
    }
    map m [i = 0:N] {
      tasklet t (x) -> (y) { y = x }
      m.A -> t.x: A[i]
      t.y -> m.sum: sum[0] wcr(sum)
    }
    tasklet both (k, a) -> (b) { b = k * a }
    s -> old.x: s[0]
    old.o -> kept: kept[0]
    old.c -> sum: sum[0]
    order sum -> m
    A -> m.A
    m.sum -> total
    kept -> both.k: kept[0]
    total -> both.a: sum[0]
    both.b -> B: B[0]
  }
}";

/// All that code before the map writes is written before it, so that no value crosses the border of the states.
#[test]
fn results_of_code_before_a_map_stay_with_it() {
    let text = applies(RESULTS, &StateFission::default());
    let states: Vec<&str> = text.split("state ").skip(1).collect();
    assert_eq!(states.len(), 3, "{text}");
    assert!(states[0].contains("old.o -> kept") && states[0].contains("old.c -> sum"), "{text}");
    assert!(states[1].contains("map m") && !states[1].contains("kept"), "{text}");
}

/// A map, and another one that reads what the first one wrote. Both read one access node.
const SHARED: &str = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array T: f64[N]
  array B: f64[N]
  state s {
    access A
    access T
    access B
    map n [i = 0:N] {
      tasklet t (x) -> (y) { y = 2 * x }
      n.A -> t.x: A[i]
      t.y -> n.T: T[i]
    }
    map m [i = 0:N] {
      tasklet u (x, s) -> (y) { y = s * x }
      m.A -> u.x: A[i]
      m.T -> u.s: T[N - 1 - i]
      u.y -> m.B: B[i]
    }
    A -> n.A
    n.T -> T
    A -> m.A
    T -> m.T
    m.B -> B
  }
}";

/// Applies it at a map; gives the states.
fn states_after(text: &str, label: &str) -> Vec<String> {
    let before = parsed(text);
    let mut after = before.clone();
    apply(&mut after, &StateFission::default(), &at(text, label)).unwrap_or_else(|error| panic!("{error}"));
    let text = sdfg::text::print(&after);
    assert_eq!(difference(&before, &after), None, "{text}");
    text.split("state ").skip(1).map(str::to_owned).collect()
}

/// Each part has an access node of what both read.
#[test]
fn parts_may_read_the_same() {
    let states = states_after(SHARED, "m");
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(states.iter().all(|state| state.contains(" = A") || state.contains("access A")), "{states:?}");
    assert!(states[0].contains("map n") && states[1].contains("map m"), "{states:?}");
    // Also by a view.
    let view = SHARED
        .replace("  array T:", "  view V: f64[N]\n  array T:")
        .replace("    access T\n", "    access V\n    access T\n")
        .replace("    A -> n.A", "    bind A -> V: A[0:N]\n    V -> n.A")
        .replace("    A -> m.A", "    V -> m.A")
        .replace("n.A -> t.x: A[i]", "n.A -> t.x: V[i]")
        .replace("m.A -> u.x: A[i]", "m.A -> u.x: V[i]");
    let states = states_after(&view, "m");
    assert!(states.iter().all(|state| state.contains("bind A")), "{states:?}");
}

/// The map does not wait for what only its results wait for.
#[test]
fn orders_of_results_are_kept_behind_them() {
    let program = |more: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  array D: f64[N]
  state s {{
    access A
    access B
    access C
    access D
    map m [i = 0:N] {{
      tasklet t (x) -> (y) {{ y = 2.0 * x }}
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }}
    map n [i = 0:N] {{
      tasklet v (x) -> (y) {{ y = 3.0 * x }}
      n.A -> v.x: A[i]
      v.y -> n.C: C[i]
    }}
    map last [i = 0:N] {{
      tasklet w (x, z) -> (y) {{ y = x + z }}
      last.B -> w.x: B[i]
      last.C -> w.z: C[N - 1 - i]
      w.y -> last.D: D[i]
    }}
    A -> m.A
    A -> n.A
    m.B -> B
    n.C -> C
    B -> last.B
    last.D -> D
{more}
  }}
}}"
        )
    };
    // `last` reads what `n` wrote, and waits for it by the order of `B` alone.
    let ordered = program("    access again = C\n    again -> last.C\n    order C -> B");
    let states = states_after(&ordered, "m");
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(states[0].contains("map m") && states[1].contains("map last"), "{states:?}");
    assert!(states[1].contains("order C -> "), "{states:?}");
    // Copies begin when their source is reached.
    let copies = "sdfg p {
  symbol N: i64
  array A: f64[N]
  transient array B: f64[N]
  array E: f64[N]
  state s {
    access A
    access B
    access E
    access E1 = E
    map m [i = 0:N] {
      tasklet t (x) -> (y) { y = 2.0 * x }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }
    tasklet q () -> (y) { y = 5.0 }
    A -> m.A
    m.B -> B
    q.y -> E: E[0]
    order E -> B
    B -> E1: B[0] -> E[0]
  }
}";
    assert_eq!(states_after(copies, "m").len(), 2);
}

/// A node of a view stays where it is bound: what it waits for would run after it.
#[test]
fn bound_results_that_wait_for_others_are_refused() {
    let text = |last: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  array C: f64[N]
  transient array T: f64[N]
  view V: f64[N]
  state s {{
    access A
    access B
    access C
    access T
    access V
    map m [i = 0:N] {{
      tasklet t (x) -> (y) {{ y = 2 * x }}
      m.A -> t.x: A[i]
      t.y -> m.V: V[i]
    }}
    map n [i = 0:N] {{
      tasklet u (x) -> (y) {{ y = x + 1 }}
      n.B -> u.x: B[i]
      u.y -> n.C: C[i]
    }}
    A -> m.A
    m.V -> V
    bind V -> T: T[0:N]
    B -> n.B
    n.C -> C
    {last}
  }}
}}"
        )
    };
    assert_eq!(states_after(&text(""), "m").len(), 2);
    let waits = text("order C -> V");
    let mut program = parsed(&waits);
    let refusal = apply(&mut program, &StateFission::default(), &at(&waits, "m")).expect_err("a refusal");
    assert!(refusal.to_string().contains("`V` is bound to a view, and waits"), "{refusal}");
}
