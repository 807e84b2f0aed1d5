//! Conditions that constants decide, and integers known without a run: control flow that is independent of
//! data.

use sdfg_graph::analysis::symbols::UNDECLARED_SYMBOL;
use sdfg_graph::ir::Sdfg;
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::{BinaryOp, CompareOp, Expression, ExpressionKind, UnaryOp};
use sdfg_language::tasklet::{CompiledCode, Dialect, Environment, NoAccess, arith, typecheck_expression};
use sdfg_language::value::Value;

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
            compared(first, rest, values).or_else(|| constant(condition).map(arith::is_true))
        }
        ExpressionKind::Integer(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. } => {
            let number = number(condition, values).map(|number| number != 0);
            number.or_else(|| constant(condition).map(arith::is_true))
        }
        ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. } => constant(condition).map(arith::is_true),
        ExpressionKind::Subscript { .. } => None,
    }
}

/// Whether a chain of comparisons of integers holds.
fn compared(
    first: &Expression,
    rest: &[(CompareOp, Expression)],
    values: &dyn Fn(&str) -> Option<i64>,
) -> Option<bool> {
    let mut left = number(first, values)?;
    let mut is_true = true;
    for (op, right) in rest {
        let right = number(right, values)?;
        is_true = is_true && op.holds(Some(left.cmp(&right)));
        left = right;
    }
    Some(is_true)
}

/// The value of an expression without names, by the arithmetic that a run has: of all operators, also where it wraps.
fn constant(expression: &Expression) -> Option<Value> {
    if !expression.names().is_empty() {
        return None;
    }
    let typed = typecheck_expression(expression, Dialect::Python, &Environment::new()).ok()?;
    let compiled = CompiledCode::of_expression(&typed);
    let mut frame = compiled.frame();
    // An expression has no loops, whose iterations steps are.
    compiled.run(&mut frame, &mut NoAccess, 0).ok()?;
    match frame.result() {
        [value] => Some(*value),
        _ => None,
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
                // Without a remainder to round and with no sign to keep, they are the same in every type.
                BinaryOp::FloorDivide if left >= 0 && right > 0 => Some(left / right),
                BinaryOp::Modulo if left >= 0 && right > 0 => Some(left % right),
                BinaryOp::Power => left.checked_pow(u32::try_from(right).ok()?),
                // These have rules of their own for signs and types.
                BinaryOp::Divide
                | BinaryOp::FloorDivide
                | BinaryOp::Modulo
                | BinaryOp::ShiftLeft
                | BinaryOp::ShiftRight
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::And
                | BinaryOp::Or => {
                    let Some(Value::I64(value)) = constant(expression) else { return None };
                    Some(value)
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Expression {
        sdfg_language::syntax::parse_expression(text).unwrap()
    }

    #[test]
    fn numbers_decide_conditions_of_all_operators() {
        let i = |name: &str| (name == "i").then_some(7);
        let cases = [
            ("7 // 2 == 3", Some(true)),
            ("-7 // 2 == -4", Some(true)),
            ("-7 % 2 == 1", Some(true)),
            ("7 % -2 == -1", Some(true)),
            ("7 / 2 == 3", Some(false)),
            ("6 / 2 == 3", Some(true)),
            ("2 ** 10 > 1000", Some(true)),
            ("7 // 0 == 0", Some(true)),
            ("1 << 4 | 1 == 17", Some(true)),
            ("1.5 < 1.0", Some(false)),
            ("not 0.0", Some(true)),
            ("min(3, 4) == 3 and 2 ** 3 % 5 == 3", Some(true)),
            ("8 // 3 - 2", Some(false)),
            ("i // 2 == 3", Some(true)),
            ("i % 4 == 0 or i ** 2 == 49", Some(true)),
            ("(i - 8) // 2 == 0", None),
            ("n // 2 == 3", None),
            ("n > 0 and 7 // 2 == 4", Some(false)),
            // What a run does where integers end.
            ("9223372036854775807 + 1 < 0", Some(true)),
        ];
        for (text, expected) in cases {
            assert_eq!(holds(&parsed(text), &i), expected, "for {text}");
        }
        assert_eq!(number(&parsed("-9 // 2 + i % 4"), &i), Some(-2));
        assert_eq!(number(&parsed("9 / 3"), &i), None);
    }
}
