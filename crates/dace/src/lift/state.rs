//! Lifts states: nodes in the order of their ids, which places scope entries before exits, and edges.

use std::collections::BTreeMap;

use sdfg::ir::{EdgeId, NodeId, State};

use super::constants::Constants;
use super::{SdfgLifting, all, order};
use crate::model::{self, Edge};
use crate::report::{Code, Failed};

/// A state that is being lifted.
pub(super) struct Graph<'s> {
    pub(super) state: &'s State,
    /// The position of each node among those of the model.
    pub(super) places: BTreeMap<NodeId, usize>,
    pub(super) constants: Constants,
}

impl Graph<'_> {
    pub(super) fn place(&self, node: NodeId) -> usize {
        self.places.get(&node).copied().unwrap_or_default()
    }

    /// Name of a node in messages.
    pub(super) fn part(&self, node: NodeId) -> String {
        let found = self.state.node(node);
        format!("state {}/{} {}", self.state.label, found.kind.noun(), found.label)
    }

    /// Name of an edge in messages.
    pub(super) fn edge_part(&self, edge: EdgeId) -> String {
        let edge = self.state.edge(edge);
        let label = |node: NodeId| &self.state.node(node).label;
        format!("state {}/edge {} -> {}", self.state.label, label(edge.src), label(edge.dst))
    }
}

impl SdfgLifting<'_> {
    pub(super) fn state(&self, state: &State) -> Result<model::State, Failed> {
        let constants = self.constants(state);
        let mut order: Vec<NodeId> = state.nodes().map(|(id, _)| id).collect();
        order.retain(|id| !constants.nodes.contains(id));
        // Exits name their entries when they are read, so they come last.
        order.sort_by_key(|id| state.node(*id).kind.exit_of().is_some());
        let places = order.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let graph = Graph { state, places, constants };
        let nodes = all(order.iter().map(|id| self.node(&graph, *id)));
        let edges: Result<Vec<Edge>, Failed> = {
            let kept =
                |id: &EdgeId| !graph.constants.edges.contains(id) || graph.constants.orders.contains(id);
            all(state.edges().map(|(id, _)| id).filter(kept).map(|id| self.dataflow_edge(&graph, id)))
        };
        let mut lifted = model::State { nodes: nodes?, edges: edges? };
        order::lead_through_data(&mut lifted);
        order::go_around_library_nodes(&mut lifted);
        Ok(lifted)
    }

    /// Refuses something at a node.
    pub(super) fn refuse_node(&self, graph: &Graph<'_>, id: NodeId, code: Code, message: String) -> Failed {
        self.refuse(code, &graph.part(id), message)
    }
}
