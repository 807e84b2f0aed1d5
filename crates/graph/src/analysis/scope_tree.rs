//! Scope tree: the scope of each node (paper section 3.3: a scope contains the nodes that its entry dominates
//! and its exit post-dominates).
//!
//! It is separate from the state, because scopes follow from the edges and change with them.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::ids::Id;
use crate::ir::{EdgeId, NodeId, NodeKind, State};

/// The nesting of scopes of one state.
///
/// An entry and its exit belong to the scope outside; what lies between them belongs to the scope of the entry.
/// Every node of a scope is reached from its entry, if need be by an edge that only orders: a node without incoming
/// edges belongs to no scope.
#[derive(Clone, Debug)]
pub struct ScopeTree {
    scopes: Scopes,
    n_nodes: usize,
    children: BTreeMap<Option<NodeId>, Vec<NodeId>>,
    exits: BTreeMap<NodeId, NodeId>,
    crossing: Vec<EdgeId>,
}

/// The entry of the scope that a node lies in, as [`ScopeTree::scope_of`] gives it. It follows one path backward, so one question
/// costs less than a tree.
pub fn scope_around(state: &State, node: NodeId) -> Option<NodeId> {
    let of_exit = |node: NodeId| state.node(node).kind.exit_of().unwrap_or(node);
    let mut at = of_exit(node);
    loop {
        let (_, edge) = state.each_in_edge(at).next()?;
        match state.node(edge.src).kind {
            NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => return Some(edge.src),
            NodeKind::MapExit(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => at = of_exit(edge.src),
        }
    }
}

/// The scope that each node lies in, by the index of the node.
type Scopes = Vec<Option<NodeId>>;

fn scope_in(scopes: &Scopes, node: NodeId) -> Option<NodeId> {
    scopes.get(node.index()).copied().flatten()
}

impl ScopeTree {
    /// The scopes of a state.
    ///
    /// In a wrong graph a node gets the scope that its first incoming edge suggests, nodes on cycles the one that is
    /// known when they are met; [`crossing_edges`](ScopeTree::crossing_edges) has the edges that disagree.
    pub fn of(state: &State) -> Self {
        let mut exits = BTreeMap::new();
        for (id, node) in state.nodes() {
            if let Some(entry) = node.kind.exit_of() {
                exits.entry(entry).or_insert(id);
            }
        }
        let mut scopes: Scopes = vec![None; state.nodes_created()];
        let mut children: BTreeMap<Option<NodeId>, Vec<NodeId>> = BTreeMap::new();
        for id in order(state) {
            let scope = match state.node(id).kind.exit_of() {
                Some(entry) => scope_in(&scopes, entry),
                None => {
                    let first = state.each_in_edge(id).min_by_key(|(edge, _)| *edge);
                    first.and_then(|(_, edge)| scope_behind(state, &scopes, edge.src))
                }
            };
            scopes[id.index()] = scope;
            children.entry(scope).or_default().push(id);
        }
        let crossing = state
            .edges()
            .filter(|(_, edge)| {
                scope_behind(state, &scopes, edge.src) != scope_before(state, &scopes, edge.dst)
            })
            .map(|(id, _)| id)
            .collect();
        ScopeTree { scopes, n_nodes: state.n_nodes(), children, exits, crossing }
    }

    /// The entry of the scope that a node lies in; `None` at the top level of the state. An entry and its exit lie in
    /// the scope outside.
    pub fn scope_of(&self, node: NodeId) -> Option<NodeId> {
        scope_in(&self.scopes, node)
    }

    /// Nodes that lie directly in the scope of an entry, or with `None` at the top level. Every edge among them goes
    /// forward in this order, the smallest id first among those that are ready.
    pub fn children(&self, scope: Option<NodeId>) -> &[NodeId] {
        self.children.get(&scope).map_or(&[], Vec::as_slice)
    }

    /// The exit of an entry.
    pub fn exit_of(&self, entry: NodeId) -> Option<NodeId> {
        self.exits.get(&entry).copied()
    }

    /// The scope that an edge lies in: inside the scope for edges out of its entry and into its exit.
    pub fn scope_of_edge(&self, state: &State, edge: EdgeId) -> Option<NodeId> {
        scope_behind(state, &self.scopes, state.get_edge(edge)?.src)
    }

    /// Entries of the scopes that hold a node, the innermost first.
    pub fn enclosing(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.scope_of(node), |entry| self.scope_of(*entry)).take(self.n_nodes)
    }

    /// Entries of the scopes that hold a place in `scope`, that of `scope` itself first.
    pub fn enclosing_scope(&self, scope: Option<NodeId>) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(scope, |entry| self.scope_of(*entry)).take(self.n_nodes)
    }

    /// Follows the removal of a node. The contents of a removed scope lie in the scope around it. Nodes that are removed
    /// leave other nodes where they are; for other edits, the tree is computed again.
    pub fn forget(&mut self, node: NodeId) {
        let around = self.scope_of(node);
        let inner = self.children.remove(&Some(node)).unwrap_or_default();
        for id in &inner {
            self.scopes[id.index()] = around;
        }
        if let Some(siblings) = self.children.get_mut(&around)
            && let Some(at) = siblings.iter().position(|id| *id == node)
        {
            siblings.splice(at..=at, inner);
            self.n_nodes = self.n_nodes.saturating_sub(1);
        }
        if let Some(scope) = self.scopes.get_mut(node.index()) {
            *scope = None;
        }
        self.exits.remove(&node);
    }

    /// Number of scopes around a node.
    pub fn depth(&self, node: NodeId) -> usize {
        self.enclosing(node).count()
    }

    /// All entries, outer scopes before the ones in them.
    pub fn entries(&self) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut waiting = vec![None];
        while let Some(scope) = waiting.pop() {
            let inner: Vec<NodeId> =
                self.children(scope).iter().copied().filter(|id| self.exits.contains_key(id)).collect();
            waiting.extend(inner.iter().rev().map(|id| Some(*id)));
            found.extend(scope);
        }
        found
    }

    /// Edges whose ends lie in different scopes; empty in a right graph.
    pub fn crossing_edges(&self) -> &[EdgeId] {
        &self.crossing
    }
}

