//! Edges and nodes: redirecting, replacing and removing them.

use std::collections::BTreeSet;

use super::subgraph::Subgraph;
use super::{EditError, expect_edge, expect_node, expect_state, order};
use crate::analysis::{ScopeTree, is_leaf, leaf_edges, outer_segment};
use crate::ir::{EdgeId, Flow, NodeId, NodeKind, Sdfg, State, StateId};
use crate::propagate::propagate_state;

/// Lets an edge start at another node or connector; everything else about it stays. The edge gets a new id.
///
/// # Errors
/// If the node has no such connector, or the edge would close a cycle.
pub fn redirect_source(
    sdfg: &mut Sdfg,
    state: StateId,
    edge: EdgeId,
    node: NodeId,
    connector: Option<&str>,
) -> Result<EdgeId, EditError> {
    redirect(sdfg, state, edge, node, connector, false)
}

/// Lets an edge end at another node or connector; everything else about it stays. The edge gets a new id.
///
/// # Errors
/// If the node has no such connector, or the edge would close a cycle.
pub fn redirect_destination(
    sdfg: &mut Sdfg,
    state: StateId,
    edge: EdgeId,
    node: NodeId,
    connector: Option<&str>,
) -> Result<EdgeId, EditError> {
    redirect(sdfg, state, edge, node, connector, true)
}

/// Moves the destination of an edge, or its source.
fn redirect(
    sdfg: &mut Sdfg,
    state: StateId,
    edge: EdgeId,
    node: NodeId,
    connector: Option<&str>,
    is_destination: bool,
) -> Result<EdgeId, EditError> {
    let graph = expect_state(sdfg, state)?;
    let old = expect_edge(graph, edge)?;
    let (src, dst) = if is_destination { (old.src, node) } else { (node, old.dst) };
    expect_node(graph, node)?;
    check_connector(graph, edge, node, connector, is_destination)?;
    check_acyclic(graph, src, dst)?;
    let graph = sdfg.state_mut(state);
    let mut moved = graph.remove_edge(edge).ok_or(EditError::NoEdge(edge))?;
    (moved.src, moved.dst) = (src, dst);
    let end = if is_destination { &mut moved.dst_connector } else { &mut moved.src_connector };
    *end = connector.map(str::to_owned);
    Ok(graph.add_edge(moved))
}

/// Puts another node in the place of one: it keeps the id, the label and the edges.
///
/// # Errors
/// [`EditError::NoConnector`] if an edge is at a connector that the new node does not have, and
/// [`EditError::WrongKind`] for the end of a scope, which only its entry can change.
pub fn replace_node(
    sdfg: &mut Sdfg,
    state: StateId,
    id: NodeId,
    kind: NodeKind,
) -> Result<NodeKind, EditError> {
    let graph = expect_state(sdfg, state)?;
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
    let mut changed = graph.clone();
    let old = std::mem::replace(&mut changed.node_mut(id).kind, kind);
    for (edges, into) in [(graph.in_edges(id), true), (graph.out_edges(id), false)] {
        for edge in edges {
            let found = graph.edge(edge);
            let connector = if into { &found.dst_connector } else { &found.src_connector };
            check_connector(&changed, edge, id, connector.as_deref(), into)?;
        }
    }
    *sdfg.state_mut(state) = changed;
    Ok(old)
}

/// Removes an edge and what becomes pointless with it: the segments of its path inside of it, those outside of it that
/// then carry nothing, and access nodes that are left without edges. Nodes stay in their scopes, and
/// derived memlets are derived anew.
///
/// A code node keeps its connector; it has to be connected again or replaced.
///
/// # Errors
/// [`EditError::NoState`] and [`EditError::NoEdge`].
pub fn remove_edge(sdfg: &mut Sdfg, state: StateId, edge: EdgeId) -> Result<(), EditError> {
    expect_edge(expect_state(sdfg, state)?, edge)?;
    let graph = sdfg.state_mut(state);
    let tree = ScopeTree::of(graph);
    let mut touched = BTreeSet::new();
    remove_path(graph, edge, &mut touched);
    tidy(graph, &tree, &touched);
    propagate_state(sdfg, state);
    Ok(())
}

/// Removes a node with its edges, of a scope the whole of it; paths of memlets and neighbours as in [`remove_edge`].
///
/// # Errors
/// [`EditError::NoState`] and [`EditError::NoNode`].
pub fn remove_node(sdfg: &mut Sdfg, state: StateId, node: NodeId) -> Result<(), EditError> {
    let graph = expect_state(sdfg, state)?;
    let subgraph = Subgraph::of(graph, &BTreeSet::from([node]))?;
    let graph = sdfg.state_mut(state);
    let tree = ScopeTree::of(graph);
    let mut touched = BTreeSet::new();
    for edge in subgraph.entering.iter().chain(&subgraph.leaving) {
        remove_path(graph, *edge, &mut touched);
    }
    for id in &subgraph.nodes {
        graph.remove_node(*id);
    }
    touched.retain(|id| !subgraph.nodes.contains(id));
    tidy(graph, &tree, &touched);
    propagate_state(sdfg, state);
    Ok(())
}

