//! Conditions that numbers decide, and integers that need no run: what control flow does whatever the data.

use crate::analysis::symbols::UNDECLARED_SYMBOL;
use crate::dtype::ScalarType;
use crate::ir::Sdfg;
use crate::symbolic::Symbol;
use crate::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, UnaryOp};

/// Whether a condition holds, if it is made of numbers and of names that `values` knows.
pub(super) fn holds(condition: &Expression, values: &dyn Fn(&str) -> Option<i64>) -> Option<bool> {
    match &condition.kind {
        ExpressionKind::Bool(value) => Some(*value),
        ExpressionKind::Unary { op: UnaryOp::Not, operand } => Some(!holds(operand, values)?),
        ExpressionKind::Binary { op: BinaryOp::And, left, right } => {
            let sides = [holds(left, values), holds(right, values)];
            if sides.contains(&Some(false)) { Some(false) } else { Some(sides[0]? && sides[1]?) }
        }
        ExpressionKind::Binary { op: BinaryOp::Or, left, right } => {
            let sides = [holds(left, values), holds(right, values)];
            if sides.contains(&Some(true)) { Some(true) } else { Some(sides[0]? || sides[1]?) }
        }
        ExpressionKind::Compare { first, rest } => {
            let mut left = number(first, values)?;
            let mut is_true = true;
            for (op, right) in rest {
                let right = number(right, values)?;
                is_true = is_true && compares(left, *op, right);
                left = right;
            }
            Some(is_true)
        }
        ExpressionKind::Integer(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. } => Some(number(condition, values)? != 0),
        ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => None,
    }
}

/// The value of integer arithmetic on numbers and on names that `values` knows, if no step of it overflows.
pub(super) fn number(expression: &Expression, values: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    match &expression.kind {
        ExpressionKind::Integer(value) => i64::try_from(*value).ok(),
        ExpressionKind::Name(name) => values(name),
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => number(operand, values)?.checked_neg(),
        ExpressionKind::Unary { op: UnaryOp::Plus, operand } => number(operand, values),
        ExpressionKind::Binary { op, left, right } => {
            let (left, right) = (number(left, values)?, number(right, values)?);
            match op {
                BinaryOp::Add => left.checked_add(right),
                BinaryOp::Subtract => left.checked_sub(right),
                BinaryOp::Multiply => left.checked_mul(right),
                // Divisions and shifts have rules of their own for signs and types, and decide few conditions.
                BinaryOp::Divide
                | BinaryOp::FloorDivide
                | BinaryOp::Modulo
                | BinaryOp::Power
                | BinaryOp::ShiftLeft
                | BinaryOp::ShiftRight
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::And
                | BinaryOp::Or => None,
            }
        }
        ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Unary { op: UnaryOp::Not | UnaryOp::Invert, .. }
        | ExpressionKind::Compare { .. }
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => None,
    }
}

/// Whether a symbol takes the values that are computed here: one of another type comes round to the other end of its values.
pub(super) fn is_wide(sdfg: &Sdfg, symbol: &Symbol) -> bool {
    sdfg.symbol_type(symbol).unwrap_or(UNDECLARED_SYMBOL) == ScalarType::I64
}

fn compares(left: i64, op: CompareOp, right: i64) -> bool {
    match op {
        CompareOp::Less => left < right,
        CompareOp::LessEqual => left <= right,
        CompareOp::Greater => left > right,
        CompareOp::GreaterEqual => left >= right,
        CompareOp::Equal => left == right,
        CompareOp::NotEqual => left != right,
    }
}
