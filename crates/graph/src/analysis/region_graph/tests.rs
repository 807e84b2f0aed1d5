//! Tests of region graphs of small regions, of dominators against their definition on random graphs, and of
//! tables that follow changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::syntax::parse_expression;

use super::RegionGraph;
use crate::analysis::{Analyses, DominatorTree};
use crate::ir::{
    Block, BlockId, BlockKind, Container, ContainerKind, Node, NodeKind, Sdfg, State, Transition,
};

/// A body with `n` empty states, and transitions with these conditions.
fn machine(n: usize, transitions: &[(usize, usize, Option<&str>)]) -> (Sdfg, Vec<BlockId>) {
    let mut sdfg = Sdfg::new("machine");
    for (name, ty) in [("n", ScalarType::I32), ("x", ScalarType::F64)] {
        sdfg.add_container(Container::new(name, ElementType::scalar(ty), ContainerKind::Scalar));
    }
    let body = sdfg.body();
    let blocks: Vec<BlockId> = (0..n).map(|i| sdfg.add_state(body, State::new(format!("s{i}"))).0).collect();
    for (src, dst, condition) in transitions {
        let condition = condition.map(|text| parse_expression(text).unwrap());
        sdfg.add_transition(Transition {
            src: blocks[*src],
            dst: blocks[*dst],
            condition,
            assignments: Vec::new(),
            loc: None,
        });
    }
    (sdfg, blocks)
}

fn ends_after_first(conditions: &[Option<&str>]) -> bool {
    let transitions: Vec<_> = conditions.iter().map(|condition| (0, 1, *condition)).collect();
    let (sdfg, blocks) = machine(2, &transitions);
    RegionGraph::of(&sdfg, sdfg.body()).may_end_after(blocks[0])
}

#[test]
fn complementary_conditions_leave_no_way_to_end() {
    assert!(ends_after_first(&[]));
    assert!(!ends_after_first(&[None]));
    assert!(!ends_after_first(&[Some("i < 4"), None]));
    assert!(!ends_after_first(&[Some("True")]));
    assert!(ends_after_first(&[Some("i < 4")]));
    assert!(!ends_after_first(&[Some("i < 4"), Some("not (i < 4)")]));
    assert!(!ends_after_first(&[Some("not x < 4.0"), Some("x < 4.0")]));
    assert!(!ends_after_first(&[Some("i < n"), Some("i >= n")]));
    assert!(!ends_after_first(&[Some("i < n"), Some("n <= i")]));
    assert!(!ends_after_first(&[Some("i == n"), Some("n != i")]));
    assert!(ends_after_first(&[Some("i < n"), Some("i > n")]));
    assert!(ends_after_first(&[Some("i < n"), Some("n >= i")]));
    // With a NaN neither holds.
    assert!(ends_after_first(&[Some("x < 4"), Some("x >= 4")]));
}

#[test]
fn transitions_that_are_never_taken_are_no_edges() {
    let (mut sdfg, blocks) =
        machine(4, &[(0, 1, Some("i < 4")), (0, 1, Some("i < 5")), (0, 2, None), (0, 3, Some("i < 9"))]);
    let body = sdfg.body();
    let stop = Block { label: "stop".to_owned(), kind: BlockKind::Return, region: body, loc: None };
    let stop = sdfg.add_block(body, stop);
    for (src, dst) in [(blocks[1], stop), (stop, blocks[2])] {
        sdfg.add_transition(Transition { src, dst, condition: None, assignments: Vec::new(), loc: None });
    }
    let graph = RegionGraph::of(&sdfg, body);
    assert_eq!(graph.successors(blocks[0]), [blocks[1], blocks[2]]);
    assert_eq!(graph.predecessors(blocks[2]), [blocks[0]]);
    assert_eq!(graph.successors(stop), []);
    assert!(graph.may_end_after(stop) && !graph.may_end_after(blocks[1]));
    assert_eq!(graph.reachable(), [blocks[0], blocks[1], blocks[2], stop].into());
}

