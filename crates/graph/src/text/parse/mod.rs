//! The parser of text programs: one pass over the tokens that builds the graph.
//!
//! Forward references (of edges to nodes, of arrows to blocks) are stored until the enclosing brace closes.
//! An error ends one statement, not the text: the parser continues at the next line, behind the statement's
//! braces. An unknown name is not reported if a faulty declaration may be the cause.

mod block;
mod container;
mod edge;
mod flow;
mod node;
mod outer;
mod scope_border;
mod terms;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use node::dialect_name;
use sdfg_language::syntax::{self, Cursor, Name, Punctuation, Span, TokenKind};

use super::error::{ParseError, ParseErrorKind};
use crate::ir::{Sdfg, SourceLoc};
use crate::propagate::propagate;

/// Nesting of braces beyond which a text is refused; it bounds the stack.
const MAX_DEPTH: u32 = 64;

/// Parses a text program. `name` is the file as the user knows it, for source locations.
///
/// The memlets of outer segments are derived from the inner ones. The result may still be wrong in every way that
/// `sdfg::validate` finds.
///
/// # Errors
/// Every syntax error and unknown name that was found, in order of their places.
pub fn parse(name: &str, source: &str) -> Result<Sdfg, Vec<ParseError>> {
    let mut sdfg = parse_underived(name, source)?;
    propagate(&mut sdfg);
    Ok(sdfg)
}

/// As [`parse`], but outer segments cover whole containers.
pub(super) fn parse_underived(name: &str, source: &str) -> Result<Sdfg, Vec<ParseError>> {
    let mut parser = Parser {
        cursor: Cursor::new(source, 0),
        file: Arc::from(name),
        line_starts: line_starts(source),
        faults: Vec::new(),
        depth: 0,
        is_cut_off: false,
        column: Cell::new((0, 0)),
    };
    parser.skip_line_ends();
    let parsed = parser.sdfg();
    parser.skip_line_ends();
    let sdfg = match parsed {
        Ok(sdfg) => {
            if !parser.cursor.at_end() {
                let fault = parser.cursor.expected("the end of the text").into();
                parser.report(fault);
            }
            Some(sdfg)
        }
        Err(fault) => {
            parser.report(fault);
            None
        }
    };
    parser.finish(sdfg)
}

/// An error whose line is not known yet.
struct Fault {
    span: Span,
    kind: ParseErrorKind,
}

impl Fault {
    fn new(span: Span, kind: ParseErrorKind) -> Self {
        Fault { span, kind }
    }
}

impl From<syntax::ParseError> for Fault {
    fn from(error: syntax::ParseError) -> Self {
        Fault { span: error.span, kind: ParseErrorKind::Syntax(error.kind) }
    }
}

type Parsed<T> = Result<T, Fault>;

/// The state of the parser that does not belong to one SDFG, region or state.
struct Parser<'s> {
    cursor: Cursor<'s>,
    file: Arc<str>,
    /// Offset of the first byte of each line.
    line_starts: Vec<u32>,
    faults: Vec<Fault>,
    /// Braces that are open.
    depth: u32,
    /// Whether the text ended within braces, which has been reported: what follows from it is not told.
    is_cut_off: bool,
    /// An offset and the characters before it on its line: columns of long lines are counted on from there.
    column: Cell<(u32, u32)>,
}

fn line_starts(source: &str) -> Vec<u32> {
    let ends = source.bytes().zip(1_u32..).filter(|(byte, _)| *byte == b'\n');
    std::iter::once(0).chain(ends.map(|(_, next)| next)).collect()
}

