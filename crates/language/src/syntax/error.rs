//! Syntax errors: one closed list, so that each kind has one wording and, where possible, a remedy.

use super::span::Span;

/// The result of one parsing step.
pub type ParseResult<T> = Result<T, ParseError>;

/// A syntax error at a place in the source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct ParseError {
    /// Span of the error.
    pub span: Span,
    /// The error.
    pub kind: ParseErrorKind,
}

/// The kinds of syntax errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text is longer than spans can count.
    #[error("the text is longer than 4 GiB")]
    TextTooLong,
    /// A character that starts no token.
    #[error("unexpected character `{character}`")]
    UnexpectedCharacter {
        /// The character.
        character: char,
    },
    /// A string without its closing quote on the same line.
    #[error("this string is not closed on its line")]
    UnterminatedString,
    /// A backslash in a string, followed by something without a meaning.
    #[error("unknown escape `\\{character}` in a string")]
    UnknownEscape {
        /// The character after the backslash.
        character: char,
    },
    /// Text that starts as a number and is none.
    #[error("`{text}` is not a number")]
    InvalidNumber {
        /// The text that was read.
        text: String,
    },
    /// An integer literal above 2^64 - 1, or a floating-point literal that rounds to infinity.
    #[error("the number `{text}` is out of range")]
    NumberOutOfRange {
        /// The text that was read.
        text: String,
    },
    /// Another token was needed.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// The expected text.
        expected: &'static str,
        /// The token that stands there.
        found: String,
    },
    /// A word of the language where a name is needed.
    #[error("`{word}` is a word of the language and cannot be a name")]
    ReservedWord {
        /// The word.
        word: String,
    },
    /// Expressions or blocks nested beyond the limit.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: u32,
    },
    /// `a:b` outside of a subscript.
    #[error("a range cannot stand here")]
    MisplacedRange,
    /// An opening brace without its closing one.
    #[error("this `{{` is never closed")]
    UnmatchedBrace,
    /// A line that is indented deeper than its block.
    #[error("this line is indented deeper than the block it stands in")]
    UnexpectedIndent,
    /// A line between two known indentations.
    #[error("this indentation matches no enclosing block")]
    InconsistentDedent,
    /// A block that should be indented and is not there.
    #[error("expected an indented block after `:`")]
    ExpectedBlock,
    /// The left side of `=` is neither a name nor a subscript.
    #[error("only a name or a subscript can be assigned to")]
    InvalidTarget,
    /// `for` over something other than `range(...)`.
    #[error("`for` needs `range(end)`, `range(begin, end)` or `range(begin, end, step)`")]
    UnboundedFor,
    /// An expression stands alone as a statement.
    #[error("an expression alone has no effect")]
    ExpressionStatement,
    /// An external call with a clause that is malformed.
    #[error("unknown origin `{word}` of an external tasklet")]
    UnknownExternalOrigin {
        /// The text that was read.
        word: String,
    },
}

impl ParseError {
    /// An error of `kind` at `span`.
    pub fn new(span: Span, kind: ParseErrorKind) -> Self {
        ParseError { span, kind }
    }

    /// The remedy, if it goes beyond the message.
    pub fn help(&self) -> Option<String> {
        let text = match &self.kind {
            ParseErrorKind::UnexpectedCharacter { character: '!' } => {
                "write `not x`, or `!=` without a space"
            }
            ParseErrorKind::UnexpectedCharacter { character: '?' } => "write `a if condition else b`",
            ParseErrorKind::InvalidNumber { .. } => {
                "numbers are written 12, 0x1f, 1.5, 1e-3 or 2j; a type is given by a cast such as f32(1.5)"
            }
            ParseErrorKind::NumberOutOfRange { .. } => "write `inf` for infinity",
            ParseErrorKind::TooDeep { .. } => "give parts of the expression names of their own",
            ParseErrorKind::MisplacedRange => "ranges `begin:end:step` stand in subscripts and subsets only",
            ParseErrorKind::ExpressionStatement => "assign it to an output: `name = expression`",
            ParseErrorKind::InvalidTarget => "compare with `==`, or assign to a name",
            ParseErrorKind::ExpectedBlock => "indent the statements of the block, or write `pass`",
            ParseErrorKind::UnknownExternalOrigin { .. } => {
                "write `from library \"name\"`, `from file \"path\"`, `from source \"text\"`, `from cpp \"text\"` or `from callback`"
            }
            ParseErrorKind::TextTooLong
            | ParseErrorKind::UnexpectedCharacter { .. }
            | ParseErrorKind::UnterminatedString
            | ParseErrorKind::UnknownEscape { .. }
            | ParseErrorKind::Expected { .. }
            | ParseErrorKind::ReservedWord { .. }
            | ParseErrorKind::UnmatchedBrace
            | ParseErrorKind::UnexpectedIndent
            | ParseErrorKind::InconsistentDedent
            | ParseErrorKind::UnboundedFor => return None,
        };
        Some(text.to_owned())
    }
}
