//! The part of an argument that a rank has, out of the whole and back.

use std::collections::BTreeMap;
use std::ops::Range;

use sdfg::ir::Blocks;
use sdfg::symbolic::{EvalError, Expr, Symbol};
use sdfg::tensor::Tensor;

use super::RankProgram;
use super::bounds::{Bounds, constant_grid, start};
use crate::mpi::{Combination, Dimension, Elements, Flags, Move, Side};

/// The elements of an argument on a rank.
pub(super) struct Part {
    /// Extents of the whole argument.
    shape: Vec<i64>,
    /// Positions that the memory of the rank holds, with halos.
    held: Vec<Range<i64>>,
}

impl RankProgram {
    /// The part of an argument on a rank whose symbols have these values; `None` for one that every rank has as a whole.
    pub(super) fn part(
        &self,
        argument: &str,
        symbols: &BTreeMap<Symbol, i64>,
    ) -> Result<Option<Part>, EvalError> {
        let Some((blocks, shape)) = self.arguments.get(argument) else { return Ok(None) };
        let value = |expr: &Expr| expr.eval(&|name| symbols.get(name).copied());
        let extents = constant_grid(blocks).unwrap_or_default();
        let Some(grid) = self.grids.iter().find(|grid| grid.extents == extents) else { return Ok(None) };
        let is_on = symbols.get(&grid.is_on) == Some(&1);
        let mut part = Part { shape: Vec::new(), held: Vec::new() };
        for (extent, cut) in shape.iter().zip(&blocks.cuts) {
            let bounds = Bounds::of(cut.as_ref(), extent, grid);
            let (low, high) = (value(&bounds.low)?, value(&bounds.high)?);
            let is_empty = cut.is_some() && (!is_on || value(&bounds.first)? >= value(&bounds.end)?);
            part.held.push(if is_empty { low..low } else { low..high.max(low) });
            part.shape.push(value(extent)?);
        }
        Ok(Some(part))
    }

    /// The move that gives every rank the whole of an argument, which is like this tensor; `None` if every rank has it.
    pub(super) fn gathering(
        &self,
        argument: &str,
        like: &Tensor,
        symbols: &BTreeMap<Symbol, i64>,
    ) -> Result<Option<Move>, EvalError> {
        let Some((blocks, shape)) = self.arguments.get(argument) else { return Ok(None) };
        let value = |expr: &Expr| expr.eval(&|name| symbols.get(name).copied());
        let grid = constant_grid(blocks).unwrap_or_default();
        let (mut starts, mut halos) = (Vec::new(), Vec::new());
        for (extent, cut) in shape.iter().zip(&blocks.cuts) {
            let Some(cut) = cut else {
                starts.push(vec![0, value(extent)?]);
                halos.push([0, 0]);
                continue;
            };
            let count = grid.get(cut.along).copied().unwrap_or(1);
            let of = |k: i64| value(&start(&cut.parts, extent, &Expr::int(k), count));
            starts.push((0..=count).map(of).collect::<Result<_, _>>()?);
            halos.push([value(&cut.halo[0])?, value(&cut.halo[1])?]);
        }
        Ok(Some(whole(blocks, &grid, &starts, &halos, like)))
    }
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

/// The move that gives every rank the whole of an argument, with the starts of the parts of each dimension.
fn whole(blocks: &Blocks, grid: &[i64], starts: &[Vec<i64>], halos: &[[i64; 2]], like: &Tensor) -> Move {
    let shape = like.shape();
    let elements = |moved: usize| Elements { begin: 0, step: 1, moved: Some(moved) };
    let dimension = |(d, extent): (usize, &i64)| Dimension {
        extent: *extent,
        cut: blocks.cuts[d].as_ref().map(|cut| cut.along),
        starts: starts[d].clone(),
        before: halos[d][0],
        after: halos[d][1],
        elements: elements(d),
    };
    let everywhere = |(d, extent): (usize, &i64)| Dimension {
        extent: *extent,
        cut: None,
        starts: vec![0, *extent],
        before: 0,
        after: 0,
        elements: elements(d),
    };
    Move {
        scalar: like.element().lane(),
        lanes: i64::from(like.element().lanes()),
        combination: Combination::Assign,
        flags: Flags { is_target_everywhere: true, ..Flags::default() },
        extents: shape.to_vec(),
        source: Side { grid: grid.to_vec(), dimensions: shape.iter().enumerate().map(dimension).collect() },
        target: Side { grid: Vec::new(), dimensions: shape.iter().enumerate().map(everywhere).collect() },
    }
}
