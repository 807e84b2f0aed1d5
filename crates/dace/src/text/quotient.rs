//! Quotients of possibly negative operands: DaCe's C++ rounds them towards zero; its Python and ours round
//! down.
//!
//! All agree on non-negative operands. Therefore `x // y` is written as
//! `int_floor(Max(0, x), y) - int_ceil(Max(0, -x), y)`, of which one part is always zero. The reader
//! recognises this form, even if DaCe has reordered the sum.

use sdfg::symbolic::Expr;
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, UnaryOp};

/// `x // y`, from `x` and `-x`.
pub(crate) fn rounded_down(x: Expression, negated: Expression, y: &Expression) -> Expression {
    let part = |function: &str, x: Expression| {
        let above = Expression::call("Max", vec![Expression::integer(0), x]);
        Expression::call(function, vec![above, y.clone()])
    };
    Expression::binary(BinaryOp::Subtract, part("int_floor", x), part("int_ceil", negated))
}

/// A sum with quotients where it has their two parts.
pub(crate) fn joined(expression: Expression) -> Expression {
    // Nearly no text has quotients of this form, and all texts come by here.
    if !is_sum(&expression)
        || !has(&expression, &|part| call(part).is_some_and(|(name, _)| name == "int_floor"))
    {
        return expression;
    }
    let mut terms = Vec::new();
    terms_of(&expression, false, &mut terms);
    let mut is_changed = false;
    while let Some((first, second, quotient)) = pair(&terms) {
        terms.remove(first.max(second));
        terms.remove(first.min(second));
        terms.insert(first.min(second), quotient);
        is_changed = true;
    }
    if is_changed { sum_of(terms) } else { expression }
}

/// A symbolic sum with remainders where it has `x - y * (x // y)`.
pub(crate) fn with_remainders(expression: Expression) -> Expression {
    let is_quotient =
        |part: &Expression| matches!(part.kind, ExpressionKind::Binary { op: BinaryOp::FloorDivide, .. });
    if is_sum(&expression) && has(&expression, &is_quotient) {
        remainder(&expression).unwrap_or(expression)
    } else {
        expression
    }
}

fn is_sum(expression: &Expression) -> bool {
    matches!(expression.kind, ExpressionKind::Binary { op: BinaryOp::Add | BinaryOp::Subtract, .. })
}

fn has(expression: &Expression, wanted: &dyn Fn(&Expression) -> bool) -> bool {
    let mut is_there = false;
    expression.visit(&mut |part| is_there |= wanted(part));
    is_there
}

/// `x - y * (x // y)` in code, where `x` and `y` may be data, as the remainder that it is.
///
/// They differ for a divisor of 0, which the code of such files has no meaning for.
pub(crate) fn as_remainder(expression: Expression) -> Expression {
    let ExpressionKind::Binary { op: BinaryOp::Subtract, left, right } = &expression.kind else {
        return expression;
    };
    let ExpressionKind::Binary { op: BinaryOp::Multiply, left: y, right: quotient } = &right.kind else {
        return expression;
    };
    match &quotient.kind {
        ExpressionKind::Binary { op: BinaryOp::FloorDivide, left: x, right: divisor }
            if are_equal(left, x) && are_equal(y, divisor) =>
        {
            Expression::binary(BinaryOp::Modulo, (**x).clone(), (**divisor).clone())
        }
        _ => expression,
    }
}

/// A summand: factors, and whether it is subtracted.
#[derive(Clone)]
struct Summand {
    is_negative: bool,
    factors: Vec<Expression>,
}

fn terms_of(expression: &Expression, is_negative: bool, terms: &mut Vec<Summand>) {
    match &expression.kind {
        ExpressionKind::Binary { op: BinaryOp::Add, left, right } => {
            terms_of(left, is_negative, terms);
            terms_of(right, is_negative, terms);
        }
        ExpressionKind::Binary { op: BinaryOp::Subtract, left, right } => {
            terms_of(left, is_negative, terms);
            terms_of(right, !is_negative, terms);
        }
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => terms_of(operand, !is_negative, terms),
        _ => {
            let mut summand = Summand { is_negative, factors: Vec::new() };
            factors_of(expression, &mut summand);
            terms.push(summand);
        }
    }
}

