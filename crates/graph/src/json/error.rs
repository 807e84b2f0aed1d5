//! Errors in a JSON document.

use sdfg_language::syntax::ParseError;

use crate::ir::ForeignAttribute;

/// Why a JSON document is no SDFG.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// It is no JSON, or does not have the fields of the schema.
    #[error("line {line}, column {column}: {message}")]
    Schema {
        /// Line, from 1.
        line: usize,
        /// Column, from 1; 0 for the end of a line.
        column: usize,
        /// The error.
        message: String,
    },
    /// It is JSON of something else.
    #[error("this is not an SDFG document: `format` is {}, not \"sdfg\"", .found.as_ref().map_or("missing".to_owned(), |f| format!("{f:?}")))]
    OtherFormat {
        /// The format it names.
        found: Option<String>,
    },
    /// It is of a version that this program does not know.
    #[error(
        "the document has {}, this program reads versions {first} to {last}; convert it with the program that wrote it, or use a newer one of this",
        .found.map_or("no version".to_owned(), |v| format!("version {v}"))
    )]
    UnknownVersion {
        /// The version it names.
        found: Option<u64>,
        /// The first version that can be read.
        first: u64,
        /// The last version that can be read.
        last: u64,
    },
    /// It has the fields of the schema, but one of them holds nothing of use.
    #[error("{path}: {problem}")]
    Content {
        /// The field, as in `sdfg.body.blocks[2].state.edges[0].memlet`.
        path: String,
        /// The error.
        problem: JsonProblem,
    },
}

/// Errors of a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonProblem {
    /// A name that no container has.
    #[error("there is no container `{name}`{}", .similar.as_ref().map_or(String::new(), |s| format!("; did you mean `{s}`?")))]
    UnknownContainer {
        /// The name.
        name: String,
        /// A name that exists and looks like it.
        similar: Option<String>,
    },
    /// A container or symbol of a name that is taken.
    #[error("there is a container or symbol `{name}` already")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// An index beyond the end of a list.
    #[error("there is no {what} {index}, only {count}")]
    NoSuchIndex {
        /// Contents of the list, as a noun.
        what: &'static str,
        /// The index, from 0.
        index: usize,
        /// The length of the list.
        count: usize,
    },
    /// A word that is none of a fixed list.
    #[error("`{word}` is not a {what}; known: {}", .known.join(", "))]
    UnknownWord {
        /// Kind of the words in the list, as a noun.
        what: &'static str,
        /// The word.
        word: String,
        /// The list.
        known: Vec<&'static str>,
    },
    /// A name that cannot name a symbol.
    #[error("`{name}` cannot name a symbol")]
    InvalidSymbol {
        /// The name.
        name: String,
    },
    /// A text that is not of the grammar.
    #[error("`{text}` is no {what}: {}", .errors.first().map_or(String::new(), ToString::to_string))]
    Syntax {
        /// The expected kind, as a noun.
        what: &'static str,
        /// The text.
        text: String,
        /// Every syntax error in it.
        errors: Vec<ParseError>,
    },
    /// An expression that is not integer arithmetic over symbols, where such a one is needed.
    #[error("`{text}` is no symbolic expression: {reason}")]
    NotSymbolic {
        /// The text.
        text: String,
        /// Why not.
        reason: String,
    },
    /// An attribute that the schedule of a scope does not have.
    #[error("{0}")]
    ForeignAttribute(ForeignAttribute),
    /// A value that a constant of its type cannot hold.
    #[error("`{text}` is not a value of type {ty}")]
    InvalidValue {
        /// The text.
        text: String,
        /// The type.
        ty: String,
    },
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        // The position is told apart from the message; serde_json appends it.
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = text.strip_suffix(&place).unwrap_or(&text).to_owned();
        JsonError::Schema { line: error.line(), column: error.column(), message }
    }
}
