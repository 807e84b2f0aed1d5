//! The JSON form of diagnostics, for editors and other tools.
//!
//! It is separate from [`Diagnostic`], so that the types may change without changing the files that tools
//! read.

use serde::Serialize;

use super::Diagnostic;
use crate::ir::SourceLoc;

/// One diagnostic as tools read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The stable name of what is wrong, such as `V304`.
    pub code: &'static str,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The error.
    pub message: String,
    /// The element, such as `laplace/step/lap.o`; empty for errors of syntax.
    pub path: String,
    /// Source location of the element's creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The line of code that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// More facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Other places.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
}

/// A place in a source text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// First byte and byte past the end, where the text is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<[u32; 2]>,
}

/// Another place that has to do with a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Related {
    /// Description of the place.
    pub message: String,
    /// The element.
    pub path: String,
    /// Source location of its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
}

impl From<&SourceLoc> for Location {
    fn from(loc: &SourceLoc) -> Self {
        Location {
            file: loc.file.to_string(),
            line: loc.line,
            column: loc.column,
            bytes: loc.span.map(|span| [span.start, span.end]),
        }
    }
}

impl From<&Diagnostic> for Report {
    fn from(diagnostic: &Diagnostic) -> Self {
        let related = diagnostic.secondary.iter().map(|secondary| Related {
            message: secondary.message.clone(),
            path: secondary.path.to_string(),
            location: secondary.loc.as_ref().map(Location::from),
        });
        Report {
            code: diagnostic.code.name(),
            severity: diagnostic.severity.name(),
            message: diagnostic.message.clone(),
            path: diagnostic.path.to_string(),
            location: diagnostic.loc.as_ref().map(Location::from),
            excerpt: diagnostic.excerpt.as_ref().map(|excerpt| excerpt.line.clone()),
            notes: diagnostic.notes.clone(),
            suggestion: diagnostic.suggestion.clone(),
            related: related.collect(),
        }
    }
}
