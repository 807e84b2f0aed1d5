//! Names the containers of outer segments without a memlet, so that propagation only has to find the subsets.

use super::super::implied::whole;
use crate::ir::{ContainerId, Edge, EdgeId, Flow, Memlet, NodeKind, Port, Sdfg, State};

/// Gives each of these edges a memlet that covers the whole container its path leads to. One whose path leads nowhere
/// only orders; validation tells what is wrong with it.
pub(super) fn name_containers(sdfg: &Sdfg, graph: &mut State, underived: &[EdgeId]) {
    for &id in underived {
        let enters = graph.node(graph.edge(id).dst).kind.is_scope_entry();
        let container = if enters {
            outward(graph, id, true).or_else(|| inward(graph, id, true))
        } else {
            outward(graph, id, false).or_else(|| inward(graph, id, false))
        };
        let Some(container) = container else { continue };
        let access = whole(sdfg, container);
        *graph.memlet_mut(id) = if enters { Memlet::read(access) } else { Memlet::write(access) };
    }
}

/// The container of the access node at the outer end of the path of an edge; `reads` tells the side.
fn outward(graph: &State, edge: EdgeId, reads: bool) -> Option<ContainerId> {
    let mut current = edge;
    // A path crosses each edge once, so that a cycle (of a wrong graph) ends the search.
    for _ in 0..graph.n_edges() {
        let edge = graph.edge(current);
        let node = if reads { edge.src } else { edge.dst };
        if let NodeKind::Access(container) = graph.node(node).kind {
            return Some(container);
        }
        current = step(graph, edge, !reads)?;
    }
    None
}

/// The container that the memlet at the inner end of the path of an edge names.
fn inward(graph: &State, edge: EdgeId, reads: bool) -> Option<ContainerId> {
    let mut current = edge;
    for _ in 0..graph.n_edges() {
        let edge = graph.edge(current);
        let named = match &edge.memlet.flow {
            Flow::Read(access) if reads => Some(access.container),
            Flow::Copy { from, .. } if reads => Some(from.container),
            Flow::Write { to, .. } | Flow::Copy { to, .. } if !reads => Some(to.container),
            Flow::Order
            | Flow::Read(_)
            | Flow::Write { .. }
            | Flow::Copy { .. }
            | Flow::Value
            | Flow::Bind(_) => None,
        };
        if named.is_some() {
            return named;
        }
        current = step(graph, edge, reads)?;
    }
    None
}

/// The edge on the other side of the port of a scope node at which an edge starts, or with `ends` ends.
fn step(graph: &State, edge: &Edge, ends: bool) -> Option<EdgeId> {
    let partners = if ends {
        graph.edges_at(edge.dst, Port::Out(edge.in_port()?))
    } else {
        graph.edges_at(edge.src, Port::In(edge.out_port()?))
    };
    partners.first().copied()
}
