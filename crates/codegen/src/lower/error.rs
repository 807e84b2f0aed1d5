//! Errors of lowering.

use sdfg::tasklet::TypeError;

use super::capability::Refusal;
use crate::plan::PlanError;

/// Why a valid program cannot be lowered for a target.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LowerError {
    /// The target or this version of the compiler does not support a construct.
    #[error("{path}: {what} is not supported in native code (T004); `sdfg interpret` runs it")]
    Unsupported {
        /// The construct, as a noun phrase.
        what: String,
        /// The place.
        path: String,
    },
    /// The target lacks what the program asks for.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Refusal>),
    /// A node that stands for several others is still there.
    #[error(
        "{path}: {noun} `{operation}` has not been expanded: call `sdfg_library::expand` before compiling"
    )]
    Unexpanded {
        /// The kind of node.
        noun: &'static str,
        /// Its operation.
        operation: String,
        /// The place.
        path: String,
    },
    /// Code does not type. Validation says the same earlier.
    #[error("{path}: {}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Types {
        /// The errors.
        errors: Vec<TypeError>,
        /// The place.
        path: String,
    },
    /// The size of a transient is not known where its memory has to be allocated.
    #[error(
        "{path}: the size `{size}` of transient `{container}` is not known when its memory is needed (T004); use it in one state, or let its shape use only symbols that do not change"
    )]
    UnknownSize {
        /// The transient.
        container: String,
        /// Its size.
        size: String,
        /// The place of its use.
        path: String,
    },
    /// The plan breaks a rule: a defect of the compiler, which only debug builds look for.
    #[error("a defect of the compiler: the plan is broken: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Broken(Vec<PlanError>),
    /// A graph that validation should have refused.
    #[error("{path}: {what}")]
    Invalid {
        /// The error.
        what: String,
        /// The place.
        path: String,
    },
}
