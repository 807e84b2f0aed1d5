//! Symbolic texts as SymPy prints them: sizes, bounds, indices and volumes.

use std::fmt::Display;

use sdfg::symbolic::{Assumptions, Expr, NotPureKind, Symbol};
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, parse_expression};

use super::map_expression;
use super::modern::plain;
use super::quotient::{joined, with_remainders};
use crate::report::{Code, Failed, Log};

/// The integer expression of a text.
///
/// Quotients within `floor` and `ceiling` are exact until they are rounded, as in mathematics; one that is not rounded
/// and not exact is rounded down, and noted.
pub(crate) fn symbolic(text: &str, place: &dyn Display, log: &Log) -> Result<Expr, Failed> {
    let text = plain(text);
    let trimmed = text.trim();
    if let Ok(value) = trimmed.parse::<i64>() {
        return Ok(Expr::int(value));
    }
    if let Ok(symbol) = Symbol::new(trimmed)
        && !matches!(trimmed, "True" | "False" | "oo" | "inf" | "nan")
    {
        return Ok(Expr::symbol(symbol));
    }
    let refuse = |why: String| log.error(Code::Expression, place, format!("`{trimmed}`: {why}"));
    let parsed = parse_expression(trimmed)
        .map_err(|errors| refuse(errors.first().map_or_else(String::new, ToString::to_string)))?;
    let tree = map_expression(parsed, &mut |part| with_remainders(joined(spelled(part))));
    let error = match Expr::from_expression(&tree) {
        // What is a fraction for some values is rounded down as a whole, as the quotients of C++ are.
        Ok(expr)
            if *expr.view().denominator != 1.into() && !expr.is_integral(&Assumptions::new()).is_proved() =>
        {
            log.note(Code::Approximated, place, format!("`{trimmed}` may be a fraction and is rounded down"));
            return Ok(expr.floor_div(&Expr::one()));
        }
        Ok(expr) => return Ok(expr),
        Err(error) => error,
    };
    if error.kind != NotPureKind::InexactQuotient {
        return Err(refuse(error.to_string()));
    }
    let rounded = map_expression(tree, &mut rounded_down);
    let expr = Expr::from_expression(&rounded).map_err(|error| refuse(error.to_string()))?;
    log.note(Code::Approximated, place, format!("`{trimmed}` is no integer by its form and is rounded down"));
    Ok(expr)
}

/// SymPy's spellings in ours.
fn spelled(expression: Expression) -> Expression {
    match &expression.kind {
        ExpressionKind::Call { function, arguments } => {
            match (function.text.as_str(), arguments.as_slice()) {
                // A value with an approximation.
                ("SymExpr", [value, _]) => return value.clone(),
                // `//`, as version 2 prints it.
                ("__int_floor", [left, right]) => {
                    return Expression::call("int_floor", vec![left.clone(), right.clone()]);
                }
                ("CMod" | "PyMod" | "FtnMod" | "FtnModulo", [dividend, divisor]) => {
                    return Expression::binary(BinaryOp::Modulo, dividend.clone(), divisor.clone());
                }
                _ => {}
            }
            if let [Expression { kind: ExpressionKind::Binary { op: BinaryOp::Divide, left, right }, .. }] =
                arguments.as_slice()
            {
                let operands = || ((**left).clone(), (**right).clone());
                if function.text == "floor" {
                    let (left, right) = operands();
                    return Expression::binary(BinaryOp::FloorDivide, left, right);
                }
                if function.text == "ceiling" {
                    let (left, right) = operands();
                    return Expression::call("int_ceil", vec![left, right]);
                }
            }
            expression
        }
        ExpressionKind::Float(literal) => {
            let value = literal.value();
            // Beyond 2^53 a float is no witness of an integer.
            if value.fract() == 0.0 && value.abs() < 9e15 {
                Expression::integer(value as i64)
            } else {
                expression
            }
        }
        // Sizes are integers, so exponents in them are not negative, which their counters alone do not tell.
        ExpressionKind::Binary { op: BinaryOp::Power, left, right }
            if !matches!(right.kind, ExpressionKind::Integer(_)) =>
        {
            let exponent = Expression::call("max", vec![(**right).clone(), Expression::integer(0)]);
            Expression::binary(BinaryOp::Power, (**left).clone(), exponent)
        }
        ExpressionKind::Integer(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Name(_)
        | ExpressionKind::Unary { .. }
        | ExpressionKind::Binary { .. }
        | ExpressionKind::Compare { .. }
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Subscript { .. } => expression,
    }
}

fn rounded_down(expression: Expression) -> Expression {
    match expression.kind {
        ExpressionKind::Binary { op: BinaryOp::Divide, left, right } => {
            Expression::binary(BinaryOp::FloorDivide, *left, *right)
        }
        kind => Expression { kind, span: expression.span },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_sympy_have_their_meaning() {
        let log = Log::default();
        let read = |text: &str| symbolic(text, &"x", &log).map(|expr| expr.to_string()).unwrap_or_default();
        assert_eq!(read("N*(N - 1)/2"), "N*(N - 1)/2".parse::<Expr>().unwrap().to_string());
        assert_eq!(read("floor((N + 1)/2)"), "(N + 1) // 2".parse::<Expr>().unwrap().to_string());
        assert_eq!(read("ceiling(N/K)"), "ceil_div(N, K)".parse::<Expr>().unwrap().to_string());
        assert_eq!(read("__int_floor(N + 1, 2) - 1"), read("int_floor(N + 1, 2) - 1"));
        assert_eq!(read("__int_floor(N + 1, 2)"), "(N + 1) // 2".parse::<Expr>().unwrap().to_string());
        assert_eq!(read("int_ceil($N, 2i64)"), "ceil_div(N, 2)".parse::<Expr>().unwrap().to_string());
        assert_eq!(
            read("SymExpr(Min(N, i + 3) - 1, i + 2) + 1"),
            "min(N, i + 3)".parse::<Expr>().unwrap().to_string()
        );
        assert_eq!(read("CMod(i + 1, 2)"), "(i + 1) % 2".parse::<Expr>().unwrap().to_string());
        assert_eq!(read("R**(K - 1)"), "R**max(K - 1, 0)".parse::<Expr>().unwrap().to_string());
        assert_eq!(read("beta + 2.0*S"), "beta + 2*S".parse::<Expr>().unwrap().to_string());
        let (report, failed) = log.finish();
        assert!(!failed && report.findings.is_empty(), "{report}");
        let log = Log::default();
        assert!(symbolic("A[i]", &"x", &log).is_err());
        assert!(symbolic("N/K", &"x", &log).is_ok());
        let (report, _) = log.finish();
        assert_eq!(
            report.findings.iter().map(|found| found.code.name()).collect::<Vec<_>>(),
            ["D004", "D202"]
        );
    }
}
