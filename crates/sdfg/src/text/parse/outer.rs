//! Names the containers of outer segments without a memlet, so that propagation only has to find the subsets.

use super::super::implied::whole;
use crate::ir::{ContainerId, EdgeId, Flow, Memlet, NodeKind, Sdfg, State};

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
        let (node, connector) =
            if reads { (edge.src, &edge.src_connector) } else { (edge.dst, &edge.dst_connector) };
        if let NodeKind::Access(container) = graph.node(node).kind {
            return Some(container);
        }
        current = step(graph, node, connector.as_deref()?, reads)?;
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
        let (node, connector) =
            if reads { (edge.dst, &edge.dst_connector) } else { (edge.src, &edge.src_connector) };
        current = step(graph, node, connector.as_deref()?, !reads)?;
    }
    None
}

/// The edge on the other side of a scope connector: an incoming one if `incoming`.
fn step(graph: &State, node: crate::ir::NodeId, connector: &str, incoming: bool) -> Option<EdgeId> {
    let (from, to) = if incoming { ("OUT_", "IN_") } else { ("IN_", "OUT_") };
    let partner = format!("{to}{}", connector.strip_prefix(from)?);
    let edges = if incoming { graph.in_edges(node) } else { graph.out_edges(node) };
    edges.into_iter().find(|id| {
        let edge = graph.edge(*id);
        let connector = if incoming { &edge.dst_connector } else { &edge.src_connector };
        connector.as_ref() == Some(&partner)
    })
}
