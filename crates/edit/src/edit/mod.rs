//! The editing API: the operations that transformations consist of.
//!
//! An [`Editor`] borrows a program, makes a series of edits, and ends it with [`commit`](Editor::commit) or
//! reverts everything (ADR 0013). Each edit succeeds, or fails with an [`EditError`] and leaves the program
//! unchanged. The caller is responsible for the meaning of the program: wrapping nodes in a map runs them
//! many times. Operations that preserve the meaning say so.
//!
//! Labels of added elements follow one rule, [`derived_label`]. A [`Snapshot`] reverts any number of series.

mod called;
mod changes;
mod contract;
mod control;
mod copies;
mod double;
mod edge;
mod editor;
mod error;
mod guard;
mod index;
mod inline;
mod inline_blocks;
mod journal;
mod label;
mod limits;
mod local;
mod map_loops;
mod names;
mod nested;
mod node;
mod part;
mod pending;
mod primitive;
mod propagate_pending;
mod regions;
mod rename;
mod scope;
mod snapshot;
mod split;
mod state_machine;
mod states;
mod streams;
mod subgraph;
mod substitute;
mod touched;

#[cfg(test)]
mod tests;

pub use called::call_accesses_all;
pub use changes::{Change, ChangeKind, Changes};
pub(crate) use control::jumps_out;
pub use double::{LeadingDimension, Partials};
pub use editor::Editor;
pub use error::EditError;
pub use label::{derived_block_label, derived_container_name, derived_label};
pub use local::Cover;
use sdfg_graph::ir::{Edge, EdgeId, NodeId, State};
pub use snapshot::Snapshot;
pub(crate) use snapshot::atomically;
pub use streams::stream_of_one_state;
pub use touched::{TouchedAt, TouchedPart};

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
