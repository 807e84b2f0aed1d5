//! The part of an argument that a rank has, out of the whole and back.

use std::collections::BTreeMap;
use std::ops::Range;

use sdfg::ir::{Container, Distribution};
use sdfg::subset::{Range as Positions, Subset};
use sdfg::symbolic::{EvalError, Expr, Symbol};
use sdfg::tensor::Tensor;

use super::bounds::{Bounds, constant_grid};
use super::words::{End, Moved};
use super::{LocaliseError, RankProgram};
use crate::mpi::{Combination, Flags};

/// The elements of an argument on a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Extents of the whole argument.
    pub shape: Vec<i64>,
    /// Positions that the memory of the rank holds, with halos.
    pub held: Vec<Range<i64>>,
    /// Positions of the rank's own elements.
    pub own: Vec<Range<i64>>,
    /// Whether the rank is the first of those that have these elements.
    pub is_owner: bool,
}

impl RankProgram {
    /// The part of an argument on a rank whose [symbols](RankProgram::symbols) and the program's have these values; `None` for one
    /// that every rank has as a whole.
    ///
    /// # Errors
    /// [`EvalError`] if a position has no value.
    pub fn part(&self, argument: &str, symbols: &BTreeMap<Symbol, i64>) -> Result<Option<Part>, EvalError> {
        let Some(container) = self.arguments.get(argument) else { return Ok(None) };
        let value = |expr: &Expr| expr.eval(&|name| symbols.get(name).copied());
        let is_owner = self.is_owner(container, symbols);
        let mut part = Part { shape: Vec::new(), held: Vec::new(), own: Vec::new(), is_owner };
        for ((bounds, is_cut), extent) in self.bounds(container).into_iter().zip(container.shape()) {
            let low = value(&bounds.low)?;
            // The extent in memory is none where the part is empty, and on ranks without a process of the grid.
            let length = value(if is_cut { &bounds.extent } else { extent })?;
            part.held.push(low..low + length.max(0));
            let first = value(&bounds.first)?;
            let end = if length > 0 { value(&bounds.end)? } else { first };
            part.own.push(first..end.max(first));
            part.shape.push(value(extent)?);
        }
        Ok(Some(part))
    }

    /// Whether the argument is passed in parts.
    pub fn is_part(&self, argument: &str) -> bool {
        self.arguments.contains_key(argument)
    }

    /// Whether a rank is on the grid of a container, and the first along each dimension that cuts nothing.
    fn is_owner(&self, container: &Container, symbols: &BTreeMap<Symbol, i64>) -> bool {
        let Some(blocks) = container.distribution.blocks() else { return false };
        let extents = constant_grid(blocks).unwrap_or_default();
        let Some(grid) = self.grids.iter().find(|grid| grid.extents == extents) else { return false };
        let is_first = |dimension: usize| symbols.get(&grid.coordinates[dimension]) == Some(&0);
        symbols.get(&grid.is_on) == Some(&1) && blocks.replicated_over().all(is_first)
    }

    /// Bounds of an argument that is cut, dimension by dimension, with whether the dimension is cut.
    pub(super) fn bounds(&self, container: &Container) -> Vec<(Bounds, bool)> {
        let Some(blocks) = container.distribution.blocks() else { return Vec::new() };
        let extents = constant_grid(blocks).unwrap_or_default();
        let Some(grid) = self.grids.iter().find(|grid| grid.extents == extents) else { return Vec::new() };
        let cuts = container.shape().iter().zip(&blocks.cuts);
        cuts.map(|(extent, cut)| (Bounds::of(cut.as_ref(), extent, grid), cut.is_some())).collect()
    }

    /// The words of a move of a whole argument; `None` if every rank has it.
    pub(super) fn moving(&self, argument: &str, whole: Whole) -> Result<Option<Vec<Expr>>, LocaliseError> {
        let Some(parts) = self.arguments.get(argument) else { return Ok(None) };
        let whole_container = Container { distribution: Distribution::Replicated, ..parts.clone() };
        let subset =
            Subset(parts.shape().iter().map(|extent| Positions::new(Expr::zero(), extent.clone())).collect());
        let (source, target) = match whole {
            Whole::Refresh => (parts, parts),
            Whole::Scatter => (&whole_container, parts),
            Whole::Gather | Whole::GatherEverywhere => (parts, &whole_container),
        };
        let flags = Flags {
            is_in_place: whole == Whole::Refresh,
            is_target_everywhere: whole == Whole::GatherEverywhere,
            ..Flags::default()
        };
        let moved = Moved {
            source: End { container: source, subset: &subset },
            target: End { container: target, subset: &subset },
            combined: Vec::new(),
            combination: Combination::Assign,
            flags,
        };
        moved.words().map(Some)
    }
}

/// A move of an argument as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// The owners' elements to all copies of them.
    Refresh,
    /// From rank 0, which has all elements, to the parts.
    Scatter,
    /// From the parts to rank 0.
    Gather,
    /// From the parts to an array on every rank.
    GatherEverywhere,
}

impl Part {
    /// Number of elements in the memory of the rank.
    fn len(&self) -> usize {
        self.held.iter().map(|range| usize::try_from(range.end - range.start).unwrap_or(0)).product()
    }

    /// Extents of the memory of the rank.
    fn extents(&self) -> Vec<i64> {
        self.held.iter().map(|range| range.end - range.start).collect()
    }

    /// The elements that the rank holds of a whole argument; `None` if the tensor has another shape.
    pub(super) fn of(&self, whole: &Tensor) -> Option<Tensor> {
        if whole.shape() != self.shape {
            return None;
        }
        let element = whole.element();
        let size = element.size();
        let mut bytes = Vec::with_capacity(self.len() * size);
        if self.len() > 0 {
            let mut index: Vec<i64> = self.held.iter().map(|range| range.start).collect();
            loop {
                let position = index.iter().zip(&self.shape).fold(0, |at, (i, extent)| at * extent + i);
                let at = usize::try_from(position).ok()? * size;
                bytes.extend_from_slice(whole.bytes().get(at..at + size)?);
                let mut dimension = index.len();
                loop {
                    if dimension == 0 {
                        return Tensor::from_bytes(element, self.extents(), bytes).ok();
                    }
                    dimension -= 1;
                    index[dimension] += 1;
                    if index[dimension] < self.held[dimension].end {
                        break;
                    }
                    index[dimension] = self.held[dimension].start;
                }
            }
        }
        Tensor::from_bytes(element, self.extents(), bytes).ok()
    }
}
