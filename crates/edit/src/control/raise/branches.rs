//! Raises diamonds: a choice whose paths meet again, or end.

use std::collections::BTreeSet;

use sdfg_graph::analysis::region_graph::{one_is_taken, tried_transitions};
use sdfg_graph::analysis::{DominatorTree, RegionGraph, reached};
use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{Block, BlockId, BlockKind, Branch, RegionId, Sdfg, TransitionId};

use super::super::{connect, empty_state, is_empty, is_jump, list_before};
use super::{absorb_next, levels_in, move_blocks, original_label};
use crate::edit::derived_block_label;

/// Makes diamonds of a region branches, small ones first, if they hold fewer `levels` of loops and branches; whether there was
/// one. Those around the ones that were made are left to the next time.
pub(super) fn raise_some(sdfg: &mut Sdfg, region: RegionId, levels: usize) -> bool {
    let graph = RegionGraph::of(sdfg, region);
    let ends = DominatorTree::post_dominators(&graph);
    let reachable = graph.reachable();
    let mut found: Vec<Diamond> =
        reachable.into_iter().filter_map(|block| Diamond::of(sdfg, &graph, &ends, block)).collect();
    found.retain(|diamond| diamond.arms.iter().all(|arm| levels_in(sdfg, arm) < levels));
    found.sort_by_key(|diamond| (diamond.arms.iter().map(BTreeSet::len).sum::<usize>(), diamond.choice));
    let mut changed: BTreeSet<BlockId> = BTreeSet::new();
    for diamond in found {
        let own: BTreeSet<BlockId> = diamond.arms.iter().flatten().copied().chain([diamond.choice]).collect();
        // The block where its ways meet may have been the choice of another one.
        let is_there = |block: BlockId| sdfg.get_block(block).is_some_and(|found| found.region == region);
        if own.is_disjoint(&changed) && is_there(diamond.choice) && diamond.join.is_none_or(is_there) {
            changed.extend(own);
            diamond.raise(sdfg, region);
        }
    }
    !changed.is_empty()
}

struct Diamond {
    choice: BlockId,
    /// Transitions of the choice; one of them is always taken, the last if no other is.
    tried: Vec<TransitionId>,
    /// For each transition the blocks up to where the ways meet.
    arms: Vec<BTreeSet<BlockId>>,
    /// Their meeting point; `None` at the end of the region.
    join: Option<BlockId>,
}

impl Diamond {
    fn of(sdfg: &Sdfg, graph: &RegionGraph, ends: &DominatorTree, choice: BlockId) -> Option<Self> {
        let tried = tried_transitions(sdfg, choice);
        let (last, others) = tried.split_last()?;
        let is_covered = sdfg.transition(*last).condition.is_none()
            || others.iter().any(|id| one_is_taken(sdfg, &[*id, *last]));
        if others.is_empty()
            || !is_covered
            || others.iter().any(|id| sdfg.transition(*id).condition.is_none())
        {
            return None;
        }
        let targets: Vec<BlockId> = tried.iter().map(|id| sdfg.transition(*id).dst).collect();
        let join = join_of(sdfg, graph, ends, choice, &targets)?;
        let mut arms = Vec::new();
        let mut all: BTreeSet<BlockId> = BTreeSet::new();
        for target in &targets {
            let arm = reach(graph, *target, join);
            let own = arm.iter().all(|block| {
                let from = graph.predecessors(*block).iter();
                from.into_iter().all(|before| arm.contains(before) || *before == choice)
            });
            let ends_early =
                arm.iter().any(|block| graph.may_end_after(*block) && !is_jump(&sdfg.block(*block).kind));
            if !own
                || arm.contains(&choice)
                || !all.is_disjoint(&arm)
                || graph.start().is_some_and(|start| arm.contains(&start))
                || (join.is_some() && ends_early)
            {
                return None;
            }
            all.extend(&arm);
            arms.push(arm);
        }
        // Blocks that nothing leads to may still have transitions.
        let dead = all.iter().flat_map(|block| sdfg.transitions_to(*block)).any(|id| {
            let src = sdfg.transition(id).src;
            src != choice && !all.contains(&src)
        });
        (!dead).then_some(Diamond { choice, tried, arms, join })
    }

