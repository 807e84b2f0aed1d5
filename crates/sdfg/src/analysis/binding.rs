//! Connectors of any code node: the edges at them, and how a nested SDFG's containers lie in what they are bound to.

use crate::ir::{EdgeId, NodeId, State};
use crate::subset::Subset;
use crate::tasklet::Direction;

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

/// Which dimensions of a bound subset the container of a nested SDFG has: all but as many single indices, the leftmost
/// first, as the subset has more dimensions. `None` if it has fewer, or too few single indices.
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
