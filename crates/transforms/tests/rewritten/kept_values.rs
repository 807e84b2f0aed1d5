//! Transients between ranks that may have elements of an earlier iteration.

use super::support::{applies, difference, parsed, refuses_rightly};
use sdfg_transforms::Pipeline;
use sdfg_transforms::rewrites::RedundantRedistribution;

/// A loop whose state `s` has a transient part `P` of `A`, and whose next state doubles some elements of `A`.
fn in_turns(state: &str, doubled: &str) -> String {
    format!(
        "sdfg p {{
  array A: f64[4] distribution(grid(2)[balanced(0)])
  array B: f64[4] distribution(grid(2)[balanced(0)])
  transient array P: f64[4] distribution(grid(2)[balanced(0)])
  for l: t = 0:2 {{
    state s {{
{state}
    }}
    -> u
    state u {{
      access {doubled}_0 = {doubled}
      access {doubled}_1 = {doubled}
      map twice [q = 0:2] schedule(mpi) {{
        map o [i = 2 * q:2 * q + 2] {{
          tasklet d (a) -> (b) {{ b = 2.0 * a }}
          o.X -> d.a: {doubled}[i]
          d.b -> o.Y: {doubled}[i]
        }}
        twice.X -> o.X
        o.Y -> twice.Y
      }}
      {doubled}_0 -> twice.X
      twice.Y -> {doubled}_1
    }}
  }}
}}"
    )
}

/// A map over ranks that writes some elements of `P`, which are copied to `A`.
fn written_part(elements: &str) -> String {
    format!(
        "      access A
      access P
      map m [r = 0:2] schedule(mpi) {{
        map n [i = {elements}] {{
          tasklet w () -> (y) {{ y = 1.0 }}
          w.y -> n.P: P[i]
        }}
        n.P -> m.P
      }}
      m.P -> P
      P -> A"
    )
}

/// A map over ranks that reads the elements of `P`, some of which are copied from `A`.
fn read_copy(elements: &str) -> String {
    format!(
        "      access A
      access P
      access B_2 = B
      map m [r = 0:2] schedule(mpi) {{
        map n [i = 2 * r:2 * r + 2] {{
          tasklet w (p) -> (b) {{ b = p }}
          n.P -> w.p: P[i]
          w.b -> n.B: B[i]
        }}
        m.P -> n.P
        n.B -> m.B
      }}
      A -> P: A[{elements}] -> P[{elements}]
      P -> m.P
      m.B -> B_2"
    )
}

/// A map over ranks that changes `P`, of which some elements are copied from `A` before, and all are copied back.
fn changed_copy(elements: &str) -> String {
    format!(
        "      access A
      access P
      access P_2 = P
      access A_2 = A
      map m [r = 0:2] schedule(mpi) {{
        map n [i = 2 * r:2 * r + 2] {{
          tasklet w (p) -> (o) {{ o = p + 1.0 }}
          n.P -> w.p: P[i]
          w.o -> n.Q: P[i]
        }}
        m.P -> n.P
        n.Q -> m.Q
      }}
      A -> P: A[{elements}] -> P[{elements}]
      P -> m.P
      m.Q -> P_2
      P_2 -> A_2: P[0:4] -> A[0:4]"
    )
}

/// A map over ranks that sums up into some elements of `P`, all of which are added to `A`.
fn sums(elements: &str) -> String {
    format!(
        "      access A
      access P
      map m [r = 0:2] schedule(mpi) {{
        access P_0 = P
        map z [i = {elements}] {{
          tasklet f () -> (o) {{ o = -0.0 }}
          f.o -> z.P: P[i]
        }}
        z.P -> P_0
        map n [i = {elements}] {{
          tasklet w () -> (y) {{ y = 1.0 }}
          w.y -> n.P: P[i] wcr(sum)
        }}
        order P_0 -> n
        n.P -> m.P
      }}
      m.P -> P
      P -> A wcr(sum)"
    )
}

