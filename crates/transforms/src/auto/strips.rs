//! Strips of loops whose iterations depend on each other, with products of matrices for what a strip reads from outside.
//!
//! Row `i` of a loop may add up products over rows `k > i`, or `k < i`, which the loop writes, too. Then no map runs the rows. But
//! for the rows of a strip, most of the sum reads rows outside of the strip. This part of the sum becomes a loop of its own, which
//! is a map and a product of matrices; the triangle that is left has few summands.

use std::collections::BTreeSet;

use sdfg::ir::{BlockId, BlockKind, NodeId, NodeKind, Sdfg, StateId};
use sdfg::path::{ElementPlace, Target};
use sdfg::subset::Range;
use sdfg::symbolic::Expr;

use super::rules::name;
use crate::engine::{Match, Matched, Pipeline, Site, Tables, places};
use crate::loops::{Counted, blocks_in, state_block, state_in};
use crate::rewrites::{
    LiftToLibrary, LoopFission, LoopStripMining, LoopToMap, MapCollapse, MapSplit, Size, StateFission,
};

/// The bound of the summands that follows the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Begin,
    End,
}

/// A map in the body of a loop, of which one dimension begins or ends at a fixed distance from the symbol of the loop.
pub(super) struct RowSum {
    /// The loop.
    rows: Place,
    /// The label of the map.
    map: String,
    /// The dimension.
    dimension: usize,
    bound: Bound,
    /// The bound, less the symbol of the loop.
    distance: Expr,
}

impl RowSum {
    /// Those of a program.
    pub(super) fn all(program: &Sdfg) -> Vec<Self> {
        let all = places(program, &LiftToLibrary::default());
        all.iter().filter_map(|found| RowSum::of(program, found)).collect()
    }

    fn of(program: &Sdfg, found: &Match) -> Option<Self> {
        let tables = Tables::new();
        let site = Site::of(program, found, &tables)?;
        let map = site.map(0).ok()?;
        if site.scopes().scope_of(found.node(0)).is_some() || map.params.len() < 2 {
            return None;
        }
        let rows = parent(site.sdfg, state_block(site.sdfg, found.state())?)?;
        let counted = Counted::of_loop(site.sdfg, rows).ok().filter(|counted| counted.range.step.is_one())?;
        let is_moving = |expr: &Expr| {
            expr.depends_on(&counted.symbol) || map.params.iter().any(|param| expr.depends_on(param))
        };
        let mut moving = Vec::new();
        for (at, range) in map.ranges.0.iter().enumerate() {
            moving.extend(is_moving(&range.begin).then_some((at, Bound::Begin, &range.begin)));
            moving.extend(is_moving(&range.end).then_some((at, Bound::End, &range.end)));
        }
        let [(dimension, bound, moving)] = moving[..] else { return None };
        let distance = moving - &Expr::symbol(counted.symbol.clone());
        let is_simple = |range: &Range| range.step.is_one() && range.tile.is_one();
        if is_moving(&distance) || !map.ranges.0.iter().all(is_simple) {
            return None;
        }
        let rows = Place { calls: found.calls.clone(), label: site.sdfg.block(rows).label.clone() };
        Some(RowSum { rows, map: site.label(0).to_owned(), dimension, bound, distance })
    }

    /// The path of the map.
    pub(super) fn name(&self, program: &Sdfg) -> Option<String> {
        Some(name(program, &self.rows.map(program, &self.map)?))
    }

    /// Applies the steps that make a product of what a strip of so many rows reads from outside. Nothing if one of them does not
    /// apply; those before it stay. In a row, the product is split off in front of the rest of the sum, or behind it.
    pub(super) fn strip(&self, pipeline: &mut Pipeline, size: i64, is_in_front: bool) -> Option<()> {
        let sum = self.rows.map(pipeline.program(), &self.map)?;
        // A map that has a state of its own needs no other.
        let _ = pipeline.apply_at(&StateFission::default(), &sum);
        let rows = self.rows.block(pipeline.program())?;
        pipeline.apply_at(&LoopStripMining { size }, &rows).ok()?;
        let strips = self.rows.parent(pipeline.program())?;
        let (split, before) = (self.split(pipeline.program())?, strips.labels(pipeline.program()));
        let sum = strips.map(pipeline.program(), &self.map)?;
        pipeline.apply_at(&split, &sum).ok()?;
        let second = strips.labels(pipeline.program()).difference(&before).next()?.clone();
        let [triangle, product] = match self.bound {
            Bound::Begin => [&self.map, &second],
            Bound::End => [&second, &self.map],
        };
        let first = strips.map(pipeline.program(), if is_in_front { product } else { triangle })?;
        pipeline.apply_at(&StateFission::default(), &first).ok()?;
        strips.isolate(pipeline, product)?;
        let (rows, _) = strips.loop_of(pipeline.program(), product)?;
        pipeline.apply_at(&LoopToMap::default(), &rows).ok()?;
        let inner = strips.map(pipeline.program(), product)?;
        let all = places(pipeline.program(), &MapCollapse::default());
        let is_around = |found: &Match| {
            (&found.calls, found.state(), found.node(1)) == (&inner.calls, inner.state(), inner.node(0))
        };
        let Match { calls, elements } = all.into_iter().find(is_around)?;
        let nest = Match { calls: calls.clone(), elements };
        pipeline.apply_at(&MapCollapse::default(), &nest).ok()?;
        let product = Matched::Nodes(nest.state(), vec![nest.node(0)]);
        pipeline.apply_at(&LiftToLibrary::default(), &Match { calls, elements: product }).ok()?;
        Some(())
    }

