//! Integers of control flow, between code and symbolic expressions.
//!
//! Conditions, bounds of loops and values of assignments are code: it computes in the types of its operands, wraps, and divides by
//! zero. Ranges, subsets and sizes are symbolic expressions, which are exact. An analysis or rewrite that takes the one for the other
//! uses these functions. Both take it that no sum or product of `i64` leaves 64 bits.

use std::collections::BTreeMap;

use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{BinaryOp, Expression, ExpressionKind, UnaryOp};

use super::symbols::UNDECLARED_SYMBOL;
use crate::ir::Sdfg;

/// The largest number of bits by which a shift is a product or quotient of 64-bit integers.
const MOST_SHIFTED: i64 = 62;

/// The symbolic expression that has the value of a control expression in every run.
///
/// `None` if it reads data, or may have another value in code: arithmetic on symbols of other types than `i64` wraps. A
/// quotient or remainder by 0 is 0. A shift by a negative amount shifts all bits out. So divisors and amounts are numbers here. `i64(N)`
/// is the symbol `N` itself.
pub fn integer_of(sdfg: &Sdfg, expression: &Expression) -> Option<Expr> {
    let mut has_casts = false;
    if !is_exact(sdfg, expression, true, &mut has_casts) {
        return None;
    }
    if has_casts {
        Expr::from_expression(&without_casts(expression)).ok()
    } else {
        Expr::from_expression(expression).ok()
    }
}

/// Code of control flow that has the value of a symbolic expression: symbols of other types than `i64` are converted first.
///
/// `None` if a constant does not fit 64 bits, or an operand, as of a minimum, may be a fraction.
pub fn control_code_of(sdfg: &Sdfg, value: &Expr) -> Option<Expression> {
    let code = value.to_expression()?;
    if value.as_symbol().is_some() {
        return Some(code);
    }
    let narrow = value.free_symbols().into_iter().filter(|symbol| type_of(sdfg, symbol) != UNDECLARED_SYMBOL);
    let cast = |symbol: Symbol| {
        let name = Expression::name(symbol.as_str());
        (symbol.as_str().to_owned(), Expression::call(UNDECLARED_SYMBOL.name(), vec![name]))
    };
    let casts: BTreeMap<String, Expression> = narrow.map(cast).collect();
    Some(if casts.is_empty() { code } else { code.replace_names(&casts) })
}

/// Whether every name in a control expression is that of a symbol or container of `i64`. Otherwise, parts of it may have other types.
pub fn computes_in_i64(sdfg: &Sdfg, expression: &Expression) -> bool {
    let is_i64 = |name: &str| match sdfg.find_container(name) {
        Some(id) => sdfg.container(id).element.as_scalar() == Some(ScalarType::I64),
        None => Symbol::new(name).is_ok_and(|symbol| type_of(sdfg, &symbol) == ScalarType::I64),
    };
    expression.names().into_iter().all(is_i64)
}

fn type_of(sdfg: &Sdfg, symbol: &Symbol) -> ScalarType {
    sdfg.symbol_type(symbol).unwrap_or(UNDECLARED_SYMBOL)
}

