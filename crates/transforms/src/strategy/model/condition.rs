//! Conditions of branches at given values of symbols.

use std::collections::BTreeMap;

use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, UnaryOp};

/// Whether a condition holds; nothing if that depends on data, on the symbol of a loop, or on more than comparisons of
/// integers.
pub(super) fn decided(condition: &Expression, values: &BTreeMap<Symbol, Expr>) -> Option<bool> {
    let number = |expression: &Expression| {
        let value = |symbol: &Symbol| values.get(symbol).and_then(Expr::as_int);
        Expr::from_expression(expression).ok()?.eval(&value).ok()
    };
    match &condition.kind {
        ExpressionKind::Bool(value) => Some(*value),
        ExpressionKind::Unary { op: UnaryOp::Not, operand } => Some(!decided(operand, values)?),
        ExpressionKind::Binary { op: BinaryOp::And, left, right } => {
            match (decided(left, values), decided(right, values)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (left, right) => Some(left? && right?),
            }
        }
        ExpressionKind::Binary { op: BinaryOp::Or, left, right } => {
            match (decided(left, values), decided(right, values)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (left, right) => Some(left? || right?),
            }
        }
        ExpressionKind::Compare { first, rest } => {
            let mut left = number(first)?;
            for (op, right) in rest {
                let right = number(right)?;
                if !op.holds(Some(left.cmp(&right))) {
                    return Some(false);
                }
                left = right;
            }
            Some(true)
        }
        ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. }
        | ExpressionKind::Integer(_)
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use sdfg::syntax::parse_expression;

    use super::*;

    #[test]
    fn conditions_on_symbols_are_decided_and_others_are_not() {
        let values = BTreeMap::from([(Symbol::new("N").expect("a name"), Expr::int(6))]);
        for (text, expected) in [
            ("N > 5", Some(true)),
            ("0 < N < 6", Some(false)),
            ("N % 2 == 0 and not N == 4", Some(true)),
            ("A > 0.5", None),
            ("A > 0.5 or N == 6", Some(true)),
            ("A > 0.5 and N == 6", None),
            ("A > 0.5 and N != 6", Some(false)),
            ("False", Some(false)),
        ] {
            assert_eq!(decided(&parse_expression(text).expect(text), &values), expected, "{text}");
        }
    }
}
