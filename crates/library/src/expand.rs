//! Replaces every reduction and library node of a graph, also inside of nested SDFGs.

use sdfg::ir::{Edge, Flow, NestedSdfg, NodeId, NodeKind, Sdfg, State, StateId};

use crate::error::{ExpandError, StatePath};
use crate::reduce;
use crate::registry::{Context, Registry};

/// The same program without reductions and library nodes: each is replaced, in place and under its label, by a
/// nested SDFG.
///
/// Nested SDFGs that a registry returns are expanded in turn.
///
/// # Errors
/// The first node, in order of states and nodes, that has no expansion.
pub fn expand(sdfg: &Sdfg, registry: &dyn Registry) -> Result<Sdfg, ExpandError> {
    expanded(sdfg, Expander { registry, reductions: true })
}

/// As [`expand()`], but reductions stay, for those who know what they are.
///
/// # Errors
/// The first library node, in order of states and nodes, that has no expansion.
pub fn expand_library_nodes(sdfg: &Sdfg, registry: &dyn Registry) -> Result<Sdfg, ExpandError> {
    expanded(sdfg, Expander { registry, reductions: false })
}

/// How nodes are replaced.
#[derive(Clone, Copy)]
struct Expander<'r> {
    registry: &'r dyn Registry,
    /// Whether reductions are, too.
    reductions: bool,
}

fn expanded(sdfg: &Sdfg, expander: Expander<'_>) -> Result<Sdfg, ExpandError> {
    let mut expanded = sdfg.clone();
    expand_in_place(&mut expanded, expander, &mut Vec::new())?;
    Ok(expanded)
}

fn expand_in_place(
    sdfg: &mut Sdfg,
    expander: Expander<'_>,
    path: &mut Vec<String>,
) -> Result<(), ExpandError> {
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    for state in states {
        path.push(sdfg.state(state).label.clone());
        let nodes: Vec<NodeId> = sdfg.state(state).nodes().map(|(id, _)| id).collect();
        for node in nodes {
            expand_node(sdfg, state, node, expander, path)?;
        }
        path.pop();
    }
    Ok(())
}

fn expand_node(
    sdfg: &mut Sdfg,
    state: StateId,
    node: NodeId,
    expander: Expander<'_>,
    path: &mut Vec<String>,
) -> Result<(), ExpandError> {
    let label = sdfg.state(state).node(node).label.clone();
    let fail =
        |path: &[String], kind| ExpandError { node: label.clone(), path: StatePath(path.to_vec()), kind };
    match &sdfg.state(state).node(node).kind {
        NodeKind::Reduce(reduce) if expander.reductions => {
            let nested =
                reduce::expand(sdfg, sdfg.state(state), node, reduce).map_err(|kind| fail(path, kind))?;
            let graph = sdfg.state_mut(state);
            combine_inside(graph, node);
            connect_reduction(graph, node);
            graph.node_mut(node).kind = NodeKind::Nested(Box::new(nested));
            Ok(())
        }
        NodeKind::Library(library) => {
            // The path has a label for each state, and for each nested SDFG around it.
            let is_nested = path.len() > 1;
            let context = Context { sdfg, state: sdfg.state(state), node, is_nested };
            let mut nested = expander.registry.expand(library, context).map_err(|kind| fail(path, kind))?;
            expand_nested(&mut nested, expander, label, path)?;
            let graph = sdfg.state_mut(state);
            combine_inside(graph, node);
            graph.node_mut(node).kind = NodeKind::Nested(Box::new(nested));
            Ok(())
        }
        NodeKind::Nested(_) => {
            if let NodeKind::Nested(nested) = &mut sdfg.state_mut(state).node_mut(node).kind {
                expand_nested(nested, expander, label, path)?;
            }
            Ok(())
        }
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_) => Ok(()),
    }
}

fn expand_nested(
    nested: &mut NestedSdfg,
    expander: Expander<'_>,
    label: String,
    path: &mut Vec<String>,
) -> Result<(), ExpandError> {
    path.push(label);
    expand_in_place(&mut nested.sdfg, expander, path)?;
    path.pop();
    Ok(())
}

/// Takes the conflict resolutions from the edges out of a node: its expansion works in place and combines inside.
fn combine_inside(state: &mut State, node: NodeId) {
    for id in state.out_edges(node) {
        if let Flow::Write { resolution, .. } = &mut state.memlet_mut(id).flow {
            *resolution = None;
        }
    }
}

/// Gives the edges at a reduction the connectors of its expansion. Edges that only order stay without.
fn connect_reduction(state: &mut State, node: NodeId) {
    for id in state.in_edges(node) {
        if state.edge(id).memlet.read_access().is_some()
            && let Some(edge) = state.remove_edge(id)
        {
            state.add_edge(Edge { dst_connector: Some(reduce::INPUT.to_owned()), ..edge });
        }
    }
    for id in state.out_edges(node) {
        if state.edge(id).memlet.write_access().is_some()
            && let Some(edge) = state.remove_edge(id)
        {
            state.add_edge(Edge { src_connector: Some(reduce::OUTPUT.to_owned()), ..edge });
        }
    }
}

#[cfg(test)]
mod tests;
