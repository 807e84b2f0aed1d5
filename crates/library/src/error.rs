//! Errors of expanding a graph.

use sdfg::edit::EditError;
use sdfg::path::ElementPath;

/// A node that could not be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {kind} ({})", .kind.code())]
pub struct ExpandError {
    /// The node.
    pub path: Box<ElementPath>,
    /// The error.
    pub kind: ExpandErrorKind,
}

/// Errors of a node that could not be expanded.
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
    /// The expansion cannot take the place of the node.
    #[error("its expansion cannot take its place: {0}")]
    Edit(Box<EditError>),
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
    /// A reduction cannot be carried out in parts.
    #[error(
        "the expansion `{expansion}` combines parts of an axis in another order, which a reduction without axes, or by a function of its own, does not allow"
    )]
    ReduceParts {
        /// The expansion.
        expansion: &'static str,
    },
    /// A library node asks for an expansion that its operation does not have.
    #[error("there is no expansion `{expansion}`{}", listed(known))]
    UnknownExpansion {
        /// The expansion.
        expansion: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A node asks for a call of BLAS where none may be made, or where there is none for it.
    #[error("there is no call of BLAS for `{operation}`: {reason}")]
    NoCall {
        /// The operation.
        operation: String,
        /// Why not.
        reason: String,
    },
    /// An operand does not lie in memory as BLAS reads it.
    #[error(
        "`{connector}` cannot be passed to BLAS: {reason}; or ask for `expansion(fast)` or `expansion(pure)` of the node"
    )]
    Memory {
        /// The connector.
        connector: String,
        /// Why not.
        reason: String,
    },
    /// A library node writes no outputs, or several where the operation has one.
    #[error("the operation writes one output, the node has {found}")]
    Outputs {
        /// Number of output connectors.
        found: usize,
    },
    /// A connector that the operation needs is not there.
    #[error("the connector `{connector}` is missing; the operation needs it")]
    MissingConnector {
        /// The connector.
        connector: String,
    },
    /// A connector that the operation does not have.
    #[error("the connector `{connector}` is none of the operation's")]
    UnknownConnector {
        /// The connector.
        connector: String,
    },
    /// No memlet of a container is at a connector.
    #[error("the connector `{connector}` is not connected to elements of a container")]
    Unconnected {
        /// The connector.
        connector: String,
    },
    /// A connector that is read and written has two memories.
    #[error("the connector `{connector}` is read and written, so both of its memlets must be the same")]
    TwoMemories {
        /// The connector.
        connector: String,
    },
    /// A stream is at a connector.
    #[error("the connector `{connector}` is connected to a stream; copy its elements to an array first")]
    Stream {
        /// The connector.
        connector: String,
    },
    /// Elements of a connector have a type that the operation cannot take.
    #[error("the elements of `{connector}` do not do: {reason}")]
    Element {
        /// The connector.
        connector: String,
        /// Why not.
        reason: String,
    },
    /// An operand has another number of dimensions than the operation needs.
    #[error("`{connector}` has the shape {shape}, where {rank} dimensions are needed")]
    Rank {
        /// The connector.
        connector: String,
        /// Its shape.
        shape: String,
        /// The number of dimensions that it must have, besides single indices.
        rank: usize,
    },
    /// Shapes of operands do not belong together.
    #[error("the shapes do not fit: {operands}: {reason}")]
    Shapes {
        /// Connectors with their shapes.
        operands: String,
        /// The misfit.
        reason: String,
    },
    /// A property that the operation does not have.
    #[error("the property `{property}` is none of the operation's{}", listed(known))]
    UnknownProperty {
        /// The property.
        property: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// A property has a value that it cannot have.
    #[error("the property `{property}` is {found}; it {must}")]
    Property {
        /// The property.
        property: String,
        /// Its value.
        found: String,
        /// The requirement.
        must: String,
    },
    /// A factor cannot be used.
    #[error("the factor `{factor}` {reason}")]
    Factor {
        /// The factor.
        factor: String,
        /// Why not.
        reason: String,
    },
    /// The text of an expansion is not understood: a defect of this crate.
    #[error("the expansion is not understood: {reason}; please report this with\n{text}")]
    Template {
        /// The text.
        text: String,
        /// The error.
        reason: String,
    },
}

impl ExpandErrorKind {
    /// A stable name, as findings of validation have them. [`PAGES`](crate::PAGES) explains each.
    pub const fn code(&self) -> &'static str {
        match self {
            ExpandErrorKind::UnknownOperation { .. } => "L001",
            ExpandErrorKind::UnknownProperty { .. }
            | ExpandErrorKind::Property { .. }
            | ExpandErrorKind::Factor { .. }
            | ExpandErrorKind::UnknownExpansion { .. }
            | ExpandErrorKind::Identity { .. } => "L002",
            ExpandErrorKind::Outputs { .. }
            | ExpandErrorKind::MissingConnector { .. }
            | ExpandErrorKind::UnknownConnector { .. }
            | ExpandErrorKind::Unconnected { .. }
            | ExpandErrorKind::TwoMemories { .. }
            | ExpandErrorKind::Stream { .. }
            | ExpandErrorKind::ReduceEdges => "L003",
            ExpandErrorKind::Element { .. }
            | ExpandErrorKind::Rank { .. }
            | ExpandErrorKind::Shapes { .. }
            | ExpandErrorKind::ReduceShape { .. }
            | ExpandErrorKind::NoSuchAxis { .. } => "L004",
            ExpandErrorKind::NoCall { .. }
            | ExpandErrorKind::Memory { .. }
            | ExpandErrorKind::OutputResolution
            | ExpandErrorKind::ReduceParts { .. }
            | ExpandErrorKind::Edit(_)
            | ExpandErrorKind::Template { .. } => "L005",
        }
    }
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "; there is none".to_owned() } else { format!("; known: {}", known.join(", ")) }
}
