//! Fortran's functions of bits, as its front end names them: `IBSET`, `IBCLR`, `BTEST`, `IBITS` and `ISHFT`.
//!
//! DaCe's runtime computes them in the type of the first argument, shifts signed numbers arithmetically, and
//! ends the program for positions outside the type. The operators here give every position a value.

use sdfg::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, UnaryOp};

/// The expression of a call; `None` for other functions and numbers of arguments.
pub(super) fn function(name: &str, arguments: &[Expression]) -> Option<ExpressionKind> {
    let found = match (name, arguments) {
        ("bitwise_set", [value, position]) => or(value, &bit(value, position)),
        ("bitwise_clear", [value, position]) => {
            and(value, &Expression::unary(UnaryOp::Invert, bit(value, position)))
        }
        ("bitwise_test", [value, position]) => {
            let shifted = Expression::binary(BinaryOp::ShiftRight, value.clone(), position.clone());
            Expression::compare(CompareOp::NotEqual, and(&shifted, &number(1)), number(0))
        }
        ("bitwise_extract", [value, position, length]) => {
            let shifted = Expression::binary(BinaryOp::ShiftRight, value.clone(), position.clone());
            let mask = Expression::binary(BinaryOp::Subtract, bit(value, length), number(1));
            and(&shifted, &mask)
        }
        ("bitwise_shift", [value, amount]) => shift(value, amount),
        _ => return None,
    };
    Some(found.kind)
}

fn number(value: i64) -> Expression {
    Expression::integer(value)
}

fn and(left: &Expression, right: &Expression) -> Expression {
    Expression::binary(BinaryOp::BitAnd, left.clone(), right.clone())
}

fn or(left: &Expression, right: &Expression) -> Expression {
    Expression::binary(BinaryOp::BitOr, left.clone(), right.clone())
}

/// The number with one bit, in the type of a value: a literal would take that of the position.
fn bit(value: &Expression, position: &Expression) -> Expression {
    let one = and(&or(value, &number(1)), &number(1));
    Expression::binary(BinaryOp::ShiftLeft, one, position.clone())
}

/// A shift to the left, or by a negative amount to the right.
fn shift(value: &Expression, amount: &Expression) -> Expression {
    let left = |amount: Expression| Expression::binary(BinaryOp::ShiftLeft, value.clone(), amount);
    let right = |amount: Expression| Expression::binary(BinaryOp::ShiftRight, value.clone(), amount);
    match &amount.kind {
        ExpressionKind::Integer(_) => left(amount.clone()),
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => right((**operand).clone()),
        _ => {
            let negated = Expression::unary(UnaryOp::Negate, amount.clone());
            Expression {
                kind: ExpressionKind::Conditional {
                    condition: Box::new(Expression::compare(CompareOp::Less, amount.clone(), number(0))),
                    then: Box::new(right(negated)),
                    otherwise: Box::new(left(amount.clone())),
                },
                span: amount.span,
            }
        }
    }
}
