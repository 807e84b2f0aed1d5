//! Integer formulas beyond affine ones, prepared for repeated evaluation in 128 bits.
//!
//! They follow the canonical form of [`Expr`]. If they have no result (overflow, division by zero, a
//! fraction), the exact evaluation of the expression decides.

use num_integer::Integer;
use num_traits::ToPrimitive;
use sdfg_language::symbolic::{Atom, Expr};

use super::index::Slots;

/// `(sum of terms) / denominator`.
#[derive(Clone, Debug)]
pub(super) struct Formula {
    terms: Box<[Term]>,
    denominator: i128,
}

#[derive(Clone, Debug)]
struct Term {
    coefficient: i128,
    factors: Box<[(Factor, u32)]>,
}

#[derive(Clone, Debug)]
enum Factor {
    Symbol(u32),
    FloorDiv(Box<[Formula; 2]>),
    CeilDiv(Box<[Formula; 2]>),
    Mod(Box<[Formula; 2]>),
    Min(Box<[Formula]>),
    Max(Box<[Formula]>),
    Sum(Box<Formula>),
}

impl Formula {
    /// Prepares an expression; `None` for forms that only exact evaluation knows.
    pub(super) fn new(expr: &Expr, slots: &mut Slots<'_>) -> Option<Self> {
        let view = expr.view();
        let mut terms = Vec::with_capacity(view.terms.len());
        for term in view.terms {
            let mut factors = Vec::with_capacity(term.factors().len());
            for (atom, exponent) in term.factors() {
                factors.push((Factor::new(atom, slots)?, *exponent));
            }
            let coefficient = term.coefficient().to_i128()?;
            terms.push(Term { coefficient, factors: factors.into_boxed_slice() });
        }
        Some(Formula { terms: terms.into_boxed_slice(), denominator: view.denominator.to_i128()? })
    }

    /// The value; `None` says nothing.
    pub(super) fn eval(&self, symbols: &[Option<i64>]) -> Option<i128> {
        let mut sum: i128 = 0;
        for term in &self.terms {
            let mut product = term.coefficient;
            for (factor, exponent) in &term.factors {
                let value = factor.eval(symbols)?;
                product = product.checked_mul(value.checked_pow(*exponent)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        if self.denominator == 1 {
            return Some(sum);
        }
        (sum % self.denominator == 0).then(|| sum / self.denominator)
    }
}

impl Factor {
    fn new(atom: &Atom, slots: &mut Slots<'_>) -> Option<Self> {
        let mut pair =
            |a: &Expr, b: &Expr| Some(Box::new([Formula::new(a, slots)?, Formula::new(b, slots)?]));
        Some(match atom {
            Atom::Symbol(symbol) => Factor::Symbol(slots(symbol)),
            Atom::FloorDiv(a, b) => Factor::FloorDiv(pair(a, b)?),
            Atom::CeilDiv(a, b) => Factor::CeilDiv(pair(a, b)?),
            Atom::Mod(a, b) => Factor::Mod(pair(a, b)?),
            Atom::Min(all) => Factor::Min(all.iter().map(|e| Formula::new(e, slots)).collect::<Option<_>>()?),
            Atom::Max(all) => Factor::Max(all.iter().map(|e| Formula::new(e, slots)).collect::<Option<_>>()?),
            Atom::Sum(sum) => Factor::Sum(Box::new(Formula::new(sum, slots)?)),
            Atom::Pow(..) | Atom::Call(..) => return None,
        })
    }

    fn eval(&self, symbols: &[Option<i64>]) -> Option<i128> {
        // `i128::MIN / -1` is the one quotient that overflows.
        let quotient = |[a, b]: &[Formula; 2], divide: fn(&i128, &i128) -> i128| {
            let (a, b) = (a.eval(symbols)?, b.eval(symbols)?);
            (b != 0 && a != i128::MIN).then(|| divide(&a, &b))
        };
        let fold = |all: &[Formula], choose: fn(i128, i128) -> i128| {
            let mut values = all.iter().map(|formula| formula.eval(symbols));
            let first = values.next()??;
            values.try_fold(first, |best, value| Some(choose(best, value?)))
        };
        match self {
            Factor::Symbol(slot) => symbols[*slot as usize].map(i128::from),
            Factor::FloorDiv(pair) => quotient(pair, Integer::div_floor),
            Factor::CeilDiv(pair) => quotient(pair, Integer::div_ceil),
            Factor::Mod(pair) => quotient(pair, Integer::mod_floor),
            Factor::Min(all) => fold(all, i128::min),
            Factor::Max(all) => fold(all, i128::max),
            Factor::Sum(sum) => sum.eval(symbols),
        }
    }
}
