//! Integer expressions as texts that SymPy reads and C++ evaluates.
//!
//! C++ rounds quotients towards zero; our quotients round down. They differ for negative values. A dividend
//! that is never positive is written with its sign changed. A dividend of unknown sign is written in two
//! parts ([`crate::text::rounded_down`]). Divisors are assumed to be positive unless the opposite is known.

use sdfg::symbolic::{Assumptions, Expr, Truth};
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, Name, UnaryOp};

use crate::text::{map_expression, rounded_down};

/// The expression in SymPy's spelling; quotients are `int_floor`, as SymPy would pull fractions apart. `known` is what is known of signs.
pub(crate) fn text(expr: &Expr, known: &Assumptions) -> String {
    match expr.to_expression() {
        Some(expression) => {
            map_expression(expression, &mut |expression| spelled(expression, known)).to_string()
        }
        // Only constants beyond 64 bits have no form, and no file has them.
        None => expr.to_string(),
    }
}

fn spelled(expression: Expression, known: &Assumptions) -> Expression {
    let span = expression.span;
    let kind = match expression.kind {
        ExpressionKind::Binary { op: BinaryOp::FloorDivide | BinaryOp::Divide, left, right } => {
            quotient(&left, &right, known).kind
        }
        ExpressionKind::Binary { op: BinaryOp::Modulo, left, right } => match sign(&left, known) {
            Sign::NotNegative => ExpressionKind::Binary { op: BinaryOp::Modulo, left, right },
            Sign::NotPositive => {
                let ceiling = Expression::call("int_ceil", vec![negated(&left, known), (*right).clone()]);
                let multiple = Expression::binary(BinaryOp::Multiply, *right, ceiling);
                Expression::binary(BinaryOp::Add, *left, multiple).kind
            }
            Sign::Any => {
                let rounded = quotient(&left, &right, known);
                let multiple = Expression::binary(BinaryOp::Multiply, *right, rounded);
                Expression::binary(BinaryOp::Subtract, *left, multiple).kind
            }
        },
        ExpressionKind::Call { function, arguments } => {
            match (function.text.as_str(), arguments.as_slice()) {
                ("ceil_div", [left, right]) => {
                    // Rounded up is rounded down with the other sign.
                    let rounded = match sign(left, known) {
                        Sign::NotNegative => Expression::call("int_ceil", arguments),
                        Sign::NotPositive => {
                            minus(Expression::call("int_floor", vec![negated(left, known), right.clone()]))
                        }
                        Sign::Any => minus(rounded_down(negated(left, known), left.clone(), right)),
                    };
                    rounded.kind
                }
                (name, _) => {
                    let name = match name {
                        "min" => "Min",
                        "max" => "Max",
                        other => other,
                    };
                    ExpressionKind::Call { function: Name::new(name), arguments }
                }
            }
        }
        kind => kind,
    };
    Expression { kind, span }
}

/// On which sides of zero an expression may be.
enum Sign {
    NotNegative,
    NotPositive,
    Any,
}

fn sign(expression: &Expression, known: &Assumptions) -> Sign {
    let Ok(expr) = Expr::from_expression(expression) else { return Sign::Any };
    if expr.is_nonnegative(known) == Truth::Proved {
        Sign::NotNegative
    } else if (-expr).is_nonnegative(known) == Truth::Proved {
        Sign::NotPositive
    } else {
        Sign::Any
    }
}

/// The quotient, rounded down, of operands that are spelled already.
fn quotient(left: &Expression, right: &Expression, known: &Assumptions) -> Expression {
    if !is_constant(right) && matches!(sign(right, known), Sign::NotPositive) {
        return quotient(&negated(left, known), &negated(right, known), known);
    }
    match sign(left, known) {
        Sign::NotNegative => Expression::call("int_floor", vec![left.clone(), right.clone()]),
        Sign::NotPositive => minus(Expression::call("int_ceil", vec![negated(left, known), right.clone()])),
        Sign::Any => rounded_down(left.clone(), negated(left, known), right),
    }
}

/// Zero is on no side, and divides nothing.
fn is_constant(expression: &Expression) -> bool {
    Expr::from_expression(expression).is_ok_and(|expr| expr.is_constant())
}

fn minus(expression: Expression) -> Expression {
    Expression::unary(UnaryOp::Negate, expression)
}

/// The expression with the other sign, multiplied out.
fn negated(expression: &Expression, known: &Assumptions) -> Expression {
    let tree = Expr::from_expression(expression).ok().and_then(|expr| (-expr).to_expression());
    match tree {
        Some(tree) => map_expression(tree, &mut |part| spelled(part, known)),
        None => minus(expression.clone()),
    }
}