/// The first iteration sets all elements of the transient and the second one only some: it copies old values of the others, which the
/// next state has doubled in the other container.
#[test]
fn parts_that_keep_elements_of_earlier_runs_stay() {
    let kept = "`P` may keep elements of an earlier run";
    let sometimes = written_part("2 * r:2 * r + 2")
        .replace("{ y = 1.0 }", "{\n if t == 0 or i % 2 == 1:\n  y = 1.0\n }")
        .replace("P: P[i]", "P: P[i] dynamic");
    let some = [written_part("2 * r + t:2 * r + 2"), read_copy("0:4 - 2 * t"), sums("2 * r + t:2 * r + 2")];
    for state in some.into_iter().chain([sometimes]) {
        let why = refuses_rightly(&in_turns(&state, "A"), &RedundantRedistribution::default());
        assert!(why.contains(kept), "{why}\n{state}");
    }
    // Of the elements that are copied back, or of those that are read, the second iteration has copied some.
    let changed = changed_copy("0:4 - 2 * t");
    let read = changed_copy("t:4")
        .replace("P[0:4] -> A[0:4]", "P[t:4] -> A[t:4]")
        .replace("i = 2 * r:", "i = max(2 * r, t):")
        .replace("n.P -> w.p: P[i]", "n.P -> w.p: P[2 * (i // 2)]");
    let back = changed.replace("i = 2 * r:2 * r + 2", "i = 2 * r:min(2 * r + 2, 4 - 2 * t)");
    for state in [changed, read, back] {
        let mut pipeline = Pipeline::on(parsed(&in_turns(&state, "A")));
        let why = pipeline.apply(RedundantRedistribution::default().at_all(["s/A", "s/P"]));
        let why = why.expect_err("a refusal").to_string();
        assert!(why.contains(kept), "{why}\n{state}");
    }
}

/// Each iteration sets the same elements, or those that it takes, or nothing else changes the other container.
#[test]
fn parts_without_elements_of_earlier_runs_go() {
    let all = [written_part("2 * r:2 * r + 2"), read_copy("0:4"), sums("2 * r:2 * r + 2")];
    let all = all.map(|state| in_turns(&state, "A"));
    let alone = [written_part("2 * r + t:2 * r + 2"), read_copy("0:4 - 2 * t")];
    let alone = alone.map(|state| in_turns(&state, "B"));
    // Without a loop, no run is an earlier one.
    let once = in_turns(&written_part("2 * r:2 * r + 2"), "A")
        .replace("for l: t = 0:2", "if l: 2 > 1")
        .replace("{ y = 1.0 }", "{\n if i >= 0:\n  y = 1.0\n }")
        .replace("P: P[i]", "P: P[i] dynamic");
    let taken = read_copy("2 * t:4").replace("i = 2 * r:2 * r + 2", "i = max(2 * r, 2 * t):2 * r + 2");
    for text in all.into_iter().chain(alone).chain([in_turns(&taken, "A"), once]) {
        let found = applies(&text, &RedundantRedistribution::default());
        assert!(!found.contains("array P:"), "{found}");
    }
    for (elements, doubled) in [("0:4", "A"), ("0:4 - 2 * t", "B")] {
        let before = parsed(&in_turns(&changed_copy(elements), doubled));
        let mut pipeline = Pipeline::on(before.clone());
        let applied = pipeline.apply(RedundantRedistribution::default().at_all(["s/A", "s/P"]));
        assert!(applied.is_ok(), "{:?}", applied.err());
        assert_eq!(difference(&before, pipeline.program()), None);
    }
}

/// Data give the map another first element in each run, by a name that has a value outside.
#[test]
fn elements_that_data_decide_are_not_the_same() {
    let given = in_turns(&written_part("2 * r + b:2 * r + 2"), "A")
        .replace("for l: t = 0:2", "for l: t = 0:3")
        .replace(
            "  transient array P",
            "  symbol b: i64\n  constant array L: i64[4] = [0, 1, 1, 0]\n  transient array P",
        )
        .replace("      access P\n", "      access P\n      access L\n");
    let at_the_inner_map = given
        .replace("        n.P -> m.P\n", "        m.L -> n@b: L[t]\n        n.P -> m.P\n")
        .replace("      m.P -> P\n", "      L -> m.L\n      m.P -> P\n");
    let at_the_outer_map = given.replace("      m.P -> P\n", "      L -> m@b: L[t]\n      m.P -> P\n");
    for text in [at_the_inner_map, at_the_outer_map] {
        let refused = refuses_rightly(&text, &RedundantRedistribution::default());
        assert!(refused.contains("may keep elements of an earlier run"), "{refused}");
    }
}

/// The container that would stay ends with the state, and keeps nothing.
#[test]
fn containers_of_one_state_keep_no_elements() {
    let text = "sdfg p {
  array B: f64[4] distribution(grid(2)[balanced(0)])
  transient array A: f64[4] lifetime(state) distribution(grid(2)[balanced(0)])
  transient array P: f64[4] distribution(grid(2)[balanced(0)])
  for l: t = 0:3 {
    state s {
      access A
      access P
      access B
      map m [r = 0:2] schedule(mpi) {
        map n [i = 2 * r + min(t, 1):2 * r + 2] {
          tasklet w () -> (y) { y = 1.0 + t }
          w.y -> n.P: P[i]
        }
        n.P -> m.P
      }
      m.P -> P
      P -> A
      A -> B
    }
  }
}";
    let refused = refuses_rightly(text, &RedundantRedistribution::default());
    assert!(refused.contains("may keep elements of an earlier run"), "{refused}");
}
