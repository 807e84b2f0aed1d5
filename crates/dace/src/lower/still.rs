//! Copies of elements to where they are.
//!
//! GT4Py's graphs tell by them that a container is complete where a scope ends. DaCe's code moves nothing for them, so all that
//! is left is an order.

use sdfg::ir::{EdgeId, Memlet, NodeId, NodeKind};

use super::state::Graph;

impl Graph<'_> {
    /// Edges at the borders of scopes, of which no edge within takes on or brings the data any more, become orders.
    pub(super) fn order_borders(&mut self) {
        while let Some(idle) = self.nodes.iter().find_map(|node| self.idle_edge(*node)) {
            let Some(edge) = self.state.remove_edge(idle) else { return };
            self.join((edge.src, None), (edge.dst, None), Memlet::order());
        }
    }

    /// An edge outside of the scope that a node begins or ends, whose connector nothing joins within.
    fn idle_edge(&self, node: NodeId) -> Option<EdgeId> {
        let state = &self.state;
        let is_joined = |name: &str, edges: Vec<EdgeId>| {
            let names = |id| [&state.edge(id).src_connector, &state.edge(id).dst_connector];
            edges.into_iter().flat_map(names).flatten().any(|found| found == name)
        };
        match &state.node(node).kind {
            NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => {
                state.in_edges(node).into_iter().find(|id| {
                    let name =
                        state.edge(*id).dst_connector.as_deref().and_then(|name| name.strip_prefix("IN_"));
                    name.is_some_and(|name| !is_joined(&format!("OUT_{name}"), state.out_edges(node)))
                })
            }
            NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => state.out_edges(node).into_iter().find(|id| {
                let name =
                    state.edge(*id).src_connector.as_deref().and_then(|name| name.strip_prefix("OUT_"));
                name.is_some_and(|name| !is_joined(&format!("IN_{name}"), state.in_edges(node)))
            }),
            NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => None,
        }
    }
}
