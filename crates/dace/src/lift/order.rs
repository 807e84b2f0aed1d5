//! Order edges behind scopes, in the form that DaCe validates.
//!
//! Our order edges join any two nodes of a scope. In DaCe, an edge from the exit of a scope leads to data or to
//! the exit of the scope around it. An order edge from an exit to a node of another kind therefore starts at an
//! access node behind the exit. If that node would close a cycle, the edge passes an access node of its own,
//! which moves nothing.

use indexmap::IndexMap;

use crate::model::{Edge, Memlet, Node, NodeKind, State};
use crate::wire::Path;

/// Moves the order edges of a state that leave scopes for other nodes than data and exits.
pub(super) fn lead_through_data(state: &mut State) {
    for at in 0..state.edges.len() {
        let edge = &state.edges[at];
        let is_order =
            edge.memlet.data.is_none() && edge.src_connector.is_none() && edge.dst_connector.is_none();
        if !is_order
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
                let node = Node {
                    label: data.clone(),
                    kind: NodeKind::Access { data, setzero: false },
                    inputs: IndexMap::new(),
                    outputs: IndexMap::new(),
                    path: Path::default(),
                };
                state.nodes.push(node);
                let dst = state.nodes.len() - 1;
                let (src_connector, dst_connector, memlet) = (None, None, Memlet::default());
                state.edges.push(Edge {
                    src,
                    src_connector,
                    dst,
                    dst_connector,
                    memlet,
                    path: Path::default(),
                });
                dst
            }
        };
        state.edges[at].src = from;
    }
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
