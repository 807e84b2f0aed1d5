//! Copies of nodes to another state.

use std::collections::BTreeMap;

use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{Node, NodeId, NodeKind, ScopeExit, State, StateId};

use super::editor::Editor;

/// Puts copies of nodes into a state by `put`, which gives the copy of a node its id and its label. Copied exits end copied
/// entries, under their labels. `copies` leads from nodes to copies.
pub(super) fn put_copies(
    originals: impl IntoIterator<Item = (NodeId, Node)>,
    copies: &mut BTreeMap<NodeId, NodeId>,
    mut put: impl FnMut(Node, bool) -> (NodeId, String),
) {
    let mut labels: BTreeMap<NodeId, String> = BTreeMap::new();
    // An exit comes after its entry, but for programs that are made so on purpose.
    let mut waiting = Vec::new();
    let mut one = |id: NodeId, mut node: Node, copies: &mut BTreeMap<NodeId, NodeId>| {
        let entry =
            node.kind.exit_of().and_then(|entry| Some((*copies.get(&entry)?, labels.get(&entry)?.clone())));
        if let NodeKind::MapExit(end) | NodeKind::ConsumeExit(end) = &mut node.kind {
            let Some((entry, label)) = entry else { return Some((id, node)) };
            *end = ScopeExit { entry };
            node.label = label;
            copies.insert(id, put(node, true).0);
            return None;
        }
        let (copy, label) = put(node, false);
        copies.insert(id, copy);
        labels.insert(id, label);
        None
    };
    for (id, node) in originals {
        waiting.extend(one(id, node, copies));
    }
    for (id, node) in waiting {
        one(id, node, copies);
    }
}

impl Editor<'_> {
    /// Adds copies of nodes under labels that are free.
    pub(super) fn put_copies(
        &mut self,
        state: StateId,
        originals: impl IntoIterator<Item = (NodeId, Node)>,
        copies: &mut BTreeMap<NodeId, NodeId>,
    ) {
        put_copies(originals, copies, |mut node, is_exit| {
            if !is_exit {
                node.label = self.free_label(state, &node.label);
            }
            let label = node.label.clone();
            (self.put_node(state, node), label)
        });
    }
}

/// Adds copies of nodes to a state that is not part of a program yet.
pub(super) fn copy_into(
    state: &mut State,
    originals: impl IntoIterator<Item = (NodeId, Node)>,
) -> BTreeMap<NodeId, NodeId> {
    let mut copies = BTreeMap::new();
    put_copies(originals, &mut copies, |node, _| {
        let label = node.label.clone();
        (state.add_node(node), label)
    });
    copies
}
