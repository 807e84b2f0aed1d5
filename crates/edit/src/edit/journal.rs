//! Journal of an editor, for reverting and reporting its edits.

use std::sync::Arc;

use sdfg_graph::ir::{Edge, EdgeId, Memlet, Node, NodeId, StateId};
use sdfg_graph::workspace::{EdgePlace, Part};

/// Calls from the program inwards: the state and the node of each nested SDFG.
pub(super) type Path = Arc<[(StateId, NodeId)]>;

/// One change, with what was there before.
#[derive(Clone, Debug)]
pub(super) enum Undo {
    /// A container, a part of control flow, or a whole state.
    Part(Box<Part>),
    /// A node was added, without edges.
    NodeAdded(StateId, NodeId),
    /// A node was removed; it had no edges any more.
    NodeRemoved(StateId, NodeId, Box<Node>),
    /// A node has other contents.
    NodeWas(StateId, NodeId, Box<Node>),
    /// An edge was added.
    EdgeAdded(StateId, EdgeId),
    /// An edge was removed from its place among others.
    EdgeRemoved(StateId, EdgeId, Box<Edge>, Option<EdgePlace>),
    /// An edge has other ends or another memlet.
    EdgeWas(StateId, EdgeId, Box<Edge>, Option<EdgePlace>),
    /// Propagation derived another memlet.
    DerivedWas(StateId, EdgeId, Box<Memlet>),
}

/// A change and the SDFG that it was made in.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) path: Path,
    pub(super) undo: Undo,
}
