//! Why a graph could not be expanded.

use std::fmt;

/// A node that could not be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{node}` in {path}: {kind}")]
pub struct ExpandError {
    /// Label of the node.
    pub node: String,
    /// State of the node, behind the labels of the nested SDFGs around it.
    pub path: StatePath,
    /// What is wrong with it.
    pub kind: ExpandErrorKind,
}

/// Labels of states and nested SDFGs from the outside in: state, nested SDFG, state, ...; it ends with a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatePath(pub Vec<String>);

impl fmt::Display for StatePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "state `{}`", self.0.join("/"))
    }
}

/// What is wrong with a node that could not be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandErrorKind {
    /// No registry knows the operation of a library node.
    #[error("the operation `{operation}` is not known{}", listed(known))]
    UnknownOperation {
        /// The operation.
        operation: String,
        /// Operations that are known.
        known: Vec<String>,
    },
    /// A reduction does not have one incoming read and one outgoing write; validation refuses this too.
    #[error("a reduction needs one edge that reads an array and one that writes one")]
    ReduceEdges,
    /// Kept axes of a reduction have no counterparts in its output; validation refuses this too.
    #[error("the {kept} dimensions that the reduction keeps do not fit the {found} dimensions of its output")]
    ReduceShape {
        /// Number of dimensions that are kept and are not a single index.
        kept: usize,
        /// Number of dimensions of the output that are not a single index.
        found: usize,
    },
    /// An axis is none of the input's; validation refuses this too.
    #[error("there is no axis {axis} in an input of {rank} dimensions")]
    NoSuchAxis {
        /// The axis.
        axis: usize,
        /// Number of dimensions of the input.
        rank: usize,
    },
    /// The identity of a reduction cannot be written in a tasklet; validation refuses this too.
    #[error("the identity `{identity}` is not a constant")]
    Identity {
        /// The identity.
        identity: String,
    },
    /// The edge out of a reduction combines with what was there before in another way than the reduction.
    #[error(
        "the edge out of the reduction has another conflict resolution than the reduction; write to a transient in between"
    )]
    OutputResolution,
}

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        "; none is registered".to_owned()
    } else {
        format!("; known: {}", known.join(", "))
    }
}
