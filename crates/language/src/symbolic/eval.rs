//! Evaluation at integer values of the symbols.
//!
//! Values within 128 bits use a fast path without allocation. Exact rational arithmetic decides everything
//! else, including errors.

use std::sync::Arc;

use num_integer::Integer as _;
use num_traits::{One, Signed, ToPrimitive, Zero};
use thiserror::Error;

use super::limits::POWER_BITS;
use super::{Atom, Expr, Integer, Rational, Symbol};

/// Why an expression has no value at a point.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvalError {
    /// A symbol without a value.
    #[error("symbol `{0}` has no value")]
    UnknownSymbol(Symbol),
    /// The value does not fit in 64 bits, or a power on the way is too large to compute.
    #[error("the value does not fit in 64 bits")]
    Overflow,
    /// A quotient or remainder by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// The value is a fraction where an integer is needed.
    #[error("the value {value} is not an integer")]
    NotIntegral {
        /// The exact value.
        value: Rational,
    },
    /// Zero to a negative power.
    #[error("zero to a negative power")]
    NegativeExponent,
    /// A call of an opaque function.
    #[error("function `{0}` has no known value")]
    UnknownFunction(Arc<str>),
}

/// The value of each symbol, or `None` when it has none.
pub type Environment<'a> = dyn Fn(&Symbol) -> Option<i64> + 'a;

impl Expr {
    /// The value at the given values of the symbols. Intermediate values are exact, so [`EvalError::Overflow`]
    /// means that the result itself does not fit.
    ///
    /// # Errors
    /// Every [`EvalError`], each as its variant says.
    pub fn eval(&self, environment: &Environment<'_>) -> Result<i64, EvalError> {
        if let Some(value) = self.eval_quick(environment) {
            return i64::try_from(value).map_err(|_| EvalError::Overflow);
        }
        let value = self.eval_exact(environment)?;
        if !value.is_integer() {
            return Err(EvalError::NotIntegral { value });
        }
        value.numer().to_i64().ok_or(EvalError::Overflow)
    }

