//! Ranges and subsets: elements of a container that a memlet names, and values of map parameters.

mod approx;
mod combine;
pub(crate) mod image;
mod parse;
mod range;
mod relation;
#[cfg(test)]
mod tests;
mod translate;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use approx::Approx;
pub use range::Range;

use crate::symbolic::{Expr, Symbol};

/// The elements of a container whose index in every dimension lies in the range of that dimension.
///
/// A subset is empty as soon as one of its ranges is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subset(pub Vec<Range>);

impl Subset {
    /// Every element of a container of this shape: `0:d` in each dimension.
    #[must_use]
    pub fn full(shape: &[Expr]) -> Subset {
        Subset(shape.iter().map(|size| Range::new(0, size.clone())).collect())
    }

    /// One element.
    #[must_use]
    pub fn element(indices: &[Expr]) -> Subset {
        Subset(indices.iter().cloned().map(Range::index).collect())
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// [`Range::size`] of each dimension.
    #[must_use]
    pub fn sizes(&self) -> Vec<Expr> {
        self.0.iter().map(Range::size).collect()
    }

    /// The number of elements, the product of [`Range::size`]; 1 for rank 0.
    #[must_use]
    pub fn volume(&self) -> Expr {
        self.0.iter().map(Range::size).product()
    }

    /// Whether every dimension is an index by its form.
    #[must_use]
    pub fn is_element(&self) -> bool {
        self.0.iter().all(Range::is_index)
    }

    /// Replaces symbols by expressions, all at once.
    #[must_use]
    pub fn substitute(&self, replacements: &BTreeMap<Symbol, Expr>) -> Subset {
        Subset(self.0.iter().map(|range| range.substitute(replacements)).collect())
    }

    /// Every symbol that occurs.
    #[must_use]
    pub fn free_symbols(&self) -> BTreeSet<Symbol> {
        self.0.iter().flat_map(Range::free_symbols).collect()
    }
}

impl FromIterator<Range> for Subset {
    fn from_iter<I: IntoIterator<Item = Range>>(ranges: I) -> Subset {
        Subset(ranges.into_iter().collect())
    }
}

/// Ranges joined by commas: `i, 0:K`.
impl fmt::Display for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{range}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}
