//! Affine parts and closed forms of sums.

use num_integer::binomial;
use num_traits::{One, Zero};

use super::limits::DEGREE_LIMIT;
use super::{Atom, Expr, Integer, Rational, Symbol};
use crate::subset::Range;

impl Expr {
    /// `(coefficient, rest)` with `self == coefficient * symbol + rest` and neither part dependent on the symbol.
    #[must_use]
    pub fn linear_in(&self, symbol: &Symbol) -> Option<(Expr, Expr)> {
        let mut parts = (Expr::zero(), Expr::zero());
        for (exponent, coefficient) in self.polynomial_in(symbol)? {
            match exponent {
                0 => parts.1 = coefficient,
                1 => parts.0 = coefficient,
                _ => return None,
            }
        }
        Some(parts)
    }

    /// The sum over all values of `symbol` in the range, as a closed form in the bounds.
    ///
    /// `None` unless the expression is a polynomial of moderate degree in the symbol and the tile of the range is
    /// one. The form counts [`Range::steps`] values and is therefore the sum only where the range does not end before
    /// it begins: an empty range gives 0 when its end equals its begin, but not when it lies further back.
    #[must_use]
    pub fn sum_over(&self, symbol: &Symbol, range: &Range) -> Option<Expr> {
        if !range.tile.is_one() {
            return None;
        }
        // The k-th value is begin + k * step; summing over k = 0, 1, ..., n - 1 only needs sums of powers of k.
        let count = range.steps();
        let value = &range.begin + Expr::symbol(symbol.clone()) * &range.step;
        if range.begin.depends_on(symbol) || range.step.depends_on(symbol) || count.depends_on(symbol) {
            return None;
        }
        // The same for each of them.
        if !self.depends_on(symbol) && !self.has_sum() {
            return Some(self * count);
        }
        self.polynomial_in(symbol)?;
        let coefficients = self.with_symbol(symbol, &value).polynomial_in(symbol)?;
        let mut sum = Expr::zero();
        for (exponent, coefficient) in coefficients {
            if exponent > DEGREE_LIMIT {
                return None;
            }
            sum = sum + coefficient * power_sum(&count, exponent);
        }
        Some(sum)
    }

    /// The coefficients of the powers of a symbol, which occurs nowhere else.
    fn polynomial_in(&self, symbol: &Symbol) -> Option<Vec<(u32, Expr)>> {
        let coefficients = self.coefficients_of(&Atom::Symbol(symbol.clone()));
        coefficients.iter().all(|(_, coefficient)| !coefficient.depends_on(symbol)).then_some(coefficients)
    }
}

/// `0**p + 1**p + ... + (n - 1)**p` as a polynomial in `n`, by Faulhaber's formula with Bernoulli numbers.
fn power_sum(n: &Expr, p: u32) -> Expr {
    if p == 0 {
        return n.clone();
    }
    let bernoulli = bernoulli_numbers(p);
    let mut sum = Expr::zero();
    for (j, number) in (0..=p).zip(&bernoulli) {
        let weight = number * Rational::from_integer(binomial(Integer::from(p + 1), Integer::from(j)));
        sum = sum + n.pow(&Expr::int(i64::from(p + 1 - j))) * Expr::constant(&weight);
    }
    sum.scale(&Integer::one(), &Integer::from(p + 1))
}

/// The Bernoulli numbers `B_0` to `B_p`, with `B_1 = -1/2`.
fn bernoulli_numbers(p: u32) -> Vec<Rational> {
    let mut numbers: Vec<Rational> = vec![Rational::one()];
    for m in 1..=p {
        let mut sum = Rational::zero();
        for (j, number) in (0..m).zip(&numbers) {
            sum += number * Rational::from_integer(binomial(Integer::from(m + 1), Integer::from(j)));
        }
        numbers.push(-sum / Rational::from_integer(Integer::from(m + 1)));
    }
    numbers
}
