//! The contract of every series of edits for the places that it touched, checked at its end.

use std::collections::BTreeMap;

use sdfg_graph::ir::{EdgeId, NodeId, Sdfg, State, StateId};
use sdfg_graph::workspace::Part;

use super::editor::Editor;
use super::journal::{Path, Undo};
use super::{EditError, edge, limits};

/// Touched elements of one state.
#[derive(Debug, Default)]
struct Touched {
    is_whole: bool,
    /// In any order, and some more than once.
    nodes: Vec<NodeId>,
    edges: Vec<EdgeId>,
}

/// Checks everything that the series touched.
pub(super) fn verify(editor: &mut Editor<'_>) -> Result<(), EditError> {
    limits::verify(editor)?;
    for ((path, state), touched) in touched(editor) {
        if editor.go_to(&path) && editor.sdfg().get_state(state).is_some() {
            verify_state(editor, state, touched)?;
        }
    }
    Ok(())
}

fn touched(editor: &Editor<'_>) -> BTreeMap<(Path, StateId), Touched> {
    let mut all: BTreeMap<(Path, StateId), Touched> = BTreeMap::new();
    for entry in editor.log() {
        let (state, node, edge, ends) = match &entry.undo {
            Undo::Part(part) => {
                if let Part::State(state, _) = &**part {
                    all.entry((entry.path.clone(), *state)).or_default().is_whole = true;
                }
                continue;
            }
            Undo::NodeRemoved(..) | Undo::DerivedWas(..) => continue,
            Undo::NodeAdded(state, id) | Undo::NodeWas(state, id, _) => (*state, Some(*id), None, None),
            Undo::EdgeAdded(state, id) => (*state, None, Some(*id), None),
            Undo::EdgeRemoved(state, _, edge, _) => (*state, None, None, Some(edge)),
            Undo::EdgeWas(state, id, edge, _) => (*state, None, Some(*id), Some(edge)),
        };
        let touched = all.entry((entry.path.clone(), state)).or_default();
        touched.nodes.extend(node);
        touched.nodes.extend(ends.into_iter().flat_map(|edge| [edge.src, edge.dst]));
        touched.edges.extend(edge);
    }
    all
}

fn verify_state(editor: &mut Editor<'_>, id: StateId, mut touched: Touched) -> Result<(), EditError> {
    editor.refresh_scopes(id);
    let graph = editor.graph(id);
    if touched.is_whole {
        touched.edges = graph.edges().map(|(edge, _)| edge).collect();
        touched.nodes = graph.nodes().map(|(node, _)| node).collect();
    }
    sort(&mut touched.edges);
    sort(&mut touched.nodes);
    touched.edges.retain(|edge| graph.get_edge(*edge).is_some());
    for node in &touched.nodes {
        if graph.get_node(*node).is_some_and(|node| node.kind.is_code()) {
            let edges = graph.each_in_edge(*node).chain(graph.each_out_edge(*node));
            touched.edges.extend(edges.map(|(edge, _)| edge));
        }
    }
    sort(&mut touched.edges);
    let ends = |edge: &EdgeId| [graph.edge(*edge).src, graph.edge(*edge).dst];
    touched.nodes.extend(touched.edges.iter().flat_map(ends));
    sort(&mut touched.nodes);
    touched.nodes.retain(|node| graph.get_node(*node).is_some());
    for edge in &touched.edges {
        verify_edge(editor.sdfg(), graph, *edge)?;
    }
    for node in &touched.nodes {
        verify_node(editor.sdfg(), graph, *node)?;
    }
    for edge in touched.edges {
        verify_scope(editor, id, edge)?;
    }
    Ok(())
}

fn sort<T: Ord>(ids: &mut Vec<T>) {
    ids.sort_unstable();
    ids.dedup();
}

/// An edge ends at connectors that are there, and its memlet names containers that are.
fn verify_edge(sdfg: &Sdfg, state: &State, id: EdgeId) -> Result<(), EditError> {
    let edge = state.edge(id);
    edge::check_connector(state, id, edge.src, edge.src_connector.as_deref(), false)?;
    edge::check_connector(state, id, edge.dst, edge.dst_connector.as_deref(), true)?;
    let is_there = |container| sdfg.get_container(container).is_some();
    if edge.memlet.accesses().all(|access| is_there(access.container)) {
        return Ok(());
    }
    Err(EditError::Dangling { label: state.node(edge.src).label.clone() })
}

/// Connectors of a scope node pair up, with one edge outside; an entry has an exit.
fn verify_node(sdfg: &Sdfg, state: &State, id: NodeId) -> Result<(), EditError> {
    let node = state.node(id);
    if node.kind.container().is_some_and(|container| sdfg.get_container(container).is_none()) {
        return Err(EditError::Dangling { label: node.label.clone() });
    }
    let is_entry = node.kind.is_scope_entry();
    let partner = if is_entry { state.exit_of(id) } else { node.kind.exit_of() };
    let unpaired = |connector: &str| {
        let (label, connector) = (node.label.clone(), connector.to_owned());
        Err(EditError::Unpaired { label, connector })
    };
    if !is_entry && node.kind.exit_of().is_none() {
        return Ok(());
    }
    if partner.is_none_or(|partner| state.get_node(partner).is_none()) {
        return Err(EditError::HalfScope { label: node.label.clone() });
    }
    // By port: edges outside, edges inside.
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for name in state.each_in_edge(id).filter_map(|(_, edge)| edge.in_port()) {
        counts.entry(name).or_default()[usize::from(!is_entry)] += 1;
    }
    for name in state.each_out_edge(id).filter_map(|(_, edge)| edge.out_port()) {
        counts.entry(name).or_default()[usize::from(is_entry)] += 1;
    }
    match counts.into_iter().find(|(_, [outside, inside])| *outside != 1 || *inside == 0) {
        Some((name, _)) => unpaired(name),
        None => Ok(()),
    }
}

/// Both ends of an edge lie in one scope.
fn verify_scope(editor: &mut Editor<'_>, state: StateId, id: EdgeId) -> Result<(), EditError> {
    let crosses = editor.indexed(state, |graph, index| {
        let edge = graph.edge(id);
        let kind = |id: NodeId| &graph.node(id).kind;
        let behind = if kind(edge.src).is_scope_entry() { Some(edge.src) } else { index.scope_of(edge.src) };
        let before = kind(edge.dst).exit_of().or_else(|| index.scope_of(edge.dst));
        (behind != before).then(|| [edge.src, edge.dst].map(|id| graph.node(id).label.clone()))
    });
    match crosses {
        Some([src, dst]) => Err(EditError::Crosses { src, dst }),
        None => Ok(()),
    }
}