#[cfg(test)]
mod tests {
    use sdfg::symbolic::Symbol;
    use sdfg::syntax::parse_expression;

    use super::*;
    use crate::report::Log;
    use crate::text::symbolic;

    /// Nothing is known of `s` and `t`; `i` is in a range.
    fn known() -> Assumptions {
        let mut known = Assumptions::new();
        known.nonnegative(Symbol::of("N")).nonnegative(Symbol::of("j")).positive(Symbol::of("K"));
        known.set_range(Symbol::of("i"), Some(Expr::zero()), Some(Expr::sym("N") - 1));
        known
    }

    /// The evaluator of the text: DaCe's C++, or its Python, which rounds mathematically.
    fn dace(expression: &Expression, is_cpp: bool, value: &dyn Fn(&str) -> i64) -> i64 {
        let of = |expression: &Expression| dace(expression, is_cpp, value);
        match &expression.kind {
            ExpressionKind::Integer(_) => Expr::from_expression(expression).unwrap().as_int().unwrap(),
            ExpressionKind::Name(name) => value(name),
            ExpressionKind::Unary { op: UnaryOp::Negate, operand } => -of(operand),
            ExpressionKind::Binary { op, left, right } => match op {
                BinaryOp::Add => of(left) + of(right),
                BinaryOp::Subtract => of(left) - of(right),
                BinaryOp::Multiply => of(left) * of(right),
                BinaryOp::Power => of(left).pow(u32::try_from(of(right)).unwrap()),
                BinaryOp::Modulo if is_cpp => of(left) % of(right),
                BinaryOp::Modulo => of(left).rem_euclid(of(right)),
                other => panic!("{other:?}"),
            },
            ExpressionKind::Call { function, arguments } => {
                let values: Vec<i64> = arguments.iter().map(of).collect();
                match (function.text.as_str(), values.as_slice()) {
                    ("Max", values) => *values.iter().max().unwrap(),
                    ("Min", values) => *values.iter().min().unwrap(),
                    ("int_floor", [a, b]) if is_cpp => a / b,
                    ("int_floor", [a, b]) => a.div_euclid(*b),
                    ("int_ceil", [a, b]) if is_cpp => (a + b - 1) / b,
                    ("int_ceil", [a, b]) => -(-a).div_euclid(*b),
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_are_read_back_and_mean_the_same_in_dace() {
        for text_of in [
            "2*N + i - 1",
            "N // 2",
            "ceil_div(N, 4)",
            "min(N, 4) - max(i, j + 1)",
            "N % 4 + N**2",
            "0",
            "-i",
            // Of both signs.
            "s // 4",
            "(N - i) // K",
            "(N - j) // K",
            "3*((s - t) // K) - 2*(s // 3)",
            "ceil_div(N - s, K)",
            "ceil_div(-N, K) + -N // 4",
            "s % 4",
            "(s - t) % K + t",
            "min((N - j) % 3, s // 2)",
            "(s // 4) % 3",
            "(s // 4 + t) // K",
        ] {
            let expr: Expr = text_of.parse().unwrap();
            let (known, log) = (known(), Log::default());
            let written = text(&expr, &known);
            assert_eq!(symbolic(&written, &"x", &log).unwrap(), expr, "{written}");
            let tree = parse_expression(&written).unwrap();
            for s in -9..9 {
                for (n, i, t, k) in [(1, 0, 3, 1), (5, 3, -2, 2), (8, 7, 4, 3), (2, 0, -7, 4)] {
                    let value = |name: &str| match name {
                        "s" => s,
                        "t" => t,
                        "N" => n,
                        "K" => k,
                        "i" => i,
                        _ => 6,
                    };
                    let expected = expr.eval(&|symbol| Some(value(symbol.as_str()))).unwrap();
                    let found = [true, false].map(|is_cpp| dace(&tree, is_cpp, &value));
                    assert_eq!(found, [expected; 2], "{written} for s = {s}, N = {n}");
                }
            }
        }
    }

    #[test]
    fn quotients_have_two_parts_only_where_they_need_them() {
        for (expr, written) in [
            ("-N // 4", "-int_ceil(N, 4)"),
            ("-N % K", "-N + K * int_ceil(N, K)"),
            ("(N - i) // 4", "int_floor(N - i, 4)"),
            ("(N - j) // 4", "int_floor(Max(0, N - j), 4) - int_ceil(Max(0, -N + j), 4)"),
            ("N // -K", "-int_ceil(N, K)"),
            ("(N**2 + N) / 2", "int_floor(N ** 2 + N, 2)"),
        ] {
            assert_eq!(text(&expr.parse::<Expr>().unwrap(), &known()), written);
        }
    }
}
