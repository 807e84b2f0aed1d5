//! Three-valued comparisons under assumptions.

use num_integer::Integer as _;
use num_traits::{Signed, Zero};

use super::limits::Effort;
use super::proof_cache;
use super::prove::Prover;
use super::{Assumptions, Atom, Expr, Truth};

/// Facts about the sign of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sign {
    /// Always below 0.
    Negative,
    /// Never above 0.
    NonPositive,
    /// Always 0.
    Zero,
    /// Never below 0.
    NonNegative,
    /// Always above 0.
    Positive,
    /// Nothing was shown.
    Unknown,
}

impl Expr {
    /// `self <= other`.
    #[must_use]
    pub fn le(&self, other: &Expr, assumptions: &Assumptions) -> Truth {
        (other - self).is_nonnegative(assumptions)
    }

    /// `self < other`.
    #[must_use]
    pub fn lt(&self, other: &Expr, assumptions: &Assumptions) -> Truth {
        (other - self).is_positive(assumptions)
    }

    /// `self >= other`.
    #[must_use]
    pub fn ge(&self, other: &Expr, assumptions: &Assumptions) -> Truth {
        other.le(self, assumptions)
    }

    /// `self > other`.
    #[must_use]
    pub fn gt(&self, other: &Expr, assumptions: &Assumptions) -> Truth {
        other.lt(self, assumptions)
    }

    /// `self >= 0`.
    #[must_use]
    pub fn is_nonnegative(&self, assumptions: &Assumptions) -> Truth {
        let prove = |assumptions: &_| self.is_nonnegative_within(assumptions, &Effort::new());
        if self.is_constant() {
            prove(assumptions)
        } else {
            proof_cache::nonnegative(self, assumptions, prove)
        }
    }

    pub(super) fn is_nonnegative_within(&self, assumptions: &Assumptions, effort: &Effort) -> Truth {
        if let Some(value) = self.as_rational() {
            return Truth::from_bool(!value.is_negative());
        }
        let signs = assumptions.signs_of(self);
        if !signs.negative && Prover::new(assumptions, effort).nonnegative(self) {
            Truth::Proved
        } else if !signs.zero && !signs.positive && Prover::new(assumptions, effort).positive(&-self) {
            Truth::Refuted
        } else {
            Truth::Unknown
        }
    }

    /// `self > 0`.
    #[must_use]
    pub fn is_positive(&self, assumptions: &Assumptions) -> Truth {
        !(-self).is_nonnegative(assumptions)
    }

    /// `self == other`.
    #[must_use]
    pub fn equals(&self, other: &Expr, assumptions: &Assumptions) -> Truth {
        let difference = self - other;
        if let Some(value) = difference.as_rational() {
            return Truth::from_bool(value.is_zero());
        }
        if difference.misses_zero() {
            return Truth::Refuted;
        }
        let whole = difference.without_remainders();
        if whole.is_zero() {
            return Truth::Proved;
        }
        if whole.misses_zero() {
            return Truth::Refuted;
        }
        match difference.sign(assumptions) {
            Sign::Zero => Truth::Proved,
            Sign::Negative | Sign::Positive => Truth::Refuted,
            Sign::NonPositive | Sign::NonNegative | Sign::Unknown => Truth::Unknown,
        }
    }

    /// Whether `other` is a whole multiple of this.
    #[must_use]
    pub fn divides(&self, other: &Expr, assumptions: &Assumptions) -> Truth {
        if self.is_zero() {
            return other.equals(&Expr::zero(), assumptions);
        }
        if let Some(quotient) = other.exact_div(self) {
            return quotient.is_integral(assumptions);
        }
        other.modulo(self).equals(&Expr::zero(), assumptions)
    }

    /// The strongest sign that could be shown.
    #[must_use]
    pub fn sign(&self, assumptions: &Assumptions) -> Sign {
        if let Some(value) = self.as_rational() {
            return match value.cmp(&Zero::zero()) {
                std::cmp::Ordering::Less => Sign::Negative,
                std::cmp::Ordering::Equal => Sign::Zero,
                std::cmp::Ordering::Greater => Sign::Positive,
            };
        }
        proof_cache::sign(self, assumptions, |assumptions| self.proved_sign(assumptions))
    }

    fn proved_sign(&self, assumptions: &Assumptions) -> Sign {
        let effort = Effort::new();
        let nonnegative = |expression: &Expr| Prover::new(assumptions, &effort).nonnegative(expression);
        let positive = |expression: &Expr| Prover::new(assumptions, &effort).positive(expression);
        let signs = assumptions.signs_of(self);
        if !signs.negative && nonnegative(self) {
            if !signs.zero && positive(self) {
                Sign::Positive
            } else if !signs.positive && nonnegative(&-self) {
                Sign::Zero
            } else {
                Sign::NonNegative
            }
        } else if !signs.positive && nonnegative(&-self) {
            if !signs.zero && positive(&-self) { Sign::Negative } else { Sign::NonPositive }
        } else {
            Sign::Unknown
        }
    }

    /// Whether no integer values of the symbols give 0, because the constant term is no multiple of the greatest
    /// common divisor of the other coefficients: `2*i - 2*j + 1`.
    fn misses_zero(&self) -> bool {
        let numerator = self.numerator();
        if !numerator.is_integer_polynomial() {
            return false;
        }
        let constant = numerator.constant_term().to_integer();
        let content = (&numerator - Expr::big(constant.clone())).0.content();
        !content.is_zero() && !constant.is_multiple_of(&content)
    }

    /// The same value with `a % b` written as `a - b * (a // b)`, which shows equalities between the two forms, and that
    /// `t % 2` and `(t + 1) % 2` differ.
    fn without_remainders(&self) -> Expr {
        self.map_atoms(&|atom| match atom {
            Atom::Mod(a, b) if !b.is_zero() => Some((a - b * a.floor_div(b)).without_remainders()),
            Atom::Symbol(_)
            | Atom::FloorDiv(..)
            | Atom::CeilDiv(..)
            | Atom::Mod(..)
            | Atom::Min(_)
            | Atom::Max(_)
            | Atom::Pow(..)
            | Atom::Call(..)
            | Atom::Sum(_) => None,
        })
    }
}
