//! The expression parser: precedence climbing over the operators of Python.

use super::ast::{BinaryOp, CompareOp, Expression, ExpressionKind, FloatLiteral, Index, Lambda, UnaryOp};
use super::cursor::Cursor;
use super::error::{ParseError, ParseErrorKind, ParseResult};
use super::span::Span;
use super::token::{Punctuation, TokenKind};

/// Precedence levels of operators, loosest first. The printer uses the same levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Conditional,
    Or,
    And,
    Not,
    Compare,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Unary,
    Power,
    Atom,
}

impl Level {
    /// The next tighter level; atoms are the tightest.
    pub(super) fn tighter(self) -> Level {
        match self {
            Level::Conditional => Level::Or,
            Level::Or => Level::And,
            Level::And => Level::Not,
            Level::Not => Level::Compare,
            Level::Compare => Level::BitOr,
            Level::BitOr => Level::BitXor,
            Level::BitXor => Level::BitAnd,
            Level::BitAnd => Level::Shift,
            Level::Shift => Level::Sum,
            Level::Sum => Level::Product,
            Level::Product => Level::Unary,
            Level::Unary => Level::Power,
            Level::Power | Level::Atom => Level::Atom,
        }
    }
}

impl BinaryOp {
    pub(super) fn level(self) -> Level {
        match self {
            BinaryOp::Or => Level::Or,
            BinaryOp::And => Level::And,
            BinaryOp::BitOr => Level::BitOr,
            BinaryOp::BitXor => Level::BitXor,
            BinaryOp::BitAnd => Level::BitAnd,
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => Level::Shift,
            BinaryOp::Add | BinaryOp::Subtract => Level::Sum,
            BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::FloorDivide | BinaryOp::Modulo => {
                Level::Product
            }
            BinaryOp::Power => Level::Power,
        }
    }
}

/// Parses a whole text as one expression; spans count from the start of `source`.
///
/// # Errors
/// Every syntax error that was found.
pub fn parse_expression(source: &str) -> Result<Expression, Vec<ParseError>> {
    parse_whole(source, Cursor::expression)
}

/// Parses a whole text as a list of indices, `i, 0:K:2, j`; spans count from the start of `source`.
///
/// # Errors
/// Every syntax error that was found.
pub fn parse_index_list(source: &str) -> Result<Vec<Index>, Vec<ParseError>> {
    parse_whole(source, Cursor::index_list)
}

/// Parses a whole text as a function, `lambda a, b: a + b`; spans count from the start of `source`.
///
/// # Errors
/// Every syntax error that was found.
pub fn parse_lambda(source: &str) -> Result<Lambda, Vec<ParseError>> {
    parse_whole(source, Cursor::lambda)
}

/// Runs `parse` over all of `source`; line ends are blanks.
pub(crate) fn parse_whole<'s, T>(
    source: &'s str,
    parse: impl FnOnce(&mut Cursor<'s>) -> ParseResult<T>,
) -> Result<T, Vec<ParseError>> {
    let mut cursor = Cursor::new(source, 0);
    let result = cursor.joined(|cursor| {
        let value = parse(cursor)?;
        if cursor.at_end() { Ok(value) } else { Err(cursor.expected("the end of the text")) }
    });
    match result {
        Ok(value) => cursor.finish(value),
        Err(error) => {
            cursor.report(error);
            match cursor.finish(()) {
                Ok(()) => Err(Vec::new()),
                Err(errors) => Err(errors),
            }
        }
    }
}

/// An expression with the height of its tree, which is bounded so that no walk over it exhausts the stack.
struct Tree {
    expression: Expression,
    height: u32,
}

impl Tree {
    fn leaf(kind: ExpressionKind, span: Span) -> Self {
        Tree { expression: Expression { kind, span }, height: 1 }
    }
}

