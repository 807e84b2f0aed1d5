//! Counted loops around a state, and whether each of their iterations runs it.

use sdfg_graph::ir::{BlockId, BlockKind, RegionId, Sdfg};
use sdfg_language::subset::Range;
use sdfg_language::symbolic::Symbol;

use super::site::Program;

/// Symbols and ranges of the counted loops around a block, the outermost first, each with whether every iteration of it
/// runs the block: nothing on the way is chosen, skipped or left early.
pub(super) fn counted_around(program: &Program<'_>, block: BlockId) -> Vec<(Symbol, Range, bool)> {
    let sdfg = program.sdfg;
    let mut found = Vec::new();
    let (mut block, mut is_certain) = (block, true);
    loop {
        let region = sdfg.block(block).region;
        let Some(holder) = sdfg.region(region).parent else { break };
        match &sdfg.block(holder).kind {
            BlockKind::Loop(_) => match program.executions().counted(holder) {
                Some((symbol, range)) => {
                    is_certain = is_certain && always_runs(program, region, block);
                    found.push((symbol.clone(), range.clone(), is_certain));
                }
                // How often this one runs is not known; it may be never.
                None => is_certain = false,
            },
            BlockKind::Branch(_) => is_certain = false,
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
        block = holder;
    }
    found.reverse();
    found
}

/// Whether each execution of a region runs a block.
fn always_runs(program: &Program<'_>, region: RegionId, block: BlockId) -> bool {
    let start = program.region_graph(region).start();
    let is_passed = start.is_some_and(|start| program.post_dominators(region).dominates(block, start));
    is_passed && !jumps(program.sdfg, region)
}

/// Whether anything in a region leaves it or a region around it early.
fn jumps(sdfg: &Sdfg, region: RegionId) -> bool {
    sdfg.region(region).blocks.iter().any(|block| {
        let kind = &sdfg.block(*block).kind;
        matches!(kind, BlockKind::Break | BlockKind::Continue | BlockKind::Return)
            || kind.regions().into_iter().any(|part| jumps(sdfg, part))
    })
}
