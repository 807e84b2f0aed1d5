//! Sums, products and powers, including products of powers with symbolic exponents.

use std::collections::BTreeMap;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::Arc;

use num_integer::Integer as _;
use num_traits::{One, Signed, ToPrimitive, Zero};
use smallvec::smallvec;

use super::limits::{EXPANDED_EXPONENT, POWER_BITS, PRODUCT_SIZE, TERM_LIMIT};
use super::polynomial::{Monomial, Polynomial};
use super::{Atom, Expr, Integer, Rational, Term};

impl Expr {
    fn plus(&self, other: &Expr) -> Expr {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        Expr(Arc::new(self.0.combine(&Integer::one(), &other.0, &Integer::one())))
    }

    fn minus(&self, other: &Expr) -> Expr {
        if other.is_zero() {
            return self.clone();
        }
        Expr(Arc::new(self.0.combine(&Integer::one(), &other.0, &Integer::from(-1))))
    }

    fn times(&self, other: &Expr) -> Expr {
        if self.is_one() || other.is_zero() {
            return other.clone();
        }
        if other.is_one() || self.is_zero() {
            return self.clone();
        }
        if let Some(constant) = self.as_rational() {
            return other.scale(constant.numer(), constant.denom());
        }
        if let Some(constant) = other.as_rational() {
            return self.scale(constant.numer(), constant.denom());
        }
        let (m, n) = (self.0.terms.len(), other.0.terms.len());
        // What could not be multiplied out is not distributed over either: each term would hold it, and the next product
        // would hold all of these.
        let distributes = m > 1 && other.has_sum() || n > 1 && self.has_sum();
        // What is written once in the one is written in each term of the other.
        let copies = |e: &Expr, times: usize| u64::from(e.parts()) * (times as u64).saturating_sub(1);
        let large = copies(self, n) + copies(other, m) > u64::from(PRODUCT_SIZE);
        if m > 1 && n > 1 && m * n > TERM_LIMIT || distributes || large {
            return self.factored(1).expand(&other.factored(1));
        }
        if self.has_factor_like(other) || other.has_factor_like(self) {
            return self.factored(1).expand(&other.factored(1));
        }
        self.expand(other)
    }

    /// Whether a sum that is kept as a factor occurs.
    pub(super) fn has_sum(&self) -> bool {
        self.atoms().any(|atom| matches!(atom, Atom::Sum(_)))
    }

    /// Whether this is one term with a factored sum that `other` is a constant multiple of.
    fn has_factor_like(&self, other: &Expr) -> bool {
        let [term] = self.0.terms.as_slice() else { return false };
        term.factors().iter().any(|(atom, _)| match atom {
            Atom::Sum(sum) if sum.0.terms.len() == other.0.terms.len() => {
                other.exact_div(sum).is_some_and(|quotient| quotient.is_constant())
            }
            Atom::Sum(_)
            | Atom::Symbol(_)
            | Atom::FloorDiv(..)
            | Atom::CeilDiv(..)
            | Atom::Mod(..)
            | Atom::Min(_)
            | Atom::Max(_)
            | Atom::Pow(..)
            | Atom::Call(..) => false,
        })
    }

    /// The product, multiplied out whatever its size.
    fn expand(&self, other: &Expr) -> Expr {
        let mut terms = Vec::with_capacity(self.0.terms.len() * other.0.terms.len());
        let mut merged = Expr::zero();
        let denominator = &self.0.denominator * &other.0.denominator;
        for a in &self.0.terms {
            for b in &other.0.terms {
                let coefficient = &a.coefficient * &b.coefficient;
                let powers = !a.is_constant()
                    && !b.is_constant()
                    && (a.monomial.has_symbolic_power() || b.monomial.has_symbolic_power());
                match if powers { None } else { a.monomial.times(&b.monomial) } {
                    Some(monomial) => terms.push(Term { monomial, coefficient }),
                    None => {
                        let product = merge_powers(&a.monomial, &b.monomial);
                        merged = merged + product.scale(&coefficient, &denominator);
                    }
                }
            }
        }
        let product = Expr::from_parts(terms, denominator);
        if merged.is_zero() { product } else { product + merged }
    }

