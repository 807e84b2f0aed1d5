//! Edit that splits a state in two.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::{ScopeTree, bound_alias};
use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{
    BlockId, ContainerId, ContainerKind, Edge, EdgeId, Flow, Lifetime, Node, NodeId, NodeKind, Sdfg, State,
};

use super::EditError;
use super::control::expect_state_block;
use super::copies::copy_into;
use super::editor::Editor;
use super::subgraph::{Subgraph, cannot_cross};

impl Editor<'_> {
    /// Moves the nodes of a state that are not among `first` into a new state after it. Gives its block. The program means the
    /// same as before.
    ///
    /// Access nodes that are written before and read after the cut are in both states, and so are the bindings of views.
    ///
    /// # Errors
    /// [`EditError::NotConvex`] if a node of `first` comes after another one, [`EditError::CannotCross`] for edges that do not
    /// start at an access node, and [`EditError::Container`] for streams, references, and views that a scope binds, on both sides.
    pub fn split_state(&mut self, block: BlockId, first: &BTreeSet<NodeId>) -> Result<BlockId, EditError> {
        let state = expect_state_block(self.sdfg(), block)?;
        for id in first {
            if self.scope_of(state, *id).is_some_and(|entry| !first.contains(&entry)) {
                let (first, second) = (self.graph(state).node(*id).label.clone(), "the others".to_owned());
                return Err(EditError::DifferentScopes { first, second });
            }
        }
        let first = Subgraph::of(self, state, first)?;
        let graph = self.graph(state);
        let rest: BTreeSet<NodeId> =
            graph.nodes().map(|(id, _)| id).filter(|id| !first.nodes.contains(id)).collect();
        if rest.is_empty() {
            return Err(EditError::NoNodes);
        }
        if let Some(edge) = first.entering.first() {
            return Err(EditError::NotConvex { outside: graph.node(graph.edge(*edge).src).label.clone() });
        }
        for edge in &first.leaving {
            let found = graph.edge(*edge);
            let reads = matches!(found.memlet.flow, Flow::Order | Flow::Read(_) | Flow::Copy { .. });
            let kept = graph.node(found.src).kind.container().is_some();
            let binds = bound_view(self.sdfg(), graph, *edge).is_some();
            if !(matches!(found.memlet.flow, Flow::Order) || reads && kept || binds) {
                return Err(cannot_cross(graph, *edge, "only what is in a container outlives a state"));
            }
        }
        let bindings = bindings(self.sdfg(), graph);
        check_shared(self.sdfg(), graph, [&first.nodes, &rest], &bindings)?;
        self.attempt(|editor| {
            let new = editor.insert_state_after(block)?;
            let second = expect_state_block(editor.sdfg(), new)?;
            let mut target = State::new(&editor.sdfg().block(new).label);
            let graph = editor.graph(state);
            let node = |id: NodeId| (id, graph.node(id).clone());
            let mut nodes = copy_into(&mut target, rest.iter().copied().map(node));
            for (_, edge) in graph.edges() {
                // What leads to an access node that is in both states stays.
                let dst = nodes.get(&edge.dst).copied().filter(|_| rest.contains(&edge.dst));
                let Some(dst) = dst else { continue };
                let moves = !matches!(edge.memlet.flow, Flow::Order | Flow::Bind(_));
                if !moves && !rest.contains(&edge.src) {
                    continue;
                }
                let src =
                    *nodes.entry(edge.src).or_insert_with(|| target.add_node(graph.node(edge.src).clone()));
                target.add_edge(Edge { src, dst, ..edge.clone() });
            }
            bind_views(&bindings, &mut target);
            editor.replace_graph(second, target);
            rest.iter().for_each(|id| drop(editor.take_node(state, *id)));
            for id in lonely(editor.graph(state)) {
                editor.take_node(state, id);
            }
            if missing_binding(&bindings, editor.graph(state)).is_some() {
                let mut left = editor.graph(state).clone();
                bind_views(&bindings, &mut left);
                editor.replace_graph(state, left);
            }
            Ok(new)
        })
    }
}

/// Access nodes without edges.
fn lonely(graph: &State) -> Vec<NodeId> {
    let is_lonely =
        |id: NodeId| graph.each_in_edge(id).next().is_none() && graph.each_out_edge(id).next().is_none();
    let found = graph.nodes().filter(|(id, node)| matches!(node.kind, NodeKind::Access(_)) && is_lonely(*id));
    found.map(|(id, _)| id).collect()
}

