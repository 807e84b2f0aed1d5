//! Translation of subsets between index spaces: offset and composition.

use super::{Approx, Range, Subset};
use crate::symbolic::Expr;

impl Subset {
    /// The subset moved by `by` elements in each dimension.
    ///
    /// # Panics
    /// When `by` has not one entry for each dimension.
    #[must_use]
    pub fn offset(&self, by: &[Expr]) -> Subset {
        assert_eq!(self.rank(), by.len(), "an offset has one entry for each dimension");
        self.0.iter().zip(by).map(|(range, by)| range.offset(by)).collect()
    }

    /// The elements that `inner` names when it counts the elements of this subset: index 0 of `inner` is the first
    /// element here, index 1 the next. `inner` stays within the sizes of this subset.
    ///
    /// # Panics
    /// When the ranks differ.
    #[must_use]
    pub fn compose(&self, inner: &Subset) -> Approx<Subset> {
        assert_eq!(self.rank(), inner.rank(), "a subset of a subset has the same rank");
        let mut exact = true;
        let ranges = self.0.iter().zip(&inner.0).map(|(own, inner)| match own.compose(inner) {
            Some(range) => range,
            None => {
                exact = false;
                own.clone()
            }
        });
        let subset = ranges.collect();
        Approx::new(subset, exact)
    }
}

impl Range {
    /// The range moved by `by`.
    #[must_use]
    pub fn offset(&self, by: &Expr) -> Range {
        Range {
            begin: &self.begin + by,
            end: &self.end + by,
            step: self.step.clone(),
            tile: self.tile.clone(),
        }
    }

    /// The values whose positions in this range are those in `inner`; `None` where no range describes them.
    fn compose(&self, inner: &Range) -> Option<Range> {
        if inner.begin.is_zero() && inner.is_contiguous() && inner.end == self.size() {
            return Some(self.clone());
        }
        if !self.tile.is_one() {
            let tile = inner.begin.floor_div(&self.tile);
            let within = inner.begin.modulo(&self.tile);
            return inner.is_index().then(|| Range::index(&self.begin + tile * &self.step + within));
        }
        if inner.is_index() {
            return Some(Range::index(&self.begin + &inner.begin * &self.step));
        }
        if self.step.is_one() {
            return Some(inner.offset(&self.begin));
        }
        // Positions before `inner.end` are values before its image, whatever the signs of the two steps.
        inner.tile.is_one().then(|| Range {
            begin: &self.begin + &inner.begin * &self.step,
            end: &self.begin + &inner.end * &self.step,
            step: &inner.step * &self.step,
            tile: Expr::one(),
        })
    }
}
