//! Shared parts of statements: types, symbols, expressions, keywords of a list, lists in parentheses.

use sdfg_language::dtype::ElementType;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, NotPure, Symbol};
use sdfg_language::syntax::{
    Expression, Name, ParseError as SyntaxError, ParseErrorKind as SyntaxErrorKind, Punctuation, Span,
    TokenKind,
};

use super::super::error::ParseErrorKind;
use super::{Fault, Parsed, Parser};
use crate::ir::{ConflictResolution, Connector, OpenMpSchedule, Schedule, ScheduleAttributes, ScheduleKind};

/// A schedule and its attributes, which may stand in any order.
#[derive(Default)]
pub(super) struct Execution {
    kind: ScheduleKind,
    attributes: ScheduleAttributes,
    /// Positions of attributes, by name.
    spans: Vec<(&'static str, Span)>,
}

impl Execution {
    /// The schedule with its attributes; the first attribute that does not belong to it is an error.
    pub(super) fn finish(self) -> Parsed<Schedule> {
        let Execution { kind, attributes, spans } = self;
        Schedule::with(kind, attributes).map_err(|foreign| {
            let found = spans.iter().find(|(name, _)| *name == foreign.attribute);
            let span = found.map_or_else(Span::default, |(_, span)| *span);
            Fault::new(span, ParseErrorKind::ForeignAttribute(foreign))
        })
    }
}

impl Parser<'_> {
    /// `(first, second, ...)`, possibly empty; line ends inside do not count.
    pub(super) fn parenthesized<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.bracketed(Punctuation::OpenParenthesis, Punctuation::CloseParenthesis, &mut item)
    }

    /// `[first, second, ...]`, possibly empty; line ends inside do not count.
    pub(super) fn in_brackets<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.bracketed(Punctuation::OpenBracket, Punctuation::CloseBracket, &mut item)
    }

    fn bracketed<T>(
        &mut self,
        open: Punctuation,
        close: Punctuation,
        item: &mut dyn FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.cursor.expect(open)?;
        let mut items = Vec::new();
        self.joined(|parser| {
            while !parser.cursor.at(close) {
                items.push(item(parser)?);
                if !parser.cursor.eat(Punctuation::Comma) {
                    break;
                }
            }
            Ok(parser.cursor.expect(close)?)
        })?;
        Ok(items)
    }

    /// `(item)`.
    pub(super) fn argument<T>(&mut self, item: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.cursor.expect(Punctuation::OpenParenthesis)?;
        self.joined(|parser| {
            let value = item(parser)?;
            parser.cursor.expect(Punctuation::CloseParenthesis)?;
            Ok(value)
        })
    }

    /// An expression as the tasklet language has them.
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        Ok(self.cursor.expression()?)
    }

    /// An integer expression over symbols.
    pub(super) fn symbolic(&mut self) -> Parsed<Expr> {
        let expression = self.cursor.expression()?;
        Expr::from_expression(&expression).map_err(not_symbolic)
    }

    /// `i` or `begin:end`, `begin:end:step`, `begin:end:step:tile`.
    pub(super) fn range(&mut self) -> Parsed<Range> {
        let begin = self.symbolic()?;
        if !self.cursor.eat(Punctuation::Colon) {
            return Ok(Range::index(begin));
        }
        let mut range = Range::new(begin, self.symbolic()?);
        if self.cursor.eat(Punctuation::Colon) {
            range.step = self.symbolic()?;
            if self.cursor.eat(Punctuation::Colon) {
                range.tile = self.symbolic()?;
            }
        }
        Ok(range)
    }

    /// `[i, 0:K]`; a range without an end goes to the end of its dimension of `shape`.
    pub(super) fn subset(&mut self, shape: &[Expr]) -> Parsed<Subset> {
        self.cursor.expect(Punctuation::OpenBracket)?;
        self.joined(|parser| {
            let empty = parser.cursor.at(Punctuation::CloseBracket);
            let indices = if empty { Vec::new() } else { parser.cursor.index_list()? };
            parser.cursor.expect(Punctuation::CloseBracket)?;
            Subset::from_indices(&indices, shape).map_err(not_symbolic)
        })
    }

    pub(super) fn symbol(&mut self) -> Parsed<Symbol> {
        let name = self.cursor.expect_name()?;
        Symbol::new(&name.text)
            .map_err(|_| Fault::new(name.span, ParseErrorKind::InvalidSymbol { name: name.text }))
    }

    /// `symbol = expression`.
    pub(super) fn assignment(&mut self) -> Parsed<(Symbol, Expression)> {
        let symbol = self.symbol()?;
        self.cursor.expect(Punctuation::Assign)?;
        Ok((symbol, self.expression()?))
    }

    pub(super) fn element_type(&mut self) -> Parsed<ElementType> {
        let name = self.cursor.expect_name()?;
        name.text.parse().map_err(|_| {
            let known = sdfg_language::dtype::ScalarType::ALL.iter().map(|ty| ty.name()).collect();
            Fault::new(name.span, ParseErrorKind::UnknownWord { what: "type", word: name.text, known })
        })
    }

    /// One word of a fixed list.
    pub(super) fn word<T: Clone>(
        &mut self,
        what: &'static str,
        all: &[T],
        name_of: impl Fn(&T) -> &'static str,
    ) -> Parsed<T> {
        let name = self.cursor.expect_name()?;
        find_word(&name, what, all, name_of)
    }

    /// `(x, y: f64)`.
    pub(super) fn connectors(&mut self) -> Parsed<Vec<Connector>> {
        self.parenthesized(|parser| {
            let name = parser.name()?.text;
            let element =
                if parser.cursor.eat(Punctuation::Colon) { Some(parser.element_type()?) } else { None };
            Ok(Connector { name, element })
        })
    }

    /// `(sum)` or `(lambda old, new: old + new)`.
    pub(super) fn resolution(&mut self) -> Parsed<ConflictResolution> {
        self.argument(|parser| {
            if parser.cursor.at_word("lambda") {
                return Ok(ConflictResolution::Custom(parser.cursor.lambda()?));
            }
            // `and` and `or` are words of the expression grammar, so this is not `word`.
            let token = parser.cursor.advance();
            let name = Name { text: parser.cursor.text(token).to_owned(), span: token.span };
            find_word(&name, "conflict resolution", &ConflictResolution::NAMED, ConflictResolution::name)
        })
    }

    /// One of `schedule(...)`, `sharing(...)`, `threads(...)`, `collapse(...)`, `nested(...)`, `block(...)`; false if
    /// something else stands here.
    pub(super) fn execution(&mut self, execution: &mut Execution) -> Parsed<bool> {
        let span = self.cursor.peek().span;
        let Execution { kind, attributes, .. } = execution;
        if self.cursor.eat_word("schedule") {
            *kind = self.argument(Self::schedule)?;
            return Ok(true);
        } else if self.cursor.eat_word("sharing") {
            let (sharing, chunk) = self.argument(|parser| {
                let sharing = parser.word("kind of sharing", &OpenMpSchedule::ALL, |s| s.name())?;
                let chunk =
                    if parser.cursor.eat(Punctuation::Comma) { Some(parser.symbolic()?) } else { None };
                Ok((sharing, chunk))
            })?;
            (attributes.sharing, attributes.chunk) = (Some(sharing), chunk);
            execution.spans.push(("sharing", span));
        } else if self.cursor.eat_word("threads") {
            attributes.threads = Some(self.argument(Self::symbolic)?);
            execution.spans.push(("threads", span));
        } else if self.cursor.eat_word("collapse") {
            attributes.collapse = Some(self.argument(Self::small_integer)?);
            execution.spans.push(("collapse", span));
        } else if self.cursor.eat_word("nested") {
            attributes.nested = Some(self.argument(Self::symbolic)?);
            execution.spans.push(("nested", span));
        } else if self.cursor.eat_word("block") {
            attributes.block = Some(self.parenthesized(Self::symbolic)?);
            execution.spans.push(("block", span));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn schedule(&mut self) -> Parsed<ScheduleKind> {
        self.word("schedule", &ScheduleKind::ALL, |s| s.name())
    }

    /// An integer literal that fits 32 bits.
    pub(super) fn small_integer(&mut self) -> Parsed<u32> {
        let token = self.cursor.peek();
        let value = self.cursor.expect_integer()?;
        u32::try_from(value).map_err(|_| {
            let text = self.cursor.text(token).to_owned();
            SyntaxError::new(token.span, SyntaxErrorKind::NumberOutOfRange { text }).into()
        })
    }

    /// Runs `parse` with line ends as blanks.
    fn joined<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.cursor.begin_joined();
        let result = parse(self);
        self.cursor.end_joined();
        // A bracket that is not closed is missed at the end of its line, not at the start of the next.
        let at_line_end = self.cursor.peek().kind == TokenKind::Newline;
        result.map_err(|fault| match fault.kind {
            ParseErrorKind::Syntax(SyntaxErrorKind::Expected { expected, .. }) if at_line_end => {
                self.cursor.expected(expected).into()
            }
            kind => Fault { kind, ..fault },
        })
    }
}

fn find_word<T: Clone>(
    name: &Name,
    what: &'static str,
    all: &[T],
    name_of: impl Fn(&T) -> &'static str,
) -> Parsed<T> {
    all.iter().find(|item| name_of(item) == name.text).cloned().ok_or_else(|| {
        let known = all.iter().map(&name_of).collect();
        Fault::new(name.span, ParseErrorKind::UnknownWord { what, word: name.text.clone(), known })
    })
}

fn not_symbolic(error: NotPure) -> Fault {
    Fault::new(error.span, ParseErrorKind::NotSymbolic { reason: error.kind.to_string() })
}
