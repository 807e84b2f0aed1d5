//! Edits of nodes: adding, finding, replacing and removing them.

use std::collections::BTreeSet;

use sdfg_graph::ir::{ContainerId, Flow, Node, NodeId, NodeKind, StateId};
use sdfg_language::tasklet::Direction;

use super::edge::{Touched, fits};
use super::editor::Editor;
use super::subgraph::Subgraph;
use super::{EditError, expect_node};

impl Editor<'_> {
    /// Adds a node without edges. An SDFG that it calls is taken as it is, with its derived memlets. Only the exit of a scope may share a label, that of its entry.
    ///
    /// # Errors
    /// [`EditError::NoState`], [`EditError::NameTaken`], and [`EditError::NoContainer`] or [`EditError::NoNode`] for an access
    /// node or exit of what is not there.
    pub fn add_node(&mut self, state: StateId, node: Node) -> Result<NodeId, EditError> {
        let graph = self.state(state)?;
        let entry = node.kind.exit_of();
        let shares = match entry {
            Some(entry) => expect_node(graph, entry)?.label == node.label,
            None => false,
        };
        if let Some(id) = node.kind.container().filter(|id| self.sdfg().get_container(*id).is_none()) {
            return Err(EditError::NoContainer(id));
        }
        if !shares {
            self.check_label(state, &node.label)?;
        }
        Ok(self.put_node(state, node))
    }

    /// Refuses a label that a node of the state has.
    pub(super) fn check_label(&mut self, state: StateId, label: &str) -> Result<(), EditError> {
        self.state(state)?;
        if self.indexed(state, |_, index| index.labels.contains(label)) {
            return Err(EditError::NameTaken { name: label.to_owned() });
        }
        Ok(())
    }

    /// The node with a label; of a scope's two nodes, the entry.
    pub fn find(&mut self, state: StateId, label: &str) -> Option<NodeId> {
        self.sdfg().get_state(state)?;
        self.indexed(state, |graph, index| {
            index.labelled(label).find(|id| graph.node(*id).kind.exit_of().is_none())
        })
    }

    /// Access nodes of a container in a state, in order of creation.
    pub fn accesses_of(&mut self, state: StateId, container: ContainerId) -> Vec<NodeId> {
        match self.sdfg().get_state(state) {
            Some(_) => self.indexed(state, |_, index| index.accesses_of(container)),
            None => Vec::new(),
        }
    }

    /// Puts another node in the place of one: it keeps the id, the label and the edges. If it accesses another container, the
    /// memlets there name that one. An SDFG that it calls is taken as it is, with its derived memlets.
    ///
    /// # Errors
    /// As [`replace_node_with`](Editor::replace_node_with).
    pub fn replace_node(
        &mut self,
        state: StateId,
        id: NodeId,
        kind: NodeKind,
    ) -> Result<NodeKind, EditError> {
        self.replace_node_with(state, id, kind, |connector, _| connector.map(str::to_owned))
    }

    /// As [`replace_node`](Editor::replace_node), for a node with other connectors: `connector` is asked for that of each edge
    /// that moves something, by the one that it has and by its direction.
    ///
    /// # Errors
    /// [`EditError::NoConnector`] if an edge is at a connector that the new node does not have,
    /// [`EditError::WrongKind`] for the end of a scope, which only its entry can change, and
    /// [`EditError::Container`] if the containers of access nodes differ in kind, rank or element type.
    pub fn replace_node_with(
        &mut self,
        state: StateId,
        id: NodeId,
        kind: NodeKind,
        connector: impl Fn(Option<&str>, Direction) -> Option<String>,
    ) -> Result<NodeKind, EditError> {
        let graph = self.state(state)?;
        let node = expect_node(graph, id)?;
        let consumes = |kind: &NodeKind| matches!(kind, NodeKind::ConsumeEntry(_));
        if node.kind.exit_of().is_some()
            || kind.exit_of().is_some()
            || node.kind.is_scope_entry() != kind.is_scope_entry()
            || consumes(&node.kind) != consumes(&kind)
        {
            let (label, found) = (node.label.clone(), node.kind.noun());
            return Err(EditError::WrongKind {
                label,
                found,
                expected: "nodes of the same kind, or of no scope",
            });
        }
        let into = graph.in_edges(id).into_iter().map(|edge| (edge, Direction::In));
        let mut edges = Vec::new();
        for (edge, direction) in
            into.chain(graph.out_edges(id).into_iter().map(|edge| (edge, Direction::Out)))
        {
            let found = graph.edge(edge);
            let orders = matches!(found.memlet.flow, Flow::Order);
            let is_in = matches!(direction, Direction::In);
            let before = if is_in { &found.dst_connector } else { &found.src_connector };
            let after = if orders { before.clone() } else { connector(before.as_deref(), direction) };
            fits(&node.label, &kind, orders, after.as_deref(), is_in)?;
            edges.push((edge, is_in, after));
        }
        let old = node.kind.clone();
        let accesses = kind.container().filter(|new| old.container().is_some_and(|old| old != *new));
        self.attempt(|editor| {
            editor.set_kind(state, id, kind);
            for (edge, is_in, after) in edges {
                let found = editor.graph(state).edge(edge).clone();
                let (mut src, mut dst) = ((found.src, found.src_connector), (found.dst, found.dst_connector));
                let end = if is_in { &mut dst.1 } else { &mut src.1 };
                if *end != after {
                    *end = after;
                    editor.move_edge(state, edge, src, dst)?;
                }
                if accesses.is_some() {
                    editor.retarget(state, edge)?;
                }
            }
            Ok(old)
        })
    }

    /// Removes a node with its edges, of a scope the whole of it; paths of memlets and neighbours as in
    /// [`remove_edge`](Editor::remove_edge).
    ///
    /// # Errors
    /// [`EditError::NoState`] and [`EditError::NoNode`].
    pub fn remove_node(&mut self, state: StateId, node: NodeId) -> Result<(), EditError> {
        expect_node(self.state(state)?, node)?;
        self.attempt(|editor| {
            let subgraph = Subgraph::of(editor, state, &BTreeSet::from([node]))?;
            let mut touched = Touched::begin(editor, state);
            editor.remove_subgraph(state, &subgraph, &mut touched);
            touched.tidy(editor)
        })
    }

    /// Removes nodes with the paths of memlets that lead to them and from them.
    pub(super) fn remove_subgraph(&mut self, state: StateId, subgraph: &Subgraph, touched: &mut Touched) {
        for edge in subgraph.entering.iter().chain(&subgraph.leaving) {
            self.remove_path(state, *edge, touched);
        }
        for id in &subgraph.nodes {
            self.take_node(state, *id);
        }
        touched.forget(|id| subgraph.nodes.contains(&id));
    }
}
