//! Primitive changes of nodes and edges, each recorded before it is made. All other edits consist of these.
//!
//! They check only for cycles. Edits check their arguments, and the editor checks the result.

use sdfg_graph::analysis::node_leads_to;
use sdfg_graph::analysis::symbols::bound_symbols;
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{Edge, EdgeId, Memlet, Node, NodeId, NodeKind, State, StateId};
use sdfg_graph::workspace::UndoState;

use super::EditError;
use super::editor::Editor;
use super::journal::Undo;

/// An end of an edge.
pub(super) type End = (NodeId, Option<String>);

impl Editor<'_> {
    /// The state, which an edit has found to be there.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub(super) fn graph(&self, id: StateId) -> &State {
        self.sdfg().state(id)
    }

    pub(super) fn put_node(&mut self, state: StateId, node: Node) -> NodeId {
        if !matches!(node.kind, NodeKind::Access(_)) && node.kind.exit_of().is_none() {
            self.forget_names();
        }
        let id = self.sdfg_mut().state_mut(state).add_node(node);
        self.changed(Undo::NodeAdded(state, id));
        self.index_node(state, id);
        id
    }

    pub(super) fn index_node(&mut self, state: StateId, id: NodeId) {
        self.if_indexed(state, |graph, index| index.node_added(id, graph.node(id)));
    }

    pub(super) fn unindex_node(&mut self, state: StateId, id: NodeId) {
        self.if_indexed(state, |graph, index| {
            if let Some(node) = graph.get_node(id) {
                index.node_removed(id, node);
                if node.kind.is_scope_entry()
                    && let Some(exit) = graph.exit_of(id)
                {
                    index.entry_removed(exit);
                }
            }
        });
    }

    pub(super) fn unindex_edge(&mut self, state: StateId, id: EdgeId) {
        self.if_indexed(state, |graph, index| {
            if let Some(edge) = graph.get_edge(id) {
                index.edge_removed(id, edge.dst);
            }
        });
    }

    /// Removes a node with its edges.
    pub(super) fn take_node(&mut self, state: StateId, id: NodeId) -> Option<Node> {
        let graph = self.graph(state);
        let node = graph.get_node(id)?;
        let edges: Vec<EdgeId> = graph.in_edges(id).into_iter().chain(graph.out_edges(id)).collect();
        let binds = !bound_symbols(graph, id).is_empty();
        let calls = matches!(node.kind, NodeKind::Nested(_));
        edges.into_iter().for_each(|edge| drop(self.take_edge(state, edge)));
        self.unindex_node(state, id);
        if binds {
            self.forget_names();
        }
        if calls {
            self.forget_calls(|call| call == (state, id));
        }
        let node = self.sdfg_mut().state_mut(state).remove_node(id)?;
        self.changed(Undo::NodeRemoved(state, id, Box::new(node.clone())));
        Some(node)
    }

    /// Puts other contents in the place of a node.
    pub(super) fn set_node(&mut self, state: StateId, id: NodeId, node: Node) {
        if let Some(before) = self.swap_node(state, id, node) {
            self.mark_node(state, id);
            self.changed(Undo::NodeWas(state, id, Box::new(before)));
        }
    }

    pub(super) fn swap_node(&mut self, state: StateId, id: NodeId, node: Node) -> Option<Node> {
        let before = self.graph(state).get_node(id)?.clone();
        self.if_indexed(state, |_, index| index.node_changed(id, &before, &node));
        self.forget_names();
        if matches!(before.kind, NodeKind::Nested(_)) || matches!(node.kind, NodeKind::Nested(_)) {
            self.forget_calls(|call| call == (state, id));
        }
        Some(std::mem::replace(self.sdfg_mut().state_mut(state).node_mut(id), node))
    }

    /// Changes the kind of a node.
    pub(super) fn set_kind(&mut self, state: StateId, id: NodeId, kind: NodeKind) {
        let node = self.graph(state).node(id);
        let node = Node { label: node.label.clone(), kind, loc: node.loc.clone() };
        self.set_node(state, id, node);
    }

    pub(super) fn put_edge(&mut self, state: StateId, edge: Edge) -> Result<EdgeId, EditError> {
        self.make_room(state, edge.src, edge.dst)?;
        let dst = edge.dst;
        self.mark_edge(state, &edge);
        self.note_names_of(&edge.memlet);
        let id = self.sdfg_mut().state_mut(state).add_edge(edge);
        self.changed(Undo::EdgeAdded(state, id));
        self.if_indexed(state, |_, index| index.edge_added(id, dst));
        Ok(id)
    }

    fn make_room(&mut self, state: StateId, src: NodeId, dst: NodeId) -> Result<(), EditError> {
        if src != dst && self.indexed(state, |graph, index| index.connect(graph, src, dst)) {
            return Ok(());
        }
        let label = |id: NodeId| self.graph(state).node(id).label.clone();
        Err(EditError::Cycle { src: label(src), dst: label(dst) })
    }

    pub(super) fn take_edge(&mut self, state: StateId, id: EdgeId) -> Option<Edge> {
        self.graph(state).get_edge(id)?;
        self.unindex_edge(state, id);
        let place = self.graph(state).place(id);
        let edge = self.sdfg_mut().state_mut(state).remove_edge(id)?;
        self.mark_edge(state, &edge);
        self.changed(Undo::EdgeRemoved(state, id, Box::new(edge.clone()), place));
        Some(edge)
    }

    /// Gives an edge other ends; it keeps its id and its memlet.
    pub(super) fn move_edge(
        &mut self,
        state: StateId,
        id: EdgeId,
        src: End,
        dst: End,
    ) -> Result<(), EditError> {
        let before = self.graph(state).edge(id).clone();
        let place = self.graph(state).place(id);
        if (before.src, before.dst) != (src.0, dst.0) {
            // The edge itself is in the way of no other end that it gets.
            self.unindex_edge(state, id);
            let stays = self.sdfg_mut().state_mut(state).remove_edge(id);
            let room = self.make_room(state, src.0, dst.0);
            if let Some(edge) = stays {
                self.sdfg_mut().state_mut(state).restore_edge(id, edge, place);
            }
            if let Err(refusal) = room {
                self.if_indexed(state, |_, index| index.edge_added(id, before.dst));
                return Err(refusal);
            }
        }
        self.mark_edge(state, &before);
        let to = dst.0;
        let was = Undo::EdgeWas(state, id, Box::new(before), place);
        self.change(was).state_mut(state).move_edge(id, src, dst);
        self.if_indexed(state, |_, index| index.edge_added(id, to));
        let now = self.graph(state).edge(id).clone();
        self.mark_edge(state, &now);
        Ok(())
    }

    /// Changes the memlet of an edge.
    pub(super) fn put_memlet(&mut self, state: StateId, id: EdgeId, memlet: Memlet) {
        let before = self.graph(state).edge(id).clone();
        self.mark_edge(state, &before);
        self.note_names_of(&memlet);
        let was = Undo::EdgeWas(state, id, Box::new(before), self.graph(state).place(id));
        *self.change(was).state_mut(state).memlet_mut(id) = memlet;
    }

    /// Changes the memlet of an edge by a function of it.
    pub(super) fn change_memlet(&mut self, state: StateId, id: EdgeId, change: impl FnOnce(&mut Memlet)) {
        let mut memlet = self.graph(state).edge(id).memlet.clone();
        change(&mut memlet);
        self.put_memlet(state, id, memlet);
    }

    /// Sets the memlet of an outer segment to what follows from the inner ones.
    pub(super) fn put_derived(&mut self, state: StateId, id: EdgeId, memlet: Memlet) {
        let before = self.graph(state).edge(id).memlet.clone();
        *self.change(Undo::DerivedWas(state, id, Box::new(before))).state_mut(state).memlet_mut(id) = memlet;
    }

    /// An edge between nodes, made from its ends.
    pub(super) fn connect(
        &mut self,
        state: StateId,
        (src, src_connector): End,
        (dst, dst_connector): End,
        memlet: Memlet,
    ) -> Result<EdgeId, EditError> {
        self.put_edge(state, Edge { src, src_connector, dst, dst_connector, memlet, loc: None })
    }

    /// An edge that only orders, unless there is an edge between the two nodes already.
    pub(super) fn order(&mut self, state: StateId, src: NodeId, dst: NodeId) -> Result<(), EditError> {
        if !are_joined(self.graph(state), src, dst) {
            self.connect(state, (src, None), (dst, None), Memlet::order())?;
        }
        Ok(())
    }

    /// Whether a path leads from one node to another, or they are the same.
    pub(super) fn is_before(&mut self, state: StateId, first: NodeId, second: NodeId) -> bool {
        self.indexed(state, |graph, index| match &index.order {
            Some(order) => order.leads(graph, first, second),
            None => node_leads_to(graph, first, second),
        })
    }

    /// The entry of the scope that a node lies in.
    pub(super) fn scope_of(&mut self, state: StateId, id: NodeId) -> Option<NodeId> {
        self.refresh_scopes(state);
        self.indexed(state, |_, index| index.scope_of(id))
    }

    /// Entries of the scopes that hold a node, the innermost first.
    pub(super) fn enclosing(&mut self, state: StateId, id: NodeId) -> Vec<NodeId> {
        let scope = self.scope_of(state, id);
        self.indexed(state, |_, index| index.enclosing_scope(scope))
    }

    /// Brings the scopes of a state up to date.
    pub(super) fn refresh_scopes(&mut self, state: StateId) {
        let at = self.at();
        for entry in self.indexed(state, |graph, index| index.refresh(graph)) {
            self.pending.subtree(&at, state, entry);
        }
    }

    /// Marks what is derived from an edge.
    fn mark_edge(&mut self, state: StateId, edge: &Edge) {
        let marks = super::pending::marks(self.graph(state), edge);
        let at = self.at();
        marks.into_iter().for_each(|(entry, port)| self.pending.port(&at, state, entry, port));
    }

    /// Marks what is derived from an edge that is there.
    pub(super) fn mark(&mut self, state: StateId, id: EdgeId) {
        if let Some(edge) = self.graph(state).get_edge(id).cloned() {
            self.mark_edge(state, &edge);
        }
    }

    /// Marks what is derived from a node.
    pub(super) fn mark_node(&mut self, state: StateId, id: NodeId) {
        if self.graph(state).node(id).kind.is_scope_entry() {
            let at = self.at();
            self.pending.subtree(&at, state, id);
        }
        self.mark_call(state, id);
    }

    /// Marks what is derived from the edges at a call.
    pub(super) fn mark_call(&mut self, state: StateId, id: NodeId) {
        let graph = self.graph(state);
        if !matches!(graph.node(id).kind, NodeKind::Nested(_)) {
            return;
        }
        let edges = graph.each_in_edge(id).chain(graph.each_out_edge(id));
        let edges: Vec<Edge> = edges.map(|(_, edge)| edge.clone()).collect();
        edges.iter().for_each(|edge| self.mark_edge(state, edge));
    }
}

/// Whether an edge leads from one node to the other, looked for at both at once: one of them may have very many.
fn are_joined(state: &State, src: NodeId, dst: NodeId) -> bool {
    let mut into = state.each_in_edge(dst);
    let mut out_of = state.each_out_edge(src);
    while let (Some((_, first)), Some((_, second))) = (into.next(), out_of.next()) {
        if first.src == src || second.dst == dst {
            return true;
        }
    }
    false
}
