//! Raises transitions to loops and branches.
//!
//! The algorithm is a structured reduction. Small natural loops become loop blocks, then the loops around
//! them. Then small diamonds become branches until none is left. Then the same happens inside the new blocks.
//! Any other shape remains.

mod branches;
mod loops;

use std::collections::BTreeSet;

use sdfg_graph::analysis::region_graph::tried_transitions;
use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{Block, BlockId, BlockKind, RegionId, Sdfg};
use sdfg_graph::propagate::propagate;

use super::{connect, in_all, is_empty, list_before, redirect_to};
use crate::edit::derived_block_label;

/// Maximum nesting of loops and branches: the JSON form ends at about 24 levels. A long chain of choices, one
/// in the last arm of the other, would exceed it.
const MAX_LEVELS: usize = 16;

/// Makes loops and branches of transitions where they have the form of one, also in nested SDFGs.
///
/// Loops: a natural loop (one block dominates the others) whose empty guard state tests before or after the body; other ways
/// out become breaks where they lead to the same place, or returns where they end the SDFG. Symbol, first value and update
/// are those of the transitions into the guard. Branches: what follows a choice up to where its ways meet again. Labels are
/// those of lowered blocks or of DaCe's guards (`l_guard`), else derived from the block that the loop or choice begins with.
///
/// Loops that validation would refuse because they never end stay as they are, which it accepts; so does what would be
/// nested deeper than 16 levels. Transitions that are never tried, behind one that is always taken, are removed.
pub fn raise(sdfg: &mut Sdfg) {
    in_all(sdfg, &raise_one);
    propagate(sdfg);
}

/// As [`raise`], in one SDFG.
pub(crate) fn raise_one(sdfg: &mut Sdfg) {
    let mut waiting = vec![(sdfg.body(), MAX_LEVELS)];
    while let Some((region, levels)) = waiting.pop() {
        remove_untried(sdfg, region);
        while loops::raise_some(sdfg, region, levels) || branches::raise_some(sdfg, region, levels) {}
        for block in sdfg.region(region).blocks.clone() {
            let inner = sdfg.block(block).kind.regions();
            waiting.extend(inner.into_iter().map(|part| (part, levels.saturating_sub(1))));
        }
    }
}

/// Removes transitions behind one that is always taken, and behind jumps: what comes before them may go elsewhere soon.
fn remove_untried(sdfg: &mut Sdfg, region: RegionId) {
    for block in sdfg.region(region).blocks.clone() {
        let tried = tried_transitions(sdfg, block);
        for id in sdfg.transitions_from(block) {
            if !tried.contains(&id) {
                sdfg.remove_transition(id);
            }
        }
    }
}

/// Number of levels of loops and branches in some blocks.
fn levels_in(sdfg: &Sdfg, blocks: &BTreeSet<BlockId>) -> usize {
    let inside = |blocks: &[BlockId]| -> Vec<RegionId> {
        blocks.iter().flat_map(|block| sdfg.block(*block).kind.regions()).collect()
    };
    let mut levels = 0;
    let mut regions = inside(&blocks.iter().copied().collect::<Vec<_>>());
    while !regions.is_empty() {
        levels += 1;
        let blocks: Vec<BlockId> =
            regions.iter().flat_map(|region| sdfg.region(*region).blocks.clone()).collect();
        regions = inside(&blocks);
    }
    levels
}

/// The label that a block had whose part in `role` is `label`, if it is free again.
fn original_label(sdfg: &Sdfg, label: &str, role: &str) -> Option<String> {
    let without_number = label.trim_end_matches(|c: char| c.is_ascii_digit());
    let origin = without_number
        .strip_suffix(&format!(".{role}"))
        .or_else(|| label.strip_suffix(&format!("_{role}")))?;
    (!origin.is_empty() && sdfg.find_block(origin).is_none()).then(|| origin.to_owned())
}

/// Whether a block is an empty state that lowering made for the block labelled `origin`.
fn has_role(sdfg: &Sdfg, block: BlockId, origin: &str, role: &str) -> bool {
    let label = sdfg.block(block).label.trim_end_matches(|c: char| c.is_ascii_digit());
    is_empty(sdfg, block) && label.strip_suffix(role).and_then(|rest| rest.strip_suffix('.')) == Some(origin)
}

/// The only transition out of a block, if it is always taken and assigns nothing: the block that follows.
fn only_next(sdfg: &Sdfg, block: BlockId) -> Option<BlockId> {
    let [id] = sdfg.transitions_from(block)[..] else { return None };
    let transition = sdfg.transition(id);
    (transition.condition.is_none() && transition.assignments.is_empty()).then_some(transition.dst)
}

/// Lets a block go on as the empty state behind it does, if that has a role for it and nothing else leads to it.
fn absorb_next(sdfg: &mut Sdfg, block: BlockId, origin: &str, role: &str) {
    let Some(next) = only_next(sdfg, block) else { return };
    let is_start = sdfg.region(sdfg.block(next).region).start == Some(next);
    if next == block
        || is_start
        || !has_role(sdfg, next, origin, role)
        || sdfg.transitions_to(next).len() != 1
    {
        return;
    }
    for id in sdfg.transitions_from(block) {
        sdfg.remove_transition(id);
    }
    for id in sdfg.transitions_from(next) {
        sdfg.transition_mut(id).src = block;
    }
    sdfg.remove_block(next);
}

/// Puts a block of another kind in the place of an empty state; nothing comes after it.
fn turn_into(sdfg: &mut Sdfg, block: BlockId, kind: BlockKind) -> BlockId {
    let Block { label, region, loc, .. } = sdfg.block(block).clone();
    let new = sdfg.add_block(region, Block { label, kind, region, loc });
    list_before(sdfg, block, &[new]);
    redirect_to(sdfg, block, new);
    sdfg.remove_block(block);
    new
}

/// Lets a block jump where none of its transitions is taken.
fn jump_after(sdfg: &mut Sdfg, block: BlockId, kind: BlockKind) -> BlockId {
    if is_empty(sdfg, block) && sdfg.transitions_from(block).is_empty() {
        return turn_into(sdfg, block, kind);
    }
    let jump = add_jump(sdfg, block, kind);
    connect(sdfg, block, jump, (None, Vec::new()));
    jump
}

fn add_jump(sdfg: &mut Sdfg, block: BlockId, kind: BlockKind) -> BlockId {
    let Block { label, region, .. } = sdfg.block(block).clone();
    let label = derived_block_label(sdfg, &label, kind.noun());
    sdfg.add_block(region, Block { label, kind, region, loc: None })
}

/// Moves blocks to a region, in the order in which they are; the first is its start.
fn move_blocks(
    sdfg: &mut Sdfg,
    blocks: &BTreeSet<BlockId>,
    from: RegionId,
    to: RegionId,
    start: Option<BlockId>,
) {
    for block in sdfg.region(from).blocks.clone() {
        if blocks.contains(&block) {
            sdfg.move_block(block, to);
        }
    }
    sdfg.region_mut(to).start = start;
}
