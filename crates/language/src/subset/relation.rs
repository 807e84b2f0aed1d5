//! Relations of subsets: covering and disjointness.
//!
//! Ranges may be empty; the empty set is covered by and disjoint from everything. A refutation means that an
//! element exists for all admissible values of the symbols.

use num_integer::Integer;

use super::{Range, Subset};
use crate::symbolic::{Assumptions, Atom, Expr, Truth};

impl Subset {
    /// Whether the subset has all elements of a container of this shape, for all values of the symbols; the containers that hold what
    /// passes through memlets have extents such as `max(0, N - 2)` for `0:N - 2`.
    #[must_use]
    pub fn is_all_of(&self, shape: &[Expr]) -> bool {
        let is_all = |(range, extent): (&Range, &Expr)| range.begin.is_zero() && range.fills(extent);
        self.rank() == shape.len() && self.0.iter().zip(shape).all(is_all)
    }

    /// Whether the subset has no element.
    #[must_use]
    pub fn is_empty(&self, assumptions: &Assumptions) -> Truth {
        self.0.iter().fold(Truth::Refuted, |empty, range| empty.or(range.is_empty(assumptions)))
    }

    /// Whether every element of `other` is one of this. Unknown for different ranks.
    #[must_use]
    pub fn covers(&self, other: &Subset, assumptions: &Assumptions) -> Truth {
        if self.rank() != other.rank() {
            return Truth::Unknown;
        }
        if self == other {
            return Truth::Proved;
        }
        let pairs = || self.0.iter().zip(&other.0);
        if pairs().all(|(own, other)| own.covers(other, assumptions).is_proved()) {
            return Truth::Proved;
        }
        match other.is_empty(assumptions) {
            Truth::Proved => Truth::Proved,
            Truth::Refuted if pairs().any(|(own, other)| own.covers(other, assumptions).is_refuted()) => {
                Truth::Refuted
            }
            Truth::Refuted | Truth::Unknown => Truth::Unknown,
        }
    }

    /// Whether no element is in both. Unknown for different ranks.
    #[must_use]
    pub fn disjoint(&self, other: &Subset, assumptions: &Assumptions) -> Truth {
        if self.rank() != other.rank() {
            return Truth::Unknown;
        }
        let pairs = self.0.iter().zip(&other.0);
        pairs.fold(Truth::Refuted, |disjoint, (own, other)| match disjoint {
            Truth::Proved => Truth::Proved,
            Truth::Refuted | Truth::Unknown => disjoint.or(own.disjoint(other, assumptions)),
        })
    }
}

impl Range {
    /// Whether a range of adjacent values has as many of them as a dimension of this extent has elements.
    #[must_use]
    pub fn fills(&self, extent: &Expr) -> bool {
        let length = &self.end - &self.begin;
        self.is_contiguous() && (*extent == length || *extent == Expr::max(&length, &Expr::zero()))
    }

    /// Whether every value of `other` is one of this range.
    #[must_use]
    pub fn covers(&self, other: &Range, assumptions: &Assumptions) -> Truth {
        if self == other {
            return Truth::Proved;
        }
        let (Some(own), Some(other)) = (self.ascending(assumptions), other.ascending(assumptions)) else {
            return match other.is_empty(assumptions) {
                Truth::Proved => Truth::Proved,
                Truth::Refuted | Truth::Unknown => Truth::Unknown,
            };
        };
        if own.surely_covers(&other, assumptions) {
            return Truth::Proved;
        }
        match other.is_empty(assumptions) {
            Truth::Proved => Truth::Proved,
            Truth::Refuted if own.surely_misses_some(&other, assumptions) => Truth::Refuted,
            Truth::Refuted | Truth::Unknown => Truth::Unknown,
        }
    }

    /// Coverage of one ascending range by another.
    fn surely_covers(&self, other: &Range, assumptions: &Assumptions) -> bool {
        let le = |a: &Expr, b: &Expr| a.le(b, assumptions).is_proved();
        if !le(&self.begin, &other.begin) {
            return false;
        }
        if self.is_contiguous() {
            // `0:max(0, n)` has no element or those of `0:n`.
            let ends_in = |end: &Expr| le(end, &self.end) || le(end, &other.begin);
            return le(&other.stop(), &self.end)
                || !other.step.is_one() && le(&other.exact_stop(), &self.end)
                || matches!(other.end.as_atom(), Some(Atom::Max(ends)) if ends.iter().all(ends_in));
        }
        // Every tile of the other range lies at the same place within one of ours.
        let place = (&other.begin - &self.begin).modulo(&self.step);
        if !le(&(&place + &other.tile_length()), &self.tile) {
            return false;
        }
        if other.is_contiguous() {
            return le(&(&other.begin - &place + 1), &self.end);
        }
        self.step.divides(&other.step, assumptions).is_proved()
            && (le(&(&other.end - &place), &self.end) || le(&(other.last() - &place + 1), &self.end))
    }

