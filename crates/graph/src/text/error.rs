//! Errors of text programs: syntax, and undeclared names.
//!
//! `validate` finds all other errors of a graph, for every front end.

use sdfg_language::syntax::{self, Span};

use crate::ir::{ForeignAttribute, SourceLoc};
use crate::path::closest;

/// An error at a place of a text program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{loc}: {kind}")]
pub struct ParseError {
    /// Span of the error, in bytes.
    pub span: Span,
    /// Position of the error, in lines and columns.
    pub loc: SourceLoc,
    /// The error.
    pub kind: ParseErrorKind,
}

impl ParseError {
    /// The remedy, if it goes beyond the message.
    pub fn help(&self) -> Option<String> {
        self.kind.help(self.span)
    }
}

/// The kinds of errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text does not follow the grammar.
    #[error("{0}")]
    Syntax(syntax::ParseErrorKind),
    /// A name that no declaration, node or block has.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// Kind of the missing name, as a noun.
        what: &'static str,
        /// The name.
        name: String,
        /// A name that exists and looks like it.
        similar: Option<String>,
    },
    /// A word that is none of a fixed list.
    #[error("`{word}` is not a {what}")]
    UnknownWord {
        /// Kind of the words in the list, as a noun.
        what: &'static str,
        /// The word.
        word: String,
        /// The list.
        known: Vec<&'static str>,
    },
    /// An attribute that the schedule of a scope does not have.
    #[error("{0}")]
    ForeignAttribute(ForeignAttribute),
    /// A name that is taken.
    #[error("there is a {what} `{name}` already")]
    Duplicate {
        /// Kind of the owner of the name, as a noun.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name that cannot name a symbol, such as one with a letter outside of ASCII.
    #[error("`{name}` cannot name a symbol")]
    InvalidSymbol {
        /// The name.
        name: String,
    },
    /// A symbol whose type is not that of integers.
    #[error("the symbol `{symbol}` has type {ty}")]
    SymbolType {
        /// The symbol.
        symbol: String,
        /// Its type.
        ty: String,
    },
    /// An expression that is not integer arithmetic over symbols, where such a one is needed.
    #[error("{reason}")]
    NotSymbolic {
        /// Why not.
        reason: String,
    },
    /// An array, view or reference without a shape.
    #[error("{what} `{name}` has no shape")]
    MissingShape {
        /// The kind of container.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A value that a constant of its type cannot hold.
    #[error("`{text}` is not a value of type {ty}")]
    InvalidValue {
        /// The text that was read.
        text: String,
        /// The element type.
        ty: String,
    },
    /// A leaf edge that does not say what moves.
    #[error("this edge does not say what moves along it")]
    MissingMemlet,
    /// A copy that names one of its two sides.
    #[error("a copy names what is read and what is written")]
    OneSidedCopy,
    /// A memlet on an edge between two code nodes.
    #[error("an edge between code nodes carries one value and names no container")]
    MemletOnValue,
    /// A memlet on an edge that only orders.
    #[error("an edge that only orders names no container")]
    MemletOnOrder,
    /// A memlet with two sides on an edge that is no copy.
    #[error("this edge reads or writes one container, its memlet names two")]
    TwoSidedMemlet,
    /// A conflict resolution, or a second one, on an edge that does not write.
    #[error("only a write has a conflict resolution")]
    ResolutionWithoutWrite,
    /// An edge whose ends stand in the braces of different scopes.
    #[error("{from}, {to}")]
    CrossesScope {
        /// Scope of the edge's source, as in "`t` is in the scope `m`".
        from: String,
        /// Scope of its destination.
        to: String,
        /// The correct form.
        remedy: String,
    },
    /// A second edge property of one kind, such as two volumes.
    #[error("this says {what} a second time")]
    Repeated {
        /// The repeated property.
        what: &'static str,
    },
    /// `-> end` next to other arrows.
    #[error("`-> end` stands alone: without an arrow that applies, the region ends anyway")]
    EndWithArrows,
    /// Braces nested beyond the limit.
    #[error("braces are nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// A declaration behind the first block.
    #[error("declarations stand before the first block")]
    LateDeclaration,
}

impl ParseErrorKind {
    /// Whether the text follows the grammar, but a name in it does not mean anything.
    pub fn is_reference(&self) -> bool {
        matches!(self, ParseErrorKind::Unknown { .. })
    }

    fn help(&self, span: Span) -> Option<String> {
        Some(match self {
            ParseErrorKind::Syntax(kind) => return syntax::ParseError::new(span, kind.clone()).help(),
            ParseErrorKind::Unknown { similar: Some(similar), .. } => format!("did you mean `{similar}`?"),
            ParseErrorKind::UnknownWord { word, known, .. } => match closest(word, known.iter().copied()) {
                // Slips of the pen rarely change the first letter: where it differs, something else may be meant.
                Some(similar) if similar.chars().next() == word.chars().next() => {
                    format!("did you mean `{similar}`?")
                }
                Some(similar) => format!("did you mean `{similar}`? known: {}", known.join(", ")),
                None => format!("known: {}", known.join(", ")),
            },
            ParseErrorKind::ForeignAttribute(_) => "leave it out, or choose a schedule that it belongs to".to_owned(),
            ParseErrorKind::Duplicate { .. } => "choose another name".to_owned(),
            ParseErrorKind::InvalidSymbol { .. } => {
                "symbols start with a letter or `_` and go on with letters, digits and `_`".to_owned()
            }
            ParseErrorKind::SymbolType { .. } => {
                "use an integer type such as `i64`, or a scalar container".to_owned()
            }
            ParseErrorKind::NotSymbolic { .. } => {
                "sizes, bounds and indices are integer arithmetic over symbols; bring data in through a connector"
                    .to_owned()
            }
            ParseErrorKind::MissingShape { what, name } => {
                format!("write `{what} {name}: TYPE[N]`, or `scalar {name}: TYPE` for one element")
            }
            ParseErrorKind::MissingMemlet => {
                "write `: A[i, 0:N]` behind it, or `order a -> b` if it only orders".to_owned()
            }
            ParseErrorKind::OneSidedCopy => "write both sides: `a -> b: A[0:K] -> B[2:K + 2]`".to_owned(),
            ParseErrorKind::MemletOnValue => "leave the memlet out, or pass through an access node".to_owned(),
            ParseErrorKind::MemletOnOrder => "remove `order`, or the memlet".to_owned(),
            ParseErrorKind::TwoSidedMemlet => "name the container at the end of the path".to_owned(),
            ParseErrorKind::CrossesScope { remedy, .. } => remedy.clone(),
            ParseErrorKind::EndWithArrows => "remove `-> end`".to_owned(),
            ParseErrorKind::LateDeclaration => "move it above the first block".to_owned(),
            ParseErrorKind::Unknown { similar: None, .. }
            | ParseErrorKind::InvalidValue { .. }
            | ParseErrorKind::ResolutionWithoutWrite
            | ParseErrorKind::Repeated { .. }
            | ParseErrorKind::TooDeep { .. } => return None,
        })
    }
}
