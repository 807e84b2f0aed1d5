//! Proof that an expression is an integer for all values of its symbols.

use std::collections::BTreeMap;

use num_integer::Integer as _;
use num_traits::{One, ToPrimitive, Zero};

use super::limits::{Effort, RESIDUE_LIMIT, is_too_large};
use super::prove::Prover;
use super::{Assumptions, Atom, Expr, Integer, Truth};

impl Expr {
    /// Whether the value is an integer. A size, bound or index must be provably so.
    ///
    /// A polynomial over a denominator `d` is periodic in its atoms modulo `d`, so the residues decide.
    #[must_use]
    pub fn is_integral(&self, assumptions: &Assumptions) -> Truth {
        self.is_integral_within(assumptions, &Effort::new())
    }

    pub(super) fn is_integral_within(&self, assumptions: &Assumptions, effort: &Effort) -> Truth {
        if let Some(value) = self.as_rational() {
            return Truth::from_bool(value.is_integer());
        }
        if self.is_integer_polynomial() {
            return Truth::Proved;
        }
        let mut residues: BTreeMap<&Atom, i64> = self.atoms().map(|atom| (atom, 0)).collect();
        if !residues.keys().all(|atom| atom.is_integral_under(assumptions, effort)) {
            return Truth::Unknown;
        }
        if self.0.denominator.is_one() {
            return Truth::Proved;
        }
        let combinations = self
            .0
            .denominator
            .to_u64()
            .and_then(|modulus| modulus.checked_pow(u32::try_from(residues.len()).ok()?))
            .filter(|count| *count <= RESIDUE_LIMIT)
            .filter(|count| effort.spend((*count as u32).saturating_mul(self.parts())));
        let (Some(combinations), Some(modulus)) = (combinations, self.0.denominator.to_i64()) else {
            return Truth::Unknown;
        };
        let mut integral = 0;
        for _ in 0..combinations {
            integral += u64::from(self.numerator_residue(&residues).is_zero());
            for residue in residues.values_mut() {
                *residue += 1;
                if *residue < modulus {
                    break;
                }
                *residue = 0;
            }
        }
        match integral {
            0 => Truth::Refuted,
            _ if integral == combinations => Truth::Proved,
            _ => Truth::Unknown,
        }
    }

    /// The numerator modulo the denominator when atoms have these residues.
    fn numerator_residue(&self, residues: &BTreeMap<&Atom, i64>) -> Integer {
        let modulus = &self.0.denominator;
        let mut sum = Integer::zero();
        for term in &self.0.terms {
            let mut product = term.coefficient.clone();
            for (atom, exponent) in term.factors() {
                let residue = residues.get(atom).copied().unwrap_or(0);
                product *= Integer::from(residue).modpow(&Integer::from(*exponent), modulus);
            }
            sum += product;
        }
        sum.mod_floor(modulus)
    }
}

impl Atom {
    fn is_integral_under(&self, assumptions: &Assumptions, effort: &Effort) -> bool {
        let integral = |operand: &Expr| operand.is_integral_within(assumptions, effort).is_proved();
        match self {
            Atom::Call(..) => !is_too_large(self),
            Atom::Symbol(_) | Atom::FloorDiv(..) | Atom::CeilDiv(..) => true,
            Atom::Mod(..) | Atom::Min(_) | Atom::Max(_) | Atom::Sum(_) => self.operands().all(integral),
            Atom::Pow(base, exponent) => {
                integral(base) && Prover::new(assumptions, effort).nonnegative(exponent)
            }
        }
    }
}
