//! Order by paths between nodes and copies of one body.
//!
//! A scope counts as one node from its entry to its exit. A copy is a separate step between its two access
//! nodes, so two copies out of one access node are unordered.

use std::collections::BTreeMap;

use sdfg_graph::ir::{EdgeId, Flow, NodeId, State};

use super::touch::Touch;

/// Nodes of a state whose paths are followed: a table of twice as many takes four times the memory.
const MOST_NODES: usize = 20_000;

/// Reachability between nodes of a state.
pub(super) struct Paths {
    places: BTreeMap<NodeId, usize>,
    /// For each node in topological order, which nodes it has a path to, as bits.
    rows: Vec<Vec<u64>>,
    exits: BTreeMap<NodeId, NodeId>,
    copies: BTreeMap<EdgeId, (NodeId, NodeId)>,
}

/// A step of a body: it begins after what leads to its first node and is done before what follows its last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct BodyStep {
    first: NodeId,
    last: NodeId,
    copy: Option<EdgeId>,
}

impl Paths {
    /// The paths of a state. On a cycle, which is an error, and among too many nodes everything is ordered.
    pub(super) fn of(state: &State, order: Option<&[NodeId]>) -> Self {
        let order = order.filter(|order| order.len() <= MOST_NODES).unwrap_or_default();
        let places: BTreeMap<NodeId, usize> = order.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        let exits: BTreeMap<NodeId, NodeId> =
            state.nodes().filter_map(|(id, node)| Some((node.kind.exit_of()?, id))).collect();
        let words = order.len().div_ceil(64);
        let mut rows = vec![vec![0; words]; order.len()];
        for (at, id) in order.iter().enumerate().rev() {
            let mut row: Vec<u64> = vec![0; words];
            row[at / 64] |= 1 << (at % 64);
            let followers = state.out_edges(*id).into_iter().map(|edge| state.edge(edge).dst);
            for next in followers.chain(exits.get(id).copied()).filter_map(|next| places.get(&next)) {
                for (own, of_next) in row.iter_mut().zip(&rows[*next]) {
                    *own |= of_next;
                }
            }
            rows[at] = row;
        }
        let copy = |(id, edge): (EdgeId, &sdfg_graph::ir::Edge)| {
            matches!(edge.memlet.flow, Flow::Copy { .. }).then_some((id, (edge.src, edge.dst)))
        };
        Paths { places, rows, exits, copies: state.edges().filter_map(copy).collect() }
    }

    /// Whether the state has too many nodes for their paths to be followed.
    pub(super) fn is_left_out(&self, state: &State) -> bool {
        self.places.is_empty() && state.nodes().nth(MOST_NODES).is_some()
    }

    /// Whether paths order two accesses within one iteration of the scopes that they have in common.
    pub(super) fn are_ordered(&self, own: &Touch<'_>, other: &Touch<'_>, n_common: usize) -> bool {
        let (own, other) = (self.step(own, n_common), self.step(other, n_common));
        own == other || self.leads(own.last, other.first) || self.leads(other.last, own.first)
    }

    /// The step of a body that makes an access.
    fn step(&self, touch: &Touch<'_>, n_common: usize) -> BodyStep {
        if let Some((first, last)) = self.copies.get(&touch.edge).filter(|_| touch.scopes.len() <= n_common) {
            return BodyStep { first: *first, last: *last, copy: Some(touch.edge) };
        }
        let first = touch.scopes.get(n_common).copied().unwrap_or(touch.node);
        BodyStep { first, last: self.exits.get(&first).copied().unwrap_or(first), copy: None }
    }

    /// Whether there is a path, or the nodes are one.
    fn leads(&self, from: NodeId, to: NodeId) -> bool {
        let (Some(from), Some(to)) = (self.places.get(&from), self.places.get(&to)) else { return true };
        self.rows[*from][to / 64] & (1 << (to % 64)) != 0
    }
}