    /// Splits the summands at the border of a strip: one part has those that all rows of the strip have.
    fn split(&self, program: &Sdfg) -> Option<MapSplit> {
        let rows = self.rows.block(program)?;
        let tables = Tables::new();
        let strip = Counted::of(&Site::of(program, &rows, &tables)?).ok()?.range;
        let at = match self.bound {
            Bound::Begin => &(&strip.end + &self.distance) - 1,
            Bound::End => &strip.begin + &self.distance,
        };
        Some(MapSplit { at: Some(Size(at)), dimension: self.dimension, ..MapSplit::default() })
    }
}

/// A loop by its label, which edits keep.
struct Place {
    /// The calls that lead to its SDFG.
    calls: Vec<(StateId, NodeId)>,
    label: String,
}

impl Place {
    fn sdfg<'p>(&self, program: &'p Sdfg) -> Option<&'p Sdfg> {
        ElementPlace { calls: self.calls.clone(), target: Target::Sdfg }.sdfg(program)
    }

    fn at(&self, block: BlockId) -> Match {
        Match { calls: self.calls.clone(), elements: Matched::Blocks(vec![block]) }
    }

    /// The loop.
    fn block(&self, program: &Sdfg) -> Option<Match> {
        Some(self.at(self.sdfg(program)?.find_block(&self.label)?))
    }

    /// The loop around it.
    fn parent(&self, program: &Sdfg) -> Option<Self> {
        let sdfg = self.sdfg(program)?;
        let label = sdfg.block(parent(sdfg, sdfg.find_block(&self.label)?)?).label.clone();
        Some(Place { calls: self.calls.clone(), label })
    }

    /// The maps in the states of the loop and of the loops in it.
    fn maps(&self, program: &Sdfg) -> Vec<(StateId, NodeId, String)> {
        let Some(sdfg) = self.sdfg(program) else { return Vec::new() };
        let Some(BlockKind::Loop(repeated)) =
            sdfg.find_block(&self.label).map(|block| &sdfg.block(block).kind)
        else {
            return Vec::new();
        };
        let states = blocks_in(sdfg, repeated.body).into_iter().filter_map(|block| state_in(sdfg, block));
        let maps = states.flat_map(|state| {
            let nodes = sdfg.state(state).nodes();
            nodes
                .filter(|(_, node)| matches!(node.kind, NodeKind::MapEntry(_)))
                .map(move |found| (state, found))
        });
        maps.map(|(state, (node, found))| (state, node, found.label.clone())).collect()
    }

    fn labels(&self, program: &Sdfg) -> BTreeSet<String> {
        self.maps(program).into_iter().map(|(_, _, label)| label).collect()
    }

    /// The map with a label.
    fn map(&self, program: &Sdfg, label: &str) -> Option<Match> {
        let (state, node, _) = self.maps(program).into_iter().find(|(_, _, own)| own == label)?;
        Some(Match { calls: self.calls.clone(), elements: Matched::Nodes(state, vec![node]) })
    }

    /// The innermost loop around the state of a map, and the states of its body in order.
    fn loop_of(&self, program: &Sdfg, map: &str) -> Option<(Match, Vec<Option<StateId>>)> {
        let sdfg = self.sdfg(program)?;
        let block = parent(sdfg, state_block(sdfg, self.map(program, map)?.state())?)?;
        let row = Counted::of_loop(sdfg, block).ok()?.row(sdfg).ok()?;
        Some((self.at(block), row.into_iter().map(|block| state_in(sdfg, block)).collect()))
    }

    /// Gives the state of a map a loop of its own.
    fn isolate(&self, pipeline: &mut Pipeline, map: &str) -> Option<()> {
        let state = Some(self.map(pipeline.program(), map)?.state());
        let (rows, row) = self.loop_of(pipeline.program(), map)?;
        let at = row.iter().position(|other| *other == state)?;
        if at > 0 {
            pipeline.apply_at(&LoopFission { count: i64::try_from(at).ok()? }, &rows).ok()?;
        }
        let (rows, row) = self.loop_of(pipeline.program(), map)?;
        if row.len() > 1 {
            pipeline.apply_at(&LoopFission { count: 1 }, &rows).ok()?;
        }
        Some(())
    }
}

/// The block around a block.
fn parent(sdfg: &Sdfg, block: BlockId) -> Option<BlockId> {
    sdfg.region(sdfg.block(block).region).parent
}
