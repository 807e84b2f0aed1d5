//! Index of an edited state: an order of its nodes, their scopes, their labels, and the access nodes of each
//! container, all updated incrementally.
//!
//! The first edit that needs the index of a state creates it, and it lives as long as the editor. The graph
//! does not store it, because it follows from the graph.

mod labels;
mod order;
mod scopes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use labels::Labels;
pub(super) use order::Order;
use scopes::Scopes;
use sdfg_graph::ir::{ContainerId, EdgeId, Node, NodeId, State};

/// The index of one state.
#[derive(Clone, Debug)]
pub(super) struct Index {
    /// `None` if the state had a cycle when the index was made.
    pub(super) order: Option<Order>,
    pub(super) labels: Labels,
    scopes: Scopes,
    accesses: BTreeMap<ContainerId, BTreeSet<NodeId>>,
}

impl Index {
    pub(super) fn of(state: &State) -> Self {
        let mut index = Index {
            order: Order::of(state),
            labels: Labels::default(),
            scopes: Scopes::of(state),
            accesses: BTreeMap::new(),
        };
        for (id, node) in state.nodes() {
            index.name(id, node);
        }
        index
    }

    fn name(&mut self, id: NodeId, node: &Node) {
        self.labels.insert(&node.label, id);
        if let Some(container) = node.kind.container() {
            self.accesses.entry(container).or_default().insert(id);
        }
    }

    fn unname(&mut self, id: NodeId, node: &Node) {
        self.labels.remove(&node.label, id);
        if let Some(nodes) = node.kind.container().and_then(|container| self.accesses.get_mut(&container)) {
            nodes.remove(&id);
        }
    }

    /// A node without edges was added.
    pub(super) fn node_added(&mut self, id: NodeId, node: &Node) {
        self.name(id, node);
        self.scopes.node_changed(id);
        if let Some(order) = &mut self.order {
            order.append(id);
        }
    }

    /// A node without edges was removed.
    pub(super) fn node_removed(&mut self, id: NodeId, node: &Node) {
        self.unname(id, node);
        self.scopes.node_removed(id);
        if let Some(order) = &mut self.order {
            order.remove(id);
        }
    }

    /// The entry of an exit was removed: the exit lies in no scope for now.
    pub(super) fn entry_removed(&mut self, exit: NodeId) {
        self.scopes.node_changed(exit);
    }

    /// A node has other contents.
    pub(super) fn node_changed(&mut self, id: NodeId, before: &Node, after: &Node) {
        self.unname(id, before);
        self.name(id, after);
        self.scopes.node_changed(id);
    }

    /// Makes room for an edge in the order, before the edge is there. False if it would close a cycle.
    pub(super) fn connect(&mut self, state: &State, src: NodeId, dst: NodeId) -> bool {
        self.order.as_mut().is_none_or(|order| order.connect(state, src, dst))
    }

    /// An edge leads to a node.
    pub(super) fn edge_added(&mut self, id: EdgeId, dst: NodeId) {
        self.scopes.edge_added(id, dst);
    }

    /// An edge does not lead to a node any more, or comes from elsewhere.
    pub(super) fn edge_removed(&mut self, id: EdgeId, dst: NodeId) {
        self.scopes.edge_removed(id, dst);
    }

    /// Moves a node without edges right before another one, where it will have its edges.
    pub(super) fn place_before(&mut self, id: NodeId, next: NodeId) {
        if let Some(order) = &mut self.order {
            order.move_before(id, next);
        }
    }

    /// Moves a node without edges right behind another one, where it will have its edges.
    pub(super) fn place_behind(&mut self, id: NodeId, previous: NodeId) {
        if let Some(order) = &mut self.order {
            order.move_behind(id, previous);
        }
    }

    /// Brings scopes up to date. Gives the entries that lie in another scope than when it was last called.
    pub(super) fn refresh(&mut self, state: &State) -> Vec<NodeId> {
        self.scopes.refresh(state, self.order.as_ref())
    }

    /// The scope of a node when scopes were last brought up to date.
    pub(super) fn scope_of(&self, id: NodeId) -> Option<NodeId> {
        self.scopes.last_known(id)
    }

    /// Entries of the scopes that hold a place in `scope`, that of `scope` itself first.
    pub(super) fn enclosing_scope(&self, scope: Option<NodeId>) -> Vec<NodeId> {
        // A wrong graph may have a scope that holds itself.
        let limit = self.labels.len();
        std::iter::successors(scope, |entry| self.scope_of(*entry)).take(limit).collect()
    }

    /// Nodes that access a container, in order of creation.
    pub(super) fn accesses_of(&self, container: ContainerId) -> Vec<NodeId> {
        self.accesses.get(&container).into_iter().flatten().copied().collect()
    }

    /// Nodes with a label, in order of creation.
    pub(super) fn labelled<'i>(&'i self, label: &'i str) -> impl Iterator<Item = NodeId> + 'i {
        self.labels.get(label)
    }
}
