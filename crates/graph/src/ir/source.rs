//! Source locations of program elements.

use std::fmt;
use std::sync::Arc;

/// A place in the text a user wrote: a builder call, a text program, or a front end's debug information.
///
/// It explains messages and never takes part in equality of programs.
#[derive(Clone, Debug)]
pub struct SourceLoc {
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Byte range in a text program, for carets.
    pub span: Option<sdfg_language::syntax::Span>,
}

impl SourceLoc {
    /// The place of the Rust call that is being made.
    #[track_caller]
    pub fn caller() -> Self {
        let place = std::panic::Location::caller();
        SourceLoc { file: place.file().into(), line: place.line(), column: place.column(), span: None }
    }
}

impl fmt::Display for SourceLoc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
