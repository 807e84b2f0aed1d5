//! Reductions of what a map writes.

use sdfg_transforms::rewrites::MapReduceFusion;

use super::support::{applies, page_is_true, refuses_rightly};

#[test]
fn the_page_is_true() {
    page_is_true(&MapReduceFusion::default());
}

/// A map over `range` that writes `T[index]`, and a reduction of `T[read]` to `B[to]`; further states follow.
fn program(range: &str, index: &str, reduce: &str, read: &str, to: &str, more: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N]
  array C: f64[N, N]
  transient array T: f64[N, N]
  state s {{
    access A
    access T
    access B
    map m [{range}] {{
      tasklet t (x) -> (y) {{ y = 2 * x }}
      m.A -> t.x: A[i, j]
      t.y -> m.T: T[{index}]
    }}
    {reduce}
    A -> m.A
    m.T -> T
    T -> r: T[{read}]
    r -> B: B[{to}]
  }}
{more}
}}"
    )
}

const ALL: &str = "i = 0:N, j = 0:N";

#[test]
fn axes_permutations_and_identities_keep_results() {
    let fusion = MapReduceFusion::default();
    for index in ["i, j", "j, i"] {
        for axis in [0, 1] {
            for identity in ["", " identity(0)", " identity(2.5)"] {
                for resolution in ["sum", "max"] {
                    let reduce = format!("reduce r wcr({resolution}) axes({axis}){identity}");
                    let text = applies(&program(ALL, index, &reduce, "0:N, 0:N", "0:N", ""), &fusion);
                    assert!(!text.contains("reduce") && !text.contains("array T"), "{text}");
                    assert_eq!(text.contains("neutral"), !identity.is_empty(), "{text}");
                }
            }
        }
    }
    let reversed = program(
        "i = N - 1:-1:-1, j = 0:N",
        "i, j",
        "reduce r wcr(sum) axes(1)",
        "0:N, 0:N",
        "N - 1:-1:-1",
        "",
    );
    applies(&reversed.replace("N - 1:-1:-1]\n", "0:N]\n"), &fusion);
    // One element of all.
    applies(&program(ALL, "i, j", "reduce r wcr(sum) identity(0)", "0:N, 0:N", "0", ""), &fusion);
}

#[test]
fn other_elements_than_those_that_are_read_are_not_combined() {
    let fusion = MapReduceFusion::default();
    let row = program(ALL, "i, j", "reduce r wcr(sum) identity(0)", "0, 0:N", "0", "");
    assert!(refuses_rightly(&row, &fusion).contains("are not the same elements"));
    // In the first iteration of the loop the map writes all elements, in the next only some: the others are combined again.
    let some = program("i = 0:N - k, j = 0:N", "i, j", "reduce r wcr(sum) axes(0, 1)", "0:N, 0:N", "0", "")
        .replace("  state s {", "  for l: k = 0:2 {\n  state s {")
        + "}";
    assert!(refuses_rightly(&some, &fusion).contains("are not the same elements"));
}

#[test]
fn the_transient_is_used_by_nothing_else() {
    let fusion = MapReduceFusion::default();
    let more = "  state u {\n    access T\n    access C\n    T -> C\n  }";
    let again = program(ALL, "i, j", "reduce r wcr(sum) axes(1)", "0:N, 0:N", "0:N", more);
    assert!(refuses_rightly(&again, &fusion).contains("elsewhere, too: `p/u/T`"));
    let argument = program(ALL, "i, j", "reduce r wcr(sum) axes(1)", "0:N, 0:N", "0:N", "")
        .replace("transient array T", "array T");
    assert!(refuses_rightly(&argument, &fusion).contains("no transient"));
}

#[test]
fn the_map_does_not_read_the_result() {
    let fusion = MapReduceFusion::default();
    let text = program(ALL, "i, j", "reduce r wcr(sum) axes(1)", "0:N, 0:N", "0:N", "")
        .replace("access A\n", "access A\n    access old = B\n")
        .replace("(x) -> (y) { y = 2 * x }", "(x, b) -> (y) { y = x + b }\n      m.B -> t.b: B[j]")
        .replace("A -> m.A\n", "A -> m.A\n    old -> m.B\n");
    assert!(refuses_rightly(&text, &fusion).contains("is used by the map"));
}

#[test]
fn initial_values_come_after_what_reads_the_result_before() {
    let fusion = MapReduceFusion::default();
    // A copy of the old result that the map reads: the identity would be written before it is made.
    let with = |identity: &str| {
        program(ALL, "i, j", &format!("reduce r wcr(sum) axes(1){identity}"), "0:N, 0:N", "0:N", "")
            .replace("transient array T", "transient array O: f64[N]\n  transient array T")
            .replace("access A\n", "access A\n    access old = B\n    access O\n")
            .replace("(x) -> (y) { y = 2 * x }", "(x, b) -> (y) { y = x + b }\n      m.O -> t.b: O[j]")
            .replace("A -> m.A\n", "A -> m.A\n    old -> O\n    O -> m.O\n")
    };
    applies(&with(""), &fusion);
    assert!(refuses_rightly(&with(" identity(0)"), &fusion).contains("is not behind the reduction"));
}

#[test]
fn results_that_depend_on_the_order_are_refused() {
    let reduce = "reduce r wcr(lambda old, new: 2 * old - new) axes(1) identity(0)";
    let text = program(ALL, "i, j", reduce, "0:N, 0:N", "0:N", "");
    assert!(refuses_rightly(&text, &MapReduceFusion::default()).contains("depend on their order"));
}