/// Removes an edge, all inside of it, and outside of it what carries nothing else.
pub(super) fn remove_path(state: &mut State, edge: EdgeId, touched: &mut BTreeSet<NodeId>) {
    if state.get_edge(edge).is_none() {
        return;
    }
    let mut waiting: Vec<EdgeId> = leaf_edges(state, edge);
    if waiting.is_empty() {
        waiting.push(edge);
    }
    while let Some(edge) = waiting.pop() {
        let outer = outer_segment(state, edge);
        if let Some(removed) = state.remove_edge(edge) {
            touched.extend([removed.src, removed.dst]);
        }
        waiting.extend(outer.filter(|outer| !is_leaf(state, *outer) && leaf_edges(state, *outer).is_empty()));
    }
    if let Some(removed) = state.remove_edge(edge) {
        touched.extend([removed.src, removed.dst]);
    }
}

/// Removes access nodes without edges, and keeps other nodes in their scopes.
pub(super) fn tidy(state: &mut State, before: &ScopeTree, touched: &BTreeSet<NodeId>) {
    for id in touched {
        let Some(node) = state.get_node(*id) else { continue };
        let (into, out_of) = (state.in_edges(*id).is_empty(), state.out_edges(*id).is_empty());
        if into && out_of && matches!(node.kind, NodeKind::Access(_)) {
            state.remove_node(*id);
        } else {
            keep_in_scope(state, before, *id, (into, out_of));
        }
    }
    // A removed access node may have been the only thing in its scope.
    for id in before.entries() {
        if let Some(exit) = before.exit_of(id).filter(|exit| state.get_node(*exit).is_some())
            && state.get_node(id).is_some()
            && state.out_edges(id).is_empty()
            && state.in_edges(exit).is_empty()
        {
            order(state, id, exit);
        }
    }
}

/// Orders a node without edges on a side after the entry or before the exit of its scope.
fn keep_in_scope(state: &mut State, tree: &ScopeTree, id: NodeId, (no_in, no_out): (bool, bool)) {
    let Some(scope) = tree.scope_of(id) else { return };
    let Some(exit) = tree.exit_of(scope) else { return };
    let is_entry = state.node(id).kind.is_scope_entry();
    let is_exit = state.node(id).kind.exit_of().is_some();
    if no_in && !is_exit {
        order(state, scope, id);
    }
    if no_out && !is_entry {
        order(state, id, exit);
    }
}

/// Refuses an edge at a connector that the node does not have.
fn check_connector(
    state: &State,
    edge: EdgeId,
    id: NodeId,
    connector: Option<&str>,
    into: bool,
) -> Result<(), EditError> {
    let node = state.node(id);
    let orders = matches!(state.edge(edge).memlet.flow, Flow::Order);
    let fits = match &node.kind {
        NodeKind::Access(_) | NodeKind::Reduce(_) => connector.is_none(),
        NodeKind::Tasklet(_) | NodeKind::Nested(_) | NodeKind::Library(_) => {
            let declared = if into { node.kind.inputs() } else { node.kind.outputs() };
            match connector {
                None => orders,
                Some(name) => {
                    if !orders && !declared.iter().any(|connector| connector.name == name) {
                        let (label, connector) = (node.label.clone(), name.to_owned());
                        return Err(EditError::NoConnector { label, connector });
                    }
                    !orders
                }
            }
        }
        NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) if into => connector.is_some() != orders,
        NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => match connector {
            None => orders,
            Some(name) => !orders && name.starts_with("OUT_"),
        },
        NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => match connector {
            None => orders,
            Some(name) => !orders && name.starts_with(if into { "IN_" } else { "OUT_" }),
        },
    };
    if fits {
        return Ok(());
    }
    let connector = connector.unwrap_or_default().to_owned();
    Err(EditError::ConnectorMisplaced { label: node.label.clone(), kind: node.kind.noun(), connector })
}

fn check_acyclic(state: &State, src: NodeId, dst: NodeId) -> Result<(), EditError> {
    let mut waiting = vec![dst];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if id == src {
            let label = |id: NodeId| state.node(id).label.clone();
            return Err(EditError::Cycle { src: label(src), dst: label(dst) });
        }
        if seen.insert(id) {
            waiting.extend(state.out_edges(id).into_iter().map(|edge| state.edge(edge).dst));
        }
    }
    Ok(())
}
