//! Intersection and bounding union of subsets.

use super::{Approx, Range, Subset};
use crate::symbolic::{Assumptions, Expr};

impl Subset {
    /// The elements in both; `None` when there is provably none. The result may still turn out to be empty.
    ///
    /// # Panics
    /// When the ranks differ; validation rejects such subsets.
    #[must_use]
    pub fn intersection(&self, other: &Subset, assumptions: &Assumptions) -> Option<Approx<Subset>> {
        assert_eq!(self.rank(), other.rank(), "subsets of different rank do not intersect");
        if self.disjoint(other, assumptions).is_proved() {
            return None;
        }
        let mut exact = true;
        let ranges = self.0.iter().zip(&other.0).map(|(own, other)| {
            let (range, range_exact) = own.intersection(other, assumptions);
            exact &= range_exact;
            range
        });
        let subset = ranges.collect();
        Some(Approx::new(subset, exact))
    }

    /// A subset with the elements of both and as few others as ranges allow.
    ///
    /// # Panics
    /// When the ranks differ; validation rejects such subsets.
    #[must_use]
    pub fn bounding_union(&self, other: &Subset, assumptions: &Assumptions) -> Approx<Subset> {
        assert_eq!(self.rank(), other.rank(), "subsets of different rank have no union");
        if self.covers(other, assumptions).is_proved() {
            return Approx::Exact(self.clone());
        }
        if other.covers(self, assumptions).is_proved() {
            return Approx::Exact(other.clone());
        }
        let mut exact = true;
        let mut different = 0_usize;
        let ranges = self.0.iter().zip(&other.0).map(|(own, other)| {
            let covers = own.covers(other, assumptions).is_proved();
            let covered = other.covers(own, assumptions).is_proved();
            different += usize::from(!(covers && covered));
            if covers {
                return own.clone();
            }
            if covered {
                return other.clone();
            }
            let (range, range_exact) = own.hull(other, assumptions);
            exact &= range_exact;
            range
        });
        let subset = ranges.collect();
        Approx::new(subset, exact && different <= 1)
    }
}

impl Approx<Subset> {
    /// [`Subset::bounding_union`] of two results; exact if both are and their union is.
    ///
    /// # Panics
    /// When the ranks differ; validation rejects such subsets.
    #[must_use]
    pub fn union(&self, other: &Approx<Subset>, assumptions: &Assumptions) -> Approx<Subset> {
        let union = self.as_inner().bounding_union(other.as_inner(), assumptions);
        let exact = self.is_exact() && other.is_exact() && union.is_exact();
        Approx::new(union.into_inner(), exact)
    }
}

impl Range {
    /// The common values and whether they are exactly those.
    fn intersection(&self, other: &Range, assumptions: &Assumptions) -> (Range, bool) {
        if self.covers(other, assumptions).is_proved() {
            return (other.clone(), true);
        }
        if other.covers(self, assumptions).is_proved() {
            return (self.clone(), true);
        }
        let (Some(a), Some(b)) = (self.ascending(assumptions), other.ascending(assumptions)) else {
            return (self.clone(), false);
        };
        let begin = greater(&a.begin, &b.begin, assumptions);
        if aligned(&a, &b, assumptions) {
            let range = Range { begin, end: lesser(&a.end, &b.end, assumptions), step: a.step, tile: a.tile };
            let exact = range.tile.is_one() || range.tile.le(&range.step, assumptions).is_proved();
            return (range, exact);
        }
        (Range::new(begin, lesser(&a.stop(), &b.stop(), assumptions)), false)
    }

    /// The least range with the values of both, and whether it has no others.
    fn hull(&self, other: &Range, assumptions: &Assumptions) -> (Range, bool) {
        let (Some(a), Some(b)) = (self.ascending(assumptions), other.ascending(assumptions)) else {
            return (self.hull_without_order(other), false);
        };
        let begin = lesser(&a.begin, &b.begin, assumptions);
        if aligned(&a, &b, assumptions) {
            // Ranges that touch leave no gap; an empty one that touches lies within the other.
            let end_of = |range: &Range| &range.begin + range.steps() * &range.step;
            let touch = b.begin.le(&end_of(&a), assumptions).is_proved()
                && a.begin.le(&end_of(&b), assumptions).is_proved();
            let end = greater(&a.end, &b.end, assumptions);
            return (Range { begin, end, step: a.step, tile: a.tile }, touch);
        }
        (Range::new(begin, greater(&a.stop(), &b.stop(), assumptions)), false)
    }

    /// A range around two ranges whose direction is not known.
    fn hull_without_order(&self, other: &Range) -> Range {
        // Starts lie between begin and end, in one order or the other, and tiles reach further up.
        let ends = |range: &Range| [range.begin.clone(), range.end.clone()];
        let corners = || ends(self).into_iter().chain(ends(other));
        let low = corners().reduce(|a, b| Expr::min(&a, &b)).unwrap_or_else(Expr::zero);
        let high = corners().reduce(|a, b| Expr::max(&a, &b)).unwrap_or_else(Expr::zero);
        Range::new(low, high + Expr::max(&self.tile, &other.tile))
    }
}

/// Whether two ascending ranges have the same step and tile and start at a whole number of steps from each other.
fn aligned(a: &Range, b: &Range, assumptions: &Assumptions) -> bool {
    a.step == b.step
        && a.tile == b.tile
        && (a.step.is_one() || a.step.divides(&(&b.begin - &a.begin), assumptions).is_proved())
}

/// The minimum, without a `min` where the order is known.
fn lesser(a: &Expr, b: &Expr, assumptions: &Assumptions) -> Expr {
    if a.le(b, assumptions).is_proved() {
        a.clone()
    } else if b.le(a, assumptions).is_proved() {
        b.clone()
    } else {
        Expr::min(a, b)
    }
}

/// The maximum, without a `max` where the order is known.
fn greater(a: &Expr, b: &Expr, assumptions: &Assumptions) -> Expr {
    if a.le(b, assumptions).is_proved() {
        b.clone()
    } else if b.le(a, assumptions).is_proved() {
        a.clone()
    } else {
        Expr::max(a, b)
    }
}
