//! Maps around calls of SDFGs of several blocks.

use super::support::{applies, refuses, refuses_rightly};
use sdfg_transforms::rewrites::MapFission;

/// A map over a range of rows of `A`, which calls an SDFG of these blocks.
fn around(range: &str, transients: &str, blocks: &str) -> String {
    format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N + 2, N + 2]
  array B: f64[N + 2]
  state s {{
    access A
    access B
    map m [{range}] {{
      nested n (row) -> (result) with (N = N, at = i) sdfg called {{
        symbol N: i64
        symbol at: i64
        array row: f64[N + 2]
        scalar result: f64
        {transients}
        {blocks}
      }}
      m.A -> n.row: A[i, 0:N + 2]
      n.result -> m.B: B[i]
    }}
    A -> m.A
    m.B -> B
  }}
}}"
    )
}

/// A state with a tasklet from an element to another.
fn step(label: &str, read: &str, code: &str, write: &str) -> String {
    let container = |element: &str| element.split('[').next().unwrap_or_default().to_owned();
    format!(
        "state {label} {{
  access from = {}
  access to = {}
  tasklet t (x) -> (y) {{ y = {code} }}
  from -> t.x: {read}
  t.y -> to: {write}
}}
",
        container(read),
        container(write)
    )
}

/// The numbers of maps and of states in the rewritten program.
fn split(text: &str) -> (usize, usize) {
    let after = applies(text, &MapFission::default());
    (after.matches("map m").count(), after.matches("state ").count())
}

#[test]
fn values_between_states_get_a_dimension() {
    let blocks = step("first", "row[0]", "x + 1", "kept") + &step("second", "kept", "2 * x", "result");
    let text = around("i = 0:N", "transient scalar kept: f64", &blocks);
    let after = applies(&text, &MapFission::default());
    assert!(after.contains("transient array kept: f64[N]"), "{after}");
    assert_eq!(after.matches("map m").count(), 2, "{after}");
    let from_two =
        around("i = 2:N + 2:3", "transient array kept: f64[3]", &blocks.replace(": kept\n", ": kept[1]\n"));
    let after = applies(&from_two, &MapFission::default());
    assert!(after.contains("transient array kept: f64[N, 3]"), "{after}");
}

#[test]
fn common_control_flow_leaves_the_map() {
    let add = "state add {
  access row
  access before = kept
  access after = kept
  tasklet t (x, z) -> (y) { y = x + z }
  before -> t.x
  row -> t.z: row[k]
  t.y -> after
}";
    let blocks = step("first", "row[0]", "x", "kept")
        + &format!("for each: k = 0:N {{ {add} }}\n")
        + &format!("if large: N > 2 {{ {} }}\n", add.replace("[k]", "[N]").replace("add", "more"))
        + &step("last", "kept", "x", "result");
    let after = applies(&around("i = 0:N", "transient scalar kept: f64", &blocks), &MapFission::default());
    assert_eq!(after.matches("map m").count(), 4, "{after}");
}

#[test]
fn branches_that_iterations_take_differently_stay_in_the_map() {
    for condition in ["at > 1", "kept > 0.5", "row[0] > 0.0 and N > 1"] {
        let arm = step("arm", "row[1]", "x - 1", "kept");
        let other = step("other", "kept", "3 * x", "kept");
        let blocks = step("first", "row[0]", "x", "kept")
            + &format!("if large: {condition} {{ {arm} }} else {{ {other} }}\n")
            + &step("last", "kept", "x", "result");
        let text = around("i = 0:N", "transient scalar kept: f64", &blocks);
        assert_eq!(split(&text).0, 3, "{condition}");
    }
}

#[test]
fn control_flow_that_differs_between_iterations_is_refused() {
    let blocks = |header: &str| {
        let again = step("again", "kept", "x + 1", "kept");
        step("first", "row[0]", "x", "kept")
            + &header.replace('#', &again)
            + &step("last", "kept", "x", "result")
    };
    let refused = |header: &str| {
        refuses(&around("i = 0:N", "transient scalar kept: f64", &blocks(header)), &MapFission::default())
    };
    let loops = refused("for each: k = 0:at { # }\n");
    assert!(loops.contains("goes on by `at`"), "{loops}");
    let inside = refused("if large: kept > 0.5 { for each: k = 0:N { # } }\n");
    assert!(inside.contains("goes on by `kept`"), "{inside}");
    let assigned = refused("state e {}\n-> last with (w = at)\n");
    assert!(assigned.contains("goes on by `at`"), "{assigned}");
    let set = refused("state e {}\n-> last with (at = 1)\n");
    assert!(set.contains("sets `at`"), "{set}");
}

#[test]
fn without_iterations_no_loop_runs_forever() {
    let forever = step("first", "row[0]", "x", "result")
        + "while forever: N > 4 { state e {} }\n"
        + &step("last", "row[1]", "x", "result");
    let reason = refuses(&around("i = 0:N - 5", "", &forever), &MapFission::default());
    assert!(reason.contains("0 < N - 5"), "{reason}");
    // A loop that ends may run where no iteration ran it before.
    let counted = forever.replace("while forever: N > 4", "for counted: k = 0:N");
    applies(&around("i = 0:N - 5", "", &counted), &MapFission::default());
}

#[test]
fn arrays_of_iterations_need_an_extent() {
    let blocks = step("first", "row[0]", "x + 1", "kept") + &step("second", "kept", "2 * x", "result");
    let text = |range: &str| around(range, "transient scalar kept: f64", &blocks);
    let reason = refuses_rightly(&text("i = 4:N"), &MapFission::default());
    assert!(reason.contains("4 <= N"), "{reason}");
    let reason = refuses(&text("i = N:-1:-1"), &MapFission::default());
    assert!(reason.contains("N <= -1"), "{reason}");
    // Of two dimensions, the second ends where the first one is.
    let triangle = text("j = 0:1, i = j:N").replace("[i, 0:", "[i + j, 0:");
    let reason = refuses_rightly(&triangle, &MapFission::default());
    assert!(reason.contains("depends on `j`"), "{reason}");
    let sized =
        around("i = 1:N", "transient array kept: f64[at]", &blocks.replace(": kept\n", ": kept[0]\n"));
    let reason = refuses(&sized, &MapFission::default());
    assert!(reason.contains("a size that depends on `at`"), "{reason}");
}

#[test]
fn queues_that_states_share_are_refused() {
    let blocks = step("first", "row[0]", "x + 1", "kept") + &step("second", "kept", "2 * x", "result");
    let text = around("i = 0:N", "transient stream kept: f64", &blocks);
    let reason = refuses(&text, &MapFission::default());
    assert!(reason.contains("is a stream, view or reference"), "{reason}");
    let persistent = around("i = 0:1", "transient scalar kept: f64 lifetime(persistent)", &blocks);
    let reason = refuses(&persistent, &MapFission::default());
    assert!(reason.contains("from one call to the next"), "{reason}");
}
