//! Registry: expansions by the name of the operation.

use sdfg::ir::{LibraryNode, NestedSdfg, NodeId, Sdfg, State};

use crate::error::ExpandErrorKind;

/// Context of a library node that an expansion may inspect.
#[derive(Clone, Copy, Debug)]
pub struct Context<'g> {
    /// The SDFG with the state.
    pub sdfg: &'g Sdfg,
    /// The state with the node.
    pub state: &'g State,
    /// The node.
    pub node: NodeId,
    /// Whether the SDFG is a nested one, whose arguments may be parts of other containers.
    pub is_nested: bool,
}

/// Knows how library nodes are carried out.
pub trait Registry {
    /// A nested SDFG with the connectors of the node that means what the node means.
    ///
    /// It works in place. Where a memlet out of the node has a conflict resolution, it is the nested SDFG that combines: the
    /// memlet will have none.
    ///
    /// # Errors
    /// [`ExpandErrorKind::UnknownOperation`], and whatever makes the expansion impossible.
    fn expand(&self, library: &LibraryNode, context: Context<'_>) -> Result<NestedSdfg, ExpandErrorKind>;
}

/// The operations that come with this crate, which [`operations`](crate::operations) lists: their expansions, and their
/// meaning for the interpreter.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIn;

/// The operations of [`BuiltIn`], each by its `pure` expansion, whatever a node asks for: for those who want to see the operation rather
/// than a fast order of its steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pure;
