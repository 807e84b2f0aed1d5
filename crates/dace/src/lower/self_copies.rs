//! Copies of elements onto themselves.
//!
//! Graphs of GT4Py contain them to express that a container is complete where a scope ends. DaCe's code moves
//! no data for them, so only the order remains.

use sdfg::ir::draft::DraftState;
use sdfg::ir::{EdgeId, Memlet, NodeId, NodeKind, Port};

use super::state::Graph;

impl Graph<'_> {
    /// Edges at the borders of scopes, of which no edge within takes on or brings the data any more, become orders.
    pub(super) fn order_self_copies(&mut self) {
        while let Some(idle) = self.nodes.iter().find_map(|node| self.idle_edge(*node)) {
            let Some(edge) = self.state.remove_edge(idle) else { return };
            self.join((edge.src, None), (edge.dst, None), Memlet::order());
        }
    }

    /// An edge outside of the scope that a node begins or ends, whose connector nothing joins within.
    fn idle_edge(&self, node: NodeId) -> Option<EdgeId> {
        let state = &self.state;
        match &state.node(node).kind {
            NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => {
                state.in_edges(node).into_iter().find(|id| {
                    let name = state.edge(*id).in_port();
                    name.is_some_and(|name| state.edges_at(node, Port::Out(name)).is_empty())
                })
            }
            NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => state.out_edges(node).into_iter().find(|id| {
                let name = state.edge(*id).out_port();
                name.is_some_and(|name| state.edges_at(node, Port::In(name)).is_empty())
            }),
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => None,
        }
    }
}
