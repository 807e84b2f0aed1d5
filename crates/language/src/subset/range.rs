//! Ranges: one dimension of a subset, or the values of one map parameter.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::symbolic::{Assumptions, Atom, Expr, Sign, Symbol, Term, Truth};

/// The integers `begin + k * step + t` for `k = 0, 1, ...` as long as `begin + k * step` lies before `end`, and
/// `0 <= t < tile`.
///
/// The end is exclusive. With a negative step, values descend and `end` lies below `begin`. A range whose end does
/// not lie beyond its begin, in the direction of the step, is empty. Steps are never zero; a tile is no longer than
/// its step where there is more than one, and is empty when it is not positive.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    /// The first value.
    pub begin: Expr,
    /// The bound that starts of tiles do not reach.
    pub end: Expr,
    /// The distance between starts of consecutive tiles.
    pub step: Expr,
    /// The number of consecutive elements taken at each step, 1 for plain ranges.
    pub tile: Expr,
}

impl Range {
    /// `begin:end` with step 1.
    #[must_use]
    pub fn new(begin: impl Into<Expr>, end: impl Into<Expr>) -> Range {
        Range { begin: begin.into(), end: end.into(), step: Expr::one(), tile: Expr::one() }
    }

    /// The single value `at`.
    #[must_use]
    pub fn index(at: impl Into<Expr>) -> Range {
        let begin = at.into();
        let end = &begin + 1;
        Range::new(begin, end)
    }

    /// The same range with another step.
    #[must_use]
    pub fn with_step(self, step: impl Into<Expr>) -> Range {
        Range { step: step.into(), ..self }
    }

    /// The same range with tiles of `tile` elements.
    #[must_use]
    pub fn with_tile(self, tile: impl Into<Expr>) -> Range {
        Range { tile: tile.into(), ..self }
    }

    /// Whether this is a single value by its form, `i:i + 1`.
    #[must_use]
    pub fn is_index(&self) -> bool {
        self.tile.is_one() && self.step.is_one() && self.end.is_next_to(&self.begin)
    }

    /// The number of steps, `ceil_div(end - begin, step)`, for a range that is known not to end before it begins.
    #[must_use]
    pub fn steps(&self) -> Expr {
        (&self.end - &self.begin).ceil_div(&self.step)
    }

    /// The number of elements, `ceil_div(end - begin, step) * tile`.
    ///
    /// The range is taken not to end before it begins, so that the size of `0:N` is `N` and shapes compare well.
    /// [`Range::count`] is right for every range.
    #[must_use]
    pub fn size(&self) -> Expr {
        self.steps() * &self.tile
    }

    /// The number of elements of any range: [`Range::size`] clamped at 0.
    #[must_use]
    pub fn count(&self) -> Expr {
        Expr::max(&self.steps(), &Expr::zero()) * &self.tile
    }

    /// The start of the last tile of a non-empty range; for step 1, `end - 1`.
    #[must_use]
    pub fn last(&self) -> Expr {
        if self.step.is_one() && self.begin.is_integer_polynomial() && self.end.is_integer_polynomial() {
            return &self.end - 1;
        }
        &self.begin + (self.steps() - 1) * &self.step
    }

    /// Whether the range holds no value. Proved and refuted for all admissible values of its symbols.
    #[must_use]
    pub fn is_empty(&self, assumptions: &Assumptions) -> Truth {
        let no_tile = self.tile.le(&Expr::zero(), assumptions);
        let no_start = match self.step.sign(assumptions) {
            Sign::Positive => self.end.le(&self.begin, assumptions),
            Sign::Negative => self.begin.le(&self.end, assumptions),
            Sign::NonPositive | Sign::Zero | Sign::NonNegative | Sign::Unknown => {
                // A first value is there in either direction only if the ends differ.
                if self.begin == self.end { Truth::Proved } else { Truth::Unknown }
            }
        };
        no_start.or(no_tile)
    }

    /// The same values in ascending order, with adjoining tiles joined; `None` when the sign of the step is not
    /// known.
    pub(super) fn ascending(&self, assumptions: &Assumptions) -> Option<Range> {
        let mut range = match self.step.sign(assumptions) {
            Sign::Positive => self.clone(),
            Sign::Negative => {
                Range { begin: self.last(), end: &self.begin + 1, step: -&self.step, tile: self.tile.clone() }
            }
            Sign::NonPositive | Sign::Zero | Sign::NonNegative | Sign::Unknown => return None,
        };
        if !range.step.is_one() {
            let steps = range.steps();
            if steps.is_one() {
                range = Range::new(range.begin.clone(), range.begin + &range.tile);
            } else if range.tile == range.step {
                range = Range::new(range.begin.clone(), range.begin + steps * &range.step);
            }
        }
        Some(range)
    }

