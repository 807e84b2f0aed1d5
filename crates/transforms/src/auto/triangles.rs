//! Blocks of triangular products.
//!
//! A map over `i` and `j < i + c` that sums up products over `k` is no product of matrices. Blocks of its rows make it one, but for a
//! small triangle: for the rows of a block, `j` runs up to the first row of the block, which is a rectangle, and from there to
//! the row itself. The rectangle becomes the library node `MatMul`. The same holds for `j >= i + c`, where the rectangle begins at
//! the last row of the block; for `c > 1` it may have no column, and `LiftToLibrary` refuses.

use std::collections::BTreeSet;

use sdfg::ir::{Schedule, Sdfg};
use sdfg::subset::Range;
use sdfg::symbolic::Expr;

use super::rules::{around, name, place_at};
use crate::engine::{Match, Pipeline, Site, Tables, places};
use crate::rewrites::{LiftToLibrary, MapSchedule, MapSplit, MapTiling, Size};

/// Rows of a block.
pub(super) const ROWS: [i64; 2] = [64, 128];

/// The bound of a range that follows the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Begin,
    End,
}

/// A map whose dimension `column` begins or ends at a fixed distance behind the parameter of the dimension `row`.
pub(super) struct Triangle {
    row: usize,
    column: usize,
    bound: Bound,
    /// The bound of the columns, less the row.
    distance: Expr,
}

impl Triangle {
    /// The triangle of a map with a third dimension, where no other bound depends on a parameter.
    pub(super) fn of(program: &Sdfg, found: &Match) -> Option<Self> {
        let tables = Tables::new();
        let site = Site::of(program, found, &tables)?;
        let map = site.map(0).ok()?;
        let depends = |expr: &Expr| map.params.iter().any(|param| expr.depends_on(param));
        let all = &map.ranges.0;
        let mut moving = Vec::new();
        for (at, range) in all.iter().enumerate() {
            moving.extend(depends(&range.begin).then_some((at, Bound::Begin, &range.begin)));
            moving.extend(depends(&range.end).then_some((at, Bound::End, &range.end)));
        }
        let [(column, bound, moving)] = moving[..] else { return None };
        let is_simple = |range: &Range| range.step.is_one() && range.tile.is_one();
        if map.params.len() < 3 || !all.iter().all(is_simple) {
            return None;
        }
        (0..column).find_map(|row| {
            let distance = moving - &Expr::symbol(map.params[row].clone());
            (!depends(&distance)).then_some(Triangle { row, column, bound, distance })
        })
    }

    /// Applies the steps that make a rectangle of blocks of so many rows a library node. Nothing if one of them does not apply; those
    /// before it stay.
    pub(super) fn block(&self, pipeline: &mut Pipeline, found: &Match, rows: i64) -> Option<()> {
        let at = name(pipeline.program(), found);
        let dimensions = ranges(pipeline.program(), found)?.len();
        let mut sizes = vec![0; dimensions];
        sizes[self.row] = rows;
        pipeline.apply_at(&MapTiling::new(sizes), found).ok()?;
        let tile = place_at(pipeline.program(), &MapSplit::default(), &at)?;
        let before = product_names(pipeline.program());
        pipeline.apply_at(&self.split(&ranges(pipeline.program(), &tile)?), &tile).ok()?;
        let rectangle = match self.bound {
            Bound::End => at,
            Bound::Begin => product_names(pipeline.program()).difference(&before).next()?.clone(),
        };
        let rectangle = place_at(pipeline.program(), &LiftToLibrary::default(), &rectangle)?;
        let blocks = around(pipeline.program(), &rectangle)?;
        pipeline.apply_at(&LiftToLibrary::default(), &rectangle).ok()?;
        // Blocks have rows of different lengths.
        if is_left_to_the_compiler(pipeline.program(), &blocks) {
            pipeline.apply_at(&MapSchedule::new("default").dynamic(), &blocks).ok()?;
        }
        Some(())
    }

    /// Splits the columns that all rows of a block have from the others.
    fn split(&self, ranges: &[Range]) -> MapSplit {
        let (rows, dimension) = (&ranges[self.row], self.column);
        match self.bound {
            Bound::End => {
                let count = &(&rows.begin + &self.distance) - &ranges[self.column].begin;
                MapSplit { count: Size(count), dimension, ..MapSplit::default() }
            }
            Bound::Begin => {
                let at = &(&rows.end + &self.distance) - 1;
                MapSplit { at: Some(Size(at)), dimension, ..MapSplit::default() }
            }
        }
    }
}

/// The names of maps that may be products.
fn product_names(program: &Sdfg) -> BTreeSet<String> {
    places(program, &LiftToLibrary::default()).iter().map(|found| name(program, found)).collect()
}

/// Whether the user gave the map no schedule of his own.
fn is_left_to_the_compiler(program: &Sdfg, found: &Match) -> bool {
    let tables = Tables::new();
    let site = Site::of(program, found, &tables);
    let schedule = site.as_ref().and_then(|site| site.map(0).ok()).map(|map| &map.schedule);
    schedule == Some(&Schedule::default())
}

fn ranges(program: &Sdfg, found: &Match) -> Option<Vec<Range>> {
    let tables = Tables::new();
    Site::of(program, found, &tables)?.map(0).ok().map(|map| map.ranges.0.clone())
}
