//! Ranges that follow each other, as those of tiles do: part `k` of `c` of `n` iterations is `k n // c:(k + 1) n // c`.

use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Atom, Expr, Symbol};

/// Whether the ranges of different values of `part` share no value: each ends where that of the next value of `part` begins, and the
/// begin is monotone in `part`. If it falls, all of the ranges are empty.
pub(super) fn follow_each_other(range: &Range, part: &Symbol, is_fixed: &dyn Fn(&Symbol) -> bool) -> bool {
    range.tile.is_one()
        && range.step.as_int().is_some_and(|step| step > 0)
        && is_monotone(&range.begin, part, is_fixed)
        && range.begin.with_symbol(part, &(Expr::symbol(part.clone()) + 1)) == range.end
}

/// Whether an expression is, up to summands that are fixed, linear in a symbol or a multiple of the quotient of such a one by a
/// positive constant.
fn is_monotone(expression: &Expr, symbol: &Symbol, is_fixed: &dyn Fn(&Symbol) -> bool) -> bool {
    if is_linear(expression, symbol, is_fixed) {
        return true;
    }
    let is_still = |atom: &Atom| {
        Expr::from_atom(atom.clone()).free_symbols().iter().all(|one| one != symbol && is_fixed(one))
    };
    let view = expression.view();
    let mut moving = view.terms.iter().filter(|term| !term.factors().iter().all(|(atom, _)| is_still(atom)));
    let (Some(term), None) = (moving.next(), moving.next()) else { return false };
    match term.factors() {
        // Whatever the sign of its coefficient.
        [(Atom::FloorDiv(dividend, divisor), 1)] => {
            divisor.as_int().is_some_and(|divisor| divisor > 0) && is_linear(dividend, symbol, is_fixed)
        }
        _ => false,
    }
}

/// Whether each step of a symbol adds the same, fixed value.
fn is_linear(expression: &Expr, symbol: &Symbol, is_fixed: &dyn Fn(&Symbol) -> bool) -> bool {
    let is_still = |part: &Expr| part.free_symbols().iter().all(is_fixed);
    expression.linear_in(symbol).is_some_and(|(slope, rest)| is_still(&slope) && is_still(&rest))
}