    /// `self ** exponent`, Python's precedence and `0 ** 0 == 1`.
    ///
    /// Constant exponents multiply out; a symbolic one makes an atom that absorbs factors of the same base. A
    /// negative exponent gives an exact fraction, and fails to evaluate for base 0.
    #[must_use]
    pub fn pow(&self, exponent: &Expr) -> Expr {
        if let Some(exponent) = exponent.as_int().and_then(|value| u32::try_from(value).ok())
            && self.constant_power_fits(i64::from(exponent))
        {
            return self.power_of(exponent);
        }
        if let (Some(base), Some(exponent)) = (self.as_rational(), exponent.as_int())
            && !base.is_zero()
            && self.constant_power_fits(exponent)
        {
            return if base.numer().abs().is_one() && base.is_integer() {
                if exponent % 2 == 0 { Expr::one() } else { self.clone() }
            } else {
                // A base that is not a unit only fits with a small exponent.
                i32::try_from(exponent)
                    .map_or_else(|_| Expr::one(), |exponent| Expr::constant(&base.pow(exponent)))
            };
        }
        if self.is_one() {
            return Expr::one();
        }
        // (x**n)**K == x**(n*K), for a constant n and a symbolic one alike.
        if let [term] = self.0.terms.as_slice()
            && term.coefficient.is_one()
            && self.0.denominator.is_one()
        {
            match term.factors() {
                [(Atom::Pow(base, inner), 1)] => return base.pow(&(inner * exponent)),
                [(atom, inner)] if *inner > 1 => {
                    return Expr::from_atom(atom.clone()).pow(&(exponent * i64::from(*inner)));
                }
                _ => {}
            }
        }
        let (factor, exponent) = self.split_exponent(exponent);
        let power = Expr::from_atom(Atom::Pow(self.clone(), exponent));
        power.scale(factor.numer(), factor.denom())
    }

    /// `2**(K + 3) == 8 * 2**K`: the constant part of the exponent of a constant base becomes a coefficient, so
    /// that sums of such powers combine.
    fn split_exponent(&self, exponent: &Expr) -> (Rational, Expr) {
        if let Some(base) = self.as_rational()
            && !base.is_zero()
            && !exponent.is_constant()
            && let Some(shift) = exponent.constant_term().floor().to_integer().to_i64()
            && self.constant_power_fits(shift)
            && let Ok(shift) = i32::try_from(shift)
        {
            return (base.pow(shift), exponent - i64::from(shift));
        }
        (Rational::one(), exponent.clone())
    }

    /// Whether this is not a constant, or one whose power stays within [`POWER_BITS`].
    fn constant_power_fits(&self, exponent: i64) -> bool {
        self.as_rational().is_none_or(|base| {
            base.numer().abs().is_one() && base.is_integer()
                || base.numer().bits().max(base.denom().bits()).saturating_mul(exponent.unsigned_abs())
                    <= POWER_BITS
        })
    }

    /// `self ** exponent` for a constant that [`Expr::constant_power_fits`].
    pub(super) fn power_of(&self, exponent: u32) -> Expr {
        match exponent {
            0 => return Expr::one(),
            1 => return self.clone(),
            _ => {}
        }
        match self.0.terms.as_slice() {
            [] => self.clone(),
            [term] => {
                let coefficient = Rational::new_raw(term.coefficient.clone(), self.0.denominator.clone());
                if !Expr::constant(&coefficient).constant_power_fits(i64::from(exponent)) {
                    return Expr::from_atom(Atom::Pow(self.clone(), Expr::int(i64::from(exponent))));
                }
                let (numerator, denominator) =
                    (term.coefficient.pow(exponent), self.0.denominator.pow(exponent));
                let mut power = Expr::one();
                let mut plain = Vec::new();
                for (atom, times) in term.factors() {
                    match (atom, times.checked_mul(exponent)) {
                        (Atom::Pow(base, inner), _) => {
                            power = power * base.pow(&(inner * i64::from(exponent)));
                        }
                        (_, Some(times)) => plain.push((atom.clone(), times)),
                        (_, None) => {
                            let times = Expr::int(i64::from(*times)) * i64::from(exponent);
                            power = power * Expr::from_atom(Atom::Pow(Expr::from_atom(atom.clone()), times));
                        }
                    }
                }
                let plain = Expr::from_monomial(Monomial::from_sorted(plain));
                (plain * power).scale(&numerator, &denominator)
            }
            terms => {
                let bits = terms.iter().map(|term| term.coefficient.bits()).max().unwrap_or(0);
                if !self.power_expands(exponent) || bits * u64::from(exponent) > POWER_BITS {
                    return self.factored(exponent);
                }
                let half = self.power_of(exponent / 2);
                let square = half.expand(&half);
                if exponent.is_odd() { square.expand(self) } else { square }
            }
        }
    }

    /// Whether the power of this sum is multiplied out: whether its square is, and no step has many more products of terms.
    fn power_expands(&self, exponent: u32) -> bool {
        let terms = self.0.terms.len();
        let squares = 2 * u64::from(self.parts()) * (terms as u64 - 1) <= u64::from(PRODUCT_SIZE);
        let each = u64::from(self.parts()) * u64::from(exponent) / terms as u64;
        let fits = |count| u64::from(count) * each <= 2 * u64::from(PRODUCT_SIZE);
        exponent <= EXPANDED_EXPONENT
            && squares
            && terms_of_power(terms, exponent).is_some_and(|count| exponent == 2 || fits(count))
    }

