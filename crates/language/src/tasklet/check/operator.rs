//! Typing of operators: selection of the typed operation for the operand types.

use super::super::arith;
use super::super::code::Dialect;
use super::super::error::TypeErrorKind;
use super::super::promote::arithmetic;
use super::super::typed::{BinaryOperation, TypedExpression, TypedExpressionKind, UnaryOperation};
use super::operand::{Operand, with_lanes};
use super::{Checker, Type};
use crate::dtype::{ElementType, ScalarType};
use crate::syntax::{BinaryOp, CompareOp, Span, UnaryOp};
use crate::value::Value;

/// The largest exponent that is written out as products.
const MAX_CONSTANT_EXPONENT: i64 = 64;

impl Checker<'_> {
    pub(super) fn unary(&mut self, span: Span, op: UnaryOp, operand: Operand) -> Option<Operand> {
        let weak = operand.weak;
        let ty = operand.expression.ty;
        let computes =
            with_lanes(if weak { ty.lane() } else { arithmetic(ty.lane(), self.dialect) }, operand.lanes());
        let (operation, to) = match op {
            UnaryOp::Plus => {
                let expression = self.convert(operand, computes)?;
                return Some(Operand { expression, weak });
            }
            UnaryOp::Negate => (UnaryOperation::Negate, computes),
            UnaryOp::Not => (UnaryOperation::Not, with_lanes(ScalarType::Bool, ty.lanes())),
            UnaryOp::Invert if ty.lane() == ScalarType::Bool => (UnaryOperation::Not, ty),
            UnaryOp::Invert if ty.lane().is_integer() => (UnaryOperation::Invert, computes),
            UnaryOp::Invert => {
                self.error(span, TypeErrorKind::UndefinedOperation { operation: "~".to_owned(), ty });
                return None;
            }
        };
        let weak = weak && op != UnaryOp::Not;
        let operand = Box::new(self.convert(operand, to)?);
        let kind = match operand.kind {
            // The negation of a literal is as good as a literal.
            TypedExpressionKind::Constant(value) => {
                TypedExpressionKind::Constant(arith::unary(operation, value))
            }
            _ => TypedExpressionKind::Unary { op: operation, operand },
        };
        Some(Operand::new(kind, to, span).with_weakness(weak))
    }

    pub(super) fn binary(&mut self, span: Span, op: BinaryOp, a: Operand, b: Operand) -> Option<Operand> {
        match op {
            BinaryOp::And | BinaryOp::Or => self.logical(span, op, a, b),
            BinaryOp::ShiftLeft => self.shift(span, BinaryOperation::ShiftLeft, a, b),
            BinaryOp::ShiftRight => self.shift(span, BinaryOperation::ShiftRight, a, b),
            BinaryOp::Power => self.power(span, a, b),
            BinaryOp::Divide => self.divide(span, a, b),
            BinaryOp::BitAnd => self.bitwise(span, BinaryOperation::BitAnd, op, a, b),
            BinaryOp::BitOr => self.bitwise(span, BinaryOperation::BitOr, op, a, b),
            BinaryOp::BitXor => self.bitwise(span, BinaryOperation::BitXor, op, a, b),
            BinaryOp::Add => self.arithmetic(span, BinaryOperation::Add, op.text(), a, b),
            BinaryOp::Subtract => self.arithmetic(span, BinaryOperation::Subtract, op.text(), a, b),
            BinaryOp::Multiply => self.arithmetic(span, BinaryOperation::Multiply, op.text(), a, b),
            BinaryOp::FloorDivide | BinaryOp::Modulo if self.dialect == Dialect::Python => {
                let operation = if op == BinaryOp::Modulo {
                    BinaryOperation::FloorModulo
                } else {
                    BinaryOperation::FloorDivide
                };
                self.arithmetic(span, operation, op.text(), a, b)
            }
            BinaryOp::Modulo => self.arithmetic(span, BinaryOperation::TruncateModulo, op.text(), a, b),
            BinaryOp::FloorDivide => {
                let ty = self.common(&a, &b, true)?;
                let floats = ty.element.lane().is_float();
                let operation =
                    if floats { BinaryOperation::FloorDivide } else { BinaryOperation::TruncateDivide };
                self.arithmetic(span, operation, op.text(), a, b)
            }
        }
    }

    /// An operation of two operands in their common type.
    pub(super) fn arithmetic(
        &mut self,
        span: Span,
        operation: BinaryOperation,
        name: &str,
        a: Operand,
        b: Operand,
    ) -> Option<Operand> {
        let ty = self.common(&a, &b, true)?;
        self.operate(span, operation, name, ty, a, b)
    }

    /// An operation of two operands in a given type.
    pub(super) fn operate(
        &mut self,
        span: Span,
        op: BinaryOperation,
        name: &str,
        ty: Type,
        a: Operand,
        b: Operand,
    ) -> Option<Operand> {
        if !op.is_defined_for(ty.element.lane()) {
            let operation = name.to_owned();
            self.error(span, TypeErrorKind::UndefinedOperation { operation, ty: ty.element });
            return None;
        }
        let (left, right) = self.convert_both(a, b, ty.element)?;
        let kind = TypedExpressionKind::Binary { op, left, right };
        Some(Operand::new(kind, ty.element, span).with_weakness(ty.weak))
    }

    /// `/`: true division in Python's dialect, where integers become `f64`; C's division in C's.
    fn divide(&mut self, span: Span, a: Operand, b: Operand) -> Option<Operand> {
        let mut ty = self.common(&a, &b, true)?;
        let mut operation = BinaryOperation::Divide;
        if ty.element.lane().is_integer() {
            match self.dialect {
                Dialect::Python => ty.element = with_lanes(ScalarType::F64, ty.element.lanes()),
                Dialect::C => operation = BinaryOperation::TruncateDivide,
            }
        }
        self.operate(span, operation, "/", ty, a, b)
    }

    fn bitwise(
        &mut self,
        span: Span,
        operation: BinaryOperation,
        op: BinaryOp,
        a: Operand,
        b: Operand,
    ) -> Option<Operand> {
        let truths = a.lane() == ScalarType::Bool && b.lane() == ScalarType::Bool;
        let ty = self.common(&a, &b, !truths)?;
        self.operate(span, operation, op.text(), ty, a, b)
    }

    /// A shift has the type of its left operand; a literal there takes the type of the amount.
    fn shift(&mut self, span: Span, op: BinaryOperation, a: Operand, b: Operand) -> Option<Operand> {
        let name = if op == BinaryOperation::ShiftLeft { "<<" } else { ">>" };
        let lane = match (a.weak, b.weak) {
            (true, false) => self.common(&a, &b, true)?.element.lane(),
            (true, true) => a.lane(),
            (false, _) => arithmetic(a.lane(), self.dialect),
        };
        let lanes = self.common(&a, &b, true)?.element.lanes();
        let ty = with_lanes(lane, lanes);
        let amount_is_integer = b.lane().is_integer() || b.lane() == ScalarType::Bool;
        if !op.is_defined_for(lane) || !amount_is_integer {
            let ty = if amount_is_integer { a.expression.ty } else { b.expression.ty };
            self.error(span, TypeErrorKind::UndefinedOperation { operation: name.to_owned(), ty });
            return None;
        }
        let weak = a.weak && b.weak;
        let left = Box::new(self.convert(a, ty)?);
        let right = Box::new(self.convert(b, with_lanes(ScalarType::I64, lanes))?);
        Some(Operand::new(TypedExpressionKind::Binary { op, left, right }, ty, span).with_weakness(weak))
    }

    /// `**`: a literal integer exponent becomes products; an integer to a negative literal is an `f64` in Python's
    /// dialect; all others compute in the common type.
    pub(super) fn power(&mut self, span: Span, base: Operand, exponent: Operand) -> Option<Operand> {
        let literal = exponent.integer_literal().filter(|n| n.abs() <= MAX_CONSTANT_EXPONENT);
        let Some(n) = literal else {
            return self.arithmetic(span, BinaryOperation::Power, "**", base, exponent);
        };
        let lane = if base.weak { base.lane() } else { arithmetic(base.lane(), self.dialect) };
        let fraction = n < 0 && lane.is_integer() && self.dialect == Dialect::Python;
        let ty = with_lanes(if fraction { ScalarType::F64 } else { lane }, base.lanes());
        let weak = base.weak;
        let base = Box::new(self.convert(base, ty)?);
        let kind = TypedExpressionKind::Power { base, exponent: n as i32 };
        Some(Operand::new(kind, ty, span).with_weakness(weak))
    }

    fn logical(&mut self, span: Span, op: BinaryOp, a: Operand, b: Operand) -> Option<Operand> {
        let lanes = self.common_type(
            Type { element: with_lanes(ScalarType::Bool, a.lanes()), weak: false },
            Type { element: with_lanes(ScalarType::Bool, b.lanes()), weak: false },
            [None, None],
            false,
            span,
        )?;
        let (left, right) = (self.truth(a), self.truth(b));
        let and = op == BinaryOp::And;
        if lanes.element.lanes() == 1 {
            let (left, right) = (Box::new(left?), Box::new(right?));
            let kind = if and {
                TypedExpressionKind::And(left, right)
            } else {
                TypedExpressionKind::Or(left, right)
            };
            return Some(Operand::new(kind, ScalarType::Bool, span));
        }
        let operation = if and { BinaryOperation::BitAnd } else { BinaryOperation::BitOr };
        let operand = |expression: TypedExpression| Operand { expression, weak: false };
        self.operate(span, operation, op.text(), lanes, operand(left?), operand(right?))
    }

    /// `a op b`, a `bool` in every lane.
    pub(super) fn compare(&mut self, span: Span, op: CompareOp, a: Operand, b: Operand) -> Option<Operand> {
        // In C narrow integers widen before they are compared; in Python the common type holds both as they are.
        let ty = self.common(&a, &b, self.dialect == Dialect::C)?.element;
        if ty.lane().is_complex() && !matches!(op, CompareOp::Equal | CompareOp::NotEqual) {
            self.error(span, TypeErrorKind::UndefinedOperation { operation: op.text().to_owned(), ty });
            return None;
        }
        let (left, right) = self.convert_both(a, b, ty)?;
        let kind = TypedExpressionKind::Compare { op, left, right };
        Some(Operand::new(kind, with_lanes(ScalarType::Bool, ty.lanes()), span))
    }

    /// `then if condition else otherwise`.
    pub(super) fn select(
        &mut self,
        span: Span,
        condition: Operand,
        then: Operand,
        otherwise: Operand,
    ) -> Option<Operand> {
        let ty = self.common(&then, &otherwise, false)?;
        let lanes = match (condition.lanes(), ty.element.lanes()) {
            (1, lanes) => lanes,
            (lanes, 1) => lanes,
            (x, y) if x == y => x,
            _ => {
                let (left, right) = (condition.expression.ty, ty.element);
                self.error(span, TypeErrorKind::LaneMismatch { left, right });
                return None;
            }
        };
        let element: ElementType = with_lanes(ty.element.lane(), lanes);
        let condition = Box::new(self.truth(condition)?);
        let (then, otherwise) = self.convert_both(then, otherwise, element)?;
        let kind = TypedExpressionKind::Select { condition, then, otherwise };
        Some(Operand::new(kind, element, span).with_weakness(ty.weak))
    }

    /// The constant 1 in the type of a computation.
    pub(super) fn one(ty: ScalarType, span: Span) -> Operand {
        Operand::constant(arith::cast(Value::Bool(true), ty), span)
    }
}
