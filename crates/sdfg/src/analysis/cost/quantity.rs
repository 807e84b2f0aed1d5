//! Quantities: numbers of bytes or operations as expressions, with how exact they are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::ir::Volume;
use crate::subset::Range;
use crate::symbolic::{Assumptions, Environment, EvalError, Expr, Symbol};

/// A number that is known, bounded, or known in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// What is known: the number, or a bound of it.
    pub known: Expr,
    /// Whether `known` is only an upper bound.
    pub at_most: bool,
    /// Whether something comes on top that only running decides.
    pub unknown: bool,
}

impl Quantity {
    /// Nothing.
    pub fn zero() -> Self {
        Quantity::exact(Expr::zero())
    }

    /// Exactly so many.
    pub fn exact(known: Expr) -> Self {
        Quantity { known, at_most: false, unknown: false }
    }

    /// A number that nothing tells.
    pub fn undetermined() -> Self {
        Quantity { known: Expr::zero(), at_most: false, unknown: true }
    }

    /// The volume of a memlet.
    pub fn of_volume(volume: &Volume) -> Self {
        match volume {
            Volume::Exact(n) => Quantity::exact(n.clone()),
            Volume::AtMost(n) => Quantity::exact(n.clone()).bounded(),
            Volume::Dynamic => Quantity::undetermined(),
        }
    }

    /// Whether this is the number itself.
    pub fn is_exact(&self) -> bool {
        !self.at_most && !self.unknown
    }

    /// Whether this is exactly nothing.
    pub fn is_zero(&self) -> bool {
        !self.unknown && self.known.is_zero()
    }

    /// The same as an upper bound; nothing stays nothing.
    #[must_use]
    pub fn bounded(self) -> Self {
        let at_most = self.at_most || !self.known.is_zero();
        Quantity { at_most, ..self }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Quantity) -> Self {
        Quantity {
            known: &self.known + &other.known,
            at_most: self.at_most || other.at_most,
            unknown: self.unknown || other.unknown,
        }
    }

    /// So many times.
    #[must_use]
    pub fn times(&self, factor: &Expr) -> Self {
        Quantity { known: &self.known * factor, ..self.clone() }
    }

    /// The one or the other, whichever is larger: a bound unless they are equal.
    #[must_use]
    pub fn either(&self, other: &Quantity) -> Self {
        if self == other {
            return self.clone();
        }
        let known = Expr::max(&self.known, &other.known);
        Quantity { known, at_most: true, unknown: self.unknown || other.unknown }
    }

    /// The sum over all values of the symbols, later ranges may mention earlier symbols; exact for every value of the
    /// other symbols, also where a range is empty. What has no closed form is unknown.
    #[must_use]
    pub fn summed_over(&self, parameters: &[(Symbol, Range)], known: &Assumptions) -> Self {
        let mut sum = self.known.clone();
        for (at, (symbol, range)) in parameters.iter().enumerate().rev() {
            if sum.is_zero() {
                break;
            }
            let mut before = known.clone();
            for (symbol, range) in &parameters[..at] {
                range.constrain(symbol.clone(), &mut before);
            }
            match sum_over_one(&sum, symbol, range, &before) {
                Some(total) => sum = total.simplify(&before),
                None => return Quantity::undetermined(),
            }
        }
        Quantity { known: sum, ..self.clone() }
    }

    /// The same without what mentions one of the symbols, whose values only running tells.
    #[must_use]
    pub fn without(self, symbols: &BTreeSet<Symbol>) -> Self {
        if self.known.free_symbols().is_disjoint(symbols) { self } else { Quantity::undetermined() }
    }

    /// Replaces symbols by expressions, all at once.
    #[must_use]
    pub fn substitute(&self, replacements: &BTreeMap<Symbol, Expr>) -> Self {
        Quantity { known: self.known.substitute(replacements), ..self.clone() }
    }

    /// The known part at the given values of the symbols.
    ///
    /// # Errors
    /// A symbol without a value, or a number that does not fit 64 bits.
    pub fn eval(&self, environment: &Environment<'_>) -> Result<i64, EvalError> {
        self.known.eval(environment)
    }
}

/// `at most 8*N + 16`, `unknown`, `8*N + unknown`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.unknown, self.known.is_zero()) {
            (true, true) => return f.write_str("unknown"),
            (_, _) if self.at_most => f.write_str("at most ")?,
            (_, _) => {}
        }
        write!(f, "{}", self.known)?;
        if self.unknown { f.write_str(" + unknown") } else { Ok(()) }
    }
}

fn sum_over_one(each: &Expr, symbol: &Symbol, range: &Range, before: &Assumptions) -> Option<Expr> {
    if range.steps().is_nonnegative(before).is_proved() {
        return each.sum_over(symbol, range);
    }
    if !each.depends_on(symbol) {
        return Some(each * &range.count());
    }
    // The closed form holds if the range does not end before it begins, so it is made to begin there at the latest.
    let end = match range.step.as_int()? {
        step if step > 0 => Expr::max(&range.end, &range.begin),
        step if step < 0 => Expr::min(&range.end, &range.begin),
        _ => return None,
    };
    each.sum_over(symbol, &Range { end, ..range.clone() })
}
