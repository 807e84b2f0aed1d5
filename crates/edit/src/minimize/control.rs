//! Reduction of control flow: blocks, loops, branches and transitions.

use std::collections::BTreeMap;

use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{BlockId, BlockKind, RegionId, Sdfg, TransitionId};
use sdfg_language::symbolic::Expr;

use super::step::{Change, edited};

/// Blocks with all that is in them: what led to one leads to where it first led to.
pub(super) fn without_blocks(sdfg: &Sdfg) -> Vec<Change> {
    outer_first(sdfg)
        .into_iter()
        .map(|id| {
            let block = sdfg.block(id);
            let what = format!("without the {} `{}`", block.kind.noun(), block.label);
            Change::new(what, move |sdfg| remove_block(sdfg, id))
        })
        .collect()
}

/// Blocks, those with others inside of them first.
fn outer_first(sdfg: &Sdfg) -> Vec<BlockId> {
    let mut found = Vec::new();
    let mut waiting = vec![sdfg.body()];
    let mut next = 0;
    while let Some(region) = waiting.get(next) {
        let blocks = &sdfg.region(*region).blocks;
        waiting.extend(blocks.iter().flat_map(|block| sdfg.block(*block).kind.regions()));
        found.extend(blocks);
        next += 1;
    }
    found
}

fn remove_block(sdfg: &mut Sdfg, id: BlockId) -> Option<()> {
    let region = sdfg.get_block(id)?.region;
    let onward =
        sdfg.transitions_from(id).into_iter().map(|out| sdfg.transition(out)).find(|out| out.dst != id);
    let (next, assignments) = match onward {
        Some(out) => (Some(out.dst), out.assignments.clone()),
        None => (None, Vec::new()),
    };
    let into: Vec<TransitionId> = sdfg.region(region).transitions.clone();
    for transition in into {
        let found = sdfg.transition_mut(transition);
        if found.dst == id
            && found.src != id
            && let Some(next) = next
        {
            found.dst = next;
            let set: Vec<_> = found.assignments.iter().map(|(symbol, _)| symbol.clone()).collect();
            let new = assignments.iter().filter(|(symbol, _)| !set.contains(symbol)).cloned();
            found.assignments.extend(new);
        }
    }
    let was_start = sdfg.region(region).start == Some(id);
    sdfg.remove_block(id)?;
    if was_start {
        let first = sdfg.region(region).blocks.first().copied();
        sdfg.region_mut(region).start = next.or(first);
    }
    Some(())
}

/// Loops replaced by their bodies, and branches by one of their parts or by branches with fewer of them.
pub(super) fn with_parts_only(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for id in outer_first(sdfg) {
        let block = sdfg.block(id);
        let (noun, label) = (block.kind.noun(), &block.label);
        for (part, region) in block.kind.regions().into_iter().enumerate() {
            let what = format!("part {part} of the {noun} `{label}` in its place");
            changes.push(Change::new(what, move |sdfg| keep_part(sdfg, id, region)));
        }
        if let BlockKind::Branch(branch) = &block.kind {
            let parts = branch.arms.len() + usize::from(branch.otherwise.is_some());
            if parts > 1 {
                for part in 0..parts {
                    let what = format!("the branch `{label}` without part {part}");
                    changes.push(Change::new(what, move |sdfg| remove_arm(sdfg, id, part)));
                }
            }
        }
    }
    changes
}

