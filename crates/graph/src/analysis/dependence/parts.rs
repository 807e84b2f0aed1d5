//! Ranges that follow each other, as those of tiles do: part `k` of `c` of `n` iterations is `k n // c:(k + 1) n // c`.
//!
//! A range may be a piece of such a part: it begins at a maximum with the begin of the part, and ends at a minimum with its end, as
//! interior and border of a part do.

use num_traits::{One, Signed, ToPrimitive};
use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Atom, Expr, Symbol, Term};

/// Most bounds of one end of a range that are looked at.
const MOST_BOUNDS: usize = 16;

/// Whether values of `first` and of `second` for different values of `part` are never equal: each range lies within a range that ends where
/// that of the next value of `part` begins, and the begin of these is monotone in `part`. If it falls, all of them are empty.
pub(super) fn are_in_different_parts(
    first: &Range,
    second: &Range,
    part: &Symbol,
    is_fixed: &dyn Fn(&Symbol) -> bool,
) -> bool {
    let ascends = |range: &Range| range.tile.is_one() && range.step.as_int().is_some_and(|step| step > 0);
    if !ascends(first) || !ascends(second) {
        return false;
    }
    let begins = common_bounds(&lower_bounds(&first.begin), &lower_bounds(&second.begin), Side::Lower);
    let ends = common_bounds(&upper_bounds(&first.end), &upper_bounds(&second.end), Side::Upper);
    let next = Expr::symbol(part.clone()) + 1;
    begins.iter().filter(|begin| is_monotone(begin, part, is_fixed)).any(|begin| {
        let begin_of_next = begin.with_symbol(part, &next);
        ends.iter().any(|end| is_at_most(end, &begin_of_next))
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

/// Bounds of both ranges at one side, made of two that differ by an integer: the one that both ranges keep.
fn common_bounds(first: &[Expr], second: &[Expr], side: Side) -> Vec<Expr> {
    let pairs = first.iter().flat_map(|own| second.iter().map(move |other| (own, other)));
    let common = |(own, other): (&Expr, &Expr)| {
        let [least, most] = match is_at_most(own, other) {
            true => [own, other],
            false => is_at_most(other, own).then_some([other, own])?,
        };
        Some(if side == Side::Lower { least } else { most }.clone())
    };
    pairs.filter_map(common).collect()
}

/// Whether one expression is at most another one, from which it differs by a number.
fn is_at_most(lesser: &Expr, greater: &Expr) -> bool {
    (greater - lesser).as_int().is_some_and(|difference| difference >= 0)
}

/// Expressions that a value is at least: the operands of its maximum, or itself.
fn lower_bounds(value: &Expr) -> Vec<Expr> {
    bounds(value, |atom, is_added| match atom {
        Atom::Max(operands) if is_added => Some(operands),
        Atom::Min(operands) if !is_added => Some(operands),
        _ => None,
    })
}

/// Expressions that a value is at most: the operands of its minimum, or itself.
fn upper_bounds(value: &Expr) -> Vec<Expr> {
    bounds(value, |atom, is_added| match atom {
        Atom::Min(operands) if is_added => Some(operands),
        Atom::Max(operands) if !is_added => Some(operands),
        _ => None,
    })
}

/// A value with each operand in the place of a summand that is an extremum, of the kind that `operands_of` takes for an atom that is
/// added or subtracted.
fn bounds<'e>(value: &'e Expr, operands_of: impl Fn(&'e Atom, bool) -> Option<&'e Vec<Expr>>) -> Vec<Expr> {
    let view = value.view();
    let replaced = |term: &'e Term| {
        let [(atom, 1)] = term.factors() else { return None };
        let is_unit = view.denominator.is_one() && term.coefficient().abs().is_one();
        let is_added = !term.coefficient().is_negative();
        let operands = operands_of(atom, is_added).filter(|_| is_unit)?;
        let summand = |value: &Expr| if is_added { value.clone() } else { -value };
        let rest = value - summand(&Expr::from_atom(atom.clone()));
        Some(operands.iter().map(|operand| &rest + summand(operand)).take(MOST_BOUNDS).collect())
    };
    view.terms.iter().find_map(replaced).unwrap_or_else(|| vec![value.clone()])
}

/// Whether an expression is, up to summands that are fixed, linear in a symbol, or a multiple of the quotient of such a one by a
/// positive constant.
fn is_monotone(expression: &Expr, symbol: &Symbol, is_fixed: &dyn Fn(&Symbol) -> bool) -> bool {
    if is_linear(expression, symbol, is_fixed) {
        return true;
    }
    let mut quotients = expression.view().terms.iter().filter_map(|term| match term.factors() {
        [(atom @ Atom::FloorDiv(dividend, divisor), 1)] if dividend.depends_on(symbol) => {
            Some((term, atom, dividend, divisor))
        }
        _ => None,
    });
    let (Some((term, atom, dividend, divisor)), None) = (quotients.next(), quotients.next()) else {
        return false;
    };
    let (Some(divisor), Some(coefficient)) = (divisor.as_int(), term.coefficient().to_i64()) else {
        return false;
    };
    if divisor <= 0 || !expression.view().denominator.is_one() {
        return false;
    }
    let rest = expression - Expr::from_atom(atom.clone()) * coefficient;
    if !rest.depends_on(symbol) {
        // The quotient is monotone whatever its coefficient.
        return rest.free_symbols().iter().all(is_fixed) && is_linear(dividend, symbol, is_fixed);
    }
    // `a // d + b` is `(a + d * b) // d`, and `b - a // d` is `-((a - d * b) // d)`.
    let rest = match coefficient {
        1 => rest,
        -1 => -rest,
        _ => return false,
    };
    is_linear(&(dividend + rest * divisor), symbol, is_fixed)
}

/// Whether each step of a symbol adds the same, fixed value.
fn is_linear(expression: &Expr, symbol: &Symbol, is_fixed: &dyn Fn(&Symbol) -> bool) -> bool {
    let is_still = |part: &Expr| part.free_symbols().iter().all(is_fixed);
    expression.linear_in(symbol).is_some_and(|(slope, rest)| is_still(&slope) && is_still(&rest))
}