impl Parser<'_> {
    fn report(&mut self, fault: Fault) {
        if !self.is_cut_off {
            self.faults.push(fault);
        }
    }

    /// The graph, or every error by place. What follows a lexical error on its line hardly means anything and is left
    /// out.
    fn finish(mut self, sdfg: Option<Sdfg>) -> Result<Sdfg, Vec<ParseError>> {
        let lexical: Vec<Fault> = self.cursor.take_errors().into_iter().map(Fault::from).collect();
        let line = |span: Span| self.line_starts.partition_point(|start| *start <= span.start);
        let lexical_lines: BTreeSet<usize> = lexical.iter().map(|fault| line(fault.span)).collect();
        let hidden = |fault: &Fault| lexical_lines.contains(&line(fault.span));
        let mut errors: Vec<ParseError> = self
            .faults
            .iter()
            .filter(|fault| !hidden(fault))
            .chain(&lexical)
            .map(|fault| ParseError { span: fault.span, loc: self.loc(fault.span), kind: fault.kind.clone() })
            .collect();
        errors.sort_by_key(|error| error.span);
        match sdfg {
            Some(sdfg) if errors.is_empty() => Ok(sdfg),
            _ => Err(errors),
        }
    }

    /// The place of a span in lines and columns.
    fn loc(&self, span: Span) -> SourceLoc {
        let line = self.line_starts.partition_point(|start| *start <= span.start).max(1);
        let line_start = self.line_starts[line - 1];
        let known = self.column.get();
        let (from, counted) =
            if (line_start..=span.start).contains(&known.0) { known } else { (line_start, 0) };
        let more = self.cursor.source().get(from as usize..span.start as usize).unwrap_or("");
        let before = counted.saturating_add(u32::try_from(more.chars().count()).unwrap_or(u32::MAX));
        self.column.set((span.start, before));
        SourceLoc {
            file: Arc::clone(&self.file),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: before.saturating_add(1),
            span: Some(span),
        }
    }

    /// The place from byte `start` to the end of the last token.
    fn loc_from(&self, start: u32) -> SourceLoc {
        self.loc(self.cursor.span_from(start))
    }

    fn skip_line_ends(&mut self) {
        while self.cursor.peek().kind == TokenKind::Newline || self.cursor.at(Punctuation::Semicolon) {
            self.cursor.advance();
        }
    }

    /// Parses `{ statement ... }`; each statement ends with its line, with `;` or before the closing brace.
    ///
    /// A faulty statement is reported and passed. The result tells whether there was none.
    fn braces(&mut self, mut statement: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<bool> {
        let open = self.cursor.expect(Punctuation::OpenBrace)?;
        if self.depth == MAX_DEPTH {
            self.report(Fault::new(open.span, ParseErrorKind::TooDeep { limit: MAX_DEPTH }));
            self.skip_braces();
            self.is_cut_off |= self.cursor.at_end();
            return Ok(false);
        }
        self.depth += 1;
        let mut complete = true;
        let closed = loop {
            self.skip_line_ends();
            if self.cursor.eat(Punctuation::CloseBrace) {
                break Ok(complete);
            }
            if self.cursor.at_end() {
                let kind = ParseErrorKind::Syntax(syntax::ParseErrorKind::UnmatchedBrace);
                self.report(Fault::new(open.span, kind));
                self.is_cut_off = true;
                break Ok(false);
            }
            let result = statement(self).and_then(|()| self.expect_statement_end());
            if let Err(fault) = result {
                self.report(fault);
                complete = false;
                self.skip_statement();
                self.skip_arrows();
            }
        };
        self.depth -= 1;
        closed
    }

    fn expect_statement_end(&self) -> Parsed<()> {
        let token = self.cursor.peek();
        let ends = matches!(
            token.kind,
            TokenKind::Newline
                | TokenKind::End
                | TokenKind::Punctuation(Punctuation::Semicolon | Punctuation::CloseBrace)
        );
        if ends { Ok(()) } else { Err(self.cursor.expected("the end of the line").into()) }
    }

    /// Moves to the end of the line or of the enclosing block; braces that open on the way are passed as a whole.
    fn skip_statement(&mut self) {
        let mut open = 0_u32;
        loop {
            match self.cursor.peek().kind {
                TokenKind::End => return,
                TokenKind::Newline if open == 0 => return,
                TokenKind::Punctuation(Punctuation::OpenBrace) => open += 1,
                TokenKind::Punctuation(Punctuation::CloseBrace) if open == 0 => return,
                TokenKind::Punctuation(Punctuation::CloseBrace) => open -= 1,
                _ => {}
            }
            self.cursor.advance();
        }
    }

    /// Moves behind the brace that closes the one that was just passed.
    fn skip_braces(&mut self) {
        let mut open = 1_u32;
        while open > 0 && !self.cursor.at_end() {
            match self.cursor.advance().kind {
                TokenKind::Punctuation(Punctuation::OpenBrace) => open += 1,
                TokenKind::Punctuation(Punctuation::CloseBrace) => open -= 1,
                _ => {}
            }
        }
    }

    /// Moves over the arrows that follow a faulty block: without it they belong to nothing.
    fn skip_arrows(&mut self) {
        loop {
            let before = self.cursor.mark();
            self.skip_line_ends();
            if !self.cursor.at(Punctuation::Arrow) {
                self.cursor.rewind(before);
                return;
            }
            self.skip_statement();
        }
    }

    /// Parses the rest of a header in front of `{`. After an error in it the block is read nevertheless, so that its
    /// statements are checked and its labels known; the result is then `None`.
    fn header<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<Option<T>> {
        let result = parse(self).and_then(|header| {
            if self.cursor.at(Punctuation::OpenBrace) {
                Ok(header)
            } else {
                Err(self.cursor.expected("`{`").into())
            }
        });
        let fault = match result {
            Ok(header) => return Ok(Some(header)),
            Err(fault) => fault,
        };
        self.cursor.skip_until(|token| {
            matches!(
                token.kind,
                TokenKind::Newline | TokenKind::Punctuation(Punctuation::OpenBrace | Punctuation::CloseBrace)
            )
        });
        if !self.cursor.at(Punctuation::OpenBrace) {
            return Err(fault);
        }
        self.report(fault);
        Ok(None)
    }

    /// A name: an identifier that is no word of the expression grammar, or any string.
    fn name(&mut self) -> Parsed<Name> {
        let token = self.cursor.peek();
        if token.kind == TokenKind::String {
            return Ok(Name { text: self.cursor.expect_string()?, span: token.span });
        }
        Ok(self.cursor.expect_name()?)
    }
}
