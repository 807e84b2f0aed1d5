//! Reduction of dataflow: states, nodes, edges and calls.

use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{EdgeId, Node, NodeId, NodeKind, Sdfg, State, StateId};

use super::repair::{Types, repair};
use super::step::{Change, edited};

/// States without their contents.
pub(super) fn with_empty_states(sdfg: &Sdfg) -> Vec<Change> {
    let full = sdfg.states().filter(|(_, state)| state.n_nodes() > 0);
    full.map(|(id, state)| {
        Change::new(format!("nothing in the state `{}`", state.label), move |sdfg| {
            let label = sdfg.get_state(id)?.label.clone();
            *sdfg.state_mut(id) = State::new(label);
            Some(())
        })
    })
    .collect()
}

/// Scopes with all that is in them.
pub(super) fn without_scopes(sdfg: &Sdfg) -> Vec<Change> {
    without(sdfg, |node| node.kind.is_scope_entry())
}

/// Tasklets, calls, reductions and library nodes with their edges.
pub(super) fn without_code(sdfg: &Sdfg) -> Vec<Change> {
    without(sdfg, |node| node.kind.is_code())
}

/// Access nodes with their edges. Tasklets go on without what they read or write there.
pub(super) fn without_accesses(sdfg: &Sdfg) -> Vec<Change> {
    without(sdfg, |node| matches!(node.kind, NodeKind::Access(_)))
}

fn without(sdfg: &Sdfg, is_meant: impl Fn(&Node) -> bool) -> Vec<Change> {
    let mut changes = Vec::new();
    for (state, graph) in sdfg.states() {
        for (id, node) in graph.nodes().filter(|(_, node)| is_meant(node)) {
            let what = format!("without the {} `{}` in `{}`", node.kind.noun(), node.label, graph.label);
            changes.push(Change::new(what, move |sdfg| remove_node(sdfg, state, id)));
        }
    }
    changes
}

/// Removes a node, and what stood at the other ends of its edges goes on without it.
pub(super) fn remove_node(sdfg: &mut Sdfg, state: StateId, node: NodeId) -> Option<()> {
    let types = Types::of(sdfg, sdfg.get_state(state)?);
    edited(sdfg, |editor| editor.remove_node(state, node))?;
    repair(sdfg, state, &types);
    Some(())
}

/// Edges with the paths that they belong to.
pub(super) fn without_edges(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (state, graph) in sdfg.states() {
        for (id, edge) in graph.edges() {
            let label = |node: NodeId| &graph.node(node).label;
            let what = format!("without the edge from `{}` to `{}`", label(edge.src), label(edge.dst));
            changes.push(Change::new(what, move |sdfg| remove_edge(sdfg, state, id)));
        }
    }
    changes
}

/// Removes the path of an edge, and what stood at its ends goes on without it.
pub(super) fn remove_edge(sdfg: &mut Sdfg, state: StateId, edge: EdgeId) -> Option<()> {
    let types = Types::of(sdfg, sdfg.get_state(state)?);
    edited(sdfg, |editor| editor.remove_edge(state, edge))?;
    repair(sdfg, state, &types);
    Some(())
}

/// Nested SDFGs in the place of their calls.
pub(super) fn inlined(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (state, graph) in sdfg.states() {
        for (id, node) in graph.nodes() {
            if let NodeKind::Nested(_) = node.kind {
                let what = format!("the nested SDFG `{}` in the place of its call", node.label);
                changes.push(Change::new(what, move |sdfg| {
                    edited(sdfg, |editor| editor.inline_nested(state, id))
                }));
            }
        }
    }
    changes
}
