//! Tokens: kind and span. The text is read from the source on demand.

use std::fmt;

use super::span::Span;

/// One token of a source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its span.
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or a word of the language; the parser tells them apart by text.
    Identifier,
    /// `12` or `0x1f`.
    Integer,
    /// `1.5`, `1e-3`, `.5`, `1.`.
    Float,
    /// `2j` or `1.5j`.
    Imaginary,
    /// A string in single or double quotes.
    String,
    /// An operator, bracket or separator.
    Punctuation(Punctuation),
    /// The end of a line that holds tokens.
    Newline,
    /// The end of the text.
    End,
}

/// Operators, brackets and separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is documented by its text in `Punctuation::ALL`")]
pub enum Punctuation {
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Comma,
    Colon,
    Semicolon,
    Dot,
    Arrow,
    At,
    Assign,
    AddAssign,
    SubtractAssign,
    MultiplyAssign,
    DivideAssign,
    FloorDivideAssign,
    ModuloAssign,
    PowerAssign,
    OrAssign,
    AndAssign,
    XorAssign,
    ShiftLeftAssign,
    ShiftRightAssign,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Plus,
    Minus,
    Star,
    Slash,
    DoubleSlash,
    Percent,
    DoubleStar,
    Ampersand,
    Pipe,
    Caret,
    Tilde,
}

impl Punctuation {
    /// Every punctuation with its text, longest first: the first that matches is the token.
    pub const ALL: [(&'static str, Punctuation); 44] = [
        ("//=", Punctuation::FloorDivideAssign),
        ("**=", Punctuation::PowerAssign),
        ("<<=", Punctuation::ShiftLeftAssign),
        (">>=", Punctuation::ShiftRightAssign),
        ("->", Punctuation::Arrow),
        ("+=", Punctuation::AddAssign),
        ("-=", Punctuation::SubtractAssign),
        ("*=", Punctuation::MultiplyAssign),
        ("/=", Punctuation::DivideAssign),
        ("%=", Punctuation::ModuloAssign),
        ("|=", Punctuation::OrAssign),
        ("&=", Punctuation::AndAssign),
        ("^=", Punctuation::XorAssign),
        ("==", Punctuation::Equal),
        ("!=", Punctuation::NotEqual),
        ("<=", Punctuation::LessEqual),
        (">=", Punctuation::GreaterEqual),
        ("<<", Punctuation::ShiftLeft),
        (">>", Punctuation::ShiftRight),
        ("//", Punctuation::DoubleSlash),
        ("**", Punctuation::DoubleStar),
        ("(", Punctuation::OpenParenthesis),
        (")", Punctuation::CloseParenthesis),
        ("[", Punctuation::OpenBracket),
        ("]", Punctuation::CloseBracket),
        ("{", Punctuation::OpenBrace),
        ("}", Punctuation::CloseBrace),
        (",", Punctuation::Comma),
        (":", Punctuation::Colon),
        (";", Punctuation::Semicolon),
        (".", Punctuation::Dot),
        ("@", Punctuation::At),
        ("=", Punctuation::Assign),
        ("<", Punctuation::Less),
        (">", Punctuation::Greater),
        ("+", Punctuation::Plus),
        ("-", Punctuation::Minus),
        ("*", Punctuation::Star),
        ("/", Punctuation::Slash),
        ("%", Punctuation::Percent),
        ("&", Punctuation::Ampersand),
        ("|", Punctuation::Pipe),
        ("^", Punctuation::Caret),
        ("~", Punctuation::Tilde),
    ];

    /// The text of the token.
    pub fn text(self) -> &'static str {
        Self::ALL.iter().find(|(_, p)| *p == self).map_or("", |(text, _)| text)
    }

    /// The text in backquotes, as messages show it.
    pub(super) fn quoted(self) -> &'static str {
        match self {
            Punctuation::OpenParenthesis => "`(`",
            Punctuation::CloseParenthesis => "`)`",
            Punctuation::OpenBracket => "`[`",
            Punctuation::CloseBracket => "`]`",
            Punctuation::OpenBrace => "`{`",
            Punctuation::CloseBrace => "`}`",
            Punctuation::Comma => "`,`",
            Punctuation::Colon => "`:`",
            Punctuation::Semicolon => "`;`",
            Punctuation::Dot => "`.`",
            Punctuation::Arrow => "`->`",
            Punctuation::At => "`@`",
            Punctuation::Assign => "`=`",
            other => other.text(),
        }
    }
}

impl fmt::Display for Punctuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
