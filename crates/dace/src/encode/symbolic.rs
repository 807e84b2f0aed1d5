//! Integer expressions as texts that SymPy reads and C++ computes.
//!
//! C++ rounds quotients towards zero and ours are rounded down, which differs below zero: what is never above it, if no
//! symbol is below it, is written with its sign changed.

use sdfg::symbolic::{Assumptions, Expr, Truth};
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, Name, UnaryOp};

use crate::text::map_expression;

/// The expression in SymPy's spelling; quotients are `int_floor`, as SymPy would pull fractions apart.
pub(crate) fn text(expr: &Expr) -> String {
    match expr.to_expression() {
        Some(expression) => map_expression(expression, &mut spelled).to_string(),
        // Only constants beyond 64 bits have no form, and no file has them.
        None => expr.to_string(),
    }
}

fn spelled(expression: Expression) -> Expression {
    let span = expression.span;
    let kind = match expression.kind {
        ExpressionKind::Binary { op: BinaryOp::FloorDivide, left, right }
            if let Some(ceiling) = negated_quotient(&left, &right) =>
        {
            Expression::unary(UnaryOp::Negate, ceiling).kind
        }
        ExpressionKind::Binary { op: BinaryOp::Modulo, left, right }
            if let Some(ceiling) = negated_quotient(&left, &right) =>
        {
            let multiple = Expression::binary(BinaryOp::Multiply, *right, ceiling);
            Expression::binary(BinaryOp::Add, *left, multiple).kind
        }
        ExpressionKind::Binary { op: BinaryOp::FloorDivide | BinaryOp::Divide, left, right } => {
            ExpressionKind::Call { function: Name::new("int_floor"), arguments: vec![*left, *right] }
        }
        ExpressionKind::Call { function, arguments } => {
            let name = match function.text.as_str() {
                "min" => "Min",
                "max" => "Max",
                "ceil_div" => "int_ceil",
                other => other,
            };
            ExpressionKind::Call { function: Name::new(name), arguments }
        }
        kind => kind,
    };
    Expression { kind, span }
}

/// The quotient of `-left` and `right`, rounded up, if `left` is never above zero and `right` never below it.
fn negated_quotient(left: &Expression, right: &Expression) -> Option<Expression> {
    let (numerator, divisor) = (-Expr::from_expression(left).ok()?, Expr::from_expression(right).ok()?);
    let mut assumptions = Assumptions::new();
    for symbol in numerator.free_symbols().into_iter().chain(divisor.free_symbols()) {
        assumptions.nonnegative(symbol);
    }
    let is_right =
        [&numerator, &divisor].iter().all(|part| part.is_nonnegative(&assumptions) == Truth::Proved);
    let arguments = vec![map_expression(numerator.to_expression()?, &mut spelled), right.clone()];
    is_right.then(|| Expression::call("int_ceil", arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Log;
    use crate::text::symbolic;

    #[test]
    fn texts_are_read_back() {
        for expr in [
            "2*N + i - 1",
            "N // 2",
            "ceil_div(N, 4)",
            "min(N, 4) - max(i, j + 1)",
            "N % 4 + N**2",
            "0",
            "-i",
        ] {
            let expr: Expr = expr.parse().unwrap();
            let log = Log::default();
            assert_eq!(symbolic(&text(&expr), &"x", &log).unwrap(), expr);
        }
        for (expr, written) in [
            ("-N // 4", "-int_ceil(N, 4)"),
            ("-N % i", "-N + i * int_ceil(N, i)"),
            ("(N - i) // 4", "int_floor(N - i, 4)"),
        ] {
            let expr: Expr = expr.parse().unwrap();
            assert_eq!(text(&expr), written);
            let again = symbolic(written, &"x", &Log::default()).unwrap();
            for size in 0..9 {
                let value = |expr: &Expr| {
                    expr.eval(&|symbol| Some(if symbol.as_str() == "N" { size } else { 2 })).unwrap()
                };
                assert_eq!(value(&expr), value(&again), "{expr} at {size}");
            }
        }
        assert_eq!(text(&"(N**2 + N) / 2".parse::<Expr>().unwrap()), "int_floor(N ** 2 + N, 2)");
    }
}
