//! The part of an argument that a rank has, out of the whole and back.

use sdfg::tensor::Tensor;

use super::Part;
use crate::mpi::{Combination, Dimension, Elements, Flags, Move, Side};
use sdfg::ir::Blocks;

impl Part {
    /// Number of elements in the memory of the rank.
    pub fn len(&self) -> usize {
        self.held.iter().map(|range| usize::try_from(range.end - range.start).unwrap_or(0)).product()
    }

    /// Whether the rank holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Extents of the memory of the rank.
    pub fn extents(&self) -> Vec<i64> {
        self.held.iter().map(|range| range.end - range.start).collect()
    }

    /// The elements that the rank holds of a whole argument; `None` if the tensor has another shape.
    pub fn of(&self, whole: &Tensor) -> Option<Tensor> {
        if whole.shape() != self.shape {
            return None;
        }
        let element = whole.element();
        let size = element.size();
        let mut bytes = Vec::with_capacity(self.len() * size);
        if !self.is_empty() {
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
pub(super) fn whole(
    blocks: &Blocks,
    grid: &[i64],
    starts: &[Vec<i64>],
    halos: &[[i64; 2]],
    like: &Tensor,
) -> Move {
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
