//! Operands: typed expressions with the weakness of their types, and the conversions between types.

use super::super::arith::cast;
use super::super::code::Dialect;
use super::super::error::TypeErrorKind;
use super::super::promote::{adopt, arithmetic, promote};
use super::super::typed::{TypedExpression, TypedExpressionKind};
use super::{Checker, Type};
use crate::dtype::{ElementType, ScalarType};
use crate::syntax::Span;
use crate::value::Value;

/// A typed expression whose type may be weak.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) expression: TypedExpression,
    pub(super) weak: bool,
}

impl Operand {
    pub(super) fn new(kind: TypedExpressionKind, ty: impl Into<ElementType>, span: Span) -> Self {
        Operand { expression: TypedExpression { kind, ty: ty.into(), span }, weak: false }
    }

    pub(super) fn constant(value: Value, span: Span) -> Self {
        Self::new(TypedExpressionKind::Constant(value), value.ty(), span)
    }

    pub(super) fn literal(value: Value, span: Span) -> Self {
        Operand { weak: true, ..Self::constant(value, span) }
    }

    pub(super) fn with_weakness(self, weak: bool) -> Self {
        Operand { weak, ..self }
    }

    pub(super) fn ty(&self) -> Type {
        Type { element: self.expression.ty, weak: self.weak }
    }

    pub(super) fn lane(&self) -> ScalarType {
        self.expression.ty.lane()
    }

    pub(super) fn lanes(&self) -> u16 {
        self.expression.ty.lanes()
    }

    pub(super) fn span(&self) -> Span {
        self.expression.span
    }

    /// The value of an integer literal.
    pub(super) fn integer_literal(&self) -> Option<i64> {
        match self.expression.kind {
            TypedExpressionKind::Constant(Value::I64(value)) if self.weak => Some(value),
            _ => None,
        }
    }
}

/// `scalar` in `lanes` lanes, which are those of an existing type.
pub(super) fn with_lanes(scalar: ScalarType, lanes: u16) -> ElementType {
    ElementType::vector(scalar, lanes).unwrap_or(ElementType::scalar(scalar))
}

/// Whether an integer is a value of an integer type.
fn fits(value: i64, ty: ScalarType) -> bool {
    let unsigned = matches!(ty, ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64);
    (value >= 0 || !unsigned) && cast(cast(Value::I64(value), ty), ScalarType::I64) == Value::I64(value)
}

impl Checker<'_> {
    /// The common type of two types; `literals` are the values of integer literals among them. With `computes`, it is a
    /// type that arithmetic computes in.
    pub(super) fn common_type(
        &mut self,
        a: Type,
        b: Type,
        literals: [Option<i64>; 2],
        computes: bool,
        span: Span,
    ) -> Option<Type> {
        let (left, right) = (a.element, b.element);
        let lanes = match (left.lanes(), right.lanes()) {
            (x, y) if x == y => x,
            (1, lanes) | (lanes, 1) => lanes,
            _ => {
                self.error(span, TypeErrorKind::LaneMismatch { left, right });
                return None;
            }
        };
        let strong = |ty: Type| {
            let lane = ty.element.lane();
            if computes && !ty.weak { arithmetic(lane, self.dialect) } else { lane }
        };
        let (x, y) = (strong(a), strong(b));
        // A literal that the other type does not hold keeps its own type, and both promote.
        let beside = |literal: ScalarType, value: Option<i64>, other: ScalarType| match value {
            Some(value) if other.is_integer() && !fits(value, other) => {
                promote(literal, other, Dialect::Python)
            }
            _ => adopt(literal, other),
        };
        let scalar = match (a.weak, b.weak) {
            (true, false) => beside(x, literals[0], y),
            (false, true) => beside(y, literals[1], x),
            (true, true) | (false, false) => promote(x, y, self.dialect),
        };
        Some(Type { element: with_lanes(scalar, lanes), weak: a.weak && b.weak })
    }

    /// The common type of two operands.
    pub(super) fn common(&mut self, a: &Operand, b: &Operand, computes: bool) -> Option<Type> {
        let literals = [a.integer_literal(), b.integer_literal()];
        self.common_type(a.ty(), b.ty(), literals, computes, a.span().to(b.span()))
    }

    /// Converts to a type; a scalar spreads over lanes.
    pub(super) fn convert(&mut self, operand: Operand, to: ElementType) -> Option<TypedExpression> {
        let expression = operand.expression;
        let (from, span) = (expression.ty, expression.span);
        if from == to {
            return Some(expression);
        }
        if from.lanes() != to.lanes() && from.lanes() != 1 {
            let kind = if to.lanes() == 1 {
                TypeErrorKind::ExpectedScalar { found: from }
            } else {
                TypeErrorKind::LaneMismatch { left: from, right: to }
            };
            self.error(span, kind);
            return None;
        }
        if from.lane().is_complex() && !to.lane().is_complex() && to.lane() != ScalarType::Bool {
            self.error(span, TypeErrorKind::NoConversion { from, to });
            return None;
        }
        let cast = cast_to(expression, to.lane());
        if cast.ty.lanes() == to.lanes() {
            return Some(cast);
        }
        Some(TypedExpression { kind: TypedExpressionKind::Splat(Box::new(cast)), ty: to, span })
    }

    /// Converts both operands to a type.
    pub(super) fn convert_both(
        &mut self,
        a: Operand,
        b: Operand,
        to: ElementType,
    ) -> Option<(Box<TypedExpression>, Box<TypedExpression>)> {
        let a = self.convert(a, to);
        let b = self.convert(b, to);
        Some((Box::new(a?), Box::new(b?)))
    }

    /// The truth of an operand, lane by lane.
    pub(super) fn truth(&mut self, operand: Operand) -> Option<TypedExpression> {
        let ty = with_lanes(ScalarType::Bool, operand.lanes());
        self.convert(operand, ty)
    }

    /// The truth of a scalar.
    pub(super) fn condition(&mut self, operand: Operand) -> Option<TypedExpression> {
        self.convert(operand, ScalarType::Bool.into())
    }

    /// The operand as an index: a scalar integer, converted to `i64`.
    pub(super) fn index(&mut self, operand: Operand) -> Option<TypedExpression> {
        if !operand.lane().is_integer() {
            self.error(operand.span(), TypeErrorKind::IndexType { found: operand.expression.ty });
            return None;
        }
        self.convert(operand, ScalarType::I64.into())
    }
}

/// Converts lane by lane; constants are converted here and now.
fn cast_to(expression: TypedExpression, to: ScalarType) -> TypedExpression {
    let ty = with_lanes(to, expression.ty.lanes());
    let span = expression.span;
    if expression.ty == ty {
        return expression;
    }
    let kind = match expression.kind {
        TypedExpressionKind::Constant(value) => TypedExpressionKind::Constant(cast(value, to)),
        _ => TypedExpressionKind::Cast(Box::new(expression)),
    };
    TypedExpression { kind, ty, span }
}