/// The scope of what follows a node.
fn scope_behind(state: &State, scopes: &Scopes, node: NodeId) -> Option<NodeId> {
    if state.node(node).kind.is_scope_entry() { Some(node) } else { scope_in(scopes, node) }
}

/// The scope of what comes before a node.
fn scope_before(state: &State, scopes: &Scopes, node: NodeId) -> Option<NodeId> {
    match state.node(node).kind.exit_of() {
        Some(entry) => Some(entry),
        None => scope_in(scopes, node),
    }
}

/// All nodes, in topological order as far as there is one.
fn order(state: &State) -> Vec<NodeId> {
    if let Some(order) = state.topological_order() {
        return order;
    }
    // On a cycle no order is right: nodes that cycles do not reach come first, the others by id.
    let mut done = BTreeSet::new();
    let mut order = Vec::new();
    loop {
        let ready: Vec<NodeId> = state
            .nodes()
            .map(|(id, _)| id)
            .filter(|id| !done.contains(id))
            .filter(|id| state.in_edges(*id).iter().all(|edge| done.contains(&state.edge(*edge).src)))
            .collect();
        if ready.is_empty() {
            break;
        }
        done.extend(ready.iter().copied());
        order.extend(ready);
    }
    order.extend(state.nodes().map(|(id, _)| id).filter(|id| !done.contains(id)));
    order
}

#[cfg(test)]
mod tests {
    use super::{ScopeTree, scope_around};
    use crate::text::parse;

    /// One path backward tells what the tree tells, for each kind of node.
    #[test]
    fn the_scope_around_a_node_is_that_of_the_tree() {
        let text = "sdfg p {\n array A: f64[9]\n array B: f64[9]\n transient stream q: f64\n state s {\n access A\n access B\n \
                    access q\n map outer [i = 0:9] {\n map inner [j = 0:9] {\n tasklet f (x) -> (y) { y = x }\n \
                    tasklet none () -> (y) { y = 1.0 }\n inner.A -> f.x: A[i]\n f.y -> inner.B: B[i] wcr(sum)\n none.y -> inner.q: q\n \
                    }\n outer.A -> inner.A\n inner.B -> outer.B\n inner.q -> outer.q\n }\n A -> outer.A\n outer.B -> B\n outer.q -> q\n \
                    consume all [e = 0:2] {\n tasklet g (x) -> (y) { y = x }\n all.stream -> g.x: q\n g.y -> all.B: B[0] wcr(sum)\n \
                    }\n access last = B\n q -> all.stream\n all.B -> last\n order B -> last\n }\n}";
        let sdfg = parse("p.sdft", text).unwrap();
        let (_, state) = sdfg.states().next().unwrap();
        let tree = ScopeTree::of(state);
        let mut inside = 0;
        for (id, node) in state.nodes() {
            assert_eq!(scope_around(state, id), tree.scope_of(id), "{}", node.label);
            inside += usize::from(tree.scope_of(id).is_some());
        }
        assert!(inside >= 5, "{inside}");
    }
}