fn factors_of(expression: &Expression, summand: &mut Summand) {
    match &expression.kind {
        ExpressionKind::Binary { op: BinaryOp::Multiply, left, right } => {
            factors_of(left, summand);
            factors_of(right, summand);
        }
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => {
            summand.is_negative = !summand.is_negative;
            factors_of(operand, summand);
        }
        _ => summand.factors.push(expression.clone()),
    }
}

fn product_of(factors: &[Expression]) -> Expression {
    let product =
        factors.iter().cloned().reduce(|left, right| Expression::binary(BinaryOp::Multiply, left, right));
    product.unwrap_or_else(|| Expression::integer(1))
}

fn sum_of(terms: Vec<Summand>) -> Expression {
    let sum = terms.into_iter().fold(None, |sum: Option<Expression>, term| {
        let product = product_of(&term.factors);
        Some(match (sum, term.is_negative) {
            (None, false) => product,
            (None, true) => Expression::unary(UnaryOp::Negate, product),
            (Some(sum), false) => Expression::binary(BinaryOp::Add, sum, product),
            (Some(sum), true) => Expression::binary(BinaryOp::Subtract, sum, product),
        })
    });
    sum.unwrap_or_else(|| Expression::integer(0))
}

/// A part of a quotient: what else the summand multiplies, `x` of `Max(0, x)`, and the divisor.
struct Part {
    others: Vec<Expression>,
    x: Expression,
    y: Expression,
}

fn part(summand: &Summand, name: &str) -> Option<Part> {
    let found = |factor: &Expression| {
        let (function, arguments) = call(factor)?;
        let [x, y] = arguments else { return None };
        let (Some(("Max" | "max", extremum)), true) = (call(x), function == name) else { return None };
        let x = match extremum {
            [zero, x] | [x, zero] if zero.kind == ExpressionKind::Integer(0) => x,
            _ => return None,
        };
        Some((x.clone(), y.clone()))
    };
    let (at, (x, y)) =
        summand.factors.iter().enumerate().find_map(|(at, factor)| Some((at, found(factor)?)))?;
    let mut others = summand.factors.clone();
    others.remove(at);
    Some(Part { others, x, y })
}

fn call(expression: &Expression) -> Option<(&str, &[Expression])> {
    match &expression.kind {
        ExpressionKind::Call { function, arguments } => Some((&function.text, arguments)),
        _ => None,
    }
}

/// Two summands that are one quotient, and this one.
fn pair(terms: &[Summand]) -> Option<(usize, usize, Summand)> {
    for (first, floor) in terms.iter().enumerate() {
        let Some(down) = part(floor, "int_floor") else { continue };
        for (second, ceiling) in terms.iter().enumerate() {
            let Some(up) = part(ceiling, "int_ceil") else { continue };
            let is_pair = floor.is_negative != ceiling.is_negative
                && are_equal(&product_of(&down.others), &product_of(&up.others))
                && are_equal(&down.y, &up.y)
                && are_opposite(&down.x, &up.x);
            if is_pair {
                let mut factors = down.others;
                factors.push(Expression::binary(BinaryOp::FloorDivide, down.x, down.y));
                return Some((first, second, Summand { is_negative: floor.is_negative, factors }));
            }
        }
    }
    None
}