    fn raise(self, sdfg: &mut Sdfg, region: RegionId) {
        let (choice_label, loc) =
            (sdfg.block(self.choice).label.clone(), sdfg.block(self.choice).loc.clone());
        let original = original_label(sdfg, &choice_label, "choice").filter(|_| is_empty(sdfg, self.choice));
        let label = original.clone().unwrap_or_else(|| derived_block_label(sdfg, &choice_label, "branch"));
        let mut arms = Vec::new();
        let mut otherwise = None;
        let last = self.tried.last().copied();
        for (id, arm) in self.tried.iter().zip(&self.arms) {
            let part = self.arm(sdfg, region, (*id, arm), &label);
            let condition = sdfg.remove_transition(*id).and_then(|transition| transition.condition);
            if last == Some(*id) {
                otherwise = Some(part).filter(|part| sdfg.region(*part).start.is_some());
            } else {
                arms.extend(condition.map(|condition| (condition, part)));
            }
        }
        let kind = BlockKind::Branch(Branch { arms, otherwise });
        let new = sdfg.add_block(region, Block { label: label.clone(), kind, region, loc });
        // The choice, if it stays, is in front.
        list_before(sdfg, self.choice, &[new]);
        if original.is_some() {
            super::redirect_to(sdfg, self.choice, new);
            sdfg.remove_block(self.choice);
        } else {
            list_before(sdfg, new, &[self.choice]);
            connect(sdfg, self.choice, new, (None, Vec::new()));
        }
        if let Some(join) = self.join {
            connect(sdfg, new, join, (None, Vec::new()));
            absorb_next(sdfg, new, &label, "join");
        }
    }

    /// The region of one arm.
    fn arm(
        &self,
        sdfg: &mut Sdfg,
        region: RegionId,
        (id, blocks): (TransitionId, &BTreeSet<BlockId>),
        label: &str,
    ) -> RegionId {
        let part = sdfg.add_region();
        let mut start = Some(sdfg.transition(id).dst).filter(|target| blocks.contains(target));
        for block in blocks {
            self.end_arm(sdfg, *block, part, label);
        }
        let assignments = sdfg.transition(id).assignments.clone();
        if !assignments.is_empty() {
            let first = empty_state(sdfg, part, label, "first");
            let next = start.unwrap_or_else(|| empty_state(sdfg, part, label, "last"));
            connect(sdfg, first, next, (None, assignments));
            start = Some(first);
        }
        move_blocks(sdfg, blocks, region, part, start);
        part
    }

    /// Ends the arm where a block goes on with what follows the branch.
    fn end_arm(&self, sdfg: &mut Sdfg, block: BlockId, part: RegionId, label: &str) {
        let tried = tried_transitions(sdfg, block);
        for id in sdfg.transitions_from(block) {
            let transition = sdfg.transition(id);
            if Some(transition.dst) != self.join {
                continue;
            }
            if tried.last() == Some(&id) && transition.assignments.is_empty() {
                sdfg.remove_transition(id);
            } else {
                let last = empty_state(sdfg, part, label, "last");
                sdfg.transition_mut(id).dst = last;
            }
        }
    }
}

/// Meeting point of the paths of a choice: `Some(None)` is the end of the region, `None` means that they do
/// not meet.
fn join_of(
    sdfg: &Sdfg,
    graph: &RegionGraph,
    ends: &DominatorTree,
    choice: BlockId,
    targets: &[BlockId],
) -> Option<Option<BlockId>> {
    // Ways that end in a jump meet the others nowhere; if one other is left, it is what follows the branch.
    let leaves = |target: &BlockId| {
        let all = reach(graph, *target, None);
        !all.contains(&choice)
            && all.iter().all(|block| !graph.may_end_after(*block) || is_jump(&sdfg.block(*block).kind))
            && all.iter().any(|block| is_jump(&sdfg.block(*block).kind))
    };
    let staying: BTreeSet<BlockId> = targets.iter().copied().filter(|target| !leaves(target)).collect();
    if staying.len() == 1 && staying.len() < targets.iter().collect::<BTreeSet<_>>().len() {
        return Some(staying.first().copied());
    }
    ends.contains(choice).then(|| ends.immediate(choice))
}

/// Blocks that a block leads to without passing `join`.
fn reach(graph: &RegionGraph, from: BlockId, join: Option<BlockId>) -> BTreeSet<BlockId> {
    let is_within = move |block: &BlockId| Some(*block) != join;
    let next = |block| graph.successors(block).iter().copied().filter(is_within);
    reached(Some(from).filter(is_within), next)
}
