//! Errors of pipelines.

use sdfg::path::UnresolvedPath;
use thiserror::Error;

use super::{Anchor, ParameterError, Refusal};

/// Why a step of a pipeline was not taken. The program is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TransformError {
    /// The transformation refuses the match.
    #[error("{name} at {at}: {refusal}")]
    Refused {
        /// The transformation.
        name: &'static str,
        /// The match.
        at: String,
        /// The reason.
        refusal: Box<Refusal>,
    },
    /// The pattern does not occur at this place.
    #[error("{name} does not match{}: its pattern is {}{}", at_place(at), pattern.join(" -> "), else_at(others))]
    NoMatch {
        /// The transformation.
        name: &'static str,
        /// The names of the nodes of its pattern.
        pattern: Vec<&'static str>,
        /// The anchor.
        at: Anchor,
        /// Places at which it does, at most five.
        others: Vec<String>,
    },
    /// There are fewer matches.
    #[error("{name} has no match {number}: there are {count}")]
    NoNumber {
        /// The transformation.
        name: &'static str,
        /// The number that was asked for.
        number: usize,
        /// The number of matches.
        count: usize,
    },
    /// The pattern occurs several times at this place.
    #[error("{name} matches several times{}: {}; name one, or more of its nodes", at_place(at), candidates.join("; "))]
    Ambiguous {
        /// The transformation.
        name: &'static str,
        /// The anchor.
        at: Anchor,
        /// The matches, at most five.
        candidates: Vec<String>,
    },
    /// A path names nothing, or several elements.
    #[error(transparent)]
    Path(#[from] UnresolvedPath),
    /// The name or parameters of the transformation are wrong.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A condition of the step is none that can be used.
    #[error("the condition `{text}`: {reason}")]
    Condition {
        /// The condition.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// A step has a guard, and no assumption that it could test.
    #[error("a guard tests assumptions, and there are none")]
    NoAssumption,
    /// A transformation without a limit applies again and again.
    #[error("{name} still applies after {count} times")]
    Endless {
        /// The transformation.
        name: &'static str,
        /// The number of applications.
        count: usize,
    },
    /// There is no application to undo.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// The rewritten program is not valid: a fault of the transformation.
    #[error("the program is not valid after the transformations: {reason}")]
    Invalid {
        /// The errors of validation.
        reason: String,
    },
}

/// The place, unless it is any.
fn at_place(at: &Anchor) -> String {
    match at {
        Anchor::Only | Anchor::Everywhere { .. } => String::new(),
        Anchor::Paths(_) | Anchor::Number(_) => format!(" at {at}"),
    }
}

fn else_at(others: &[String]) -> String {
    if others.is_empty() {
        "; it matches nowhere in the program".to_owned()
    } else {
        format!("; it matches at {}", others.join("; "))
    }
}