/// Refuses containers that mean something only within one state.
fn check_shared(
    sdfg: &Sdfg,
    graph: &State,
    [first, rest]: [&BTreeSet<NodeId>; 2],
    bindings: &BTreeMap<ContainerId, Binding>,
) -> Result<(), EditError> {
    let used = |nodes: &BTreeSet<NodeId>| -> BTreeSet<ContainerId> {
        let mut used = BTreeSet::new();
        for (id, edge) in
            graph.edges().filter(|(_, edge)| nodes.contains(&edge.src) || nodes.contains(&edge.dst))
        {
            used.extend(edge.memlet.accesses().map(|access| access.container));
            used.extend(bound_alias(graph, id).map(|(alias, _)| alias));
        }
        used
    };
    for id in used(first).intersection(&used(rest)) {
        let container = sdfg.container(*id);
        let reason = match &container.kind {
            ContainerKind::Stream { .. } => "both sides of a stream may have to run together",
            ContainerKind::View(_) if bindings.contains_key(id) => continue,
            ContainerKind::View(_) => "a scope binds it",
            ContainerKind::Reference(_) => "a reference is bound in each state that uses it",
            ContainerKind::Scalar | ContainerKind::Array(_) if container.lifetime == Lifetime::State => {
                "its contents do not outlive the state"
            }
            ContainerKind::Scalar | ContainerKind::Array(_) => continue,
        };
        return Err(EditError::Container { container: container.name.clone(), reason });
    }
    Ok(())
}

/// An edge that binds a view, with the nodes at its ends.
struct Binding {
    edge: Edge,
    src: Node,
    dst: Node,
}

/// The view that an edge binds.
fn bound_view(sdfg: &Sdfg, graph: &State, edge: EdgeId) -> Option<ContainerId> {
    let (alias, _) = bound_alias(graph, edge)?;
    matches!(sdfg.container(alias).kind, ContainerKind::View(_)).then_some(alias)
}

/// The bindings of views outside of scopes.
fn bindings(sdfg: &Sdfg, graph: &State) -> BTreeMap<ContainerId, Binding> {
    let views = graph.edges().filter_map(|(id, edge)| Some((bound_view(sdfg, graph, id)?, edge)));
    let views: Vec<(ContainerId, &Edge)> = views.collect();
    if views.is_empty() {
        return BTreeMap::new();
    }
    let tree = ScopeTree::of(graph);
    let binding = |(view, edge): (ContainerId, &Edge)| {
        let [src, dst] = [edge.src, edge.dst].map(|end| graph.node(end).clone());
        tree.scope_of(edge.dst).is_none().then(|| (view, Binding { edge: edge.clone(), src, dst }))
    };
    views.into_iter().filter_map(binding).collect()
}

/// Binds the views of a part of a state that only the other part binds. A binding moves nothing, and its subset has the same value
/// in both parts.
fn bind_views(bindings: &BTreeMap<ContainerId, Binding>, part: &mut State) {
    while let Some(Binding { edge, src, dst }) = missing_binding(bindings, part) {
        let [src, dst] = [src, dst].map(|node| {
            let same = part.nodes().find(|(_, other)| other.label == node.label).map(|(id, _)| id);
            same.unwrap_or_else(|| part.add_node(node.clone()))
        });
        part.add_edge(Edge { src, dst, ..edge.clone() });
    }
}

/// A binding of a view that a part of a state uses and does not bind.
fn missing_binding<'b>(bindings: &'b BTreeMap<ContainerId, Binding>, part: &State) -> Option<&'b Binding> {
    if bindings.is_empty() {
        return None;
    }
    let accessed = part.edges().flat_map(|(_, edge)| edge.memlet.accesses().map(|access| access.container));
    let named = part.nodes().filter_map(|(_, node)| node.kind.container());
    let used: BTreeSet<ContainerId> = accessed.chain(named).collect();
    let bound: BTreeSet<ContainerId> =
        part.edges().filter_map(|(id, _)| Some(bound_alias(part, id)?.0)).collect();
    used.difference(&bound).find_map(|view| bindings.get(view))
}
