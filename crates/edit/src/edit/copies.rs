//! Copies of nodes to another state.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::owning_scopes;
use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{ContainerId, Edge, EdgeId, Node, NodeId, NodeKind, ScopeExit, State, StateId};

use super::EditError;
use super::editor::Editor;
use super::subgraph::contents;

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
    /// Copies a scope with its contents, between the same nodes outside. Transients of its iterations have copies, too. The
    /// copy is not ordered with the original. Gives the entry of the copy.
    ///
    /// # Errors
    /// [`EditError::NoState`], [`EditError::NoNode`], and [`EditError::WrongKind`] for other nodes than entries.
    pub fn copy_scope(&mut self, state: StateId, entry: NodeId) -> Result<NodeId, EditError> {
        super::expect_entry(self.state(state)?, entry)?;
        let mut nodes: BTreeSet<NodeId> = contents(self, state, entry);
        nodes.insert(entry);
        nodes.extend(self.graph(state).exit_of(entry));
        self.attempt(|editor| {
            let mut containers: BTreeMap<ContainerId, ContainerId> = BTreeMap::new();
            for (id, (_, scope)) in owning_scopes(editor.sdfg()) {
                let container = editor.sdfg().container(id).clone();
                if container.transient && container.constant.is_none() && nodes.contains(&scope) {
                    let name = editor.derived_container_name(&container.name, "copy");
                    containers
                        .insert(id, editor.put_container(sdfg_graph::ir::Container { name, ..container }));
                }
            }
            let node = |id: &NodeId| {
                let mut node = editor.graph(state).node(*id).clone();
                if let NodeKind::Access(container) = &mut node.kind {
                    *container = containers.get(container).copied().unwrap_or(*container);
                }
                (*id, node)
            };
            let originals: Vec<(NodeId, Node)> = nodes.iter().map(node).collect();
            let mut copies = BTreeMap::new();
            editor.put_copies(state, originals, &mut copies);
            let graph = editor.graph(state);
            let at =
                |id: &NodeId| graph.each_in_edge(*id).chain(graph.each_out_edge(*id)).map(|(edge, _)| edge);
            let edges: BTreeSet<EdgeId> = nodes.iter().flat_map(at).collect();
            for id in edges {
                let mut edge: Edge = editor.graph(state).edge(id).clone();
                for end in [&mut edge.src, &mut edge.dst] {
                    *end = copies.get(end).copied().unwrap_or(*end);
                }
                edge.memlet.accesses_mut().for_each(|access| {
                    access.container = containers.get(&access.container).copied().unwrap_or(access.container);
                });
                editor.put_edge(state, edge)?;
            }
            copies.get(&entry).copied().ok_or(EditError::NoNode(entry))
        })
    }

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
