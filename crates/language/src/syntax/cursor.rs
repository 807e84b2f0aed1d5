//! Cursor over a token list: look-ahead, accepting and expecting.
//!
//! The cursor is public, so that the parser of the text form uses the same steps and calls the expression
//! parser. A cursor never runs past the end token, and every failed step reports its expectation.

use super::ast::Name;
use super::error::{ParseError, ParseErrorKind, ParseResult};
use super::lexer::{RESERVED, float_value, integer_value, tokenize, unescape};
use super::span::Span;
use super::token::{Punctuation, Token, TokenKind};

/// Nesting of brackets, operands and blocks beyond which a text is refused; it bounds the stack of the parser.
const MAX_DEPTH: u32 = 200;

/// Height beyond which an expression is refused; it bounds the stack of every walk over a tree. It is larger than the
/// nesting, since a long sum is as high as it has terms.
const MAX_HEIGHT: u32 = 600;

/// A place in the tokens to which a cursor goes back.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

/// A reading position in the tokens of a source text.
#[derive(Clone, Debug)]
pub struct Cursor<'s> {
    source: &'s str,
    base: u32,
    tokens: Vec<Token>,
    position: usize,
    /// Open brackets: inside them, line ends do not count.
    joined: u32,
    /// Levels of nesting that the parser is in.
    depth: u32,
    errors: Vec<ParseError>,
}

impl<'s> Cursor<'s> {
    /// A cursor at the start of `source`, whose first byte has offset `base` in its file.
    ///
    /// Lexical errors are kept and returned by [`Cursor::finish`].
    pub fn new(source: &'s str, base: u32) -> Self {
        let (tokens, errors) = tokenize(source, base);
        Cursor { source, base, tokens, position: 0, joined: 0, depth: 0, errors }
    }

    /// Ends parsing: `value` if nothing was reported, else every error in order of its place.
    ///
    /// # Errors
    /// Lexical errors hide the others, which mostly follow from them.
    pub fn finish<T>(mut self, value: T) -> Result<T, Vec<ParseError>> {
        let errors = self.take_errors();
        if errors.is_empty() { Ok(value) } else { Err(errors) }
    }

    /// Takes the errors out, as [`Cursor::finish`] gives them.
    pub fn take_errors(&mut self) -> Vec<ParseError> {
        let lexical = |e: &ParseError| {
            matches!(
                e.kind,
                ParseErrorKind::UnexpectedCharacter { .. }
                    | ParseErrorKind::UnterminatedString
                    | ParseErrorKind::UnknownEscape { .. }
                    | ParseErrorKind::InvalidNumber { .. }
                    | ParseErrorKind::NumberOutOfRange { .. }
                    | ParseErrorKind::TextTooLong
            )
        };
        if self.errors.iter().any(lexical) {
            self.errors.retain(lexical);
        }
        self.errors.sort_by_key(|e| e.span);
        std::mem::take(&mut self.errors)
    }

    /// Keeps an error and goes on.
    pub fn report(&mut self, error: ParseError) {
        self.errors.push(error);
    }

    /// The current token.
    pub fn peek(&self) -> Token {
        self.peek_nth(0)
    }

    /// The `n`-th token from the current one (0 is the current).
    pub fn peek_nth(&self, n: usize) -> Token {
        let counts = |t: &&Token| self.joined == 0 || t.kind != TokenKind::Newline;
        let rest = &self.tokens[self.position..];
        // The end token is always there, and nothing moves past it.
        *rest.iter().filter(counts).nth(n).unwrap_or(&self.tokens[self.tokens.len() - 1])
    }

    /// Takes the current token; at the end, the end token again and again.
    pub fn advance(&mut self) -> Token {
        let token = self.peek();
        while self.position + 1 < self.tokens.len() {
            let passed = self.tokens[self.position];
            self.position += 1;
            if passed == token {
                break;
            }
        }
        token
    }

    /// The current place, for [`Cursor::rewind`].
    pub fn mark(&self) -> Mark {
        Mark(self.position)
    }

    /// Goes back to an earlier place.
    pub fn rewind(&mut self, mark: Mark) {
        self.position = mark.0;
    }