    /// Of an ascending range, a bound above all values: exact for step 1, otherwise up to a step too high.
    pub(super) fn stop(&self) -> Expr {
        &self.end + &self.tile - 1
    }

    /// Of an ascending range that is not empty, one above the greatest value.
    pub(super) fn exact_stop(&self) -> Expr {
        if self.step.is_one() { self.stop() } else { self.last() + &self.tile }
    }

    /// Whether the values are consecutive by form.
    pub(super) fn is_contiguous(&self) -> bool {
        self.step.is_one() && self.tile.is_one()
    }

    /// Assumes of `symbol` that it takes values of this range, as a map parameter does in its scope.
    pub fn constrain(&self, symbol: Symbol, assumptions: &mut Assumptions) {
        let (lower, upper) = match self.step.sign(assumptions) {
            Sign::Positive => {
                // The exact last value is the better bound where it is no harder to reason about.
                let last = self.exact_stop() - 1;
                let simple = last
                    .view()
                    .terms
                    .iter()
                    .flat_map(Term::factors)
                    .all(|(atom, _)| matches!(atom, Atom::Symbol(_)));
                (Some(self.begin.clone()), Some(if simple { last } else { self.stop() - 1 }))
            }
            Sign::Negative => (Some(&self.end + 1), Some(&self.begin + &self.tile - 1)),
            Sign::NonPositive | Sign::Zero | Sign::NonNegative | Sign::Unknown => (None, None),
        };
        assumptions.set_range(symbol, lower, upper);
    }

    /// Assumes that there is a value, as where a map or a loop has an iteration.
    pub fn assume_iteration(&self, assumptions: &mut Assumptions) {
        let length = match self.step.sign(assumptions) {
            Sign::Positive => &self.end - &self.begin,
            Sign::Negative => &self.begin - &self.end,
            Sign::Zero | Sign::NonPositive | Sign::NonNegative | Sign::Unknown => return,
        };
        assumptions.assume_nonnegative(length - 1);
    }

    /// Replaces symbols by expressions, all at once.
    #[must_use]
    pub fn substitute(&self, replacements: &BTreeMap<Symbol, Expr>) -> Range {
        self.map(|part| part.substitute(replacements)).with_proper_tile()
    }

    /// The same elements, which are none if the tile is a number below 1: then without a tile.
    pub(super) fn with_proper_tile(self) -> Range {
        if self.tile.as_int().is_some_and(|tile| tile < 1) {
            return Range::new(self.begin.clone(), self.begin);
        }
        self
    }

    /// Applies a function to begin, end, step and tile.
    pub(super) fn map(&self, function: impl Fn(&Expr) -> Expr) -> Range {
        Range {
            begin: function(&self.begin),
            end: function(&self.end),
            step: function(&self.step),
            tile: function(&self.tile),
        }
    }

    /// Every symbol that occurs.
    #[must_use]
    pub fn free_symbols(&self) -> BTreeSet<Symbol> {
        let mut symbols = BTreeSet::new();
        self.visit_symbols(&mut |symbol| {
            if !symbols.contains(symbol) {
                symbols.insert(symbol.clone());
            }
        });
        symbols
    }

    /// Whether any symbol that satisfies `wanted` occurs.
    pub fn mentions(&self, wanted: &mut dyn FnMut(&Symbol) -> bool) -> bool {
        [&self.begin, &self.end, &self.step, &self.tile].into_iter().any(|part| part.mentions(wanted))
    }

    /// Gives every symbol that occurs, as often as it does.
    pub fn visit_symbols(&self, visit: &mut dyn FnMut(&Symbol)) {
        for part in [&self.begin, &self.end, &self.step, &self.tile] {
            part.visit_symbols(visit);
        }
    }
}

impl From<Expr> for Range {
    fn from(at: Expr) -> Range {
        Range::index(at)
    }
}

/// `i` for an index, otherwise `begin:end`, `begin:end:step` or `begin:end:step:tile`.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_index() {
            return write!(f, "{}", self.begin);
        }
        write!(f, "{}:{}", self.begin, self.end)?;
        if !self.step.is_one() || !self.tile.is_one() {
            write!(f, ":{}", self.step)?;
        }
        if !self.tile.is_one() {
            write!(f, ":{}", self.tile)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
