//! StateFusion across components of states.

use sdfg::edit::Editor;
use sdfg::ir::{Flow, Sdfg};
use sdfg_transforms::rewrites::StateFusion;

use super::at;
use super::calls::refuses_rightly;
use super::support::{applies, difference, parsed};

/// The program without edges that only order: a fusion that joins access nodes, and orders nothing else.
fn unordered(program: &Sdfg) -> Sdfg {
    let mut program = program.clone();
    let mut editor = Editor::new(&mut program);
    let states: Vec<_> = editor.sdfg().states().map(|(id, _)| id).collect();
    for state in states {
        let graph = editor.sdfg().state(state);
        let orders: Vec<_> = graph
            .edges()
            .filter(|(_, edge)| matches!(edge.memlet.flow, Flow::Order))
            .map(|(id, _)| id)
            .collect();
        for edge in orders {
            editor.remove_edge(state, edge).expect("an edge");
        }
    }
    editor.commit().expect("a valid program");
    program
}

/// The states become one with the same results; without the order that the fusion adds, results differ.
fn is_fused_in_order(text: &str) {
    let fused = applies(text, &StateFusion::default());
    assert_eq!(fused.matches("state ").count(), 1, "{fused}");
    assert!(fused.contains("order "), "{fused}");
    let wrong = difference(&parsed(text), &unordered(&parsed(&fused)));
    assert!(wrong.is_some(), "nothing depends on the order:\n{fused}");
}

#[test]
fn issue_1952_writes_wait_for_reads_of_another_component() {
    is_fused_in_order(include_str!("1952.sdft"));
}

#[test]
fn issue_2256_each_write_waits_not_only_those_on_a_path() {
    is_fused_in_order(include_str!("2256.sdft"));
}

#[test]
fn issue_2267_writes_behind_reads_need_no_further_order() {
    let fused = applies(include_str!("2267.sdft"), &StateFusion::default());
    assert_eq!(fused.matches("state ").count(), 1, "{fused}");
    assert!(!fused.contains("order "), "{fused}");
}

/// Views are bound when a state begins, before its references are bound.
#[test]
fn views_of_references_that_are_bound_before_stay_in_a_state_of_their_own() {
    let text = "sdfg p {
  array A: f64[2]
  array B: f64[2]
  array C: f64[2]
  reference R: f64[2]
  view V: f64[2]

  state zero {
    access A
    access R
    access C
    bind A -> R: A[0:2]
    R -> C: R[0:2] -> C[0:2]
  }
  state first {
    access B
    access R
    bind B -> R: B[0:2]
  }
  state second {
    access R
    access V
    access C
    bind R -> V: R[0:2]
    V -> C: V[0:2] -> C[0:2]
  }
}
";
    let before = parsed(text);
    let found = at(&before, &StateFusion::default(), "p/second");
    let reason = refuses_rightly(&before, &StateFusion::default(), &found);
    assert!(reason.contains("`V` is bound to `R`, which the first state binds"), "{reason}");
}
