//! Edges and nodes: redirecting, replacing and removing them.

use std::collections::{BTreeMap, BTreeSet};

use super::local::check_alike;
use super::subgraph::Subgraph;
use super::{EditError, expect_edge, expect_node, expect_state, order};
use crate::analysis::{ScopeTree, inner_segments, is_leaf, leaf_edges, memlet_path, outer_segment};
use crate::ir::{EdgeId, Flow, NodeId, NodeKind, Port, Sdfg, State, StateId};
use crate::propagate::propagate_state;

/// Lets an edge start at another node or connector. It keeps its id. If the new source brings another container, memlets of
/// the edge and inside of it name that one. Segments outside that carry nothing any more go, with access nodes that
/// are left without edges, and derived memlets are derived anew.
///
/// # Errors
/// If the node has no such connector; if the edge would close a cycle; if what it moves cannot come from there
/// ([`EditError::Misplaced`], [`EditError::Container`]); and [`EditError::Unpaired`] if a connector of a scope would be
/// left with edges on one side.
pub fn redirect_source(
    sdfg: &mut Sdfg,
    state: StateId,
    edge: EdgeId,
    node: NodeId,
    connector: Option<&str>,
) -> Result<(), EditError> {
    redirect(sdfg, state, edge, (node, connector), false)
}

/// Lets an edge end at another node or connector; as [`redirect_source`].
///
/// # Errors
/// As [`redirect_source`].
pub fn redirect_destination(
    sdfg: &mut Sdfg,
    state: StateId,
    edge: EdgeId,
    node: NodeId,
    connector: Option<&str>,
) -> Result<(), EditError> {
    redirect(sdfg, state, edge, (node, connector), true)
}

/// Moves the destination of an edge, or its source.
fn redirect(
    sdfg: &mut Sdfg,
    state: StateId,
    edge: EdgeId,
    (node, connector): (NodeId, Option<&str>),
    is_destination: bool,
) -> Result<(), EditError> {
    let graph = expect_state(sdfg, state)?;
    let old = expect_edge(graph, edge)?;
    let (src, dst) = if is_destination { (old.src, node) } else { (node, old.dst) };
    expect_node(graph, node)?;
    check_connector(graph, edge, node, connector, is_destination)?;
    check_acyclic(graph, edge, src, dst)?;
    let left = if is_destination { old.dst } else { old.src };
    let outer = outer_segment(graph, edge);
    let before = ScopeTree::of(graph);
    let (from, to) = ((old.src, old.src_connector.clone()), (old.dst, old.dst_connector.clone()));
    let new = (node, connector.map(str::to_owned));
    let (from, to) = if is_destination { (from, new) } else { (new, to) };
    let mut changed = graph.clone();
    changed.move_edge(edge, from, to);
    retarget(sdfg, &mut changed, edge)?;
    let mut touched = BTreeSet::from([left]);
    if let Some(outer) = outer.filter(|outer| leaf_edges(&changed, *outer).is_empty()) {
        remove_path(&mut changed, outer, &mut touched);
    }
    let ends = [left, node].into_iter().chain(touched.iter().copied());
    ends.filter(|id| changed.get_node(*id).is_some()).try_for_each(|id| check_paired(&changed, id))?;
    tidy(&mut changed, &before, &touched);
    *sdfg.state_mut(state) = changed;
    propagate_state(sdfg, state);
    Ok(())
}