/// Whether two expressions are the same, as polynomials if they are ones.
fn are_equal(left: &Expression, right: &Expression) -> bool {
    match (Expr::from_expression(left), Expr::from_expression(right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left.to_string() == right.to_string(),
    }
}

/// Whether two expressions have opposite values: as polynomials, or as one with a minus in front of it and without.
fn are_opposite(left: &Expression, right: &Expression) -> bool {
    match (&left.kind, &right.kind) {
        (_, ExpressionKind::Unary { op: UnaryOp::Negate, operand }) => are_equal(left, operand),
        (ExpressionKind::Unary { op: UnaryOp::Negate, operand }, _) => are_equal(operand, right),
        _ => are_equal(left, &Expression::unary(UnaryOp::Negate, right.clone())),
    }
}

/// A sum with a remainder in the place of `x` and `y * (x // y)`, if it gets shorter by it.
fn remainder(sum: &Expression) -> Option<Expression> {
    let mut terms = Vec::new();
    terms_of(sum, false, &mut terms);
    let all = Expr::from_expression(sum).ok()?;
    terms.iter().find_map(|term| {
        let at = term.factors.iter().position(|factor| {
            matches!(factor.kind, ExpressionKind::Binary { op: BinaryOp::FloorDivide, .. })
        })?;
        let ExpressionKind::Binary { left, right, .. } = &term.factors[at].kind else { return None };
        let (x, y) = (Expr::from_expression(left).ok()?, Expr::from_expression(right).ok()?);
        let mut others = term.factors.clone();
        others.remove(at);
        let times = Expr::from_expression(&product_of(&others)).ok()?;
        let times = if term.is_negative { times } else { -times };
        // `times * (x // y)` is subtracted: `times / y` remainders.
        let count = times.exact_div(&y).filter(|count| *count.view().denominator == 1.into())?;
        let rest = &all - &count * &x + &times * x.floor_div(&y);
        let found = rest + count * x.modulo(&y);
        if found.view().terms.len() < all.view().terms.len() { found.to_expression() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use sdfg::syntax::{map_expression, parse_expression};

    use super::*;

    #[test]
    fn parts_of_a_quotient_are_read_as_one() {
        for (text, expected) in [
            ("int_floor(Max(0, N - i), 4) - int_ceil(Max(0, i - N), 4)", "(N - i) // 4"),
            ("2 - int_ceil(Max(0, i - N), M) + int_floor(Max(0, N - i), M)", "2 + (N - i) // M"),
            ("3*int_floor(Max(N - i, 0), M) + k - 3*int_ceil(Max(i - N, 0), M)", "3 * ((N - i) // M) + k"),
            ("int_ceil(Max(0, i), 4) - int_floor(Max(0, -i), 4)", "-(-i // 4)"),
            ("int_floor(Max(0, A[i]), 2) - int_ceil(Max(0, -A[i]), 2)", "A[i] // 2"),
            // These are none.
            ("int_floor(Max(0, i), 4) - int_ceil(Max(0, i), 4)", ""),
            ("int_floor(Max(0, i), 4) + int_ceil(Max(0, -i), 4)", ""),
            ("int_floor(Max(0, i), 4) - int_ceil(Max(0, -i), 5)", ""),
            ("2*int_floor(Max(0, i), 4) - int_ceil(Max(0, -i), 4)", ""),
            ("int_floor(Max(1, i), 4) - int_ceil(Max(1, -i), 4)", ""),
        ] {
            let tree = parse_expression(text).unwrap();
            let expected = if expected.is_empty() { tree.to_string() } else { expected.to_owned() };
            assert_eq!(map_expression(tree, &mut joined).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn remainders_in_code_may_be_of_data() {
        for (text, expected) in [
            ("A[i] - 2 * (int_floor(Max(0, A[i]), 2) - int_ceil(Max(0, -A[i]), 2))", "A[i] % 2"),
            ("k + 1 - n * (int_floor(Max(0, k + 1), n) - int_ceil(Max(0, -(k + 1)), n))", "(k + 1) % n"),
            ("A[i] - 2 * (B[i] // 2)", "A[i] - 2 * (B[i] // 2)"),
            ("A[i] - 3 * (A[i] // 2)", "A[i] - 3 * (A[i] // 2)"),
        ] {
            let tree =
                map_expression(parse_expression(text).unwrap(), &mut |part| as_remainder(joined(part)));
            assert_eq!(tree.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn what_a_quotient_leaves_is_a_remainder() {
        for (text, expected) in [
            ("i - 4*int_floor(Max(0, i), 4) + 4*int_ceil(Max(0, -i), 4)", "i % 4"),
            ("i - N*(i // N)", "i % N"),
            ("j + 3*i - 3*N*(i // N)", "j + 3 * (i % N)"),
            ("N*(i // N) - i", "-(i % N)"),
            ("i - 2*N*(i // N)", "i - 2 * N * (i // N)"),
            ("i - 4*(j // 4)", "i - 4 * (j // 4)"),
        ] {
            let tree =
                map_expression(parse_expression(text).unwrap(), &mut |part| with_remainders(joined(part)));
            assert_eq!(tree.to_string(), expected, "{text}");
        }
    }
}
