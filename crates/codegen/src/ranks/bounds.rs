//! The positions that a rank holds of a dimension, as expressions of its coordinates in the grid.

use sdfg::analysis::owned_part;
use sdfg::ir::{Blocks, Cut};
use sdfg::symbolic::{Expr, Symbol};

use super::Grid;

/// The positions that a rank has of one dimension of a container.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// First position of the part, and the end behind it.
    pub(super) first: Expr,
    pub(super) end: Expr,
    /// The same with halos: what the memory of the rank holds.
    pub(super) low: Expr,
    pub(super) high: Expr,
    /// Number of elements in memory.
    pub(super) extent: Expr,
}

/// The extents of a grid, if they are numbers.
pub(super) fn constant_grid(blocks: &Blocks) -> Option<Vec<i64>> {
    blocks.grid.iter().map(Expr::as_int).collect()
}

impl Bounds {
    pub(super) fn of(cut: Option<&Cut>, extent: &Expr, grid: &Grid) -> Self {
        let Some(cut) = cut else {
            let (first, end) = (Expr::zero(), extent.clone());
            return Bounds { low: first.clone(), high: end.clone(), first, extent: end.clone(), end };
        };
        let parts = grid.extents.get(cut.along).copied().unwrap_or(1);
        let at = grid.coordinates.get(cut.along).cloned().map_or_else(Expr::zero, Expr::symbol);
        let [first, end] = owned_part(cut, extent, &at, parts);
        let [before, after] = &cut.halo;
        let low = if before.is_zero() { first.clone() } else { Expr::max(&Expr::zero(), &(&first - before)) };
        let high = if after.is_zero() { end.clone() } else { Expr::min(extent, &(&end + after)) };
        // An empty part holds no halo.
        let is_there = Expr::min(&Expr::one(), &Expr::max(&Expr::zero(), &(&end - &first)));
        let length = Expr::max(&Expr::zero(), &(&high - &low));
        let held = if cut.has_halo() { &length * &is_there } else { length };
        // A rank without a process of the grid holds nothing.
        let held = &held * &Expr::symbol(grid.is_on.clone());
        Bounds { first, end, low, high, extent: held }
    }

    /// Gives the first position and the extent in memory names, so that memlets stay short.
    pub(super) fn name(&mut self, named: &mut Vec<(Symbol, Expr)>) {
        let mut symbol = |value: &Expr, what: &str| {
            if let Some((known, _)) = named.iter().find(|(_, known)| known == value) {
                return Expr::symbol(known.clone());
            }
            let name = Symbol::of(&format!("__part{}_{what}", named.len()));
            named.push((name.clone(), value.clone()));
            Expr::symbol(name)
        };
        self.low = symbol(&self.low, "begin");
        self.extent = symbol(&self.extent, "extent");
    }
}
