//! Typing of expressions: names, loads, literals, and recursion into operators and calls.

use super::super::environment::{Connector, ConnectorKind, Direction};
use super::super::error::TypeErrorKind;
use super::super::function::without_module;
use super::super::typed::TypedExpressionKind;
use super::Checker;
use super::operand::Operand;
use crate::dtype::{ElementType, ScalarType};
use crate::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, Index, Name, Span, UnaryOp};
use crate::value::{Complex, Value};

/// Chained comparisons may stand within operands of chained comparisons so often: each level doubles the tree.
const MAX_NESTED_CHAINS: u32 = 3;

impl Checker<'_> {
    /// The typed form, or nothing after an error was reported.
    pub(super) fn expression(&mut self, expression: &Expression) -> Option<Operand> {
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Integer(value) => Some(match i64::try_from(*value) {
                Ok(value) => Operand::literal(Value::I64(value), span),
                Err(_) => Operand::constant(Value::U64(*value), span),
            }),
            ExpressionKind::Float(literal) => Some(Operand::literal(Value::F64(literal.value()), span)),
            ExpressionKind::Imaginary(literal) => {
                Some(Operand::literal(Value::Complex128(Complex::new(0.0, literal.value())), span))
            }
            ExpressionKind::Bool(value) => Some(Operand::constant(Value::Bool(*value), span)),
            ExpressionKind::Name(name) => self.name(name, span),
            ExpressionKind::Unary { op, operand } => {
                // The one negative number whose magnitude is no `i64`.
                if *op == UnaryOp::Negate && operand.kind == ExpressionKind::Integer(i64::MIN.unsigned_abs())
                {
                    return Some(Operand::literal(Value::I64(i64::MIN), span));
                }
                let operand = self.expression(operand)?;
                self.unary(span, *op, operand)
            }
            ExpressionKind::Binary { op, left, right } => {
                let (left, right) = (self.expression(left), self.expression(right));
                self.binary(span, *op, left?, right?)
            }
            ExpressionKind::Compare { first, rest } => self.comparison(span, first, rest),
            ExpressionKind::Conditional { condition, then, otherwise } => {
                let condition = self.expression(condition);
                let (then, otherwise) = (self.expression(then), self.expression(otherwise));
                self.select(span, condition?, then?, otherwise?)
            }
            ExpressionKind::Call { function, arguments } => self.call(span, function, arguments),
            ExpressionKind::Subscript { base, indices } => self.subscript(span, base, indices),
        }
    }

    /// A chain `a < b < c` is `a < b and b < c`. Operands have no effects, so that stating the middle ones twice keeps
    /// the meaning.
    fn comparison(
        &mut self,
        span: Span,
        first: &Expression,
        rest: &[(CompareOp, Expression)],
    ) -> Option<Operand> {
        let chained = rest.len() > 1;
        if chained && self.chains == MAX_NESTED_CHAINS {
            self.error(span, TypeErrorKind::NestedChains);
            return None;
        }
        self.chains += u32::from(chained);
        let operands: Vec<Option<Operand>> =
            std::iter::once(first).chain(rest.iter().map(|(_, e)| e)).map(|e| self.expression(e)).collect();
        self.chains -= u32::from(chained);
        let mut operands = operands.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
        let mut left = operands.next()?;
        let mut result: Option<Operand> = None;
        for ((op, _), right) in rest.iter().zip(operands) {
            let pair = left.span().to(right.span());
            let link = self.compare(pair, *op, left, right.clone())?;
            left = right;
            result = Some(match result {
                None => link,
                Some(links) => self.binary(span, BinaryOp::And, links, link)?,
            });
        }
        result
    }

    /// A name that stands for a value.
    pub(super) fn name(&mut self, name: &str, span: Span) -> Option<Operand> {
        if let Some((id, connector)) = self.environment.connector(name) {
            let element = connector.element;
            let what = match (connector.kind, connector.direction) {
                (ConnectorKind::Value, Direction::In) => {
                    return Some(Operand::new(TypedExpressionKind::Input(id), element, span));
                }
                (ConnectorKind::Value, Direction::Out) if self.assigned.outputs.contains(&id) => {
                    return Some(Operand::new(TypedExpressionKind::Output(id), element, span));
                }
                (ConnectorKind::Value, Direction::Out) => {
                    let name = name.to_owned();
                    self.error(span, TypeErrorKind::ReadsOutput { name, when: "before it is assigned" });
                    return None;
                }
                (ConnectorKind::Pointer { .. }, _) => "a pointer",
                (ConnectorKind::Stream | ConnectorKind::Queues { .. }, _) => "a stream",
            };
            self.error(span, TypeErrorKind::NotAValue { name: name.to_owned(), what });
            return None;
        }
        if let Some((id, state)) = self.local(name) {
            let ty = state.ty;
            if !self.assigned.locals.contains(&id) {
                self.error(span, TypeErrorKind::MaybeUnassigned { name: name.to_owned() });
                return None;
            }
            // A local that is assigned and has no type had an error in its value.
            let ty = ty?;
            return Some(
                Operand::new(TypedExpressionKind::Local(id), ty.element, span).with_weakness(ty.weak),
            );
        }
        if let Some((id, ty)) = self.environment.symbol(name) {
            return Some(Operand::new(TypedExpressionKind::Symbol(id), ty, span));
        }
        if let Some(value) = constant(name) {
            return Some(Operand::literal(Value::F64(value), span));
        }
        self.unknown_name(name, span);
        None
    }

    pub(super) fn unknown_name(&mut self, name: &str, span: Span) {
        let connectors = self.environment.connectors().map(|(name, _)| name);
        let known = connectors.chain(self.environment.symbols().map(|(name, _)| name));
        let known = known.map(str::to_owned).chain(self.locals.keys().cloned()).collect();
        self.error(span, TypeErrorKind::UnknownName { name: name.to_owned(), known });
    }

    /// An element that is read through a pointer.
    fn subscript(&mut self, span: Span, base: &Name, indices: &[Index]) -> Option<Operand> {
        let name = base.text.clone();
        let Some((id, connector)) = self.environment.connector(&name) else {
            // Reports the name if it is unknown, and else that it is no pointer.
            self.name(&name, base.span)?;
            self.error(base.span, TypeErrorKind::NotIndexable { name });
            return None;
        };
        match (connector.kind, connector.direction) {
            (ConnectorKind::Value, _) => self.error(base.span, TypeErrorKind::NotIndexable { name }),
            (ConnectorKind::Stream | ConnectorKind::Queues { .. }, _) => {
                self.error(base.span, TypeErrorKind::NotAValue { name, what: "a stream" });
            }
            (ConnectorKind::Pointer { .. }, Direction::Out) => {
                self.error(base.span, TypeErrorKind::ReadsOutput { name, when: "through its pointer" });
            }
            (ConnectorKind::Pointer { rank }, Direction::In) => {
                let indices = self.indices(span, &name, rank, indices)?;
                let kind = TypedExpressionKind::Load { connector: id, indices };
                return Some(Operand::new(kind, connector.element, span));
            }
        }
        None
    }

    /// `len(S)` or `len(S[i])`: how many elements a queue holds.
    pub(super) fn length(&mut self, span: Span, arguments: &[Expression]) -> Option<Operand> {
        let [argument] = arguments else {
            let (function, expected) = ("len".to_owned(), "one argument");
            self.error(
                span,
                TypeErrorKind::WrongArgumentCount { function, expected, found: arguments.len() },
            );
            return None;
        };
        let (name, indices) = if let ExpressionKind::Subscript { base, indices } = &argument.kind {
            (base.text.clone(), indices.as_slice())
        } else {
            (argument.to_string(), [].as_slice())
        };
        let Some((connector, Connector { kind: ConnectorKind::Queues { rank }, .. })) =
            self.environment.connector(&name)
        else {
            self.error(argument.span, TypeErrorKind::NotAStream { name });
            return None;
        };
        let indices = self.indices(argument.span, &name, rank, indices)?;
        let kind = TypedExpressionKind::Length { connector, indices };
        Some(Operand::new(kind, ElementType::scalar(ScalarType::I64), span))
    }

    /// The indices of a pointer, as `i64`.
    pub(super) fn indices(
        &mut self,
        span: Span,
        name: &str,
        rank: usize,
        indices: &[Index],
    ) -> Option<Vec<super::super::typed::TypedExpression>> {
        if indices.len() != rank {
            let (name, found) = (name.to_owned(), indices.len());
            self.error(span, TypeErrorKind::IndexCount { name, expected: rank, found });
            return None;
        }
        let typed: Vec<_> = indices
            .iter()
            .map(|index| match index {
                Index::Point(at) => {
                    let operand = self.expression(at)?;
                    self.index(operand)
                }
                Index::Range { span, .. } => {
                    self.error(*span, TypeErrorKind::RangeIndex);
                    None
                }
            })
            .collect();
        typed.into_iter().collect()
    }
}

/// The value of a named constant. They are weak, as literals are.
fn constant(name: &str) -> Option<f64> {
    let short = without_module(name);
    match short {
        "pi" => Some(std::f64::consts::PI),
        "inf" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        // Bare, these two are likely to be names that someone forgot to declare.
        "e" if short != name => Some(std::f64::consts::E),
        "tau" if short != name => Some(std::f64::consts::TAU),
        _ => None,
    }
}
