//! Reasons for which a transformation does not apply.

use sdfg::analysis::Use;
use sdfg::edit::EditError;
use sdfg::symbolic::Symbol;
use thiserror::Error;

use super::Site;

/// Why a transformation does not apply where its pattern matches. The program is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The graph around the match has another structure.
    #[error("`{node}` {reason}")]
    Structure {
        /// Label of the node or block.
        node: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A container has another use. [`shown`](Refusal::shown) tells its place, which takes time in large programs.
    #[error("`{container}` is used elsewhere, too")]
    Used {
        /// The container.
        container: String,
        /// The other use.
        by: Use,
    },
    /// A container is used in more places.
    #[error("`{container}` is used elsewhere, too: {by}")]
    UsedElsewhere {
        /// The container.
        container: String,
        /// The other use.
        by: String,
    },
    /// A container is of another sort.
    #[error("`{container}` {reason}")]
    Container {
        /// The container.
        container: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A range depends on a parameter that it must not depend on.
    #[error("the range {range} depends on `{parameter}`")]
    DependsOn {
        /// The range.
        range: String,
        /// The parameter.
        parameter: Symbol,
    },
    /// A statement about symbols is needed and could not be proved.
    #[error("{about}: it is not proved that {needed}")]
    Unproved {
        /// The container, parameter or node concerned.
        about: String,
        /// The statement.
        needed: String,
    },
    /// Two memlets conflict.
    #[error("{container}: {first} and {second} {reason}")]
    Conflict {
        /// The container.
        container: String,
        /// A memlet.
        first: String,
        /// Another one.
        second: String,
        /// How they conflict.
        reason: &'static str,
    },
    /// A parameter does not fit the match.
    #[error("parameter `{parameter}`: {reason}")]
    Parameter {
        /// The parameter of the transformation.
        parameter: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// An edit of the graph is not possible.
    #[error("{0}")]
    Edit(#[from] EditError),
}

impl Refusal {
    /// The structure around a node is another one.
    pub fn structure(node: impl Into<String>, reason: impl Into<String>) -> Self {
        Refusal::Structure { node: node.into(), reason: reason.into() }
    }

    /// The refusal as users see it: with the places that it is about.
    #[must_use]
    pub fn shown(self, site: &Site<'_>) -> Self {
        match self {
            Refusal::Used { container, by } => Refusal::UsedElsewhere { container, by: site.place_of(by) },
            other => other,
        }
    }

    /// A container is of another sort.
    pub fn container(container: impl Into<String>, reason: impl Into<String>) -> Self {
        Refusal::Container { container: container.into(), reason: reason.into() }
    }
}
