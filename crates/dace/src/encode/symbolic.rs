//! Integer expressions as texts that SymPy reads and C++ computes.

use sdfg::symbolic::Expr;
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, Name};

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
        assert_eq!(text(&"(N**2 + N) / 2".parse::<Expr>().unwrap()), "int_floor(N ** 2 + N, 2)");
    }
}
