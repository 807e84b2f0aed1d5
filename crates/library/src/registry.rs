//! Expansions by the name of the operation.

use sdfg::ir::{LibraryNode, NestedSdfg, NodeId, Sdfg, State};

use crate::error::ExpandErrorKind;

/// Where a library node stands: what an expansion may look at.
#[derive(Clone, Copy, Debug)]
pub struct Context<'g> {
    /// The SDFG with the state.
    pub sdfg: &'g Sdfg,
    /// The state with the node.
    pub state: &'g State,
    /// The node.
    pub node: NodeId,
}

/// Knows how library nodes are carried out.
pub trait Registry {
    /// A nested SDFG with the connectors of the node that means what the node means.
    ///
    /// # Errors
    /// [`ExpandErrorKind::UnknownOperation`], and whatever makes the expansion impossible.
    fn expand(&self, library: &LibraryNode, context: Context<'_>) -> Result<NestedSdfg, ExpandErrorKind>;
}

/// The operations that come with this crate: none yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIn;

impl Registry for BuiltIn {
    fn expand(&self, library: &LibraryNode, _: Context<'_>) -> Result<NestedSdfg, ExpandErrorKind> {
        Err(ExpandErrorKind::UnknownOperation { operation: library.operation.clone(), known: Vec::new() })
    }
}