/// Puts the blocks of a part in the place of a loop or branch. The symbol of a loop gets its first value.
fn keep_part(sdfg: &mut Sdfg, id: BlockId, part: RegionId) -> Option<()> {
    let block = sdfg.get_block(id)?;
    let around = block.region;
    let first_value = match &block.kind {
        BlockKind::Loop(repeated) => repeated.symbol.clone().zip(repeated.init.clone()),
        BlockKind::State(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => None,
    };
    let inner = sdfg.get_region(part)?.clone();
    let Some(first) = inner.start else { return remove_block(sdfg, id) };
    let lasts: Vec<BlockId> =
        inner.blocks.iter().copied().filter(|block| sdfg.transitions_from(*block).is_empty()).collect();
    for block in &inner.blocks {
        sdfg.move_block(*block, around);
    }
    for transition in sdfg.region(around).transitions.clone() {
        let found = sdfg.transition(transition).clone();
        if found.dst == id {
            sdfg.transition_mut(transition).dst = first;
        }
        if found.src == id {
            let dst = if found.dst == id { first } else { found.dst };
            for last in &lasts {
                sdfg.add_transition(sdfg_graph::ir::Transition { src: *last, dst, ..found.clone() });
            }
        }
    }
    if sdfg.region(around).start == Some(id) {
        sdfg.region_mut(around).start = Some(first);
    }
    stand_where(sdfg, around, id, &inner.blocks);
    sdfg.remove_block(id)?;
    if let Some((symbol, value)) = first_value
        && let Ok(value) = Expr::from_expression(&value)
    {
        // Where something else assigns the symbol, too, it stays.
        edited(sdfg, |editor| editor.substitute(&BTreeMap::from([(symbol, value)])));
    }
    Some(())
}

/// Lists blocks where another one stands, so that the text goes on from one to the next.
fn stand_where(sdfg: &mut Sdfg, region: RegionId, block: BlockId, moved: &[BlockId]) {
    let blocks = &mut sdfg.region_mut(region).blocks;
    blocks.retain(|other| !moved.contains(other));
    if let Some(at) = blocks.iter().position(|other| *other == block) {
        blocks.splice(at..at, moved.iter().copied());
    }
}

fn remove_arm(sdfg: &mut Sdfg, id: BlockId, part: usize) -> Option<()> {
    sdfg.get_block(id)?;
    let BlockKind::Branch(branch) = &mut sdfg.block_mut(id).kind else { return None };
    let region =
        if part < branch.arms.len() { branch.arms.remove(part).1 } else { branch.otherwise.take()? };
    // The blocks of the part go; its region stays behind unused and holds nothing.
    for block in sdfg.region(region).blocks.clone() {
        sdfg.remove_block(block);
    }
    Some(())
}

/// States that follow each other made one.
pub(super) fn merged(sdfg: &Sdfg) -> Vec<Change> {
    sdfg.transitions()
        .map(|(_, transition)| {
            let (first, second) = (transition.src, transition.dst);
            let label = |id| &sdfg.block(id).label;
            let what = format!("`{}` and `{}` in one state", label(first), label(second));
            Change::new(what, move |sdfg| edited(sdfg, |editor| editor.merge_states(first, second)))
        })
        .collect()
}

/// Transitions, and their conditions and assignments.
pub(super) fn without_transitions(sdfg: &Sdfg) -> Vec<Change> {
    let mut changes = Vec::new();
    for (id, transition) in sdfg.transitions() {
        let between =
            format!("from `{}` to `{}`", sdfg.block(transition.src).label, sdfg.block(transition.dst).label);
        let what = format!("without the transition {between}");
        changes.push(Change::new(what, move |sdfg| sdfg.remove_transition(id).map(|_| ())));
        if transition.condition.is_some() {
            let what = format!("without the condition of the transition {between}");
            changes.push(Change::new(what, move |sdfg| {
                sdfg.get_transition(id)?.condition.as_ref()?;
                sdfg.transition_mut(id).condition = None;
                Some(())
            }));
        }
        for (symbol, _) in &transition.assignments {
            let what = format!("without the assignment of `{symbol}` {between}");
            let symbol = symbol.clone();
            changes.push(Change::new(what, move |sdfg| {
                sdfg.get_transition(id)?;
                sdfg.transition_mut(id).assignments.retain(|(other, _)| *other != symbol);
                Some(())
            }));
        }
    }
    changes
}
