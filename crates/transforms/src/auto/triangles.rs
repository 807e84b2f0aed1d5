//! Blocks of triangular products.
//!
//! A map over `i` and `j < i + c` that sums up products over `k` is no product of matrices. Blocks of its rows make it one, but for a
//! small triangle: for the rows of a block, `j` runs up to the first row of the block, which is a rectangle, and from there to
//! the row itself. The rectangle becomes the library node `MatMul`.

use sdfg::ir::{Schedule, Sdfg};
use sdfg::subset::Range;
use sdfg::symbolic::Expr;

use super::rules::{name, place_at};
use crate::engine::{Match, Matched, Pipeline, Site, Tables};
use crate::rewrites::{LiftToLibrary, MapSchedule, MapSplit, MapTiling, Size};

/// Rows of a block.
pub(super) const ROWS: [i64; 2] = [64, 128];

/// A map whose dimension `column` ends at a fixed distance behind the parameter of the dimension `row`.
pub(super) struct Triangle {
    row: usize,
    column: usize,
    /// The end of the columns, less the row.
    distance: Expr,
}

impl Triangle {
    /// The triangle of a map with a third dimension, where no other range depends on a parameter.
    pub(super) fn of(program: &Sdfg, found: &Match) -> Option<Self> {
        let tables = Tables::new();
        let site = Site::of(program, found, &tables)?;
        let map = site.map(0).ok()?;
        let depends = |expr: &Expr| map.params.iter().any(|param| expr.depends_on(param));
        let all = &map.ranges.0;
        let ends: Vec<usize> = (0..all.len()).filter(|at| depends(&all[*at].end)).collect();
        let [column] = ends[..] else { return None };
        let is_simple = |range: &Range| range.step.is_one() && range.tile.is_one() && !depends(&range.begin);
        if map.params.len() < 3 || !all.iter().all(is_simple) {
            return None;
        }
        let end = &all[column].end;
        (0..column).find_map(|row| {
            let distance = end - &Expr::symbol(map.params[row].clone());
            (!depends(&distance)).then_some(Triangle { row, column, distance })
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
        let ranges = ranges(pipeline.program(), &tile)?;
        let count = &(&ranges[self.row].begin + &self.distance) - &ranges[self.column].begin;
        let split = MapSplit { count: Size(count), dimension: self.column };
        pipeline.apply_at(&split, &tile).ok()?;
        let rectangle = place_at(pipeline.program(), &LiftToLibrary::default(), &at)?;
        let blocks = around(pipeline.program(), &rectangle)?;
        pipeline.apply_at(&LiftToLibrary::default(), &rectangle).ok()?;
        // Later blocks have longer rows.
        if is_left_to_the_compiler(pipeline.program(), &blocks) {
            pipeline.apply_at(&MapSchedule::new("default").dynamic(), &blocks).ok()?;
        }
        Some(())
    }
}

/// The map around that of a match.
fn around(program: &Sdfg, found: &Match) -> Option<Match> {
    let tables = Tables::new();
    let site = Site::of(program, found, &tables)?;
    let outer = site.scopes().scope_of(found.node(0))?;
    Some(Match { calls: found.calls.clone(), elements: Matched::Nodes(found.state(), vec![outer]) })
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
