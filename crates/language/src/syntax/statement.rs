//! The statement parser: simple statements separated by `;` or line ends, and blocks by indentation.
//!
//! After an error it continues at the next statement, so one pass reports every faulty statement.

use super::ast::{
    AssignmentTarget, BinaryOp, Block, Expression, ExpressionKind, Name, Statement, StatementKind,
};
use super::cursor::Cursor;
use super::error::{ParseError, ParseErrorKind, ParseResult};
use super::span::Span;
use super::token::{Punctuation, TokenKind};

/// Parses a whole text as statements; spans count from the start of `source`.
///
/// # Errors
/// Every syntax error that was found.
pub fn parse_block(source: &str) -> Result<Block, Vec<ParseError>> {
    let mut cursor = Cursor::new(source, 0);
    skip_newlines(&mut cursor);
    let indentation = cursor.indentation();
    let block = cursor.block(indentation);
    if !cursor.at_end() {
        // Only a dedent below the first line ends the outermost block early.
        let error = ParseError::new(cursor.peek().span, ParseErrorKind::InconsistentDedent);
        cursor.report(error);
    }
    cursor.finish(block)
}

fn skip_newlines(cursor: &mut Cursor<'_>) {
    while cursor.peek().kind == TokenKind::Newline {
        cursor.advance();
    }
}

/// The operator of an augmented assignment.
fn augmented_operator(punctuation: Punctuation) -> Option<BinaryOp> {
    Some(match punctuation {
        Punctuation::AddAssign => BinaryOp::Add,
        Punctuation::SubtractAssign => BinaryOp::Subtract,
        Punctuation::MultiplyAssign => BinaryOp::Multiply,
        Punctuation::DivideAssign => BinaryOp::Divide,
        Punctuation::FloorDivideAssign => BinaryOp::FloorDivide,
        Punctuation::ModuloAssign => BinaryOp::Modulo,
        Punctuation::PowerAssign => BinaryOp::Power,
        Punctuation::OrAssign => BinaryOp::BitOr,
        Punctuation::AndAssign => BinaryOp::BitAnd,
        Punctuation::XorAssign => BinaryOp::BitXor,
        Punctuation::ShiftLeftAssign => BinaryOp::ShiftLeft,
        Punctuation::ShiftRightAssign => BinaryOp::ShiftRight,
        _ => return None,
    })
}

