//! Order edges behind scopes and at library nodes, in the form that DaCe validates.
//!
//! Our order edges join any two nodes of a scope. In DaCe, an edge from the exit of a scope leads to data or to
//! the exit of the scope around it. An order edge from an exit to a node of another kind therefore starts at an
//! access node behind the exit. If that node would close a cycle, the edge passes an access node of its own,
//! which moves nothing.
//!
//! DaCe's library nodes count their edges and refuse order edges. These move to the access nodes that a library
//! node reads and writes. If that would close a cycle, a second access node of the same data stands between.

use indexmap::IndexMap;

use crate::model::{Edge, Memlet, Node, NodeKind, State};
use crate::wire::Path;

/// Moves the order edges of a state that leave scopes for other nodes than data and exits.
pub(super) fn lead_through_data(state: &mut State) {
    for at in 0..state.edges.len() {
        let edge = &state.edges[at];
        if !is_order(edge)
            || !is_exit(&state.nodes[edge.src])
            || is_data(&state.nodes[edge.dst])
            || is_exit(&state.nodes[edge.dst])
        {
            continue;
        }
        let (src, dst) = (edge.src, edge.dst);
        let behind = |edge: &&Edge| edge.src == src && is_data(&state.nodes[edge.dst]);
        let found =
            state.edges.iter().filter(behind).map(|edge| edge.dst).find(|data| !reaches(state, dst, *data));
        let from = match found {
            Some(data) => data,
            None => {
                let written =
                    state.edges.iter().find_map(|edge| edge.memlet.data.clone().filter(|_| edge.src == src));
                // A scope without data has no effect that an order could be about.
                let Some(data) = written else { continue };
                let dst = add_access(state, data);
                state.edges.push(order(src, dst));
                dst
            }
        };
        state.edges[at].src = from;
    }
}

/// Moves the order edges of a state at library nodes to the data that these read and write.
pub(super) fn go_around_library_nodes(state: &mut State) {
    for at in 0..state.edges.len() {
        let Edge { src, dst, .. } = state.edges[at];
        if !is_order(&state.edges[at]) {
            continue;
        }
        if is_library(&state.nodes[dst])
            && let Some(read) = operand(state, dst, true)
        {
            state.edges[at].dst = before(state, read, src);
        }
        if is_library(&state.nodes[src])
            && let Some(written) = operand(state, src, false)
        {
            let dst = state.edges[at].dst;
            state.edges[at].src = behind(state, written, dst);
        }
    }
}

/// The edge between a library node and an access node that it reads or writes. An access node of a view or a reference is
/// none, because its edges have other meanings.
fn operand(state: &State, library: usize, reads: bool) -> Option<usize> {
    let is_bound = |node: usize| {
        let connectors = |edge: &Edge| [edge.src_connector.clone(), edge.dst_connector.clone()];
        let binds = |name: &String| name == "views" || name == "set";
        let mut at = state.edges.iter().filter(|edge| edge.src == node || edge.dst == node);
        at.any(|edge| connectors(edge).iter().flatten().any(binds))
    };
    state.edges.iter().position(|edge| {
        let (here, data) = if reads { (edge.dst, edge.src) } else { (edge.src, edge.dst) };
        here == library && edge.memlet.data.is_some() && is_data(&state.nodes[data]) && !is_bound(data)
    })
}

/// The access node in front of a library node at which an order behind `earlier` may end.
fn before(state: &mut State, read: usize, earlier: usize) -> usize {
    let data = state.edges[read].src;
    if !reaches(state, data, earlier) {
        return data;
    }
    let NodeKind::Access { data: name, .. } = &state.nodes[data].kind else { return data };
    let again = add_access(state, name.clone());
    state.edges.push(order(data, again));
    state.edges[read].src = again;
    again
}

/// The access node behind a library node at which an order in front of `later` may begin.
fn behind(state: &mut State, written: usize, later: usize) -> usize {
    let data = state.edges[written].dst;
    if !reaches(state, later, data) {
        return data;
    }
    let NodeKind::Access { data: name, .. } = &state.nodes[data].kind else { return data };
    let again = add_access(state, name.clone());
    state.edges.push(order(again, data));
    state.edges[written].dst = again;
    again
}

/// An access node without edges.
fn add_access(state: &mut State, data: String) -> usize {
    let (inputs, outputs) = (IndexMap::new(), IndexMap::new());
    let kind = NodeKind::Access { data: data.clone(), setzero: false };
    state.nodes.push(Node { label: data, kind, inputs, outputs, path: Path::default() });
    state.nodes.len() - 1
}

fn order(src: usize, dst: usize) -> Edge {
    let (src_connector, dst_connector, memlet) = (None, None, Memlet::default());
    Edge { src, src_connector, dst, dst_connector, memlet, path: Path::default() }
}

fn is_order(edge: &Edge) -> bool {
    edge.memlet.data.is_none() && edge.src_connector.is_none() && edge.dst_connector.is_none()
}

fn is_library(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Library { .. })
}

fn is_exit(node: &Node) -> bool {
    matches!(node.kind, NodeKind::MapExit(_) | NodeKind::ConsumeExit(_))
}

fn is_data(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Access { .. })
}

/// Whether edges lead from one node to another.
fn reaches(state: &State, from: usize, to: usize) -> bool {
    let mut seen = vec![false; state.nodes.len()];
    let mut waiting = vec![from];
    while let Some(node) = waiting.pop() {
        if node == to {
            return true;
        }
        if std::mem::replace(&mut seen[node], true) {
            continue;
        }
        waiting.extend(state.edges.iter().filter(|edge| edge.src == node).map(|edge| edge.dst));
    }
    false
}
