//! Putting nodes into a map scope, and taking a map away.

use std::collections::BTreeSet;

use super::subgraph::{Connectors, Subgraph, cannot_cross};
use super::{EditError, connect, expect_node, expect_state, order};
use crate::analysis::ScopeTree;
use crate::analysis::symbols::{bound_symbols, free_symbols_in_scope};
use crate::ir::{
    Access, ConflictResolution, ContainerId, Edge, EdgeId, Flow, Map, Memlet, Node, NodeId, NodeKind, Port,
    ScopeExit, Sdfg, State, StateId,
};
use crate::propagate::propagate_state;
use crate::subset::Range;
use crate::symbolic::Symbol;

/// Runs nodes of one scope inside of a new map scope with this label. Edges across its border get connectors, one for each
/// container and end outside, and their memlets outside are derived. Gives the entry.
///
/// The map binds its parameters in the nodes, which may use them already. With a range of one iteration the program means
/// the same as before.
///
/// # Errors
/// If the nodes cannot be one ([`EditError::DifferentScopes`], [`EditError::NotConvex`]), if an edge cannot pass a scope
/// ([`EditError::CannotCross`]), or if the label is taken.
pub fn wrap_in_map(
    sdfg: &mut Sdfg,
    state: StateId,
    nodes: &BTreeSet<NodeId>,
    label: &str,
    map: Map,
) -> Result<NodeId, EditError> {
    let graph = expect_state(sdfg, state)?;
    let params: BTreeSet<_> = map.params.iter().collect();
    if params.len() != map.params.len() || map.params.len() != map.ranges.rank() {
        return Err(EditError::MapShape { params: params.len(), ranges: map.ranges.rank() });
    }
    if graph.nodes().any(|(_, node)| node.label == label) {
        return Err(EditError::NameTaken { name: label.to_owned() });
    }
    let subgraph = Subgraph::of(graph, nodes)?;
    for edge in &subgraph.entering {
        check_entering(graph, *edge)?;
    }
    for edge in &subgraph.leaving {
        check_leaving(graph, *edge)?;
    }
    let graph = sdfg.state_mut(state);
    let node = |kind| Node { label: label.to_owned(), kind, loc: None };
    let entry = graph.add_node(node(NodeKind::MapEntry(map)));
    let exit = graph.add_node(node(NodeKind::MapExit(ScopeExit { entry })));
    enter_through(sdfg, state, &subgraph, entry);
    leave_through(sdfg, state, &subgraph, exit);
    let graph = sdfg.state_mut(state);
    for id in subgraph.nodes {
        if graph.in_edges(id).is_empty() {
            order(graph, entry, id);
        }
        if graph.out_edges(id).is_empty() {
            order(graph, id, exit);
        }
    }
    propagate_state(sdfg, state);
    Ok(entry)
}

/// What enters a scope comes from an access node or from a scope around, and is read there.
pub(super) fn check_entering(state: &State, id: EdgeId) -> Result<(), EditError> {
    let edge = state.edge(id);
    match &edge.memlet.flow {
        Flow::Order | Flow::Read(_) | Flow::Copy { .. } => Ok(()),
        Flow::Write { .. } => {
            Err(cannot_cross(state, id, "an access node that is written goes with what writes it"))
        }
        Flow::Value => Err(cannot_cross(state, id, "a value goes straight from one code node to the other")),
        Flow::Bind(_) => Err(cannot_cross(state, id, "an alias goes with what it is bound to")),
    }
}

/// What leaves a scope goes to an access node or to a scope around, and is written there.
pub(super) fn check_leaving(state: &State, id: EdgeId) -> Result<(), EditError> {
    let edge = state.edge(id);
    match &edge.memlet.flow {
        Flow::Order | Flow::Write { .. } | Flow::Copy { .. } => Ok(()),
        Flow::Read(_) => Err(cannot_cross(state, id, "an access node that is read goes with what reads it")),
        Flow::Value => Err(cannot_cross(state, id, "a value goes straight from one code node to the other")),
        Flow::Bind(_) => Err(cannot_cross(state, id, "an alias goes with what it is bound to")),
    }
}

/// The name of a connector for an edge of a container: that of the scope outside, or of the container.
fn connector_name(sdfg: &Sdfg, end: Option<&str>, access: &Access) -> String {
    let outside = end.and_then(Port::parse).map(Port::name);
    let container = || sdfg.get_container(access.container).map_or("data", |found| found.name.as_str());
    outside.unwrap_or_else(container).to_owned()
}

/// Connectors of one scope node: each serves one container and end outside.
#[derive(Default)]
struct Through {
    names: Connectors,
    known: Vec<(Key, String)>,
}

/// What passes one connector: the end outside, the container, and how writes are resolved.
type Key = (NodeId, Option<String>, ContainerId, Option<ConflictResolution>);

impl Through {
    /// The connector for an edge, and whether it is new.
    fn connector(
        &mut self,
        sdfg: &Sdfg,
        (node, connector): (NodeId, &Option<String>),
        access: &Access,
        resolution: Option<&ConflictResolution>,
    ) -> (String, bool) {
        let key = (node, connector.clone(), access.container, resolution.cloned());
        if let Some((_, name)) = self.known.iter().find(|(known, _)| *known == key) {
            return (name.clone(), false);
        }
        let name = self.names.fresh(&connector_name(sdfg, connector.as_deref(), access));
        self.known.push((key, name.clone()));
        (name, true)
    }
}

