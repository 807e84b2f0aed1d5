//! The lexer. It drops comments and blanks, and keeps line ends, because blocks are indented.

use super::error::{ParseError, ParseErrorKind, ParseResult};
use super::span::Span;
use super::token::{Punctuation, Token, TokenKind};

/// Words that cannot be names.
pub(super) const RESERVED: [&str; 15] = [
    "and", "or", "not", "if", "elif", "else", "for", "in", "while", "pass", "lambda", "True", "False",
    "true", "false",
];

/// Splits `source` into tokens; spans count from `base`, the offset of `source` in its file.
///
/// The last token is always [`TokenKind::End`]. Text that forms no token is reported and skipped, so that a
/// parser can go on; a result with errors is not a valid text.
pub fn tokenize(source: &str, base: u32) -> (Vec<Token>, Vec<ParseError>) {
    let mut lexer = Lexer { source, base, position: 0, tokens: Vec::new(), errors: Vec::new() };
    if source.len() >= (u32::MAX - base) as usize {
        lexer.errors.push(ParseError::new(Span::new(base, base), ParseErrorKind::TextTooLong));
        lexer.position = 0;
        lexer.tokens.push(Token { kind: TokenKind::End, span: Span::new(base, base) });
        return (lexer.tokens, lexer.errors);
    }
    while lexer.step() {}
    (lexer.tokens, lexer.errors)
}

/// The offset of the `}` that closes the `{` at byte `open` of `source`; braces in comments and strings do not count.
///
/// # Errors
/// [`ParseErrorKind::UnmatchedBrace`] when there is none (or no `{` at `open`).
pub fn find_matching_brace(source: &str, open: usize) -> ParseResult<usize> {
    let at = u32::try_from(open).unwrap_or(u32::MAX - 1);
    let unmatched = || ParseError::new(Span::new(at, at + 1), ParseErrorKind::UnmatchedBrace);
    let rest = source.get(open..).filter(|rest| rest.starts_with('{')).ok_or_else(unmatched)?;
    let mut depth = 0_usize;
    for token in tokenize(rest, 0).0 {
        match token.kind {
            TokenKind::Punctuation(Punctuation::OpenBrace) => depth += 1,
            TokenKind::Punctuation(Punctuation::CloseBrace) => {
                depth -= 1;
                if depth == 0 {
                    return Ok(open + token.span.start as usize);
                }
            }
            _ => {}
        }
    }
    Err(unmatched())
}

/// The contents of a string token, without quotes and with escapes replaced. `text` includes the quotes.
pub(super) fn unescape(text: &str) -> Result<String, char> {
    let mut contents = String::with_capacity(text.len());
    let mut chars = text.get(1..text.len().saturating_sub(1)).unwrap_or("").chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            contents.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => contents.push('\n'),
            Some('t') => contents.push('\t'),
            Some(c @ ('\\' | '"' | '\'')) => contents.push(c),
            Some(other) => return Err(other),
            None => return Err(' '),
        }
    }
    Ok(contents)
}

/// A string token with these contents: what `unescape` reverses. Characters without an escape (other than the line end
/// and the tab) stand for themselves.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a text is read as one name: an identifier that is no word of the language.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(is_identifier_start)
        && chars.all(is_identifier_part)
        && !RESERVED.contains(&text)
}

struct Lexer<'s> {
    source: &'s str,
    base: u32,
    position: usize,
    tokens: Vec<Token>,
    errors: Vec<ParseError>,
}

