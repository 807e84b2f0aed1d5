//! Editing graphs: the operations that transformations are written with.
//!
//! An [`Editor`] borrows a program, makes a series of edits, and ends it with [`commit`](Editor::commit), or takes everything back
//! (ADR 0013). Each edit is made or refused with an [`EditError`] that leaves the program as it was. Whether the
//! program still means the same is for the caller to know: wrapping nodes in a map runs them many times. Operations that keep
//! the meaning say so.
//!
//! Labels of what is added follow one rule, [`derived_label`]. A [`Snapshot`] goes back over any number of series.

mod changes;
mod contract;
mod control;
mod copies;
mod edge;
mod editor;
mod error;
mod index;
mod inline;
mod journal;
mod label;
mod local;
mod names;
mod nested;
mod node;
mod part;
mod pending;
mod primitive;
mod rename;
mod scope;
mod settle;
mod snapshot;
mod states;
mod subgraph;
mod substitute;

#[cfg(test)]
mod tests;

pub use changes::{Change, ChangeKind, Changes};
pub(crate) use control::jumps_out;
pub use editor::Editor;
pub use error::EditError;
pub use label::{derived_block_label, derived_container_name, derived_label};
pub use local::Cover;
use sdfg_graph::ir::{Edge, EdgeId, NodeId, State};
pub use snapshot::Snapshot;
pub(crate) use snapshot::atomically;

fn expect_node(state: &State, node: NodeId) -> Result<&sdfg_graph::ir::Node, EditError> {
    state.get_node(node).ok_or(EditError::NoNode(node))
}

fn expect_edge(state: &State, edge: EdgeId) -> Result<&Edge, EditError> {
    state.get_edge(edge).ok_or(EditError::NoEdge(edge))
}

fn expect_entry(state: &State, entry: NodeId) -> Result<(), EditError> {
    let node = expect_node(state, entry)?;
    if node.kind.is_scope_entry() {
        return Ok(());
    }
    Err(EditError::WrongKind {
        label: node.label.clone(),
        found: node.kind.noun(),
        expected: "scope entries",
    })
}