    /// The value when every step is an integer of at most 128 bits; `None` says nothing.
    pub(super) fn eval_quick(&self, environment: &Environment<'_>) -> Option<i128> {
        let mut sum: i128 = 0;
        for term in &self.0.terms {
            let mut product = term.coefficient.to_i128()?;
            for (atom, exponent) in term.factors() {
                let value = atom.eval_quick(environment)?;
                product = product.checked_mul(value.checked_pow(*exponent)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        if self.0.denominator.is_one() {
            return Some(sum);
        }
        let (quotient, remainder) = sum.div_rem(&self.0.denominator.to_i128()?);
        (remainder == 0).then_some(quotient)
    }

    /// The exact value, which may be a fraction.
    ///
    /// # Errors
    /// As [`Expr::eval`], except that fractions are values.
    pub fn eval_exact(&self, environment: &Environment<'_>) -> Result<Rational, EvalError> {
        let mut sum = Rational::zero();
        for term in &self.0.terms {
            let mut product = Rational::from_integer(term.coefficient.clone());
            for (atom, exponent) in term.factors() {
                let value = atom.eval_exact(environment)?;
                product *= power(&value, &Integer::from(*exponent))?;
            }
            sum += product;
        }
        Ok(sum / &self.0.denominator)
    }

    /// Why evaluation fails whatever the values of the symbols are, where the form of the expression shows it: a part
    /// divides by zero, calls a function that nothing computes or is a power of numbers that is never computed, or all of it is
    /// a constant that does not fit.
    pub fn never_evaluates(&self) -> Option<EvalError> {
        if let Some(value) = self.as_rational() {
            let overflows = value.is_integer() && value.numer().to_i64().is_none();
            return overflows.then_some(EvalError::Overflow);
        }
        self.atoms().find_map(Atom::never_evaluates)
    }
}

impl Atom {
    /// As [`Expr::never_evaluates`]; a part that does not fit 64 bits may still have a value, which is exact.
    fn never_evaluates(&self) -> Option<EvalError> {
        match self {
            Atom::Call(name, _) => return Some(EvalError::UnknownFunction(name.clone())),
            Atom::FloorDiv(_, divisor) | Atom::CeilDiv(_, divisor) | Atom::Mod(_, divisor)
                if divisor.is_zero() =>
            {
                return Some(EvalError::DivisionByZero);
            }
            Atom::Pow(base, exponent) => {
                // Smaller powers of constants are constants.
                if let (Some(base), Some(exponent)) = (base.as_rational(), exponent.as_rational()) {
                    let fraction = !exponent.is_integer();
                    return Some(match (fraction, base.is_zero()) {
                        (true, _) => EvalError::NotIntegral { value: exponent },
                        (false, true) => EvalError::NegativeExponent,
                        (false, false) => EvalError::Overflow,
                    });
                }
            }
            Atom::Symbol(_)
            | Atom::FloorDiv(..)
            | Atom::CeilDiv(..)
            | Atom::Mod(..)
            | Atom::Min(_)
            | Atom::Max(_)
            | Atom::Sum(_) => {}
        }
        self.operands().flat_map(Expr::atoms).find_map(Atom::never_evaluates)
    }

    fn eval_quick(&self, environment: &Environment<'_>) -> Option<i128> {
        let value = |operand: &Expr| operand.eval_quick(environment);
        match self {
            Atom::Symbol(symbol) => environment(symbol).map(i128::from),
            Atom::FloorDiv(a, b) | Atom::CeilDiv(a, b) | Atom::Mod(a, b) => {
                let (a, b) = (value(a)?, value(b)?);
                // `i128::MIN / -1` is the one quotient that overflows.
                if b == 0 || a == i128::MIN {
                    return None;
                }
                Some(match self {
                    Atom::FloorDiv(..) => num_integer::Integer::div_floor(&a, &b),
                    Atom::CeilDiv(..) => num_integer::Integer::div_ceil(&a, &b),
                    _ => num_integer::Integer::mod_floor(&a, &b),
                })
            }
            Atom::Min(operands) => fold_quick(operands, environment, i128::min),
            Atom::Max(operands) => fold_quick(operands, environment, i128::max),
            Atom::Pow(base, exponent) => value(base)?.checked_pow(u32::try_from(value(exponent)?).ok()?),
            Atom::Call(..) => None,
            Atom::Sum(sum) => value(sum),
        }
    }

    fn eval_exact(&self, environment: &Environment<'_>) -> Result<Rational, EvalError> {
        let value = |operand: &Expr| operand.eval_exact(environment);
        match self {
            Atom::Symbol(symbol) => match environment(symbol) {
                Some(value) => Ok(Rational::from_integer(Integer::from(value))),
                None => Err(EvalError::UnknownSymbol(symbol.clone())),
            },
            Atom::FloorDiv(a, b) => Ok(quotient(&value(a)?, &value(b)?)?.floor()),
            Atom::CeilDiv(a, b) => Ok(quotient(&value(a)?, &value(b)?)?.ceil()),
            Atom::Mod(a, b) => {
                let (a, b) = (value(a)?, value(b)?);
                let whole = quotient(&a, &b)?.floor();
                Ok(a - b * whole)
            }
            Atom::Min(operands) => fold_exact(operands, environment, Rational::min),
            Atom::Max(operands) => fold_exact(operands, environment, Rational::max),
            Atom::Pow(base, exponent) => {
                let exponent = value(exponent)?;
                if !exponent.is_integer() {
                    return Err(EvalError::NotIntegral { value: exponent });
                }
                power(&value(base)?, exponent.numer())
            }
            Atom::Call(name, _) => Err(EvalError::UnknownFunction(name.clone())),
            Atom::Sum(sum) => value(sum),
        }
    }
}

fn fold_quick(
    operands: &[Expr],
    environment: &Environment<'_>,
    choose: fn(i128, i128) -> i128,
) -> Option<i128> {
    let mut values = operands.iter().map(|operand| operand.eval_quick(environment));
    let first = values.next()??;
    values.try_fold(first, |best, value| Some(choose(best, value?)))
}

fn fold_exact(
    operands: &[Expr],
    environment: &Environment<'_>,
    choose: fn(Rational, Rational) -> Rational,
) -> Result<Rational, EvalError> {
    let mut best = None;
    for operand in operands {
        let value = operand.eval_exact(environment)?;
        best = Some(match best {
            None => value,
            Some(best) => choose(best, value),
        });
    }
    Ok(best.unwrap_or_else(Rational::zero))
}

fn quotient(a: &Rational, b: &Rational) -> Result<Rational, EvalError> {
    if b.is_zero() { Err(EvalError::DivisionByZero) } else { Ok(a / b) }
}

fn power(base: &Rational, exponent: &Integer) -> Result<Rational, EvalError> {
    if exponent.is_zero() {
        return Ok(Rational::one());
    }
    if base.is_zero() {
        return if exponent.is_negative() { Err(EvalError::NegativeExponent) } else { Ok(base.clone()) };
    }
    if base.is_integer() && base.numer().abs().is_one() {
        return Ok(if exponent.is_even() { Rational::one() } else { base.clone() });
    }
    let bits = base.numer().bits().max(base.denom().bits());
    match exponent.to_i32() {
        Some(small) if u64::from(small.unsigned_abs()).saturating_mul(bits) <= POWER_BITS => {
            Ok(base.pow(small))
        }
        Some(_) | None => Err(EvalError::Overflow),
    }
}
