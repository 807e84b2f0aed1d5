//! Linear forms over integer variables, with symbolic constants.

use std::collections::BTreeMap;

use num_integer::Integer;
use sdfg_language::symbolic::Expr;

/// Magnitude of coefficients. With larger ones, which programs do not have, the answer is unknown.
pub(super) const COEFFICIENT_LIMIT: u64 = 1 << 40;

/// An integer unknown of a [`System`](super::system::System).
pub(super) type Variable = usize;

/// `sum of coefficient * variable + constant`. Coefficients are not zero; the constant mentions no variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Linear {
    pub(super) coefficients: BTreeMap<Variable, i64>,
    pub(super) constant: Expr,
}

impl Linear {
    pub(super) fn constant(constant: Expr) -> Linear {
        Linear { coefficients: BTreeMap::new(), constant }
    }

    pub(super) fn variable(variable: Variable) -> Linear {
        Linear { coefficients: BTreeMap::from([(variable, 1)]), constant: Expr::zero() }
    }

    pub(super) fn coefficient(&self, variable: Variable) -> i64 {
        self.coefficients.get(&variable).copied().unwrap_or(0)
    }

    /// Whether no variable occurs.
    pub(super) fn is_constant(&self) -> bool {
        self.coefficients.is_empty()
    }

    /// `own * self + others * other`; `None` when a coefficient grows too large.
    pub(super) fn combine(&self, own: i64, other: &Linear, others: i64) -> Option<Linear> {
        let mut coefficients = BTreeMap::new();
        for (variable, coefficient) in &self.coefficients {
            coefficients.insert(*variable, coefficient.checked_mul(own)?);
        }
        for (variable, coefficient) in &other.coefficients {
            let entry: &mut i64 = coefficients.entry(*variable).or_default();
            *entry = entry.checked_add(coefficient.checked_mul(others)?)?;
        }
        coefficients.retain(|_, coefficient| *coefficient != 0);
        let small = coefficients.values().all(|coefficient| coefficient.unsigned_abs() <= COEFFICIENT_LIMIT);
        small.then(|| Linear { coefficients, constant: &self.constant * own + &other.constant * others })
    }

    /// The form with a variable replaced by another form.
    pub(super) fn with(&self, variable: Variable, value: &Linear) -> Option<Linear> {
        let coefficient = self.coefficient(variable);
        if coefficient == 0 {
            return Some(self.clone());
        }
        let mut rest = self.clone();
        rest.coefficients.remove(&variable);
        rest.combine(1, value, coefficient)
    }

    /// The form plus a number.
    pub(super) fn plus(&self, number: i64) -> Linear {
        Linear { coefficients: self.coefficients.clone(), constant: &self.constant + number }
    }

    /// The greatest common divisor of the coefficients; 0 without variables.
    pub(super) fn content(&self) -> i64 {
        self.coefficients.values().fold(0, |gcd, coefficient| gcd.gcd(coefficient))
    }
}
