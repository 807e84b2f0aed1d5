//! Replaces every reduction and library node of a graph, including those inside nested SDFGs.

use std::borrow::Cow;

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{EdgeId, NestedSdfg, NodeId, NodeKind, Sdfg, StateId};
use sdfg::path::ElementPath;
use sdfg::tasklet::Direction;

use crate::error::{ExpandError, ExpandErrorKind};
use crate::reduce::{self, ReduceExpansion};
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

/// As [`expand()`], with every node that has no expansion instead of the first one. A program without such nodes
/// is returned as it is, so that callers need not validate it again.
///
/// # Errors
/// All nodes that have no expansion, in order of states and nodes, at least one.
pub fn expand_all<'s>(sdfg: &'s Sdfg, registry: &dyn Registry) -> Result<Cow<'s, Sdfg>, Vec<ExpandError>> {
    if !has_nodes_to_expand(sdfg) {
        return Ok(Cow::Borrowed(sdfg));
    }
    let mut failed = Vec::new();
    let done = expanded_as_far(sdfg, Expander { registry, reductions: true }, &mut failed);
    failed.extend(done.as_ref().err().cloned());
    match done {
        Ok(expanded) if failed.is_empty() => Ok(Cow::Owned(expanded)),
        Ok(_) | Err(_) => Err(failed),
    }
}

/// Whether a program or a nested SDFG of it has reductions or library nodes.
fn has_nodes_to_expand(sdfg: &Sdfg) -> bool {
    sdfg.states().flat_map(|(_, state)| state.nodes()).any(|(_, node)| match &node.kind {
        NodeKind::Reduce(_) | NodeKind::Library(_) => true,
        NodeKind::Nested(call) => has_nodes_to_expand(&call.sdfg),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_) => false,
    })
}

/// Replacement of nodes.
#[derive(Clone, Copy)]
struct Expander<'r> {
    registry: &'r dyn Registry,
    /// Whether reductions are, too.
    reductions: bool,
}

fn expanded(sdfg: &Sdfg, expander: Expander<'_>) -> Result<Sdfg, ExpandError> {
    let mut failed = Vec::new();
    let expanded = expanded_as_far(sdfg, expander, &mut failed)?;
    match failed.into_iter().next() {
        None => Ok(expanded),
        Some(first) => Err(first),
    }
}

/// Replaces the nodes that have an expansion, and keeps the others.
///
/// # Errors
/// An edit that cannot be made.
fn expanded_as_far(
    sdfg: &Sdfg,
    expander: Expander<'_>,
    failed: &mut Vec<ExpandError>,
) -> Result<Sdfg, ExpandError> {
    let mut expanded = sdfg.clone();
    let mut editor = Editor::new(&mut expanded);
    let path = ElementPath::sdfg(&sdfg.name);
    expand_in_place(&mut editor, expander, &path, failed)?;
    let whole = |refusal| {
        let kind = ExpandErrorKind::Edit(Box::new(refusal));
        ExpandError { path: Box::new(path.clone()), kind }
    };
    editor.commit().map_err(whole)?;
    Ok(expanded)
}

fn expand_in_place(
    editor: &mut Editor<'_>,
    expander: Expander<'_>,
    path: &ElementPath,
    failed: &mut Vec<ExpandError>,
) -> Result<(), ExpandError> {
    let states: Vec<StateId> = editor.sdfg().states().map(|(id, _)| id).collect();
    for state in states {
        let path = path.enter(&editor.sdfg().state(state).label);
        let nodes: Vec<NodeId> = editor.sdfg().state(state).nodes().map(|(id, _)| id).collect();
        for node in nodes {
            expand_node(editor, (state, node), expander, &path, failed)?;
        }
    }
    Ok(())
}

