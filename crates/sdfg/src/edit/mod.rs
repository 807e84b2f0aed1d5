//! Editing graphs: the operations that transformations are written with.
//!
//! Each operation leaves a graph whose connectors pair up and whose derived memlets are right, or it is refused with an
//! [`EditError`] and leaves the graph as it was. Whether the program still means the same is for the caller to know: wrapping
//! nodes in a map runs them many times. Operations that keep the meaning say so.
//!
//! Several edits are made whole or not at all by [`atomically`]; a [`Snapshot`] goes back over any number of them. Labels of
//! what is added follow one rule, [`derived_label`].

mod edge;
mod error;
mod inline;
mod label;
mod local;
mod names;
mod nested;
mod rename;
mod scope;
mod snapshot;
mod states;
mod subgraph;
mod substitute;

#[cfg(test)]
mod tests;

pub use edge::{redirect_destination, redirect_source, remove_edge, remove_node, replace_node};
pub use error::EditError;
pub use inline::inline_nested;
pub use label::{derived_block_label, derived_container_name, derived_label};
pub use local::{Cover, add_local_copy, replace_container};
pub use nested::wrap_in_nested;
pub use rename::{rename_connector, rename_container};
pub use scope::{unwrap_map, wrap_in_map};
pub use snapshot::{Snapshot, atomically};
pub(crate) use states::jumps_out;
pub use states::{
    insert_state_after, insert_state_before, merge_states, remove_empty_state, split_state, wrap_in_loop,
};
pub use substitute::{rename_symbol, substitute, substitute_in_scope};

use crate::ir::{Edge, EdgeId, Memlet, NodeId, Sdfg, State, StateId};

fn expect_state(sdfg: &Sdfg, state: StateId) -> Result<&State, EditError> {
    sdfg.get_state(state).ok_or(EditError::NoState(state))
}

fn expect_node(state: &State, node: NodeId) -> Result<&crate::ir::Node, EditError> {
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

/// An edge that only orders, unless there is an edge between the two nodes already.
fn order(state: &mut State, src: NodeId, dst: NodeId) {
    if !state.out_edges(src).iter().any(|edge| state.edge(*edge).dst == dst) {
        connect(state, (src, None), (dst, None), Memlet::order());
    }
}

fn connect(
    state: &mut State,
    (src, src_connector): (NodeId, Option<String>),
    (dst, dst_connector): (NodeId, Option<String>),
    memlet: Memlet,
) -> EdgeId {
    state.add_edge(Edge { src, src_connector, dst, dst_connector, memlet, loc: None })
}
