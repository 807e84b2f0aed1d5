//! Bindings of names: edges at connectors, positions of a nested SDFG's containers in their arguments, and
//! the view or reference that an edge binds.

use sdfg_language::subset::Subset;
use sdfg_language::tasklet::Direction;

use crate::ir::{Access, ContainerId, EdgeId, Flow, NodeId, State};

/// The edges at a connector, in order of ids.
pub fn connector_edges(state: &State, node: NodeId, direction: Direction, connector: &str) -> Vec<EdgeId> {
    let mut edges = match direction {
        Direction::In => state.in_edges(node),
        Direction::Out => state.out_edges(node),
    };
    edges.retain(|edge| {
        let edge = state.edge(*edge);
        let name = match direction {
            Direction::In => &edge.dst_connector,
            Direction::Out => &edge.src_connector,
        };
        name.as_deref() == Some(connector)
    });
    edges
}

/// Dimensions of a bound subset that the container of a nested SDFG has: all except as many single indices,
/// the leftmost first, as the subset has more dimensions. `None` if it has fewer, or too few single indices.
pub fn bound_dimensions(subset: &Subset, rank: usize) -> Option<Vec<usize>> {
    let mut surplus = subset.rank().checked_sub(rank)?;
    let mut kept = Vec::with_capacity(rank);
    for (dimension, range) in subset.0.iter().enumerate() {
        if surplus > 0 && range.is_index() {
            surplus -= 1;
        } else {
            kept.push(dimension);
        }
    }
    (surplus == 0).then_some(kept)
}

/// The view or reference that an edge binds, and what it makes it name. `None` for an edge of another kind, or one without such an end.
pub fn bound_alias(state: &State, edge: EdgeId) -> Option<(ContainerId, &Access)> {
    let edge = state.edge(edge);
    let Flow::Bind(target) = &edge.memlet.flow else { return None };
    let ends = [edge.dst, edge.src].map(|end| state.node(end).kind.container());
    let alias = ends.into_iter().flatten().find(|container| *container != target.container)?;
    Some((alias, target))
}
