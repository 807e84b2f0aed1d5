//! Tests of the index of a state against a full recomputation.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{Edge, EdgeId, Map, Memlet, Node, NodeId, NodeKind, ScopeExit, Sdfg, State, StateId};
use sdfg_language::subset::Subset;

use crate::edit::Editor;

/// What is done to a state; numbers choose among what is there.
#[derive(Clone, Debug)]
enum Step {
    Node,
    Scope,
    Edge(usize, usize),
    Move(usize, usize, usize),
    Remove(usize),
    RemoveNode(usize),
    /// Everything since the last mark is taken back.
    Back,
    Mark,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => Just(Step::Node),
        1 => Just(Step::Scope),
        8 => (0..64usize, 0..64usize).prop_map(|(a, b)| Step::Edge(a, b)),
        3 => (0..64usize, 0..64usize, 0..64usize).prop_map(|(e, a, b)| Step::Move(e, a, b)),
        2 => (0..64usize).prop_map(Step::Remove),
        1 => (0..64usize).prop_map(Step::RemoveNode),
        1 => Just(Step::Back),
        1 => Just(Step::Mark),
    ];
    prop::collection::vec(step, 1..60)
}

fn reached(state: &State, first: NodeId) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![first];
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            waiting.extend(state.out_edges(id).into_iter().map(|edge| state.edge(edge).dst));
        }
    }
    seen
}

fn map() -> NodeKind {
    NodeKind::MapEntry(Map::new(Vec::new(), Subset(Vec::new())))
}

fn compare(editor: &mut Editor<'_>, id: StateId) {
    let nodes: Vec<NodeId> = editor.graph(id).nodes().map(|(id, _)| id).collect();
    let tree = ScopeTree::of(editor.graph(id));
    for node in &nodes {
        assert_eq!(editor.scope_of(id, *node), tree.scope_of(*node), "the scope of {node}");
        let found = reached(editor.graph(id), *node);
        for other in &nodes {
            assert_eq!(editor.is_before(id, *node, *other), found.contains(other), "{node} before {other}");
        }
        let label = editor.graph(id).node(*node).label.clone();
        let fresh = editor.fresh_label(id, &label).expect("the state is there");
        assert_eq!(fresh, editor.graph(id).fresh_label(&label));
    }
}

/// Takes a step where it can be taken.
fn take(editor: &mut Editor<'_>, id: StateId, step: &Step) {
    let nodes: Vec<NodeId> = editor.graph(id).nodes().map(|(id, _)| id).collect();
    // An exit stays behind its entry.
    let graph = editor.graph(id);
    let is_free = |edge: &Edge| graph.node(edge.dst).kind.exit_of() != Some(edge.src);
    let edges: Vec<EdgeId> = graph.edges().filter(|(_, edge)| is_free(edge)).map(|(id, _)| id).collect();
    let node = |at: &usize| nodes.get(at % nodes.len().max(1)).copied();
    let edge = |at: &usize| edges.get(at % edges.len().max(1)).copied();
    let label = editor.fresh_label(id, "n").expect("the state is there");
    match step {
        // Entries without exits are enough for scopes here.
        Step::Node => drop(editor.put_node(id, Node { label, kind: map(), loc: None })),
        Step::Scope => {
            let entry = editor.put_node(id, Node { label: label.clone(), kind: map(), loc: None });
            let kind = NodeKind::MapExit(ScopeExit { entry });
            let exit = editor.put_node(id, Node { label, kind, loc: None });
            editor.order(id, entry, exit).expect("both are new");
        }
        Step::Edge(a, b) => {
            let (Some(src), Some(dst)) = (node(a), node(b)) else { return };
            let closes = reached(editor.graph(id), dst).contains(&src);
            let edge = Edge {
                src,
                src_connector: None,
                dst,
                dst_connector: None,
                memlet: Memlet::order(),
                loc: None,
            };
            assert_eq!(editor.put_edge(id, edge).is_err(), closes, "an edge from {src} to {dst}");
        }
        Step::Move(e, a, b) => {
            if let (Some(edge), Some(src), Some(dst)) = (edge(e), node(a), node(b)) {
                let _ = editor.move_edge(id, edge, (src, None), (dst, None));
            }
        }
        Step::Remove(e) => drop(edge(e).and_then(|edge| editor.take_edge(id, edge))),
        Step::RemoveNode(a) => drop(node(a).and_then(|node| editor.take_node(id, node))),
        Step::Back | Step::Mark => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn an_index_follows_its_state(steps in steps()) {
        let mut sdfg = Sdfg::new("p");
        let body = sdfg.body();
        let (_, id) = sdfg.add_state(body, State::new("s"));
        let mut editor = Editor::of_draft(&mut sdfg);
        compare(&mut editor, id);
        let mut kept: Vec<Step> = Vec::new();
        for step in steps {
            match step {
                Step::Back => {
                    let kept = std::mem::take(&mut kept);
                    let taken_back: Result<(), ()> = editor.attempt(|editor| {
                        kept.iter().for_each(|step| take(editor, id, step));
                        Err(())
                    });
                    assert_eq!(taken_back, Err(()));
                }
                Step::Mark => kept.clear(),
                Step::Node
                | Step::Scope
                | Step::Edge(..)
                | Step::Move(..)
                | Step::Remove(_)
                | Step::RemoveNode(_) => {
                    take(&mut editor, id, &step);
                    kept.push(step);
                }
            }
            compare(&mut editor, id);
        }
        drop(editor);
        prop_assert_eq!(sdfg.state(id).n_nodes(), 0);
        prop_assert_eq!(sdfg.state_mut(id).add_node(Node { label: "n".to_owned(), kind: map(), loc: None }).to_string(), "n0");
    }
}
