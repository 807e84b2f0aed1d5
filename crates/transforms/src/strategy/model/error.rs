//! Reasons for which a program has no model.

use super::super::error::ProblemError;
use super::machine::MachineError;

/// Why a program has no model. Each error tells the place.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The machine makes no sense.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The configurations or costs make no sense.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Something that the model does not cover.
    #[error("{place}: {what} is not modelled; {instead}")]
    Unsupported {
        /// The place.
        place: String,
        /// The construct.
        what: String,
        /// The remedy.
        instead: &'static str,
    },
    /// A loop of which the program does not tell how often it runs.
    #[error(
        "{place}: how often this loop runs is not known; tell it with `--iterations {label}=N`, a mean where it changes, or give the loop a begin, an end and a constant step"
    )]
    Uncounted {
        /// The place.
        place: String,
        /// Name of the loop ([`ModelOptions::iterations`](super::ModelOptions)).
        label: String,
    },
    /// Iterations were told for a loop that is not there, or that never runs.
    #[error(
        "there is no loop `{label}`; loops are named by their labels, or by those of the calls around them and their own, with dots"
    )]
    UnknownLoop {
        /// The given text.
        label: String,
    },
    /// A size that the given values do not determine.
    #[error(
        "{place}: `{expression}` has no value; set all symbols of the program, and let no size depend on the symbol of a loop"
    )]
    NoValue {
        /// The place.
        place: String,
        /// The object without a value.
        expression: String,
    },
    /// A size that exceeds all numbers that the model computes with.
    #[error("{place}: {what} exceeds 2^53; set smaller sizes")]
    TooLarge {
        /// The place.
        place: String,
        /// The object that is too large.
        what: &'static str,
    },
    /// More blocks of iterations than are looked at one by one.
    #[error(
        "{place}: {ranks} ranks have more than {limit} ways to share {n_dimensions} dimensions; use fewer, or fewer dimensions"
    )]
    TooManyConfigurations {
        /// The place.
        place: String,
        /// Number of ranks.
        ranks: u32,
        /// Number of dimensions.
        n_dimensions: usize,
        /// Permitted number of configurations for so many ranks.
        limit: usize,
    },
    /// More accesses than are told apart.
    #[error(
        "{place}: {n} accesses to `{container}` in one operation and its neighbours are more than {limit}"
    )]
    TooManyAccesses {
        /// The place.
        place: String,
        /// The container.
        container: String,
        /// Number of accesses.
        n: usize,
        /// Permitted number of accesses.
        limit: usize,
    },
}
