//! Nodes that edits treat as one: whole scopes, side by side, with no path out of them and back.

use std::collections::BTreeSet;

use super::EditError;
use crate::analysis::ScopeTree;
use crate::ir::{EdgeId, NodeId, State};

/// Nodes of one scope with all that lies in the scopes among them.
pub(super) struct Subgraph {
    /// All nodes.
    pub(super) nodes: BTreeSet<NodeId>,
    /// The entry of the scope that they are in.
    pub(super) scope: Option<NodeId>,
    /// Edges that enter, in order of ids.
    pub(super) entering: Vec<EdgeId>,
    /// Edges that leave, in order of ids.
    pub(super) leaving: Vec<EdgeId>,
}

impl Subgraph {
    /// The given nodes; of a scope, its entry is enough.
    pub(super) fn of(state: &State, nodes: &BTreeSet<NodeId>) -> Result<Self, EditError> {
        let tree = ScopeTree::of(state);
        let mut all = BTreeSet::new();
        let mut scope = None;
        for id in nodes {
            super::expect_node(state, *id)?;
            all.insert(*id);
            // Nodes inside of a scope that is taken as a whole come with it.
            if tree.enclosing(*id).any(|entry| nodes.contains(&entry)) {
                continue;
            }
            let here = tree.scope_of(*id);
            let (first, place) = *scope.get_or_insert((*id, here));
            if place != here {
                let label = |id: NodeId| state.node(id).label.clone();
                return Err(EditError::DifferentScopes { first: label(first), second: label(*id) });
            }
        }
        let Some((_, scope)) = scope else { return Err(EditError::NoNodes) };
        let entries: BTreeSet<NodeId> =
            all.iter().map(|id| state.node(*id).kind.exit_of().unwrap_or(*id)).collect();
        for (id, _) in state.nodes() {
            let own = state.node(id).kind.exit_of().is_some_and(|entry| entries.contains(&entry));
            if own || tree.enclosing(id).any(|entry| entries.contains(&entry)) {
                all.insert(id);
            }
        }
        all.extend(entries);
        let subgraph = Subgraph::with(state, all, scope);
        subgraph.check_convex(state)?;
        Ok(subgraph)
    }

    fn with(state: &State, nodes: BTreeSet<NodeId>, scope: Option<NodeId>) -> Self {
        let mut subgraph = Subgraph { nodes, scope, entering: Vec::new(), leaving: Vec::new() };
        for (id, edge) in state.edges() {
            match (subgraph.nodes.contains(&edge.src), subgraph.nodes.contains(&edge.dst)) {
                (false, true) => subgraph.entering.push(id),
                (true, false) => subgraph.leaving.push(id),
                (true, true) | (false, false) => {}
            }
        }
        subgraph
    }

    fn check_convex(&self, state: &State) -> Result<(), EditError> {
        let mut waiting: Vec<NodeId> = self.leaving.iter().map(|edge| state.edge(*edge).dst).collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = waiting.pop() {
            if !seen.insert(id) {
                continue;
            }
            for edge in state.out_edges(id) {
                let dst = state.edge(edge).dst;
                if self.nodes.contains(&dst) {
                    return Err(EditError::NotConvex { outside: state.node(id).label.clone() });
                }
                waiting.push(dst);
            }
        }
        Ok(())
    }
}

/// Refuses an edge that cannot be cut at a border.
pub(super) fn cannot_cross(state: &State, id: EdgeId, reason: &'static str) -> EditError {
    let edge = state.edge(id);
    let label = |id: NodeId| state.node(id).label.clone();
    EditError::CannotCross { edge: id, src: label(edge.src), dst: label(edge.dst), reason }
}

/// Names for connectors of one scope node: the wanted one, or one with a number.
#[derive(Default)]
pub(super) struct Connectors(BTreeSet<String>);

impl Connectors {
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        let name = crate::ir::state::fresh(wanted, |name| self.0.contains(name));
        self.0.insert(name.clone());
        name
    }
}