    /// The length of the tiles of an ascending range, where a contiguous one is a single tile.
    fn tile_length(&self) -> Expr {
        if self.is_contiguous() { &self.end - &self.begin } else { self.tile.clone() }
    }

    /// Whether a value of `other`, which is not empty, was shown to lie outside; both ascend.
    fn surely_misses_some(&self, other: &Range, assumptions: &Assumptions) -> bool {
        let lt = |a: &Expr, b: &Expr| a.lt(b, assumptions).is_proved();
        if self.is_empty(assumptions).is_proved()
            || lt(&other.begin, &self.begin)
            || lt(&self.stop(), &other.exact_stop())
        {
            return true;
        }
        let place = || (&other.begin - &self.begin).modulo(&self.step);
        !self.step.is_one()
            && self.tile.le(&self.step, assumptions).is_proved()
            && self.tile.le(&place(), assumptions).is_proved()
    }

    /// Whether no value is in both ranges.
    #[must_use]
    pub fn disjoint(&self, other: &Range, assumptions: &Assumptions) -> Truth {
        let empty = self.is_empty(assumptions).or(other.is_empty(assumptions));
        if empty.is_proved() {
            return Truth::Proved;
        }
        let (Some(a), Some(b)) = (self.ascending(assumptions), other.ascending(assumptions)) else {
            return if self == other && empty.is_refuted() { Truth::Refuted } else { Truth::Unknown };
        };
        let le = |a: &Expr, b: &Expr| a.le(b, assumptions).is_proved();
        if le(&a.stop(), &b.begin)
            || le(&b.stop(), &a.begin)
            || !a.step.is_one() && le(&a.exact_stop(), &b.begin)
            || !b.step.is_one() && le(&b.exact_stop(), &a.begin)
            || interleaved(&a, &b, assumptions)
            || interleaved(&b, &a, assumptions)
        {
            return Truth::Proved;
        }
        let present = |range: &Range| range.is_empty(assumptions).is_refuted();
        // The first value of one lies in the other.
        let starts_in = |inner: &Range, outer: &Range| {
            outer.is_contiguous() && le(&outer.begin, &inner.begin) && le(&(&inner.begin + 1), &outer.end)
        };
        let shares = present(&a) && (b.surely_covers(&a, assumptions) || starts_in(&a, &b))
            || present(&b) && (a.surely_covers(&b, assumptions) || starts_in(&b, &a))
            || empty.is_refuted()
                && (a.begin.equals(&b.begin, assumptions).is_proved()
                    || a.exact_stop().equals(&b.exact_stop(), assumptions).is_proved()
                    || a.is_contiguous()
                        && b.is_contiguous()
                        && le(&(&a.begin + 1), &b.end)
                        && le(&(&b.begin + 1), &a.end));
        if shares { Truth::Refuted } else { Truth::Unknown }
    }
}

/// Whether tiles of the second of two ascending ranges fall behind those of the first, as odd indices do behind even ones.
/// A contiguous range counts as a single tile. Both orders say the same, but one may be easier to prove.
fn interleaved(a: &Range, b: &Range, assumptions: &Assumptions) -> bool {
    let Some(period) = common_period(a, b) else { return false };
    let place = (&b.begin - &a.begin).modulo(&period);
    a.tile_length().le(&place, assumptions).is_proved()
        && (place + b.tile_length()).le(&period, assumptions).is_proved()
}

/// A number that divides the distances between tiles of both.
fn common_period(a: &Range, b: &Range) -> Option<Expr> {
    match (a.is_contiguous(), b.is_contiguous()) {
        (true, true) => None,
        (true, false) => Some(b.step.clone()),
        (false, true) => Some(a.step.clone()),
        (false, false) if a.step == b.step => Some(a.step.clone()),
        (false, false) => Some(Expr::int(a.step.as_int()?.gcd(&b.step.as_int()?))),
    }
}
