//! Errors of printing a plan as source.

use crate::interface::InterfaceError;

/// Why a plan cannot be printed as source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The program has a name or arguments that C does not have.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The plan has something that this language does not have.
    #[error("{language} source does not support {what}")]
    Unsupported {
        /// The language.
        language: &'static str,
        /// The construct that it lacks.
        what: String,
    },
    /// NVRTC makes no image of the kernels for an architecture.
    #[error("{0}")]
    Image(String),
    /// The plan breaks a rule of plans: a defect of lowering.
    #[error("defect: {0} (please report this)")]
    Defect(String),
}

/// The result of a step of printing.
pub(super) type Print<T> = Result<T, SourceError>;

/// An error for a plan that breaks a rule.
pub(super) fn defect(text: impl Into<String>) -> SourceError {
    SourceError::Defect(text.into())
}