impl Cursor<'_> {
    /// Parses an expression at the current token.
    ///
    /// # Errors
    /// The first syntax error; the cursor then stands at it.
    pub fn expression(&mut self) -> ParseResult<Expression> {
        Ok(self.conditional()?.expression)
    }

    /// Parses one or more indices separated by commas: positions and ranges `begin:end:step`.
    ///
    /// # Errors
    /// The first syntax error.
    pub fn index_list(&mut self) -> ParseResult<Vec<Index>> {
        Ok(self.indices()?.0)
    }

    /// Parses `lambda a, b: body`.
    ///
    /// # Errors
    /// The first syntax error.
    pub fn lambda(&mut self) -> ParseResult<Lambda> {
        self.expect_word("lambda", "`lambda`")?;
        let mut parameters = vec![self.expect_name()?];
        while self.eat(Punctuation::Comma) {
            parameters.push(self.expect_name()?);
        }
        self.expect(Punctuation::Colon)?;
        Ok(Lambda { parameters, body: self.expression()? })
    }

    fn conditional(&mut self) -> ParseResult<Tree> {
        self.nested(|cursor| {
            let then = cursor.operation(Level::Or)?;
            if !cursor.eat_word("if") {
                return Ok(then);
            }
            let condition = cursor.operation(Level::Or)?;
            cursor.expect_word("else", "`else`")?;
            let otherwise = cursor.conditional()?;
            let span = then.expression.span.to(otherwise.expression.span);
            let height = then.height.max(condition.height).max(otherwise.height);
            let kind = ExpressionKind::Conditional {
                condition: Box::new(condition.expression),
                then: Box::new(then.expression),
                otherwise: Box::new(otherwise.expression),
            };
            cursor.grow(kind, span, height)
        })
    }

    /// A tree one level above subtrees of `height`.
    fn grow(&self, kind: ExpressionKind, span: Span, height: u32) -> ParseResult<Tree> {
        self.check_height(height + 1)?;
        Ok(Tree { expression: Expression { kind, span }, height: height + 1 })
    }

    /// Parses operators that bind at least as tightly as `minimum`.
    fn operation(&mut self, minimum: Level) -> ParseResult<Tree> {
        let mut left = self.prefix(minimum)?;
        loop {
            if let Some(op) = self.binary_operator().filter(|op| op.level() >= minimum) {
                self.advance();
                // `**` groups to the right and takes a signed operand there, all others group to the left.
                let operand = if op == BinaryOp::Power { Level::Unary } else { op.level().tighter() };
                let right = self.nested(|cursor| cursor.operation(operand))?;
                let span = left.expression.span.to(right.expression.span);
                let height = left.height.max(right.height);
                let kind = ExpressionKind::Binary {
                    op,
                    left: Box::new(left.expression),
                    right: Box::new(right.expression),
                };
                left = self.grow(kind, span, height)?;
            } else if self.compare_operator().is_some() && Level::Compare >= minimum {
                left = self.comparison(left)?;
            } else {
                return Ok(left);
            }
        }
    }

    /// Parses the operators and right operands of a chain of comparisons.
    fn comparison(&mut self, first: Tree) -> ParseResult<Tree> {
        let mut span = first.expression.span;
        let mut height = first.height;
        let mut rest = Vec::new();
        while let Some(op) = self.compare_operator() {
            self.advance();
            let right = self.nested(|cursor| cursor.operation(Level::Compare.tighter()))?;
            span = span.to(right.expression.span);
            height = height.max(right.height);
            rest.push((op, right.expression));
        }
        self.grow(ExpressionKind::Compare { first: Box::new(first.expression), rest }, span, height)
    }

    fn prefix(&mut self, minimum: Level) -> ParseResult<Tree> {
        let token = self.peek();
        let (op, level) = match token.kind {
            TokenKind::Punctuation(Punctuation::Minus) => (UnaryOp::Negate, Level::Unary),
            TokenKind::Punctuation(Punctuation::Plus) => (UnaryOp::Plus, Level::Unary),
            TokenKind::Punctuation(Punctuation::Tilde) => (UnaryOp::Invert, Level::Unary),
            // `a + not b` is refused, as in Python: `not` binds more loosely than `+`.
            TokenKind::Identifier if self.text(token) == "not" && minimum <= Level::Not => {
                (UnaryOp::Not, Level::Not)
            }
            _ => return self.atom(),
        };
        self.advance();
        let operand = self.nested(|cursor| cursor.operation(level))?;
        let span = token.span.to(operand.expression.span);
        self.grow(ExpressionKind::Unary { op, operand: Box::new(operand.expression) }, span, operand.height)
    }

    fn atom(&mut self) -> ParseResult<Tree> {
        let token = self.peek();
        match token.kind {
            TokenKind::Integer => {
                let value = self.expect_integer()?;
                Ok(Tree::leaf(ExpressionKind::Integer(value), token.span))
            }
            TokenKind::Float | TokenKind::Imaginary => {
                let literal =
                    FloatLiteral::new(self.float(token)).ok_or_else(|| self.expected("a finite number"))?;
                self.advance();
                let kind = if token.kind == TokenKind::Float {
                    ExpressionKind::Float(literal)
                } else {
                    ExpressionKind::Imaginary(literal)
                };
                Ok(Tree::leaf(kind, token.span))
            }
            TokenKind::Punctuation(Punctuation::OpenParenthesis) => {
                self.advance();
                self.joined(|cursor| {
                    let inner = cursor.conditional()?;
                    cursor.no_range()?;
                    cursor.expect(Punctuation::CloseParenthesis)?;
                    Ok(inner)
                })
            }
            TokenKind::Identifier => match self.text(token) {
                "True" | "true" => {
                    self.advance();
                    Ok(Tree::leaf(ExpressionKind::Bool(true), token.span))
                }
                "False" | "false" => {
                    self.advance();
                    Ok(Tree::leaf(ExpressionKind::Bool(false), token.span))
                }
                _ => self.name_call_or_subscript(),
            },
            _ => Err(self.expected("an expression")),
        }
    }

    fn name_call_or_subscript(&mut self) -> ParseResult<Tree> {
        let name = self.expect_dotted_name()?;
        let start = name.span.start;
        if self.at(Punctuation::OpenParenthesis) {
            self.advance();
            let (arguments, height) = self.joined(Self::arguments)?;
            let kind = ExpressionKind::Call { function: name, arguments };
            return self.grow(kind, self.span_from(start), height);
        }
        if self.at(Punctuation::OpenBracket) {
            self.advance();
            let (indices, height) = self.joined(|cursor| {
                let indices = cursor.subscript_indices()?;
                cursor.expect(Punctuation::CloseBracket)?;
                Ok(indices)
            })?;
            let kind = ExpressionKind::Subscript { base: name, indices };
            return self.grow(kind, self.span_from(start), height);
        }
        Ok(Tree::leaf(ExpressionKind::Name(name.text), name.span))
    }

    /// Parses call arguments up to and including the closing parenthesis.
    fn arguments(&mut self) -> ParseResult<(Vec<Expression>, u32)> {
        let mut arguments = Vec::new();
        let mut height = 0;
        while !self.at(Punctuation::CloseParenthesis) {
            let argument = self.conditional()?;
            self.no_range()?;
            height = height.max(argument.height);
            arguments.push(argument.expression);
            if !self.eat(Punctuation::Comma) {
                break;
            }
        }
        self.expect(Punctuation::CloseParenthesis)?;
        Ok((arguments, height))
    }

    /// A better message than "expected `)`" for a range outside of brackets.
    fn no_range(&self) -> ParseResult<()> {
        if self.at(Punctuation::Colon) {
            return Err(ParseError::new(self.peek().span, ParseErrorKind::MisplacedRange));
        }
        Ok(())
    }

    /// Parses the indices of a subscript, which may stand in parentheses: `a[(i, j)]` is `a[i, j]`. Python 3.8 and
    /// earlier print all tuples in this way, also those with slices.
    fn subscript_indices(&mut self) -> ParseResult<(Vec<Index>, u32)> {
        if !self.at_enclosing_parenthesis() {
            return self.indices();
        }
        self.advance();
        let found = self.nested(Self::subscript_indices)?;
        self.expect(Punctuation::CloseParenthesis)?;
        Ok(found)
    }

    pub(super) fn indices(&mut self) -> ParseResult<(Vec<Index>, u32)> {
        let mut indices = Vec::new();
        let mut height = 0;
        loop {
            indices.push(self.index(&mut height)?);
            // A tuple of one index has a comma at its end.
            if !self.eat(Punctuation::Comma) || self.at(Punctuation::CloseParenthesis) {
                return Ok((indices, height));
            }
        }
    }

    fn index(&mut self, height: &mut u32) -> ParseResult<Index> {
        let start = self.peek().span.start;
        let begin = self.index_part(height)?;
        if !self.at(Punctuation::Colon) {
            return begin.map(Index::Point).ok_or_else(|| self.expected("an index"));
        }
        let mut part = |cursor: &mut Self| {
            if cursor.eat(Punctuation::Colon) { cursor.index_part(height) } else { Ok(None) }
        };
        let (end, step, tile) = (part(self)?, part(self)?, part(self)?);
        Ok(Index::Range { begin, end, step, tile, span: self.span_from(start) })
    }

    /// One part of a range, which may be left out.
    fn index_part(&mut self, height: &mut u32) -> ParseResult<Option<Expression>> {
        let edges = [Punctuation::Colon, Punctuation::Comma, Punctuation::CloseBracket];
        if self.at_end() || edges.iter().any(|&edge| self.at(edge)) {
            return Ok(None);
        }
        let tree = self.conditional()?;
        *height = (*height).max(tree.height);
        Ok(Some(tree.expression))
    }

    fn binary_operator(&self) -> Option<BinaryOp> {
        let token = self.peek();
        let punctuation = match token.kind {
            TokenKind::Punctuation(punctuation) => punctuation,
            TokenKind::Identifier => {
                return match self.text(token) {
                    "and" => Some(BinaryOp::And),
                    "or" => Some(BinaryOp::Or),
                    _ => None,
                };
            }
            _ => return None,
        };
        Some(match punctuation {
            Punctuation::Plus => BinaryOp::Add,
            Punctuation::Minus => BinaryOp::Subtract,
            Punctuation::Star => BinaryOp::Multiply,
            Punctuation::Slash => BinaryOp::Divide,
            Punctuation::DoubleSlash => BinaryOp::FloorDivide,
            Punctuation::Percent => BinaryOp::Modulo,
            Punctuation::DoubleStar => BinaryOp::Power,
            Punctuation::ShiftLeft => BinaryOp::ShiftLeft,
            Punctuation::ShiftRight => BinaryOp::ShiftRight,
            Punctuation::Ampersand => BinaryOp::BitAnd,
            Punctuation::Pipe => BinaryOp::BitOr,
            Punctuation::Caret => BinaryOp::BitXor,
            _ => return None,
        })
    }

    fn compare_operator(&self) -> Option<CompareOp> {
        match self.peek().kind {
            TokenKind::Punctuation(Punctuation::Equal) => Some(CompareOp::Equal),
            TokenKind::Punctuation(Punctuation::NotEqual) => Some(CompareOp::NotEqual),
            TokenKind::Punctuation(Punctuation::Less) => Some(CompareOp::Less),
            TokenKind::Punctuation(Punctuation::LessEqual) => Some(CompareOp::LessEqual),
            TokenKind::Punctuation(Punctuation::Greater) => Some(CompareOp::Greater),
            TokenKind::Punctuation(Punctuation::GreaterEqual) => Some(CompareOp::GreaterEqual),
            _ => None,
        }
    }
}