/// What can be reached from these blocks without passing one of them.
fn reach(
    graph: &RegionGraph,
    from: Vec<BlockId>,
    avoid: Option<BlockId>,
    forward: bool,
) -> BTreeSet<BlockId> {
    let mut found = BTreeSet::new();
    let mut waiting = from;
    while let Some(block) = waiting.pop() {
        if Some(block) != avoid && found.insert(block) {
            waiting.extend(if forward { graph.successors(block) } else { graph.predecessors(block) });
        }
    }
    found
}

proptest! {
    #[test]
    fn dominators_by_their_definition(
        n in 1usize..9,
        edges in proptest::collection::vec((0usize..9, 0usize..9, 0usize..3), 0..20),
    ) {
        let conditions = [None, Some("i < 4"), Some("i >= 4")];
        let edges: Vec<_> = edges.into_iter().map(|(a, b, c)| (a % n, b % n, conditions[c])).collect();
        let (sdfg, blocks) = machine(n, &edges);
        let graph = RegionGraph::of(&sdfg, sdfg.body());
        let ends: Vec<BlockId> = blocks.iter().copied().filter(|block| graph.may_end_after(*block)).collect();
        for (tree, roots, forward) in [
            (DominatorTree::dominators(&graph), vec![blocks[0]], true),
            (DominatorTree::post_dominators(&graph), ends, false),
        ] {
            let all = reach(&graph, roots.clone(), None, forward);
            for a in &blocks {
                prop_assert_eq!(tree.contains(*a), all.contains(a));
                let without = reach(&graph, roots.clone(), Some(*a), forward);
                for b in &blocks {
                    let dominated = all.contains(b) && !without.contains(b);
                    prop_assert_eq!(tree.dominates(*a, *b), dominated, "{} {} {}", a, b, forward);
                }
                let nearest = tree.immediate(*a);
                let strict = tree.of(*a).skip(1).collect::<Vec<_>>();
                prop_assert_eq!(nearest, strict.first().copied());
                prop_assert!(nearest.is_none_or(|above| tree.children(Some(above)).contains(a)));
                for b in &blocks {
                    let common = blocks.iter().filter(|c| tree.dominates(**c, *a) && tree.dominates(**c, *b));
                    let lowest = common.max_by_key(|c| tree.of(**c).count()).copied();
                    prop_assert_eq!(tree.nearest_common(*a, *b), lowest);
                }
            }
        }
    }
}

#[test]
fn tables_are_kept_until_what_they_depend_on_changes() {
    let (mut sdfg, blocks) = machine(2, &[(0, 1, None)]);
    let body = sdfg.body();
    let states: Vec<_> = sdfg.states().map(|(id, _)| id).collect();
    let node = |container| Node { label: "a".to_owned(), kind: NodeKind::Access(container), loc: None };
    let container = sdfg.find_container("x").unwrap();
    for state in &states {
        sdfg.state_mut(*state).add_node(node(container));
    }
    let mut analyses = Analyses::new();
    let before = analyses.dominators(&sdfg, body);
    let [first, second] = [states[0], states[1]].map(|state| analyses.scopes(&sdfg, state));
    assert!(Arc::ptr_eq(&before, &analyses.dominators(&sdfg, body)));
    let snapshot = sdfg.clone();
    assert!(Arc::ptr_eq(&before, &analyses.dominators(&snapshot, body)));

    sdfg.state_mut(states[0]).add_node(node(container));
    assert!(!Arc::ptr_eq(&first, &analyses.scopes(&sdfg, states[0])));
    assert!(Arc::ptr_eq(&second, &analyses.scopes(&sdfg, states[1])));

    let block = Block { label: "stop".to_owned(), kind: BlockKind::Return, region: body, loc: None };
    let stop = sdfg.add_block(body, block);
    assert!(!analyses.dominators(&sdfg, body).contains(stop));
    sdfg.add_transition(Transition {
        src: blocks[1],
        dst: stop,
        condition: None,
        assignments: Vec::new(),
        loc: None,
    });
    assert!(analyses.dominators(&sdfg, body).dominates(blocks[1], stop));
    // The snapshot went its own way and has its own tables again.
    assert!(!analyses.dominators(&snapshot, body).contains(stop));
    assert_eq!(analyses.scopes(&snapshot, states[0]).children(None).len(), 1);
}
