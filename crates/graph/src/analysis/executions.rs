//! Number of executions of a block for each execution of an enclosing region.
//!
//! This number lifts the effect of one execution of a state to a region: images for parts of containers, sums
//! for bytes and operations. Conditions are not evaluated, so the result is an upper bound wherever a choice
//! is made.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::subset::Range;
use sdfg_language::symbolic::Symbol;

use super::dominators::DominatorTree;
use super::loops::counted_range;
use super::region_graph::RegionGraph;
use crate::ir::{BlockId, BlockKind, RegionId, Sdfg};

/// Number of executions for each point of the surrounding loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Frequency {
    /// Exactly one.
    Once,
    /// One or none.
    AtMostOnce,
    /// No bound is known.
    Unbounded,
}

/// The executions of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executions {
    /// Counted loops between the region and the block, outermost first; ranges may mention symbols of outer ones.
    pub loops: Vec<(Symbol, Range)>,
    /// Number of executions of the block for each point of the loops.
    pub frequency: Frequency,
}

impl Executions {
    /// Whether the block may run more than once.
    pub fn may_repeat(&self) -> bool {
        !self.loops.is_empty() || self.frequency == Frequency::Unbounded
    }
}

/// Answers for the blocks of one SDFG.
#[derive(Clone, Debug)]
pub struct ExecutionTable {
    /// Regions that something inside may leave before they are done.
    left_early: BTreeSet<RegionId>,
    /// For each block how often it runs each time that its own region runs.
    local: Vec<(BlockId, Frequency)>,
    /// The symbols and ranges of loops that count.
    counted: BTreeMap<BlockId, (Symbol, Range)>,
}

impl ExecutionTable {
    /// Looks at all regions of an SDFG.
    pub fn of(sdfg: &Sdfg) -> Self {
        let left_early = regions_left_early(sdfg);
        let mut local = Vec::new();
        let regions: BTreeSet<RegionId> = sdfg.blocks().map(|(_, block)| block.region).collect();
        for region in regions {
            let graph = RegionGraph::of(sdfg, region);
            let post = DominatorTree::post_dominators(&graph);
            let cyclic: BTreeSet<BlockId> = graph.cycles().into_iter().flatten().collect();
            let passed: BTreeSet<BlockId> =
                graph.start().into_iter().flat_map(|start| post.of(start)).collect();
            for block in graph.blocks() {
                let surely = passed.contains(&block);
                let frequency = if cyclic.contains(&block) {
                    Frequency::Unbounded
                } else if surely && !left_early.contains(&region) && cyclic.is_empty() {
                    Frequency::Once
                } else {
                    Frequency::AtMostOnce
                };
                local.push((block, frequency));
            }
        }
        local.sort_unstable();
        let counted = sdfg.blocks().filter_map(|(id, block)| match &block.kind {
            BlockKind::Loop(repeated) => Some((id, counted_range(sdfg, repeated)?)),
            BlockKind::State(_)
            | BlockKind::Branch(_)
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => None,
        });
        ExecutionTable { left_early, local, counted: counted.collect() }
    }

    /// The symbol of a loop that counts, with its range; see [`counted_range`].
    pub fn counted(&self, block: BlockId) -> Option<&(Symbol, Range)> {
        self.counted.get(&block)
    }

    /// Number of executions of a block for each execution of the body of the SDFG.
    pub fn of_block(&self, sdfg: &Sdfg, block: BlockId) -> Executions {
        self.within(sdfg, block, sdfg.body())
    }

    /// Number of executions of a block for each execution of `region`, which contains it.
    pub fn within(&self, sdfg: &Sdfg, block: BlockId, region: RegionId) -> Executions {
        let mut found = Executions { loops: Vec::new(), frequency: Frequency::Once };
        let mut at = block;
        // A wrong graph may have a region that contains itself.
        for _ in 0..=self.local.len() {
            let local = self.local.binary_search_by_key(&at, |(block, _)| *block);
            let local = local.map_or(Frequency::Unbounded, |index| self.local[index].1);
            found.frequency = found.frequency.max(local);
            let own = sdfg.block(at).region;
            let Some(outer) = sdfg.region(own).parent.filter(|_| own != region) else { break };
            match &sdfg.block(outer).kind {
                BlockKind::Loop(_) => match self.counted(outer) {
                    Some(range) => found.loops.push(range.clone()),
                    None => found.frequency = Frequency::Unbounded,
                },
                BlockKind::Branch(_) => found.frequency = found.frequency.max(Frequency::AtMostOnce),
                BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
            }
            at = outer;
        }
        found.loops.reverse();
        found
    }

    /// Whether a break, continue or return inside a region may leave it before it is done.
    pub fn is_left_early(&self, region: RegionId) -> bool {
        self.left_early.contains(&region)
    }
}

fn regions_left_early(sdfg: &Sdfg) -> BTreeSet<RegionId> {
    let mut found = BTreeSet::new();
    for (_, block) in sdfg.blocks() {
        let stops_at_loop = match block.kind {
            BlockKind::Break | BlockKind::Continue => true,
            BlockKind::Return => false,
            BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Branch(_) => continue,
        };
        let mut at = Some(block.region);
        while let Some(region) = at.filter(|region| found.insert((*region, stops_at_loop))) {
            let parent = sdfg.get_region(region).and_then(|region| region.parent);
            let outer = parent.map(|parent| sdfg.block(parent));
            let ends = outer.is_some_and(|block| stops_at_loop && matches!(block.kind, BlockKind::Loop(_)));
            at = outer.filter(|_| !ends).map(|block| block.region);
        }
    }
    found.into_iter().map(|(region, _)| region).collect()
}