/// Whether code computes what the symbolic expression says. An expression that is `alone` is no operand of arithmetic.
fn is_exact(sdfg: &Sdfg, expression: &Expression, alone: bool, has_casts: &mut bool) -> bool {
    let mut operand = |of: &Expression| is_exact(sdfg, of, false, has_casts);
    match &expression.kind {
        ExpressionKind::Integer(_) => true,
        ExpressionKind::Name(name) => {
            let Ok(symbol) = Symbol::new(name) else { return false };
            let ty = type_of(sdfg, &symbol);
            let fits = ty == ScalarType::I64 || alone && ty.is_integer() && ty != ScalarType::U64;
            fits && sdfg.find_container(name).is_none()
        }
        ExpressionKind::Unary { op: UnaryOp::Negate | UnaryOp::Plus, operand: of } => operand(of),
        ExpressionKind::Binary { op, left, right } => {
            let number = || Expr::from_expression(right).ok()?.as_int();
            let is_defined = match op {
                BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => true,
                BinaryOp::FloorDivide | BinaryOp::Modulo => number().is_some_and(|divisor| divisor != 0),
                BinaryOp::Power => number().is_some_and(|exponent| exponent >= 0),
                BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                    number().is_some_and(|amount| (0..=MOST_SHIFTED).contains(&amount))
                }
                BinaryOp::Divide
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor => false,
            };
            is_defined && operand(left) && operand(right)
        }
        ExpressionKind::Call { function, arguments } => {
            match (function.text.as_str(), arguments.as_slice()) {
                ("i64", [of]) => {
                    *has_casts = true;
                    is_exact(sdfg, of, true, has_casts)
                }
                ("min" | "Min" | "max" | "Max" | "abs" | "Abs", all) => all.iter().all(operand),
                ("int_floor" | "floor_div" | "int_ceil" | "ceil_div" | "mod" | "Mod", [of, divisor]) => {
                    let divisor = Expr::from_expression(divisor).ok().and_then(|divisor| divisor.as_int());
                    divisor.is_some_and(|divisor| divisor != 0) && operand(of)
                }
                _ => false,
            }
        }
        ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Unary { .. }
        | ExpressionKind::Compare { .. }
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Subscript { .. } => false,
    }
}

/// The expression with what is converted to `i64` in the place of the conversion, which is exact.
fn without_casts(expression: &Expression) -> Expression {
    expression.rewrite(&mut |part| match &part.kind {
        ExpressionKind::Call { function, arguments } if function.text == UNDECLARED_SYMBOL.name() => {
            arguments.first().cloned()
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sdfg_language::syntax::parse_expression;

    fn program() -> Sdfg {
        let text = "sdfg p {\n  symbol N: i64\n  symbol M: i64\n  symbol b: u8\n  symbol w: u64\n  scalar s: i64\n}\n";
        crate::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    #[test]
    fn code_that_may_have_another_value_is_no_integer() {
        let sdfg = program();
        let known = |text: &str| integer_of(&sdfg, &parse_expression(text).expect("an expression"));
        for text in [
            "2 * N - M + 1",
            "-N // 4",
            "N % -3",
            "N << 3",
            "N >> 62",
            "N ** 2",
            "min(N, M, 0)",
            "ceil_div(N, 8)",
            "abs(N)",
            "b",
            "undeclared + 1",
        ] {
            let exact: Expr = text.parse().expect("a symbolic expression");
            assert_eq!(known(text), Some(exact), "{text}");
        }
        assert_eq!(known("i64(b) + i64(N)"), Some(Expr::sym("b") + Expr::sym("N")));
        assert_eq!(known("-min(i64(b), N // 2)"), "-min(b, N // 2)".parse().ok());
        for text in [
            "M // M",
            "N % M",
            "N // 0",
            "N % 0",
            "N / 2",
            "N >> M",
            "N << -1",
            "N << 63",
            "2 ** N",
            "N ** -1",
            "ceil_div(N, M)",
            "mod(N, 0)",
            "b + 1",
            "-b",
            "min(b, 3)",
            "w",
            "i64(w)",
            "i64(b + 1)",
            "s",
            "s + 1",
            "u8(N)",
            "g(N)",
            "N & 1",
            "N < 1",
            "1.0",
            "~N",
            "N if N < M else M",
        ] {
            assert_eq!(known(text), None, "{text}");
        }
    }

    #[test]
    fn narrow_symbols_are_converted_before_arithmetic() {
        let sdfg = program();
        let code = |text: &str| {
            let value: Expr = text.parse().expect("a symbolic expression");
            control_code_of(&sdfg, &value).expect("code").to_string()
        };
        assert_eq!(code("b"), "b");
        assert_eq!(code("N - 1"), "N - 1");
        assert_eq!(code("b - 1"), "i64(b) - 1");
        assert_eq!(code("min(N, 2 * w)"), "min(N, 2 * i64(w))");
    }
}