impl Lexer<'_> {
    /// Reads one token or one piece of blank; false at the end of the text.
    fn step(&mut self) -> bool {
        let start = self.position;
        let rest = &self.source[start..];
        let Some(first) = rest.chars().next() else {
            self.push(TokenKind::End, start);
            return false;
        };
        match first {
            '\n' => {
                self.position += 1;
                // Blank lines and comment lines end nothing.
                if !matches!(self.tokens.last(), None | Some(Token { kind: TokenKind::Newline, .. })) {
                    self.push(TokenKind::Newline, start);
                }
            }
            '\\' if rest[1..].starts_with('\n') => self.position += 2,
            '\\' if rest[1..].starts_with("\r\n") => self.position += 3,
            '#' => self.position += rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => self.string(first),
            '0'..='9' => self.number(),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            c if c.is_whitespace() => self.position += c.len_utf8(),
            c if is_identifier_start(c) => {
                self.skip_while(is_identifier_part);
                self.push(TokenKind::Identifier, start);
            }
            c => self.punctuation(c),
        }
        true
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span(start);
        self.tokens.push(Token { kind, span });
    }

    fn error(&mut self, start: usize, kind: ParseErrorKind) {
        let span = self.span(start);
        self.errors.push(ParseError::new(span, kind));
    }

    /// From `start` to the current position. The length check of [`tokenize`] makes the sums fit.
    fn span(&self, start: usize) -> Span {
        Span::new(self.base + start as u32, self.base + self.position as u32)
    }

    fn skip_while(&mut self, accept: impl Fn(char) -> bool) {
        let rest = &self.source[self.position..];
        self.position += rest.find(|c| !accept(c)).unwrap_or(rest.len());
    }

    fn punctuation(&mut self, first: char) {
        let start = self.position;
        let rest = &self.source[start..];
        let found = Punctuation::ALL.iter().find(|(text, _)| rest.starts_with(text));
        if let Some((text, punctuation)) = found {
            self.position += text.len();
            self.push(TokenKind::Punctuation(*punctuation), start);
        } else {
            self.position += first.len_utf8();
            self.error(start, ParseErrorKind::UnexpectedCharacter { character: first });
        }
    }

    fn string(&mut self, quote: char) {
        let start = self.position;
        let mut escaped = false;
        let line = self.source[start..].split('\n').next().unwrap_or("");
        let close = line[1..].find(|c: char| {
            let closes = c == quote && !escaped;
            escaped = c == '\\' && !escaped;
            closes
        });
        let Some(close) = close else {
            self.position += line.len();
            return self.error(start, ParseErrorKind::UnterminatedString);
        };
        self.position += close + 2;
        match unescape(&self.source[start..self.position]) {
            Ok(_) => self.push(TokenKind::String, start),
            Err(character) => self.error(start, ParseErrorKind::UnknownEscape { character }),
        }
    }

    fn number(&mut self) {
        let start = self.position;
        if self.source[start..].starts_with("0x") || self.source[start..].starts_with("0X") {
            self.position += 2;
            self.skip_while(is_identifier_part);
            let digits = &self.source[start + 2..self.position];
            let valid = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
            return self.finish_number(start, TokenKind::Integer, valid);
        }
        let mut kind = TokenKind::Integer;
        self.skip_while(|c| c.is_ascii_digit());
        if self.source[self.position..].starts_with('.') {
            kind = TokenKind::Float;
            self.position += 1;
            self.skip_while(|c| c.is_ascii_digit());
        }
        if self.source[self.position..].starts_with(['e', 'E']) {
            let exponent = &self.source[self.position + 1..];
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.starts_with(|c: char| c.is_ascii_digit()) {
                kind = TokenKind::Float;
                self.position += 1 + (exponent.len() - digits.len());
                self.skip_while(|c| c.is_ascii_digit());
            }
        }
        if self.source[self.position..].starts_with(['j', 'J']) {
            kind = TokenKind::Imaginary;
            self.position += 1;
        }
        let end = self.position;
        self.skip_while(is_identifier_part);
        self.finish_number(start, kind, end == self.position);
    }

    /// Checks that the text since `start` is a number in range, and pushes it.
    fn finish_number(&mut self, start: usize, kind: TokenKind, valid: bool) {
        let text = &self.source[start..self.position];
        if !valid {
            let text = text.to_owned();
            return self.error(start, ParseErrorKind::InvalidNumber { text });
        }
        let in_range = match kind {
            TokenKind::Integer => integer_value(text).is_some(),
            _ => float_value(text).is_finite(),
        };
        if in_range {
            self.push(kind, start);
        } else {
            let text = text.to_owned();
            self.error(start, ParseErrorKind::NumberOutOfRange { text });
        }
    }
}

/// The value of an integer token; `None` above `u64::MAX`.
pub(super) fn integer_value(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The value of a floating-point or imaginary token.
pub(super) fn float_value(text: &str) -> f64 {
    text.trim_end_matches(['j', 'J']).parse().unwrap_or(f64::INFINITY)
}

/// Whether a name can start with `c`: letters of any script, and `_`.
fn is_identifier_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Whether a name can go on with `c`.
fn is_identifier_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