impl Cursor<'_> {
    /// The width of the blanks before the current token, which is the first on its line; a tab reaches to the next
    /// multiple of 8, as in Python.
    fn indentation(&self) -> usize {
        let start = (self.peek().span.start - self.base()) as usize;
        let before = self.source().get(..start).unwrap_or("");
        let line = before.rsplit('\n').next().unwrap_or("");
        line.chars().fold(0, |width, c| if c == '\t' { (width / 8 + 1) * 8 } else { width + 1 })
    }

    /// Whether only blanks stand before the current token on its line.
    fn at_line_start(&self) -> bool {
        let start = (self.peek().span.start - self.base()) as usize;
        let before = self.source().get(..start).unwrap_or("");
        before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty())
    }

    /// Parses lines that are indented by `indentation`, up to the end or a lesser indentation.
    fn block(&mut self, indentation: usize) -> Block {
        let mut block = Block::new();
        loop {
            skip_newlines(self);
            if self.at_end() {
                return block;
            }
            let here = self.indentation();
            if here < indentation {
                return block;
            }
            if here > indentation {
                let error = ParseError::new(self.peek().span, ParseErrorKind::UnexpectedIndent);
                self.report(error);
                self.skip_deeper_lines(indentation);
                continue;
            }
            let start = self.peek();
            if let Err(error) = self.line(indentation, &mut block) {
                self.report(error);
                // A header without its block has read on to the next line, which is good as it is.
                if self.peek() == start || !self.at_line_start() {
                    self.skip_until(|t| t.kind == TokenKind::Newline);
                    self.skip_deeper_lines(indentation);
                }
            }
        }
    }

    /// Passes whole lines as long as they are indented deeper than `indentation`.
    fn skip_deeper_lines(&mut self, indentation: usize) {
        skip_newlines(self);
        while !self.at_end() && self.indentation() > indentation {
            self.skip_until(|t| t.kind == TokenKind::Newline);
            skip_newlines(self);
        }
    }

    /// Parses one compound statement, or the simple statements of one line.
    fn line(&mut self, indentation: usize, block: &mut Block) -> ParseResult<()> {
        let start = self.peek().span.start;
        let compound = if self.at_word("if") {
            Some(self.nested(|cursor| cursor.if_statement(indentation))?)
        } else if self.at_word("for") {
            Some(self.nested(|cursor| cursor.for_statement(indentation))?)
        } else if self.at_word("while") {
            Some(self.nested(|cursor| cursor.while_statement(indentation))?)
        } else {
            None
        };
        match compound {
            Some(kind) => {
                block.push(Statement { kind, span: self.span_from(start) });
                Ok(())
            }
            None => self.simple_statements(block),
        }
    }

    /// Parses simple statements up to the end of the line. An error in one does not hide the next.
    fn simple_statements(&mut self, block: &mut Block) -> ParseResult<()> {
        loop {
            match self.simple_statement() {
                Ok(statement) => block.push(statement),
                Err(error) => {
                    self.report(error);
                    self.skip_until(|t| {
                        matches!(t.kind, TokenKind::Newline | TokenKind::Punctuation(Punctuation::Semicolon))
                    });
                }
            }
            let more = self.eat(Punctuation::Semicolon);
            if self.at_end() || self.peek().kind == TokenKind::Newline {
                return Ok(());
            }
            if !more {
                return Err(self.expected("`;` or the end of the line"));
            }
        }
    }

    fn simple_statement(&mut self) -> ParseResult<Statement> {
        let start = self.peek().span.start;
        if self.eat_word("pass") {
            return Ok(Statement { kind: StatementKind::Pass, span: self.span_from(start) });
        }
        let left = self.expression()?;
        let token = self.peek();
        let operator = match token.kind {
            TokenKind::Punctuation(punctuation) => augmented_operator(punctuation),
            _ => None,
        };
        if let Some(op) = operator {
            self.advance();
            let target = into_target(left)?;
            let value = self.expression()?;
            return Ok(Statement {
                kind: StatementKind::Augmented { target, op, value },
                span: self.span_from(start),
            });
        }
        let annotation = if self.eat(Punctuation::Colon) { Some(self.expect_dotted_name()?) } else { None };
        if !self.at(Punctuation::Assign) {
            let ends =
                matches!(token.kind, TokenKind::Newline | TokenKind::End) || self.at(Punctuation::Semicolon);
            return Err(match annotation {
                None if ends => ParseError::new(left.span, ParseErrorKind::ExpressionStatement),
                _ => self.expected("`=`"),
            });
        }
        self.advance();
        let target = into_target(left)?;
        let value = self.expression()?;
        let kind = StatementKind::Assign { target, annotation, value };
        Ok(Statement { kind, span: self.span_from(start) })
    }

    /// Parses `: block`, inline or indented deeper than `indentation`.
    fn body(&mut self, indentation: usize) -> ParseResult<Block> {
        self.expect(Punctuation::Colon)?;
        let mut block = Block::new();
        if self.peek().kind != TokenKind::Newline && !self.at_end() {
            self.simple_statements(&mut block)?;
            return Ok(block);
        }
        skip_newlines(self);
        let here = self.indentation();
        if self.at_end() || here <= indentation {
            return Err(ParseError::new(self.peek().span, ParseErrorKind::ExpectedBlock));
        }
        let block = self.block(here);
        if !self.at_end() && self.indentation() > indentation {
            let error = ParseError::new(self.peek().span, ParseErrorKind::InconsistentDedent);
            self.report(error);
            self.skip_deeper_lines(indentation);
        }
        Ok(block)
    }

    /// Whether the next line, at `indentation`, starts with `word`; if so, moves to it.
    fn next_line_is(&mut self, word: &str, indentation: usize) -> bool {
        let mut ahead = 0;
        while self.peek_nth(ahead).kind == TokenKind::Newline {
            ahead += 1;
        }
        let token = self.peek_nth(ahead);
        if token.kind != TokenKind::Identifier || self.text(token) != word {
            return false;
        }
        skip_newlines(self);
        self.indentation() == indentation
    }

    fn if_statement(&mut self, indentation: usize) -> ParseResult<StatementKind> {
        self.advance();
        let condition = self.expression()?;
        let mut branches = vec![(condition, self.body(indentation)?)];
        while self.next_line_is("elif", indentation) {
            self.advance();
            // A chain of branches is as deep as it is long in the typed tree.
            self.check_height(branches.len() as u32)?;
            let condition = self.expression()?;
            branches.push((condition, self.body(indentation)?));
        }
        let mut otherwise = Block::new();
        if self.next_line_is("else", indentation) {
            self.advance();
            otherwise = self.body(indentation)?;
        }
        Ok(StatementKind::If { branches, otherwise })
    }

    fn for_statement(&mut self, indentation: usize) -> ParseResult<StatementKind> {
        self.advance();
        let variable = self.expect_name()?;
        self.expect_word("in", "`in`")?;
        let iterated = self.expression()?;
        let span = iterated.span;
        let unbounded = || ParseError::new(span, ParseErrorKind::UnboundedFor);
        let ExpressionKind::Call { function, arguments } = iterated.kind else { return Err(unbounded()) };
        if function.text != "range" || arguments.len() > 3 {
            return Err(unbounded());
        }
        let single = arguments.len() == 1;
        let mut arguments = arguments.into_iter();
        let begin = if single { None } else { arguments.next() };
        let end = arguments.next().ok_or_else(unbounded)?;
        let step = arguments.next();
        let body = self.body(indentation)?;
        Ok(StatementKind::For { variable, begin, end, step, body })
    }

    fn while_statement(&mut self, indentation: usize) -> ParseResult<StatementKind> {
        self.advance();
        let condition = self.expression()?;
        Ok(StatementKind::While { condition, body: self.body(indentation)? })
    }
}

fn into_target(expression: Expression) -> ParseResult<AssignmentTarget> {
    let span: Span = expression.span;
    let (name, indices) = match expression.kind {
        ExpressionKind::Name(text) => (Name { text, span }, Vec::new()),
        ExpressionKind::Subscript { base, indices } => (base, indices),
        _ => return Err(ParseError::new(span, ParseErrorKind::InvalidTarget)),
    };
    Ok(AssignmentTarget { name, indices })
}
