//! Quantities: numbers of bytes or operations as expressions, with their exactness.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Assumptions, Environment, EvalError, Expr, Symbol};

use crate::ir::Volume;

/// A number that is known, bounded, or known in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The number, or a bound of it.
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
    /// other symbols, also where a range is empty. What has no closed form is added up where the range is made of numbers,
    /// or bounded where it has too many; the rest is unknown.
    #[must_use]
    pub fn summed_over(&self, parameters: &[(Symbol, Range)], known: &Assumptions) -> Self {
        let mut sum = self.known.clone();
        let mut at_most = self.at_most;
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
                None => match added_up(&sum, symbol, range, &before) {
                    Some((total, exact)) => {
                        sum = total;
                        at_most |= !exact;
                    }
                    None => {
                        let Some(total) = over_points(&sum, &parameters[..=at]) else {
                            return Quantity::undetermined();
                        };
                        return Quantity { known: Expr::int(total), at_most, unknown: self.unknown };
                    }
                },
            }
        }
        Quantity { known: sum, at_most, unknown: self.unknown }
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

/// Values of a symbol for which numbers are added up, and for which expressions are, of so many terms on the way.
const MOST_VALUES: i64 = 1 << 16;
const MOST_EXPRESSIONS: i64 = 1 << 12;
const MOST_TERMS: usize = 32;

/// The sum over a range of numbers, added up, and whether it is exact; a bound where there are too many values.
fn added_up(each: &Expr, symbol: &Symbol, range: &Range, before: &Assumptions) -> Option<(Expr, bool)> {
    let [begin, step, count] = [&range.begin, &range.step, &range.count()].map(Expr::as_int);
    let (begin, step, count) = (begin?, step?, count?);
    if !range.tile.is_one() || count <= 0 {
        return (count <= 0).then(|| (Expr::zero(), true));
    }
    let last = begin.checked_add(step.checked_mul(count - 1)?)?;
    if count > MOST_VALUES {
        let (first, last) = (Expr::int(begin.min(last)), Expr::int(begin.max(last)));
        let bound = each.bounds_over(symbol, &first, &last, before).upper?;
        return Some((bound * count, false));
    }
    let mut total = Expr::zero();
    for term in each.view().terms {
        let (mut fixed, mut moving) = (Expr::constant(&term.coefficient().clone().into()), Expr::one());
        for (atom, exponent) in term.factors() {
            let factor = Expr::from_atom(atom.clone());
            let side = if factor.depends_on(symbol) { &mut moving } else { &mut fixed };
            *side = &*side * factor.pow(&Expr::int(i64::from(*exponent)));
        }
        let mut values = (0..count).map(|at| begin + at * step);
        let symbols = moving.free_symbols();
        let sum = if symbols.iter().all(|other| other == symbol) {
            let value = |at| moving.eval(&|own| (own == symbol).then_some(at)).ok();
            Expr::int(values.try_fold(0_i64, |sum, at| sum.checked_add(value(at)?))?)
        } else if count <= MOST_EXPRESSIONS {
            values.try_fold(Expr::zero(), |sum, at| {
                let sum = sum + moving.with_symbol(symbol, &Expr::int(at));
                (sum.view().terms.len() <= MOST_TERMS).then_some(sum)
            })?
        } else {
            return None;
        };
        total = total + fixed * sum;
    }
    let denominator = Expr::constant(&each.view().denominator.clone().into());
    Some((total.exact_div(&denominator)?, true))
}

/// The sum over all points of ranges that follow from numbers.
fn over_points(each: &Expr, parameters: &[(Symbol, Range)]) -> Option<i64> {
    let mut total = 0_i64;
    let mut left = MOST_VALUES;
    // Values of some of the leading symbols; the last ones are looked at first, and order does not matter.
    let mut waiting: Vec<BTreeMap<&Symbol, i64>> = vec![BTreeMap::new()];
    while let Some(point) = waiting.pop() {
        let value = |expression: &Expr| expression.eval(&|symbol| point.get(symbol).copied()).ok();
        let Some((symbol, range)) = parameters.get(point.len()) else {
            total = total.checked_add(value(each)?)?;
            continue;
        };
        let (begin, step, count) = (value(&range.begin)?, value(&range.step)?, value(&range.count())?);
        left = left.checked_sub(count.max(0)).filter(|left| *left >= 0 && range.tile.is_one())?;
        for at in 0..count {
            let mut next = point.clone();
            next.insert(symbol, begin.checked_add(step.checked_mul(at)?)?);
            waiting.push(next);
        }
    }
    Some(total)
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