fn expand_node(
    editor: &mut Editor<'_>,
    (state, node): (StateId, NodeId),
    expander: Expander<'_>,
    path: &ElementPath,
    failed: &mut Vec<ExpandError>,
) -> Result<(), ExpandError> {
    let sdfg = editor.sdfg();
    let path = path.enter(&sdfg.state(state).node(node).label);
    let fail = |kind| ExpandError { path: Box::new(path.clone()), kind };
    let edited = |refusal| fail(ExpandErrorKind::Edit(Box::new(refusal)));
    // The path has a label for the program, and two for each node and call.
    let is_nested = path.labels().len() > 3;
    match &sdfg.state(state).node(node).kind {
        NodeKind::Reduce(_) | NodeKind::Library(_)
            if expander.reductions || !matches!(sdfg.state(state).node(node).kind, NodeKind::Reduce(_)) =>
        {
            let nested = match expansion_of(sdfg, (state, node), expander.registry, is_nested, None) {
                Ok(nested) => nested,
                Err(kind) => {
                    failed.push(fail(kind));
                    return Ok(());
                }
            };
            put_expansion(editor, (state, node), nested).map_err(edited)?;
            expand_called(editor, (state, node), expander, &path, failed)
        }
        NodeKind::Nested(_) => expand_called(editor, (state, node), expander, &path, failed),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => Ok(()),
    }
}

/// A nested SDFG that does what a reduction or library node does, by an expansion of this name or the one that the node asks for.
pub(crate) fn expansion_of(
    sdfg: &Sdfg,
    (state, node): (StateId, NodeId),
    registry: &dyn Registry,
    is_nested: bool,
    implementation: Option<&str>,
) -> Result<NestedSdfg, ExpandErrorKind> {
    let graph = sdfg.state(state);
    match &graph.node(node).kind {
        NodeKind::Reduce(reduce) => {
            let name = implementation.unwrap_or(ReduceExpansion::ALL[0].name());
            let found = ReduceExpansion::ALL.into_iter().find(|how| how.name() == name);
            let how = found.ok_or_else(|| ExpandErrorKind::UnknownExpansion {
                expansion: name.to_owned(),
                known: ReduceExpansion::ALL.map(|how| how.name().to_owned()).to_vec(),
            })?;
            reduce::expand_by(sdfg, graph, node, reduce, how)
        }
        NodeKind::Library(library) => {
            let mut library = library.clone();
            if let Some(name) = implementation {
                library.expansion = Some(name.to_owned());
            }
            registry.expand(&library, Context { sdfg, state: graph, node, is_nested })
        }
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_) => {
            Err(ExpandErrorKind::UnknownOperation { operation: String::new(), known: Vec::new() })
        }
    }
}

/// Puts an expansion in the place of its node.
pub(crate) fn put_expansion(
    editor: &mut Editor<'_>,
    (state, node): (StateId, NodeId),
    mut nested: NestedSdfg,
) -> Result<(), EditError> {
    let is_reduction = matches!(editor.sdfg().state(state).node(node).kind, NodeKind::Reduce(_));
    let connector = |own: Option<&str>, direction| {
        let of_reduction = if direction == Direction::In { reduce::INPUT } else { reduce::OUTPUT };
        if is_reduction { Some(of_reduction.to_owned()) } else { own.map(str::to_owned) }
    };
    // Labels that are derived have dots, which names of programs have not.
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    nested.sdfg.name = nested.sdfg.name.replace(|c| !is_part(c), "_");
    combine_inside(editor, state, node)?;
    editor.replace_node_with(state, node, NodeKind::Nested(Box::new(nested)), connector).map(|_| ())
}

/// Expands what a node calls.
fn expand_called(
    editor: &mut Editor<'_>,
    (state, node): (StateId, NodeId),
    expander: Expander<'_>,
    path: &ElementPath,
    failed: &mut Vec<ExpandError>,
) -> Result<(), ExpandError> {
    let inside = editor.within(state, node, |inside| Ok(expand_in_place(inside, expander, path, failed)));
    inside.map_err(|refusal| {
        let kind = ExpandErrorKind::Edit(Box::new(refusal));
        ExpandError { path: Box::new(path.clone()), kind }
    })?
}

/// Takes the conflict resolutions from the edges out of a node: its expansion works in place and combines inside.
fn combine_inside(editor: &mut Editor<'_>, state: StateId, node: NodeId) -> Result<(), EditError> {
    let graph = editor.sdfg().state(state);
    let combines = |id: &EdgeId| graph.edge(*id).memlet.resolution().is_some();
    let edges: Vec<EdgeId> = graph.out_edges(node).into_iter().filter(combines).collect();
    edges.into_iter().try_for_each(|edge| editor.set_resolution(state, edge, None))
}

#[cfg(test)]
mod tests;