    /// `self ** exponent` as one [`Atom::Sum`] with a coefficient; single terms need no such atom.
    fn factored(&self, exponent: u32) -> Expr {
        if self.0.terms.len() < 2 {
            return self.power_of(exponent);
        }
        let mut content = self.0.content();
        if self.leads_negative() {
            content = -content;
        }
        let factor = Rational::new(content.clone(), self.0.denominator.clone());
        if !Expr::constant(&factor).constant_power_fits(i64::from(exponent)) {
            return Expr::from_atom(Atom::Pow(self.clone(), Expr::int(i64::from(exponent))));
        }
        let primitive = self.scale(&self.0.denominator, &content);
        let monomial = Monomial::from_sorted(vec![(Atom::Sum(primitive), exponent)]);
        let term = Term { monomial, coefficient: content.pow(exponent) };
        let polynomial = Polynomial::collect(smallvec![term], self.0.denominator.pow(exponent));
        Expr(Arc::new(polynomial))
    }
}

/// The number of terms of the `exponent`-th power of a sum of `terms` terms, if it is at most [`TERM_LIMIT`].
fn terms_of_power(terms: usize, exponent: u32) -> Option<u32> {
    // The number of multisets, C(exponent + terms - 1, terms - 1), built up factor by factor.
    let mut count: u128 = 1;
    for k in 1..terms as u128 {
        count = count * (u128::from(exponent) + k) / k;
        if count > TERM_LIMIT as u128 {
            return None;
        }
    }
    u32::try_from(count).ok()
}

/// The product of two monomials where powers with symbolic exponents may share a base: their exponents add up.
fn merge_powers(a: &Monomial, b: &Monomial) -> Expr {
    let mut exponents: BTreeMap<Expr, Expr> = BTreeMap::new();
    for (atom, _) in a.factors().iter().chain(b.factors()) {
        if let Atom::Pow(base, exponent) = atom {
            let total = exponents.entry(base.clone()).or_insert_with(Expr::zero);
            *total = &*total + exponent;
        }
    }
    let mut plain: BTreeMap<Atom, u64> = BTreeMap::new();
    for (atom, exponent) in a.factors().iter().chain(b.factors()) {
        if matches!(atom, Atom::Pow(..)) {
            continue;
        }
        match exponents.get_mut(&Expr::from_atom(atom.clone())) {
            Some(total) => *total = &*total + i64::from(*exponent),
            None => *plain.entry(atom.clone()).or_insert(0) += u64::from(*exponent),
        }
    }
    let mut factors: Vec<(Atom, u32)> = Vec::new();
    for (atom, exponent) in plain {
        match u32::try_from(exponent) {
            Ok(exponent) => factors.push((atom, exponent)),
            Err(_) => {
                let exponent = Expr::big(Integer::from(exponent));
                factors.push((Atom::Pow(Expr::from_atom(atom), exponent), 1));
            }
        }
    }
    let mut collapsed = Expr::one();
    let mut coefficient = Rational::one();
    for (base, exponent) in exponents {
        let power = base.pow(&exponent);
        match power.0.terms.as_slice() {
            [term] if matches!(term.factors(), [(Atom::Pow(kept, _), 1)] if *kept == base) => {
                coefficient *= Rational::new_raw(term.coefficient.clone(), power.0.denominator.clone());
                factors.extend_from_slice(term.factors());
            }
            // The exponents cancelled: what is left no longer has this base, so the recursion ends.
            _ => collapsed = collapsed * power,
        }
    }
    factors.sort();
    let product = Expr::from_monomial(Monomial::from_sorted(factors));
    (product * collapsed).scale(coefficient.numer(), coefficient.denom())
}

/// Implements an operator for owned and borrowed expressions and for integers on the right.
macro_rules! operator {
    ($trait:ident, $method:ident, $implementation:ident) => {
        operator!(@ $trait, $method, $implementation, Expr, Expr, |right| &right);
        operator!(@ $trait, $method, $implementation, Expr, &Expr, |right| right);
        operator!(@ $trait, $method, $implementation, &Expr, Expr, |right| &right);
        operator!(@ $trait, $method, $implementation, &Expr, &Expr, |right| right);
        operator!(@ $trait, $method, $implementation, Expr, i64, |right| &Expr::int(right));
        operator!(@ $trait, $method, $implementation, &Expr, i64, |right| &Expr::int(right));
    };
    (@ $trait:ident, $method:ident, $implementation:ident, $left:ty, $right:ty, |$name:ident| $operand:expr) => {
        impl $trait<$right> for $left {
            type Output = Expr;
            fn $method(self, $name: $right) -> Expr {
                self.$implementation($operand)
            }
        }
    };
}
operator!(Add, add, plus);
operator!(Sub, sub, minus);
operator!(Mul, mul, times);

impl Neg for &Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        self.scale(&Integer::from(-1), &Integer::one())
    }
}

impl Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        -&self
    }
}

impl std::iter::Sum for Expr {
    fn sum<I: Iterator<Item = Expr>>(summands: I) -> Expr {
        summands.fold(Expr::zero(), |sum, summand| sum + summand)
    }
}

impl std::iter::Product for Expr {
    fn product<I: Iterator<Item = Expr>>(factors: I) -> Expr {
        factors.fold(Expr::one(), |product, factor| product * factor)
    }
}