    /// The text of a token of this source.
    pub fn text(&self, token: Token) -> &'s str {
        self.source
            .get((token.span.start - self.base) as usize..(token.span.end - self.base) as usize)
            .unwrap_or("")
    }

    /// The whole source text.
    pub fn source(&self) -> &'s str {
        self.source
    }

    /// The offset of the first byte of the source in its file.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// The end of the token before the current one.
    pub fn previous_end(&self) -> u32 {
        self.position.checked_sub(1).map_or(self.base, |i| self.tokens[i].span.end)
    }

    /// Whether the current token is this punctuation.
    pub fn at(&self, punctuation: Punctuation) -> bool {
        self.peek().kind == TokenKind::Punctuation(punctuation)
    }

    /// Whether the current token is this word.
    pub fn at_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Identifier && self.text(token) == word
    }

    /// Whether the current token is a parenthesis that encloses all the tokens up to the end of the enclosing brackets.
    pub(super) fn at_enclosing_parenthesis(&self) -> bool {
        if !self.at(Punctuation::OpenParenthesis) {
            return false;
        }
        let mut depth = 0_u32;
        let closes = |token: &&Token| {
            match token.kind {
                TokenKind::Punctuation(Punctuation::OpenParenthesis | Punctuation::OpenBracket) => depth += 1,
                TokenKind::Punctuation(Punctuation::CloseParenthesis | Punctuation::CloseBracket) => {
                    depth -= 1
                }
                _ => {}
            }
            depth == 0 && token.kind != TokenKind::Newline
        };
        let mut rest = self.tokens[self.position..].iter();
        rest.find(closes);
        matches!(
            rest.find(|token| token.kind != TokenKind::Newline).map(|token| token.kind),
            Some(TokenKind::Punctuation(Punctuation::CloseParenthesis | Punctuation::CloseBracket))
        )
    }

    /// Whether the text is used up.
    pub fn at_end(&self) -> bool {
        self.peek().kind == TokenKind::End
    }

    /// Takes the current token if it is this punctuation.
    pub fn eat(&mut self, punctuation: Punctuation) -> bool {
        let found = self.at(punctuation);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the current token if it is this word.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Takes the current token, which must be this punctuation.
    ///
    /// # Errors
    /// [`ParseErrorKind::Expected`].
    pub fn expect(&mut self, punctuation: Punctuation) -> ParseResult<Token> {
        if self.at(punctuation) { Ok(self.advance()) } else { Err(self.expected(punctuation.quoted())) }
    }

    /// Takes the current token, which must be this word; `quoted` is the word as messages show it.
    ///
    /// # Errors
    /// [`ParseErrorKind::Expected`].
    pub fn expect_word(&mut self, word: &str, quoted: &'static str) -> ParseResult<Token> {
        if self.at_word(word) { Ok(self.advance()) } else { Err(self.expected(quoted)) }
    }

    /// Takes a name without dots that is no word of the language.
    ///
    /// # Errors
    /// [`ParseErrorKind::Expected`] or [`ParseErrorKind::ReservedWord`].
    pub fn expect_name(&mut self) -> ParseResult<Name> {
        let token = self.peek();
        if token.kind != TokenKind::Identifier {
            return Err(self.expected("a name"));
        }
        let text = self.text(token);
        if RESERVED.contains(&text) {
            return Err(ParseError::new(token.span, ParseErrorKind::ReservedWord { word: text.to_owned() }));
        }
        self.advance();
        Ok(Name { text: text.to_owned(), span: token.span })
    }

    /// Takes a name with any number of dotted parts.
    ///
    /// # Errors
    /// As [`Cursor::expect_name`].
    pub fn expect_dotted_name(&mut self) -> ParseResult<Name> {
        let mut name = self.expect_name()?;
        while self.at(Punctuation::Dot) && self.peek_nth(1).kind == TokenKind::Identifier {
            self.advance();
            let part = self.advance();
            name.text.push('.');
            name.text.push_str(self.text(part));
            name.span = name.span.to(part.span);
        }
        Ok(name)
    }

    /// Takes a string and returns its contents.
    ///
    /// # Errors
    /// [`ParseErrorKind::Expected`].
    pub fn expect_string(&mut self) -> ParseResult<String> {
        let token = self.peek();
        if token.kind != TokenKind::String {
            return Err(self.expected("a string"));
        }
        self.advance();
        unescape(self.text(token))
            .map_err(|character| ParseError::new(token.span, ParseErrorKind::UnknownEscape { character }))
    }

    /// Takes an unsigned integer literal.
    ///
    /// # Errors
    /// [`ParseErrorKind::Expected`].
    pub fn expect_integer(&mut self) -> ParseResult<u64> {
        let token = self.peek();
        match (token.kind, integer_value(self.text(token))) {
            (TokenKind::Integer, Some(value)) => {
                self.advance();
                Ok(value)
            }
            _ => Err(self.expected("an integer")),
        }
    }

    /// The value of a floating-point or imaginary token.
    pub(super) fn float(&self, token: Token) -> f64 {
        float_value(self.text(token))
    }

    /// The error that something else was expected at the current token.
    pub fn expected(&self, expected: &'static str) -> ParseError {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::Newline => "the end of the line".to_owned(),
            TokenKind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", self.text(token)),
        };
        ParseError::new(token.span, ParseErrorKind::Expected { expected, found })
    }

    /// Runs `parse` with line ends as blanks, as between brackets.
    ///
    /// # Errors
    /// Those of `parse`.
    pub fn joined<T>(&mut self, parse: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        self.joined += 1;
        let result = parse(self);
        self.joined -= 1;
        result
    }

    /// Takes line ends as blanks until [`Cursor::end_joined`]: [`Cursor::joined`] for a parser that owns its cursor.
    pub fn begin_joined(&mut self) {
        self.joined += 1;
    }

    /// Ends what [`Cursor::begin_joined`] began.
    pub fn end_joined(&mut self) {
        self.joined = self.joined.saturating_sub(1);
    }

    /// Runs `parse` one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> ParseResult<T>) -> ParseResult<T> {
        self.check_limit(self.depth + 1, MAX_DEPTH)?;
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Refuses an expression of this height at the current token.
    pub(super) fn check_height(&self, height: u32) -> ParseResult<()> {
        self.check_limit(height, MAX_HEIGHT)
    }

    fn check_limit(&self, value: u32, limit: u32) -> ParseResult<()> {
        if value <= limit {
            return Ok(());
        }
        Err(ParseError::new(self.peek().span, ParseErrorKind::TooDeep { limit }))
    }

    /// Moves to the next token at or after the current one for which `stop` holds (or to the end) and returns it.
    pub fn skip_until(&mut self, stop: impl Fn(Token) -> bool) -> Token {
        loop {
            let token = self.peek();
            if token.kind == TokenKind::End || stop(token) {
                return token;
            }
            self.advance();
        }
    }

    /// The span from `start` to the end of the token before the current one.
    pub fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.previous_end().max(start))
    }
}
