//! Copies of what a map accesses, around the map.

use super::support::{applies, page_is_true, refuses, refuses_rightly};
use sdfg_transforms::rewrites::MapStorage;

#[test]
fn the_page_is_true() {
    page_is_true(&MapStorage::default());
}

const PROGRAM: &str = "sdfg p {
  symbol N: i64
  array A: f64[N + 2, N + 2]
  array x: f64[N + 2]
  for l: t = 0:N {
    state s {
      access A
      access x
      access A_1 = A
      map m [i = 0:N] {
        tasklet t (a, b) -> (o, p) {
          o = a + 2 * b
          p = a - b
        }
        m.A -> t.a: A[t, i]
        m.A -> t.b: A[t, i + 1]
        t.o -> m.A: A[t + 1, i]
        t.p -> m.x: x[i]
      }
      A -> m.A
      m.A -> A_1
      m.x -> x
    }
  }
}
";

#[test]
fn boxes_have_the_elements_that_a_map_accesses() {
    let found = applies(PROGRAM, &MapStorage::of("A"));
    assert!(found.contains("transient array A_box0: f64[1, N + 1]"), "{found}");
    assert!(found.contains("transient array A_box1: f64[1, N]"), "{found}");
    assert!(found.contains("A -> \"m.local0\": A[t, 0:N + 1] -> A_box0[0, 0:N + 1]"), "{found}");
    let found = applies(PROGRAM, &MapStorage::of("x"));
    assert!(!found.contains("A_box"), "{found}");
}

#[test]
fn boxes_that_would_change_results_are_refused() {
    assert!(refuses(PROGRAM, &MapStorage::of("y")).contains("the map does not access `y`"));
    let sums = PROGRAM.replace("x[i]\n", "x[i] wcr(sum)\n");
    assert!(refuses_rightly(&sums, &MapStorage::of("x")).contains("is combined by a conflict resolution"));
    // The second tasklet reads what the first one wrote.
    let again = PROGRAM
        .replace("      map m", "      access x_1 = x\n      map m")
        .replace(
            "        t.p -> m.x: x[i]\n",
            "        t.p -> m.x: x[i]\n        tasklet u (c) -> (d) { d = c }\n        m.x -> u.c: x[i]\n        u.d -> m.A: A[t + 1, i]\n        order t -> u\n",
        )
        .replace("        t.o -> m.A: A[t + 1, i]\n", "")
        .replace("-> (o, p) {\n          o = a + 2 * b\n", "-> (p) {\n")
        .replace("      m.x -> x\n", "      x -> m.x\n      m.x -> x_1\n");
    assert!(refuses_rightly(&again, &MapStorage::of("x")).contains("the read comes after the write"));
    // Only some elements are written, and the copy would write all.
    let some =
        PROGRAM.replace("t.p -> m.x: x[i]", "t.p -> m.x: x[2 * (i // 2)]").replace("i = 0:N]", "i = 0:N:2]");
    assert!(refuses(&some, &MapStorage::of("x")).contains("not known exactly"));
}
