//! Diagnostics as data: error, location, reason and remedy.
//!
//! Validation and the text form create diagnostics. [`render`] prints them with carets under the source.
//! [`wire::Report`] is their JSON form. [`pages`] explains each code. The module is separate from validation,
//! because the text form, the builder and the command line use it too.

mod code;
pub mod pages;
mod printed;
mod render;
pub mod wire;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use code::{Code, UnknownCode};
pub use render::{Style, render, render_built};
use sdfg_language::syntax::{ParseError, Span};

use crate::ir::SourceLoc;
pub use crate::path::{Element, ElementPath, End};
use crate::text::{self, ParseErrorKind};

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program has a meaning, but probably not the intended one.
    Warning,
    /// The program has no meaning.
    Error,
}

impl Severity {
    /// The word in messages and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Another place that has to do with a diagnostic.
#[derive(Clone, Debug)]
pub struct Secondary {
    /// Description of the place.
    pub message: String,
    /// Path of the place.
    pub path: ElementPath,
    /// Source location of its creation.
    pub loc: Option<SourceLoc>,
}

/// The part of an element's code that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line of code that it begins in.
    pub line: String,
    /// Position in the text of a tasklet's code; `None` for other expressions.
    pub in_code: Option<Span>,
    /// Position in the file that the program was read from.
    pub in_file: Option<Span>,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Code of the diagnostic.
    pub code: Code,
    /// Its severity.
    pub severity: Severity,
    /// The error, with the names and numbers of this program.
    pub message: String,
    /// The element it is about.
    pub path: ElementPath,
    /// Source location of the element's creation.
    pub loc: Option<SourceLoc>,
    /// The part of its code that is meant.
    pub excerpt: Option<Excerpt>,
    /// More facts.
    pub notes: Vec<String>,
    /// The remedy.
    pub suggestion: Option<String>,
    /// Other places.
    pub secondary: Vec<Secondary>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: Code, path: ElementPath, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            path,
            loc: None,
            excerpt: None,
            notes: Vec::new(),
            suggestion: None,
            secondary: Vec::new(),
        }
    }

    /// A warning.
    pub fn warning(code: Code, path: ElementPath, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, path, message) }
    }

    /// A syntax error in a text that the user knows as `file`.
    pub fn syntax(error: &ParseError, file: &str, text: &str) -> Self {
        let loc = Some(locate(file, text, error.span));
        let suggestion = error.help();
        Diagnostic {
            loc,
            suggestion,
            ..Diagnostic::error(Code::Syntax, ElementPath::default(), error.to_string())
        }
    }

    /// An error in the text of a whole program.
    pub fn text(error: &text::ParseError) -> Self {
        let code = if let ParseErrorKind::Duplicate { what, .. } = &error.kind {
            if matches!(*what, "block" | "node") { Code::DuplicateLabel } else { Code::DuplicateName }
        } else if matches!(error.kind, ParseErrorKind::InvalidSymbol { .. }) {
            Code::InvalidName
        } else if matches!(error.kind, ParseErrorKind::SymbolType { .. }) {
            Code::SymbolType
        } else if matches!(error.kind, ParseErrorKind::CrossesScope { .. }) {
            Code::EdgeCrossesScope
        } else if error.kind.is_reference() {
            Code::UnknownReference
        } else {
            Code::Syntax
        };
        let suggestion = error.help();
        let found =
            Diagnostic::error(code, ElementPath::default(), error.kind.to_string()).at(Some(&error.loc));
        Diagnostic { suggestion, ..found }
    }

    /// The same with the place where the element was made.
    #[must_use]
    pub fn at(self, loc: Option<&SourceLoc>) -> Self {
        Diagnostic { loc: loc.cloned(), ..self }
    }

    /// The same about a part of the element's code.
    #[must_use]
    pub fn within(self, excerpt: Excerpt) -> Self {
        Diagnostic { excerpt: Some(excerpt), ..self }
    }

    /// The same with the place of the excerpt for that of the element, given the text of the file `name` that the
    /// program was read from.
    #[must_use]
    pub fn pinpoint(mut self, name: &str, text: &str) -> Self {
        if let (Some(excerpt), Some(loc)) = (&self.excerpt, &mut self.loc)
            && let Some(span) = excerpt.in_file.filter(|_| *loc.file == *name)
        {
            *loc = locate(name, text, span);
        }
        self
    }

    /// The same with another fact.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The same with what to do.
    #[must_use]
    pub fn suggest(self, suggestion: impl Into<String>) -> Self {
        Diagnostic { suggestion: Some(suggestion.into()), ..self }
    }

    /// The same with another place.
    #[must_use]
    pub fn also(mut self, secondary: Secondary) -> Self {
        self.secondary.push(secondary);
        self
    }

    /// The same as a warning.
    #[must_use]
    pub fn into_warning(self) -> Self {
        Diagnostic { severity: Severity::Warning, ..self }
    }

    /// Whether this is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// One line: severity, code, path and message.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.severity.name(), self.code)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// The place of a span in a text that the user knows as `file`.
pub fn locate(file: &str, text: &str, span: Span) -> SourceLoc {
    let start = (span.start as usize).min(text.len());
    let before = text.get(..start).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count();
    let column = before.chars().rev().take_while(|c| *c != '\n').count();
    let count = |n: usize| u32::try_from(n + 1).unwrap_or(u32::MAX);
    SourceLoc { file: Arc::from(file), line: count(line), column: count(column), span: Some(span) }
}