/// Lets the memlets of an edge and inside of it name the containers outside that the edge leads from and to.
fn retarget(sdfg: &Sdfg, graph: &mut State, edge: EdgeId) -> Result<(), EditError> {
    let moved = graph.edge(edge).clone();
    let path = memlet_path(graph, edge);
    let root = |id: Option<NodeId>| id.and_then(|id| graph.node(id).kind.container());
    let from = root(path.first().map(|edge| graph.edge(*edge).src));
    let to = root(path.last().map(|edge| graph.edge(*edge).dst));
    let [src, dst] = [moved.src, moved.dst].map(|id| graph.node(id));
    let is_right = match &moved.memlet.flow {
        Flow::Order | Flow::Bind(_) => true,
        Flow::Value => src.kind.is_code() && dst.kind.is_code(),
        Flow::Read(_) => from.is_some() && dst.kind.container().is_none(),
        Flow::Write { .. } => to.is_some() && src.kind.container().is_none(),
        Flow::Copy { .. } => from.is_some() && to.is_some(),
    };
    if !is_right {
        return Err(EditError::Misplaced { src: src.label.clone(), dst: dst.label.clone() });
    }
    for segment in segments_from(graph, edge) {
        let mut memlet = graph.edge(segment).memlet.clone();
        let (read, written) = match &mut memlet.flow {
            Flow::Read(access) => (Some(access), None),
            Flow::Write { to: access, .. } => (None, Some(access)),
            Flow::Copy { from, to, .. } => (Some(from), Some(to)),
            Flow::Order | Flow::Value | Flow::Bind(_) => (None, None),
        };
        // Inside, a copy has an end of its own.
        let read = read.filter(|_| moved.memlet.read_access().is_some()).zip(from);
        let written = written.filter(|_| moved.memlet.write_access().is_some()).zip(to);
        for (access, container) in read.into_iter().chain(written) {
            check_alike(sdfg, access.container, container)?;
            access.container = container;
        }
        *graph.memlet_mut(segment) = memlet;
    }
    Ok(())
}

/// An edge and the segments inside of it.
fn segments_from(graph: &State, edge: EdgeId) -> BTreeSet<EdgeId> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![edge];
    while let Some(segment) = waiting.pop() {
        if found.insert(segment) {
            waiting.extend(inner_segments(graph, segment));
        }
    }
    found
}

/// Refuses a scope node with a connector that has edges on one side alone, or several outside.
fn check_paired(graph: &State, id: NodeId) -> Result<(), EditError> {
    let node = graph.node(id);
    let is_entry = node.kind.is_scope_entry();
    if !is_entry && node.kind.exit_of().is_none() {
        return Ok(());
    }
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (_, edge) in graph.each_in_edge(id) {
        if let Some(name) = edge.in_port() {
            counts.entry(name).or_default()[usize::from(!is_entry)] += 1;
        }
    }
    for (_, edge) in graph.each_out_edge(id) {
        if let Some(name) = edge.out_port() {
            counts.entry(name).or_default()[usize::from(is_entry)] += 1;
        }
    }
    match counts.into_iter().find(|(_, [outside, inside])| *outside != 1 || *inside == 0) {
        Some((name, _)) => Err(EditError::Unpaired { label: node.label.clone(), connector: name.to_owned() }),
        None => Ok(()),
    }
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
            Some(name) => !orders && matches!(Port::parse(name), Some(Port::Out(_))),
        },
        NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => match connector {
            None => orders,
            Some(name) => {
                !orders && Port::parse(name).is_some_and(|port| matches!(port, Port::In(_)) == into)
            }
        },
    };
    if fits {
        return Ok(());
    }
    let connector = connector.unwrap_or_default().to_owned();
    Err(EditError::ConnectorMisplaced { label: node.label.clone(), kind: node.kind.noun(), connector })
}

/// Refuses ends for an edge that close a cycle with other edges.
fn check_acyclic(state: &State, moved: EdgeId, src: NodeId, dst: NodeId) -> Result<(), EditError> {
    let mut waiting = vec![dst];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if id == src {
            let label = |id: NodeId| state.node(id).label.clone();
            return Err(EditError::Cycle { src: label(src), dst: label(dst) });
        }
        if seen.insert(id) {
            waiting
                .extend(state.each_out_edge(id).filter(|(edge, _)| *edge != moved).map(|(_, edge)| edge.dst));
        }
    }
    Ok(())
}
