//! The scope of each node of a state, updated incrementally.
//!
//! The first incoming edge of a node determines its scope, as in
//! [`ScopeTree`](sdfg_graph::analysis::ScopeTree). After changes, nodes whose first edge changed are examined
//! again in topological order, and their successors only if the result differs.

use std::collections::BTreeSet;

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::ir::ids::Id;
use sdfg_graph::ir::{EdgeId, NodeId, State};

use super::order::Order;

/// Scopes by node, of the time when they were last brought up to date.
#[derive(Clone, Debug)]
pub(super) struct Scopes {
    known: Vec<Option<NodeId>>,
    /// The edge that decided.
    by: Vec<Option<EdgeId>>,
    changed: BTreeSet<NodeId>,
}

impl Scopes {
    pub(super) fn of(state: &State) -> Self {
        let n = state.nodes_created();
        let mut scopes = Scopes { known: vec![None; n], by: vec![None; n], changed: BTreeSet::new() };
        scopes.rebuild(state);
        scopes
    }

    /// All scopes anew, for states that have no order.
    fn rebuild(&mut self, state: &State) {
        let tree = ScopeTree::of(state);
        for (id, _) in state.nodes() {
            self.set(id, tree.scope_of(id), first_in_edge(state, id));
        }
        self.changed.clear();
    }

    fn set(&mut self, id: NodeId, scope: Option<NodeId>, by: Option<EdgeId>) {
        if self.known.len() <= id.index() {
            self.known.resize(id.index() + 1, None);
            self.by.resize(id.index() + 1, None);
        }
        self.known[id.index()] = scope;
        self.by[id.index()] = by;
    }

    /// The scope of a node when [`refresh`](Scopes::refresh) was last called.
    pub(super) fn last_known(&self, id: NodeId) -> Option<NodeId> {
        self.known.get(id.index()).copied().flatten()
    }

    /// An edge into `dst` was added, or another edge leads there now.
    pub(super) fn edge_added(&mut self, id: EdgeId, dst: NodeId) {
        let by = self.by.get(dst.index()).copied().flatten();
        if by.is_none_or(|by| id <= by) {
            self.changed.insert(dst);
        }
    }

    /// An edge into `dst` was removed, or leads elsewhere now, or has another source.
    pub(super) fn edge_removed(&mut self, id: EdgeId, dst: NodeId) {
        if self.by.get(dst.index()).copied().flatten() == Some(id) {
            self.changed.insert(dst);
        }
    }

    /// A node was added or is another one.
    pub(super) fn node_changed(&mut self, id: NodeId) {
        self.changed.insert(id);
    }

    /// A node was removed.
    pub(super) fn node_removed(&mut self, id: NodeId) {
        self.changed.remove(&id);
        self.set(id, None, None);
    }

    /// Brings all scopes up to date. Gives the entries that lie in another scope than before.
    pub(super) fn refresh(&mut self, state: &State, order: Option<&Order>) -> Vec<NodeId> {
        if self.changed.is_empty() {
            return Vec::new();
        }
        let Some(order) = order else {
            let before = self.known.clone();
            self.rebuild(state);
            let moved = |id: &NodeId| before.get(id.index()).copied().flatten() != self.last_known(*id);
            let entries = state.nodes().filter(|(_, node)| node.kind.is_scope_entry()).map(|(id, _)| id);
            return entries.filter(moved).collect();
        };
        let mut moved = Vec::new();
        let mut waiting: BTreeSet<(u64, NodeId)> = std::mem::take(&mut self.changed)
            .into_iter()
            .filter(|id| state.get_node(*id).is_some())
            .map(|id| (order.position(id), id))
            .collect();
        while let Some((_, id)) = waiting.pop_first() {
            let kind = &state.node(id).kind;
            let by = first_in_edge(state, id);
            let scope = match kind.exit_of() {
                Some(entry) => self.last_known(entry),
                None => by.and_then(|edge| self.behind(state, state.edge(edge).src)),
            };
            let before = self.last_known(id);
            self.set(id, scope, by);
            if scope == before {
                continue;
            }
            if kind.is_scope_entry() {
                moved.push(id);
                waiting.extend(state.exit_of(id).map(|exit| (order.position(exit), exit)));
            } else {
                let next = state.each_out_edge(id).map(|(_, edge)| edge.dst);
                waiting.extend(next.map(|next| (order.position(next), next)));
            }
        }
        moved
    }

    /// The scope of what follows a node.
    fn behind(&self, state: &State, id: NodeId) -> Option<NodeId> {
        if state.node(id).kind.is_scope_entry() { Some(id) } else { self.last_known(id) }
    }
}

fn first_in_edge(state: &State, id: NodeId) -> Option<EdgeId> {
    state.each_in_edge(id).map(|(edge, _)| edge).min()
}
