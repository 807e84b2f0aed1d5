//! Paths of memlets through scopes (paper section 3.3, memlet propagation).
//!
//! Data that passes through scopes takes several edges, joined by the `IN_x`/`OUT_x` connectors of entries
//! and exits. The edges form a tree. The root is the edge at the access node outside; the leaves are the
//! edges at the nodes that move the data.

use std::collections::BTreeSet;

use crate::ir::{Consume, EdgeId, NodeId, NodeKind, Port, State};

/// The next edge towards the access node outside on the read side, for an edge out of a scope entry.
fn outer_read(state: &State, edge: EdgeId) -> Option<EdgeId> {
    let edge = state.get_edge(edge)?;
    if !state.node(edge.src).kind.is_scope_entry() {
        return None;
    }
    state.edges_at(edge.src, Port::In(edge.out_port()?)).first().copied()
}

/// The next edge towards the access node outside on the write side, for an edge into a scope exit.
fn outer_write(state: &State, edge: EdgeId) -> Option<EdgeId> {
    let edge = state.get_edge(edge)?;
    state.node(edge.dst).kind.exit_of()?;
    state.edges_at(edge.dst, Port::Out(edge.in_port()?)).first().copied()
}

/// The edges one scope further in; none for a leaf.
pub fn inner_segments(state: &State, edge: EdgeId) -> Vec<EdgeId> {
    let Some(edge) = state.get_edge(edge) else { return Vec::new() };
    let mut found: Vec<EdgeId> = Vec::new();
    if state.node(edge.dst).kind.is_scope_entry()
        && let Some(name) = edge.in_port()
    {
        found.extend(state.edges_at(edge.dst, Port::Out(name)));
    }
    if state.node(edge.src).kind.exit_of().is_some()
        && let Some(name) = edge.out_port()
    {
        found.extend(state.edges_at(edge.src, Port::In(name)));
    }
    found
}

/// The next edge outwards: for an edge out of an entry the one that brings its data, for an edge into an exit the one
/// that takes it on. `None` for the outermost edge of a path.
pub fn outer_segment(state: &State, edge: EdgeId) -> Option<EdgeId> {
    outer_read(state, edge).or_else(|| outer_write(state, edge))
}

/// The next edges outwards on both sides: an edge straight from an entry to an exit has two.
pub fn outer_segments(state: &State, edge: EdgeId) -> impl Iterator<Item = EdgeId> {
    outer_read(state, edge).into_iter().chain(outer_write(state, edge))
}

/// The edges from the outermost scope to `edge` and from it outwards again, in the direction of flow.
///
/// For a leaf of the read side this is the whole path, the edge at the outer access node first; for one of the write
/// side the whole path, the edge at the outer access node last; for an edge that is not a leaf the part outside it.
/// Empty if there is no such edge.
pub fn memlet_path(state: &State, edge: EdgeId) -> Vec<EdgeId> {
    if state.get_edge(edge).is_none() {
        return Vec::new();
    }
    let mut path = vec![edge];
    let mut at = edge;
    while let Some(next) = outer_read(state, at).filter(|next| !path.contains(next)) {
        path.push(next);
        at = next;
    }
    path.reverse();
    at = edge;
    while let Some(next) = outer_write(state, at).filter(|next| !path.contains(next)) {
        path.push(next);
        at = next;
    }
    path
}

/// The node outside all scopes that the data of an edge comes from or goes to: for the write side the end of the path,
/// for all others its start. `None` if there is no such edge.
pub fn memlet_root(state: &State, edge: EdgeId) -> Option<NodeId> {
    let path = memlet_path(state, edge);
    let into_exit = state.node(state.get_edge(edge)?.dst).kind.exit_of().is_some();
    let out_of_exit = state.node(state.edge(edge).src).kind.exit_of().is_some();
    if into_exit || out_of_exit {
        path.last().map(|last| state.edge(*last).dst)
    } else {
        path.first().map(|first| state.edge(*first).src)
    }
}

/// The entry of the consume scope whose taken element an edge inside of the scope brings, if it brings one: a value, and
/// not elements of the stream.
pub fn consumed_by(state: &State, edge: EdgeId) -> Option<NodeId> {
    memlet_path(state, edge).into_iter().find_map(|segment| {
        let segment = state.edge(segment);
        let is_consume = matches!(state.node(segment.src).kind, NodeKind::ConsumeEntry(_));
        (is_consume && segment.out_port() == Some(Consume::PORT)).then_some(segment.src)
    })
}

/// Whether an edge moves data itself: it neither enters nor leaves a scope through an `IN_x`/`OUT_x` pair.
pub fn is_leaf(state: &State, edge: EdgeId) -> bool {
    let Some(edge) = state.get_edge(edge) else { return false };
    let enters = state.node(edge.dst).kind.is_scope_entry() && edge.in_port().is_some();
    let leaves = state.node(edge.src).kind.exit_of().is_some() && edge.out_port().is_some();
    !enters && !leaves
}

/// The leaves of the memlet tree inside an edge, by depth-first search in order of ids; the edge itself if it is one.
pub fn leaf_edges(state: &State, edge: EdgeId) -> Vec<EdgeId> {
    let mut leaves = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![edge];
    while let Some(edge) = waiting.pop() {
        if !seen.insert(edge) {
            continue;
        }
        if is_leaf(state, edge) {
            leaves.push(edge);
        }
        waiting.extend(inner_segments(state, edge).into_iter().rev());
    }
    leaves
}
