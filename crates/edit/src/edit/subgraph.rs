//! Sets of nodes that edits treat as one: whole scopes, without a path that leaves the set and returns.

use std::collections::BTreeSet;

use sdfg_graph::ir::{EdgeId, NodeId, State, StateId};

use super::EditError;
use super::editor::Editor;

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
    pub(super) fn of(
        editor: &mut Editor<'_>,
        state: StateId,
        nodes: &BTreeSet<NodeId>,
    ) -> Result<Self, EditError> {
        let mut all = BTreeSet::new();
        let mut place = None;
        for id in nodes {
            super::expect_node(editor.state(state)?, *id)?;
            all.insert(*id);
            // Nodes inside of a scope that is taken as a whole come with it.
            if nodes.len() > 1 && editor.enclosing(state, *id).iter().any(|entry| nodes.contains(entry)) {
                continue;
            }
            let here = editor.scope_of(state, *id);
            let (first, scope) = *place.get_or_insert((*id, here));
            if scope != here {
                let label = |id: NodeId| editor.graph(state).node(id).label.clone();
                return Err(EditError::DifferentScopes { first: label(first), second: label(*id) });
            }
        }
        let Some((_, scope)) = place else { return Err(EditError::NoNodes) };
        for id in all.clone() {
            let graph = editor.graph(state);
            let entry = graph.node(id).kind.exit_of().unwrap_or(id);
            if graph.get_node(entry).is_some_and(|node| node.kind.is_scope_entry()) {
                all.extend([entry].into_iter().chain(graph.exit_of(entry)));
                all.extend(contents(editor, state, entry));
            }
        }
        let subgraph = Subgraph::with(editor.graph(state), all, scope);
        subgraph.check_convex(editor, state)?;
        Ok(subgraph)
    }

    fn with(state: &State, nodes: BTreeSet<NodeId>, scope: Option<NodeId>) -> Self {
        let (mut entering, mut leaving) = (Vec::new(), Vec::new());
        for id in &nodes {
            let into = state.each_in_edge(*id).filter(|(_, edge)| !nodes.contains(&edge.src));
            entering.extend(into.map(|(edge, _)| edge));
            let out_of = state.each_out_edge(*id).filter(|(_, edge)| !nodes.contains(&edge.dst));
            leaving.extend(out_of.map(|(edge, _)| edge));
        }
        entering.sort_unstable();
        leaving.sort_unstable();
        Subgraph { nodes, scope, entering, leaving }
    }

    fn check_convex(&self, editor: &mut Editor<'_>, state: StateId) -> Result<(), EditError> {
        editor.indexed(state, |graph, index| {
            // What comes after the last of the nodes leads back to none of them.
            let position = |id: NodeId| index.order.as_ref().map_or(0, |order| order.position(id));
            let last = self.nodes.iter().map(|id| position(*id)).max();
            let mut waiting: Vec<NodeId> = self.leaving.iter().map(|edge| graph.edge(*edge).dst).collect();
            let mut seen = BTreeSet::new();
            while let Some(id) = waiting.pop() {
                if Some(position(id)) > last || !seen.insert(id) {
                    continue;
                }
                for (_, edge) in graph.each_out_edge(id) {
                    if self.nodes.contains(&edge.dst) {
                        return Err(EditError::NotConvex { outside: graph.node(id).label.clone() });
                    }
                    waiting.push(edge.dst);
                }
            }
            Ok(())
        })
    }

    /// The first and the last of the nodes in topological order.
    pub(super) fn ends(&self, editor: &mut Editor<'_>, state: StateId) -> Option<(NodeId, NodeId)> {
        editor.indexed(state, |_, index| {
            let order = index.order.as_ref()?;
            let first = self.nodes.iter().min_by_key(|id| order.position(**id))?;
            let last = self.nodes.iter().max_by_key(|id| order.position(**id))?;
            Some((*first, *last))
        })
    }
}

/// All nodes in the scope of an entry, in the scopes in it, too; not the entry and the exit themselves.
pub(super) fn contents(editor: &mut Editor<'_>, state: StateId, entry: NodeId) -> BTreeSet<NodeId> {
    editor.refresh_scopes(state);
    editor.indexed(state, |graph, index| {
        let mut found = BTreeSet::new();
        let mut entries = BTreeSet::from([entry]);
        let mut waiting = vec![entry];
        while let Some(id) = waiting.pop() {
            for (_, edge) in graph.each_out_edge(id) {
                let is_inside = index.scope_of(edge.dst).is_some_and(|scope| entries.contains(&scope));
                if !is_inside || !found.insert(edge.dst) {
                    continue;
                }
                if graph.node(edge.dst).kind.is_scope_entry() {
                    entries.insert(edge.dst);
                    // An exit without edges into it is reached by no path.
                    found.extend(graph.exit_of(edge.dst));
                    waiting.extend(graph.exit_of(edge.dst));
                }
                waiting.push(edge.dst);
            }
        }
        found
    })
}

/// Refuses an edge that cannot be cut at a border.
pub(super) fn cannot_cross(state: &State, id: EdgeId, reason: &'static str) -> EditError {
    let edge = state.edge(id);
    let label = |id: NodeId| state.node(id).label.clone();
    EditError::CannotCross { src: label(edge.src), dst: label(edge.dst), reason }
}

/// Names for connectors of one scope node: the wanted one, or one with a number.
#[derive(Default)]
pub(super) struct Connectors(BTreeSet<String>);

impl Connectors {
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        let name = sdfg_graph::workspace::fresh(wanted, |name| self.0.contains(name));
        self.0.insert(name.clone());
        name
    }
}
