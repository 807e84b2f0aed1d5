//! Limits of expressions at the places that edits touched.
//!
//! Arithmetic puts an opaque value in the place of an expression that grows too large. Analyses take it for unknown, but a
//! program with one has lost what its index, range or size is.

use std::collections::BTreeSet;

use sdfg_graph::ir::{Container, ContainerKind, Memlet, NodeKind, Sdfg};
use sdfg_language::subset::Subset;
use sdfg_language::symbolic::Expr;

use super::editor::{Editor, sdfg_at};
use super::{EditError, TouchedAt, TouchedPart};

/// Checks the indices, ranges and sizes that the series touched.
pub(super) fn verify(editor: &Editor<'_>) -> Result<(), EditError> {
    let touched: BTreeSet<TouchedAt<'_>> = editor.touched_since(0).collect();
    for (path, part) in touched {
        if let Some(sdfg) = sdfg_at(editor.program(), path) {
            check(sdfg, part)?;
        }
    }
    Ok(())
}

/// Checks a part, which may be gone.
fn check(sdfg: &Sdfg, part: TouchedPart) -> Result<(), EditError> {
    match part {
        TouchedPart::Node(state, id) => {
            let Some(node) = sdfg.get_state(state).and_then(|state| state.get_node(id)) else {
                return Ok(());
            };
            fits(&node.label, expressions_of_node(&node.kind))
        }
        TouchedPart::Edge(state, id) => {
            let Some(state) = sdfg.get_state(state) else { return Ok(()) };
            let Some(edge) = state.get_edge(id) else { return Ok(()) };
            fits(&state.node(edge.src).label, expressions_of_memlet(&edge.memlet))
        }
        TouchedPart::State(id) => {
            let Some(state) = sdfg.get_state(id) else { return Ok(()) };
            let nodes = state.nodes().map(|(node, _)| TouchedPart::Node(id, node));
            let edges = state.edges().map(|(edge, _)| TouchedPart::Edge(id, edge));
            nodes.chain(edges).try_for_each(|part| check(sdfg, part))
        }
        TouchedPart::Container(id) => {
            let Some(container) = sdfg.get_container(id) else { return Ok(()) };
            fits(&container.name, expressions_of_container(container))
        }
        // Control flow has syntax, in which no opaque value can be written.
        TouchedPart::Block(_) | TouchedPart::Transition(_) | TouchedPart::Other => Ok(()),
    }
}

fn fits<'e>(label: &str, expressions: impl IntoIterator<Item = &'e Expr>) -> Result<(), EditError> {
    if expressions.into_iter().any(Expr::is_too_large) {
        return Err(EditError::TooLarge { label: label.to_owned() });
    }
    Ok(())
}

fn expressions_of_subset(subset: &Subset) -> impl Iterator<Item = &Expr> {
    subset.0.iter().flat_map(|range| [&range.begin, &range.end, &range.step, &range.tile])
}

/// Those of the subsets. The volume may be an opaque value where it follows from one.
fn expressions_of_memlet(memlet: &Memlet) -> impl Iterator<Item = &Expr> {
    memlet.accesses().flat_map(|access| expressions_of_subset(access.subset()))
}

fn expressions_of_node(kind: &NodeKind) -> Vec<&Expr> {
    match kind {
        NodeKind::MapEntry(map) => {
            expressions_of_subset(&map.ranges).chain(map.schedule.expressions()).collect()
        }
        NodeKind::ConsumeEntry(consume) => {
            [&consume.elements, &consume.chunk].into_iter().chain(consume.schedule.expressions()).collect()
        }
        NodeKind::Nested(nested) => nested.symbol_mapping.iter().map(|(_, value)| value).collect(),
        NodeKind::Access(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Tasklet(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => Vec::new(),
    }
}

fn expressions_of_container(container: &Container) -> Vec<&Expr> {
    let mut found: Vec<&Expr> = container.shape().iter().collect();
    if let Some(layout) = container.kind.layout() {
        found.extend(layout.strides.iter().chain([&layout.offset, &layout.total_size]));
    }
    if let ContainerKind::Stream { capacity: Some(capacity), .. } = &container.kind {
        found.push(capacity);
    }
    found
}
