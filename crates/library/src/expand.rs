//! Replaces every reduction and library node of a graph, including those inside nested SDFGs.

use sdfg::edit::{EditError, Editor};
use sdfg::ir::{EdgeId, NestedSdfg, NodeId, NodeKind, Sdfg, StateId};
use sdfg::path::ElementPath;
use sdfg::tasklet::Direction;

use crate::error::{ExpandError, ExpandErrorKind};
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

/// Replacement of nodes.
#[derive(Clone, Copy)]
struct Expander<'r> {
    registry: &'r dyn Registry,
    /// Whether reductions are, too.
    reductions: bool,
}

fn expanded(sdfg: &Sdfg, expander: Expander<'_>) -> Result<Sdfg, ExpandError> {
    let mut expanded = sdfg.clone();
    let mut editor = Editor::new(&mut expanded);
    let path = ElementPath::sdfg(&sdfg.name);
    expand_in_place(&mut editor, expander, &path)?;
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
) -> Result<(), ExpandError> {
    let states: Vec<StateId> = editor.sdfg().states().map(|(id, _)| id).collect();
    for state in states {
        let path = path.enter(&editor.sdfg().state(state).label);
        let nodes: Vec<NodeId> = editor.sdfg().state(state).nodes().map(|(id, _)| id).collect();
        for node in nodes {
            expand_node(editor, state, node, expander, &path)?;
        }
    }
    Ok(())
}

fn expand_node(
    editor: &mut Editor<'_>,
    state: StateId,
    node: NodeId,
    expander: Expander<'_>,
    path: &ElementPath,
) -> Result<(), ExpandError> {
    let sdfg = editor.sdfg();
    let path = path.enter(&sdfg.state(state).node(node).label);
    let fail = |kind| ExpandError { path: Box::new(path.clone()), kind };
    let edited = |refusal| fail(ExpandErrorKind::Edit(Box::new(refusal)));
    match &sdfg.state(state).node(node).kind {
        NodeKind::Reduce(reduce) if expander.reductions => {
            let nested = reduce::expand(sdfg, sdfg.state(state), node, reduce).map_err(fail)?;
            let connector = |_: Option<&str>, direction| {
                Some(if direction == Direction::In { reduce::INPUT } else { reduce::OUTPUT }.to_owned())
            };
            combine_inside(editor, state, node)
                .and_then(|()| editor.replace_node_with(state, node, call(nested), connector))
                .map_err(edited)?;
            Ok(())
        }
        NodeKind::Library(library) => {
            // The path has a label for the program, and two for each node and call.
            let is_nested = path.labels().len() > 3;
            let context = Context { sdfg, state: sdfg.state(state), node, is_nested };
            let nested = expander.registry.expand(library, context).map_err(fail)?;
            combine_inside(editor, state, node)
                .and_then(|()| editor.replace_node(state, node, call(nested)))
                .map_err(edited)?;
            expand_called(editor, state, node, expander, &path)
        }
        NodeKind::Nested(_) => expand_called(editor, state, node, expander, &path),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_) => Ok(()),
    }
}

fn call(nested: NestedSdfg) -> NodeKind {
    NodeKind::Nested(Box::new(nested))
}

/// Expands what a node calls.
fn expand_called(
    editor: &mut Editor<'_>,
    state: StateId,
    node: NodeId,
    expander: Expander<'_>,
    path: &ElementPath,
) -> Result<(), ExpandError> {
    let inside = editor.within(state, node, |inside| Ok(expand_in_place(inside, expander, path)));
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
