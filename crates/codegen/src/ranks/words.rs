//! The words that describe a move, as expressions of the program.
//!
//! The program computes them before each move: sizes may change while it runs. The library keeps what it prepared for equal
//! words.

use sdfg::analysis::part_start;
use sdfg::ir::{Container, Distribution};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;

use super::bounds::constant_grid;
use super::{LocaliseError, unsupported};
use crate::mpi::{Combination, Flags};

/// One end of a move.
pub(super) struct End<'a> {
    pub(super) container: &'a Container,
    /// The elements, in positions of the whole container.
    pub(super) subset: &'a Subset,
}

/// Elements that move from one container to another.
pub(super) struct Moved<'a> {
    pub(super) source: End<'a>,
    pub(super) target: End<'a>,
    /// Number of leading dimensions of the source over which values are combined, with their extents.
    pub(super) combined: Vec<Expr>,
    pub(super) combination: Combination,
    pub(super) flags: Flags,
}

impl Moved<'_> {
    /// The words.
    ///
    /// # Errors
    /// If the elements of both ends are not paired dimension by dimension.
    pub(super) fn words(&self) -> Result<Vec<Expr>, LocaliseError> {
        let (name, element) = (&self.source.container.name, self.source.container.element);
        let leading = self.combined.len();
        let source = moving(&self.source.subset.0[leading..]);
        let target = moving(&self.target.subset.0);
        let same = |(one, other): (&(usize, Expr), &(usize, Expr))| one.1 == other.1;
        if source.len() != target.len() || !source.iter().zip(&target).all(same) {
            let to = &self.target.container.name;
            return unsupported(format!(
                "the copy of `{name}` to `{to}`, whose dimensions have other extents,"
            ));
        }
        let number = |value: usize| Expr::int(value as i64);
        let mut words = vec![
            Expr::int(element.size() as i64),
            Expr::int(self.combination.code()),
            Expr::int(crate::mpi::type_code(element.lane())),
            Expr::int(self.flags.word()),
            number(leading + source.len()),
        ];
        // A range whose end lies before its begin has no elements.
        let count = |extent: &Expr| Expr::max(&Expr::zero(), extent);
        words.extend(self.combined.iter().map(count));
        words.extend(source.iter().map(|(_, extent)| count(extent)));
        let of_source = source.iter().enumerate().map(|(moved, (at, _))| (at + leading, moved + leading));
        let of_source: Vec<_> = (0..leading).map(|at| (at, at)).chain(of_source).collect();
        let of_target: Vec<_> =
            target.iter().enumerate().map(|(moved, (at, _))| (*at, moved + leading)).collect();
        self.source.push(&of_source, leading, &mut words)?;
        self.target.push(&of_target, 0, &mut words)?;
        Ok(words)
    }
}

impl End<'_> {
    fn push(
        &self,
        follows: &[(usize, usize)],
        leading: usize,
        words: &mut Vec<Expr>,
    ) -> Result<(), LocaliseError> {
        let shape = self.container.shape();
        let name = &self.container.name;
        let number = |value: usize| Expr::int(value as i64);
        words.push(number(shape.len()));
        let blocks = match &self.container.distribution {
            Distribution::Blocks(blocks) => Some(blocks),
            Distribution::Replicated => None,
            Distribution::Local => return unsupported(format!("a copy of the local container `{name}`")),
        };
        let grid = match blocks.map(constant_grid) {
            None => Vec::new(),
            Some(Some(grid)) => grid,
            Some(None) => {
                return unsupported(format!("the process grid of `{name}`, whose extents are no numbers,"));
            }
        };
        words.push(number(grid.len()));
        words.extend(grid.iter().map(|extent| Expr::int(*extent)));
        for (dimension, extent) in shape.iter().enumerate() {
            words.push(extent.clone());
            let cut = blocks.and_then(|blocks| blocks.cuts.get(dimension)?.as_ref());
            match cut {
                None => words.extend([
                    Expr::int(-1),
                    Expr::one(),
                    Expr::zero(),
                    extent.clone(),
                    Expr::zero(),
                    Expr::zero(),
                ]),
                Some(cut) => {
                    let parts = grid.get(cut.along).copied().unwrap_or(1);
                    words.extend([number(cut.along), Expr::int(parts)]);
                    words.extend((0..=parts).map(|k| part_start(&cut.parts, extent, &Expr::int(k), parts)));
                    words.extend(cut.halo.iter().cloned());
                }
            }
        }
        for (dimension, range) in self.subset.0.iter().enumerate() {
            let moved = follows.iter().find(|(at, _)| *at == dimension);
            // A combined dimension is moved as a whole; its index is the parameter of the map that combines.
            let (begin, step) = match dimension < leading {
                true => (Expr::zero(), Expr::one()),
                false => {
                    (range.begin.clone(), if range.is_index() { Expr::one() } else { range.step.clone() })
                }
            };
            words.extend([begin, step, moved.map_or(Expr::int(-1), |(_, moved)| number(*moved))]);
        }
        Ok(())
    }
}

/// The dimensions of a subset with more than one element, with their numbers.
fn moving(ranges: &[Range]) -> Vec<(usize, Expr)> {
    let many = |range: &Range| !range.is_index() && !range.steps().is_one();
    let ranges = ranges.iter().enumerate().filter(|(_, range)| many(range));
    ranges.map(|(at, range)| (at, range.steps())).collect()
}

/// Flags of a move between two containers of a program.
///
/// `only_copied`: nothing but copies writes the source. Then all replicas have the owners' values.
pub(super) fn flags(source: &Container, target: &Container, only_copied: bool) -> Flags {
    let is_everywhere = |container: &Container| container.distribution == Distribution::Replicated;
    Flags {
        are_source_replicas_current: only_copied,
        is_source_everywhere: is_everywhere(source),
        is_target_everywhere: is_everywhere(target),
        is_fresh: false,
        is_in_place: source.name == target.name,
    }
}
