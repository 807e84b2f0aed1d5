//! Bindings of containers to storages: a storage of its own, or, inside a nested SDFG or for a view, part of
//! another storage.
//!
//! Operations refer to storages only. Data movement between calls is therefore found in the same way as data
//! movement between states.

use sdfg::analysis::bound_dimensions;
use sdfg::subset::Range;

use super::error::ModelError;
use super::index::{LARGEST, distance};
use super::operator::Index;

/// A container of the program, or one that a call of a nested SDFG has for itself, by its number.
pub(super) type Storage = usize;

/// A container in terms of a storage.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) storage: Storage,
    /// Sizes of the storage, if they are known.
    pub(super) extents: Result<Vec<u64>, ModelError>,
    /// For each dimension of the storage where the container's elements are.
    dimensions: Vec<Position>,
}

/// Positions along a dimension of a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Position {
    /// Always the same.
    Fixed(i64),
    /// `begin + step * k`, where `k` is the position along a dimension of the container.
    Along { dimension: usize, begin: i64, step: i64 },
    /// One position in each call, but not the same in all.
    Moving,
    /// Not known.
    Any,
}

impl Binding {
    /// A storage of its own.
    pub(super) fn new(storage: Storage, rank: usize, extents: Result<Vec<u64>, ModelError>) -> Self {
        let along = |dimension| Position::Along { dimension, begin: 0, step: 1 };
        Binding { storage, extents, dimensions: (0..rank).map(along).collect() }
    }

    /// Binding of a container of `rank` dimensions that names a part of this one. `numbers` gives begins and
    /// steps, if they are known.
    pub(super) fn part(
        &self,
        ranges: &[Range],
        rank: usize,
        numbers: impl Fn(&Range) -> Option<(i64, i64)>,
    ) -> Self {
        let kept = bound_dimensions(&sdfg::subset::Subset(ranges.to_vec()), rank);
        let position = |outer: &Position| {
            let Position::Along { dimension, begin, step } = outer else { return outer.clone() };
            let found = ranges.get(*dimension).and_then(&numbers);
            // Outside of maps only the symbol of a loop keeps an index from being known.
            if found.is_none() && ranges.get(*dimension).is_some_and(Range::is_index) {
                return Position::Moving;
            }
            // A part of another shape may be anywhere.
            let (Some(kept), Some((first, stride))) = (&kept, found) else { return Position::Any };
            let at = |k: i64| step.checked_mul(k);
            let (Some(shift), Some(step)) =
                (at(first).and_then(|shift| begin.checked_add(shift)), at(stride))
            else {
                return Position::Any;
            };
            match kept.iter().position(|one| one == dimension) {
                Some(dimension) => Position::Along { dimension, begin: shift, step },
                None => Position::Fixed(shift),
            }
        };
        let dimensions = self.dimensions.iter().map(position).collect();
        Binding { storage: self.storage, extents: self.extents.clone(), dimensions }
    }

    /// Indices of the storage from those of the container, in a domain of these sizes.
    pub(super) fn indices(&self, inner: &[Index], domain: &[u64]) -> Vec<Index> {
        let index = |position: &Position| match position {
            Position::Any => Index::Whole,
            Position::Moving => Index::Moving,
            Position::Fixed(start) => Index::fixed(*start),
            Position::Along { dimension, begin, step } => {
                let moved = inner.get(*dimension).and_then(|index| index.moved(*begin, *step, domain));
                // A position that moves in part of a storage moves in the storage.
                let moving = inner.get(*dimension) == Some(&Index::Moving);
                moved.unwrap_or(if moving { Index::Moving } else { Index::Whole })
            }
        };
        self.dimensions.iter().map(index).collect()
    }

    /// Whether some position is not known, or not the same in all calls.
    pub(super) fn is_vague(&self) -> bool {
        self.dimensions.iter().any(|position| matches!(position, Position::Any | Position::Moving))
    }
}

impl Index {
    /// One position.
    pub(super) fn fixed(start: i64) -> Self {
        Index::Affine { start, parameters: Vec::new(), within: Vec::new() }
    }

    /// `begin + step * index` in a domain of these sizes; nothing if that is not known or too large.
    fn moved(&self, begin: i64, step: i64, domain: &[u64]) -> Option<Self> {
        let Index::Affine { start, parameters, within } = self else { return None };
        let stepped = |value: i64| value.checked_mul(step);
        let mut moved = (Vec::new(), Vec::new());
        let start = begin.checked_add(stepped(*start)?)?;
        let mut reach = start.checked_abs()?;
        for (dimension, coefficient) in parameters {
            let coefficient = stepped(*coefficient)?;
            reach = reach.checked_add(distance(coefficient, *domain.get(*dimension)?)?)?;
            moved.0.push((*dimension, coefficient));
        }
        for (stride, n) in within {
            let stride = stepped(*stride)?;
            reach = reach.checked_add(distance(stride, *n)?)?;
            moved.1.push((stride, *n));
        }
        (reach <= LARGEST).then_some(Index::Affine { start, parameters: moved.0, within: moved.1 })
    }
}

#[cfg(test)]
mod tests {
    use sdfg::symbolic::Expr;

    use super::*;

    fn range(begin: i64, end: i64, step: i64) -> Range {
        Range::new(Expr::int(begin), Expr::int(end)).with_step(step)
    }

    fn numbers(range: &Range) -> Option<(i64, i64)> {
        Some((range.begin.as_int()?, range.step.as_int()?))
    }

    #[test]
    fn parts_of_parts_add_up() {
        // Row 5 of a matrix, every second element from 3 on, of which the middle is called by another.
        let whole = Binding::new(7, 2, Ok(vec![10, 20]));
        let row = whole.part(&[Range::index(Expr::int(5)), range(3, 20, 2)], 1, numbers);
        let middle = row.part(&[range(2, 5, 1)], 1, numbers);
        let index = Index::Affine { start: 1, parameters: vec![(0, 1)], within: vec![(1, 3)] };
        let expected =
            Index::Affine { start: 3 + 2 * (2 + 1), parameters: vec![(0, 2)], within: vec![(2, 3)] };
        assert_eq!(middle.indices(&[index], &[4]), [Index::fixed(5), expected]);
        assert!(!middle.is_vague());
        // Without numbers, or with another shape, it may be anywhere.
        assert_eq!(
            row.part(&[range(2, 5, 1)], 1, |_| None).indices(&[Index::fixed(0)], &[]),
            [Index::fixed(5), Index::Whole]
        );
        let flat = whole.part(&[range(0, 10, 1), range(0, 20, 1)], 1, numbers);
        // A row that a loop chooses is one row.
        let moving = whole.part(&[Range::index(Expr::sym("t")), range(0, 20, 1)], 1, numbers);
        assert_eq!(moving.indices(&[Index::fixed(3)], &[]), [Index::Moving, Index::fixed(3)]);
        assert_eq!((flat.is_vague(), flat.indices(&[Index::fixed(0)], &[])), (true, vec![Index::Whole; 2]));
    }
}
