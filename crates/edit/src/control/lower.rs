//! Lowers loops, branches and jumps to states and transitions.

use sdfg_graph::analysis::region_graph::{one_is_taken, tried_transitions};
use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{BlockId, BlockKind, Branch, Loop, RegionId, Sdfg};
use sdfg_graph::propagate::propagate;

use super::{connect, empty_state, in_all, list_before, make_empty, redirect_to};

/// Makes a state machine of the control flow, also in nested SDFGs: afterwards all blocks are states of one region.
///
/// A loop labelled `l` becomes the empty states `l.init0`, `l.guard0`, `l.latch0` and `l.after0` around its body, a branch
/// labelled `b` becomes `b.choice0` and `b.join0`; by these names [`raise`](super::raise) gives the labels back. That a loop
/// asks to be unrolled is lost.
pub fn lower(sdfg: &mut Sdfg) {
    in_all(sdfg, &lower_one);
    propagate(sdfg);
}

fn lower_one(sdfg: &mut Sdfg) {
    for block in inner_first(sdfg, &[sdfg.body()]) {
        lower_flat(sdfg, block);
    }
    let returns: Vec<BlockId> = sdfg
        .blocks()
        .filter(|(_, block)| matches!(block.kind, BlockKind::Return))
        .map(|(id, _)| id)
        .collect();
    for block in returns {
        make_empty(sdfg, block);
    }
}

/// Makes states and transitions of a block and of all that is in it, in the region of the block. The block is a loop, or a
/// branch without jumps that mean a loop around it.
pub(crate) fn lower_block(sdfg: &mut Sdfg, block: BlockId) {
    for inner in inner_first(sdfg, &sdfg.block(block).kind.regions()) {
        lower_flat(sdfg, inner);
    }
    lower_flat(sdfg, block);
}

/// Lowers a block whose regions are flat.
fn lower_flat(sdfg: &mut Sdfg, block: BlockId) {
    match sdfg.block(block).kind.clone() {
        BlockKind::Loop(repeated) => lower_loop(sdfg, block, &repeated),
        BlockKind::Branch(branch) => lower_branch(sdfg, block, &branch),
        BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
    }
}

/// Loops and branches in some regions, those inside of others first: what is in a region is flat when the region is moved out.
fn inner_first(sdfg: &Sdfg, regions: &[RegionId]) -> Vec<BlockId> {
    let mut found = Vec::new();
    let mut waiting = regions.to_vec();
    while let Some(region) = waiting.pop() {
        for block in &sdfg.region(region).blocks {
            let regions = sdfg.block(*block).kind.regions();
            if !regions.is_empty() {
                found.push(*block);
            }
            waiting.extend(regions);
        }
    }
    found.reverse();
    found
}

fn lower_loop(sdfg: &mut Sdfg, block: BlockId, repeated: &Loop) {
    let (label, region) = (sdfg.block(block).label.clone(), sdfg.block(block).region);
    let [init, guard, latch, after] =
        ["init", "guard", "latch", "after"].map(|role| empty_state(sdfg, region, &label, role));
    let first = sdfg.region(repeated.body).start.unwrap_or(latch);
    end_with(sdfg, repeated.body, latch, Some(after));
    let body = move_out(sdfg, repeated.body, region);
    let set = |value: &Option<_>| repeated.symbol.clone().zip(value.clone()).into_iter().collect();
    connect(sdfg, init, if repeated.test_after { first } else { guard }, (None, set(&repeated.init)));
    connect(sdfg, guard, first, (Some(repeated.condition.clone()), Vec::new()));
    connect(sdfg, guard, after, (None, Vec::new()));
    connect(sdfg, latch, guard, (None, set(&repeated.update)));
    let (before, behind) = if repeated.test_after {
        (vec![init], vec![latch, guard, after])
    } else {
        (vec![init, guard], vec![latch, after])
    };
    list_before(sdfg, block, &[before, body, behind].concat());
    replace(sdfg, block, init, after);
}

fn lower_branch(sdfg: &mut Sdfg, block: BlockId, branch: &Branch) {
    let (label, region) = (sdfg.block(block).label.clone(), sdfg.block(block).region);
    let [choice, join] = ["choice", "join"].map(|role| empty_state(sdfg, region, &label, role));
    let mut blocks = vec![choice];
    let arms = branch.arms.iter().map(|(condition, part)| (Some(condition.clone()), Some(*part)));
    for (condition, part) in arms.chain([(None, branch.otherwise)]) {
        let first = part.and_then(|part| sdfg.region(part).start).unwrap_or(join);
        if let Some(part) = part {
            end_with(sdfg, part, join, None);
            blocks.extend(move_out(sdfg, part, region));
        }
        connect(sdfg, choice, first, (condition, Vec::new()));
    }
    blocks.push(join);
    list_before(sdfg, block, &blocks);
    replace(sdfg, block, choice, join);
}

/// Puts the blocks of the first arm of a branch in the place of the branch.
pub(crate) fn take_first_arm(sdfg: &mut Sdfg, block: BlockId) {
    let BlockKind::Branch(branch) = sdfg.block(block).kind.clone() else { return };
    let Some(part) = branch.arms.first().map(|(_, part)| *part) else { return };
    let (label, region) = (sdfg.block(block).label.clone(), sdfg.block(block).region);
    if let ([only], []) = (sdfg.region(part).blocks.as_slice(), sdfg.region(part).transitions.as_slice()) {
        let only = *only;
        move_out(sdfg, part, region);
        list_before(sdfg, block, &[only]);
        replace(sdfg, block, only, only);
        return;
    }
    let join = empty_state(sdfg, region, &label, "join");
    end_with(sdfg, part, join, None);
    let first = sdfg.region(part).start.unwrap_or(join);
    let mut blocks = move_out(sdfg, part, region);
    blocks.push(join);
    list_before(sdfg, block, &blocks);
    replace(sdfg, block, first, join);
}

/// Lets a flat region go on with `next` where it would end. In the body of a loop, `after` is where breaks lead to, and
/// continues lead to `next`; else they stay.
fn end_with(sdfg: &mut Sdfg, region: RegionId, next: BlockId, after: Option<BlockId>) {
    for block in sdfg.region(region).blocks.clone() {
        let target = match (&sdfg.block(block).kind, after) {
            (BlockKind::Break, Some(after)) => {
                make_empty(sdfg, block);
                after
            }
            (BlockKind::Continue, Some(_)) => {
                make_empty(sdfg, block);
                next
            }
            (BlockKind::Break | BlockKind::Continue, None) | (BlockKind::Return, _) => continue,
            (BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Branch(_), _) => next,
        };
        if !one_is_taken(sdfg, &tried_transitions(sdfg, block)) {
            connect(sdfg, block, target, (None, Vec::new()));
        }
    }
}

/// Moves all blocks of a region, and gives them.
fn move_out(sdfg: &mut Sdfg, from: RegionId, to: RegionId) -> Vec<BlockId> {
    let blocks = sdfg.region(from).blocks.clone();
    for block in &blocks {
        sdfg.move_block(*block, to);
    }
    blocks
}

/// Puts what begins with `first` and ends with `last` in the place of a block.
fn replace(sdfg: &mut Sdfg, block: BlockId, first: BlockId, last: BlockId) {
    redirect_to(sdfg, block, first);
    for id in sdfg.transitions_from(block) {
        sdfg.transition_mut(id).src = last;
    }
    sdfg.remove_block(block);
}