fn enter_through(sdfg: &mut Sdfg, id: StateId, subgraph: &Subgraph, entry: NodeId) {
    let mut through = Through::default();
    for edge in &subgraph.entering {
        let Some(found) = sdfg.state_mut(id).remove_edge(*edge) else { continue };
        let Some(access) = found.memlet.read_access().cloned() else {
            order(sdfg.state_mut(id), found.src, entry);
            order(sdfg.state_mut(id), entry, found.dst);
            continue;
        };
        let (name, is_new) = through.connector(sdfg, (found.src, &found.src_connector), &access, None);
        let graph = sdfg.state_mut(id);
        if is_new {
            let src = (found.src, found.src_connector.clone());
            connect(graph, src, (entry, Some(Port::In(&name).into())), Memlet::read(access));
        }
        graph.add_edge(Edge { src: entry, src_connector: Some(Port::Out(&name).into()), ..found });
    }
}

fn leave_through(sdfg: &mut Sdfg, id: StateId, subgraph: &Subgraph, exit: NodeId) {
    let mut through = Through::default();
    for edge in &subgraph.leaving {
        let Some(found) = sdfg.state_mut(id).remove_edge(*edge) else { continue };
        let Some(to) = found.memlet.write_access().cloned() else {
            order(sdfg.state_mut(id), exit, found.dst);
            order(sdfg.state_mut(id), found.src, exit);
            continue;
        };
        let resolution = found.memlet.resolution().cloned();
        let end = (found.dst, &found.dst_connector);
        let (name, is_new) = through.connector(sdfg, end, &to, resolution.as_ref());
        let graph = sdfg.state_mut(id);
        if is_new {
            let dst = (found.dst, found.dst_connector.clone());
            let memlet =
                Memlet { volume: to.volume(), flow: Flow::Write { to, resolution }, declared: false };
            connect(graph, (exit, Some(Port::Out(&name).into())), dst, memlet);
        }
        graph.add_edge(Edge { dst: exit, dst_connector: Some(Port::In(&name).into()), ..found });
    }
}

/// Takes a map scope away and leaves its contents where it was, ordered as before. The program means the same if the map
/// has one iteration.
///
/// # Errors
/// [`EditError::SymbolBound`] if the contents use a parameter that no scope around binds, and whose range is not what its name
/// means around the map (`i = i`): substitute it first, or give it to the map or loop around.
pub fn unwrap_map(sdfg: &mut Sdfg, state: StateId, entry: NodeId) -> Result<(), EditError> {
    let graph = expect_state(sdfg, state)?;
    let node = expect_node(graph, entry)?;
    let NodeKind::MapEntry(map) = &node.kind else {
        return Err(EditError::WrongKind {
            label: node.label.clone(),
            found: node.kind.noun(),
            expected: "map entries",
        });
    };
    let tree = ScopeTree::of(graph);
    let around: BTreeSet<_> = tree.enclosing(entry).flat_map(|outer| bound_symbols(graph, outer)).collect();
    let used = free_symbols_in_scope(graph, Some(entry));
    let kept: BTreeSet<&Symbol> =
        map.params.iter().zip(&map.ranges.0).filter(is_itself).map(|(param, _)| param).collect();
    let is_lost =
        |symbol: &Symbol| used.contains(symbol) && !around.contains(symbol) && !kept.contains(symbol);
    if let Some(symbol) = bound_symbols(graph, entry).into_iter().find(is_lost) {
        return Err(EditError::SymbolBound { label: node.label.clone(), symbol });
    }
    let Some(exit) = tree.exit_of(entry) else { return Err(EditError::NoNode(entry)) };
    let graph = sdfg.state_mut(state);
    let before = join(graph, entry);
    let after = join(graph, exit);
    for (src, dst) in before.into_iter().chain(after) {
        let (src, dst) = (end_of(graph, src, entry, exit), end_of(graph, dst, entry, exit));
        if let (Some(src), Some(dst)) = (src, dst)
            && !is_before(graph, src, dst)
        {
            order(graph, src, dst);
        }
    }
    graph.remove_node(entry);
    graph.remove_node(exit);
    propagate_state(sdfg, state);
    Ok(())
}

/// Whether a parameter has the value that its name has around the map.
fn is_itself((param, range): &(&Symbol, &Range)) -> bool {
    **range == Range::index((*param).clone())
}

/// Neither end of the scope itself: what has nothing on one side has no order to keep.
fn end_of(state: &State, id: NodeId, entry: NodeId, exit: NodeId) -> Option<NodeId> {
    (id != entry && id != exit && state.get_node(id).is_some()).then_some(id)
}

/// Joins the edges at the connectors of a scope node past it. Gives the pairs of nodes that it kept in order.
fn join(state: &mut State, node: NodeId) -> Vec<(NodeId, NodeId)> {
    let is_entry = state.node(node).kind.is_scope_entry();
    let (into, out_of) = (state.in_edges(node), state.out_edges(node));
    let mut pairs = Vec::new();
    for first in &into {
        for second in &out_of {
            let (first, second) = (state.edge(*first).clone(), state.edge(*second).clone());
            pairs.push((first.src, second.dst));
            if first.in_port().is_some() && first.in_port() == second.out_port() {
                let inner = if is_entry { &second } else { &first };
                let (memlet, loc) = (inner.memlet.clone(), inner.loc.clone());
                let Edge { src, src_connector, .. } = first;
                let Edge { dst, dst_connector, .. } = second;
                state.add_edge(Edge { src, src_connector, dst, dst_connector, memlet, loc });
            }
        }
    }
    pairs
}

pub(super) fn is_before(state: &State, first: NodeId, second: NodeId) -> bool {
    let mut waiting = vec![first];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if id == second {
            return true;
        }
        if seen.insert(id) {
            waiting.extend(state.out_edges(id).into_iter().map(|edge| state.edge(edge).dst));
        }
    }
    false
}
