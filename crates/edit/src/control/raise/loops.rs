//! Raises natural loops with a guard.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::region_graph::{one_is_taken, tried_transitions};
use sdfg_graph::analysis::{DominatorTree, RegionGraph};
use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{Block, BlockId, BlockKind, Loop, RegionId, Sdfg, TransitionId};
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::{BinaryOp, Expression, UnaryOp};
use sdfg_validate::never_ends;

use super::super::{connect, empty_state, is_empty, is_jump, list_before};
use super::{
    absorb_next, add_jump, has_role, jump_after, levels_in, move_blocks, only_next, original_label, turn_into,
};
use crate::edit::{Editor, atomically, derived_block_label, jumps_out};

/// Makes loops of a region that have the form of one blocks, small ones first, if they hold fewer `levels` of loops and
/// branches; whether there was one. Loops around those that were made are left to the next time.
pub(super) fn raise_some(sdfg: &mut Sdfg, region: RegionId, levels: usize) -> bool {
    let graph = RegionGraph::of(sdfg, region);
    let mut any = false;
    for (header, nodes) in natural_loops(&graph) {
        // A loop that became a block has no blocks in this region any more.
        let is_there = |block: &BlockId| sdfg.get_block(*block).is_some_and(|found| found.region == region);
        if nodes.iter().all(is_there) && levels_in(sdfg, &nodes) < levels {
            any |= raise_loop(sdfg, &graph, header, &nodes);
        }
    }
    any
}

/// Makes a loop a block, if it has the form of one. The graph may be older than loops elsewhere in the region.
fn raise_loop(sdfg: &mut Sdfg, graph: &RegionGraph, header: BlockId, nodes: &BTreeSet<BlockId>) -> bool {
    let shape = Shape::of(sdfg, graph, header, nodes);
    let working = working_guard(sdfg, graph, header, nodes);
    if shape.is_none() && working.is_none() {
        return false;
    }
    let raised = atomically(sdfg, |sdfg| {
        let shape = shape.or_else(|| with_guard_behind(sdfg, working?, header, nodes)).ok_or(())?;
        let new = shape.raise(sdfg);
        if never_ends(sdfg, new) { Err(()) } else { Ok(()) }
    });
    raised.is_ok()
}

/// The shape of a loop after its last block, which tests, got a guard of its own behind it.
fn with_guard_behind(
    sdfg: &mut Sdfg,
    working: BlockId,
    header: BlockId,
    nodes: &BTreeSet<BlockId>,
) -> Option<Shape> {
    let mut editor = Editor::of_draft(sdfg);
    let guard = editor.insert_state_after(working).ok()?;
    editor.commit().ok()?;
    let graph = RegionGraph::of(sdfg, sdfg.block(guard).region);
    let nodes = nodes.iter().copied().chain([guard]).collect();
    Shape::of(sdfg, &graph, header, &nodes)
}

/// Headers with the blocks of their loops, small loops first.
fn natural_loops(graph: &RegionGraph) -> Vec<(BlockId, BTreeSet<BlockId>)> {
    let dominators = DominatorTree::dominators(graph);
    let mut loops: BTreeMap<BlockId, BTreeSet<BlockId>> = BTreeMap::new();
    for block in graph.reachable() {
        for header in graph.successors(block) {
            if !dominators.dominates(*header, block) {
                continue;
            }
            let nodes = loops.entry(*header).or_insert_with(|| BTreeSet::from([*header]));
            let mut waiting = vec![block];
            while let Some(next) = waiting.pop() {
                if nodes.insert(next) {
                    waiting.extend(graph.predecessors(next));
                }
            }
        }
    }
    let mut found: Vec<_> = loops.into_iter().collect();
    found.sort_by_key(|(header, nodes)| (nodes.len(), *header));
    found
}

/// The last block of a loop, if it works, and then tests and goes back without assignments: its test can be a state of its
/// own.
fn working_guard(
    sdfg: &Sdfg,
    graph: &RegionGraph,
    header: BlockId,
    nodes: &BTreeSet<BlockId>,
) -> Option<BlockId> {
    let mut sources = graph.predecessors(header).iter().filter(|block| nodes.contains(block));
    let (guard, None) = (*sources.next()?, sources.next()) else { return None };
    let back: Vec<TransitionId> =
        sdfg.transitions_from(guard).into_iter().filter(|id| sdfg.transition(*id).dst == header).collect();
    let tests = back.len() == 1
        && back.iter().all(|id| sdfg.transition(*id).assignments.is_empty())
        && sdfg.transitions_from(guard).iter().all(|id| {
            let dst = sdfg.transition(*id).dst;
            dst == header || !nodes.contains(&dst)
        });
    let leaves = may_end_after(sdfg, guard) || sdfg.transitions_from(guard).len() > 1;
    (tests && leaves && !is_empty(sdfg, guard) && !is_jump(&sdfg.block(guard).kind)).then_some(guard)
}

/// A loop that can be a block.
struct Shape {
    guard: BlockId,
    /// The block that the body begins with; the guard itself if there is no body.
    first: BlockId,
    /// Repeated blocks, without the guard.
    body: BTreeSet<BlockId>,
    condition: Expression,
    /// The transition from the guard to the body.
    enter: TransitionId,
    /// The other transitions of the guard.
    exits: Vec<TransitionId>,
    /// Continuation of the loop, if it is one place, unconditional and without assignments; breaks lead to
    /// it.
    target: Option<BlockId>,
    test_after: bool,
    /// Blocks of the body after which the region may end, and what that means then.
    ends: Vec<BlockId>,
    end_kind: BlockKind,
}

impl Shape {
    fn of(sdfg: &Sdfg, graph: &RegionGraph, header: BlockId, nodes: &BTreeSet<BlockId>) -> Option<Self> {
        let guard_of = |guard: BlockId, test_after: bool| {
            if !is_empty(sdfg, guard) {
                return None;
            }
            let (enter, exits): (Vec<_>, Vec<_>) = sdfg
                .transitions_from(guard)
                .into_iter()
                .partition(|id| nodes.contains(&sdfg.transition(*id).dst));
            let [enter] = enter[..] else { return None };
            let leaves = may_end_after(sdfg, guard) || !exits.is_empty();
            let transition = sdfg.transition(enter);
            let fits = !test_after || (transition.dst == header && transition.assignments.is_empty());
            (fits && leaves).then_some((enter, exits))
        };
        let (guard, test_after, (enter, exits)) = match guard_of(header, false) {
            Some(found) => (header, false, found),
            None => {
                let mut sources = graph.predecessors(header).iter().filter(|block| nodes.contains(block));
                let (guard, None) = (*sources.next()?, sources.next()) else { return None };
                (guard, true, guard_of(guard, true)?)
            }
        };
        let condition = condition(sdfg, guard, enter, &exits)?;
        let mut shape = Shape {
            guard,
            first: sdfg.transition(enter).dst,
            body: nodes.iter().copied().filter(|block| *block != guard).collect(),
            condition,
            enter,
            target: target(sdfg, enter, &exits),
            exits,
            test_after,
            ends: Vec::new(),
            end_kind: BlockKind::Return,
        };
        shape.close(sdfg).then_some(shape)
    }

    /// Takes in what only the body leads to, and finds out what ends in it mean; whether that is possible.
    fn close(&mut self, sdfg: &Sdfg) -> bool {
        let region = sdfg.block(self.guard).region;
        let mut waiting: Vec<BlockId> = self.body.iter().copied().collect();
        let mut taken_in = Vec::new();
        while let Some(block) = waiting.pop() {
            for id in sdfg.transitions_from(block) {
                let dst = sdfg.transition(id).dst;
                if dst != self.guard && Some(dst) != self.target && self.body.insert(dst) {
                    waiting.push(dst);
                    taken_in.push(dst);
                }
            }
        }
        let own = |block: &BlockId| {
            sdfg.transitions_to(*block).iter().all(|id| self.body.contains(&sdfg.transition(*id).src))
        };
        if !taken_in.iter().all(own) {
            return false;
        }
        self.ends = self
            .body
            .iter()
            .copied()
            .filter(|block| may_end_after(sdfg, *block) && !is_jump(&sdfg.block(*block).kind))
            .collect();
        if self.exits.is_empty() {
            self.end_kind = BlockKind::Break;
        } else if !self.ends.is_empty() && region != sdfg.body() {
            return false;
        }
        self.is_entered_at_start(sdfg) && !self.body.iter().any(|block| jumps_out(sdfg, *block))
    }

    /// Whether blocks from elsewhere lead to the start of the loop only.
    fn is_entered_at_start(&self, sdfg: &Sdfg) -> bool {
        let region = sdfg.block(self.guard).region;
        let header = if self.test_after { self.first } else { self.guard };
        let from_outside = |id: &TransitionId| {
            let src = sdfg.transition(*id).src;
            src != self.guard && !self.body.contains(&src)
        };
        self.body.iter().chain([&self.guard]).filter(|block| **block != header).all(|block| {
            sdfg.region(region).start != Some(*block) && !sdfg.transitions_to(*block).iter().any(from_outside)
        })
    }

    /// Makes the loop a block, and gives that.
    fn raise(mut self, sdfg: &mut Sdfg) -> BlockId {
        let region = sdfg.block(self.guard).region;
        let begin = if self.test_after { self.first } else { self.guard };
        let (begin_label, loc) = (sdfg.block(begin).label.clone(), sdfg.block(begin).loc.clone());
        let label = original_label(sdfg, &sdfg.block(self.guard).label, "guard")
            .unwrap_or_else(|| derived_block_label(sdfg, &begin_label, "loop"));
        self.separate_first(sdfg, region, &label);
        let (symbol, update) = self.close_body(sdfg, region, &label);
        let header = if self.test_after { self.first } else { self.guard };
        let entries: Vec<TransitionId> = sdfg
            .transitions_to(header)
            .into_iter()
            .filter(|id| *id != self.enter && !self.body.contains(&sdfg.transition(*id).src))
            .collect();
        let was_start = sdfg.region(region).start == Some(header);
        let init =
            symbol.as_ref().filter(|_| !was_start).and_then(|symbol| take_init(sdfg, &entries, symbol));
        self.end_body(sdfg);
        let body = sdfg.add_region();
        let kind = BlockKind::Loop(Loop {
            symbol,
            init,
            condition: self.condition,
            update,
            test_after: self.test_after,
            unroll: false,
            body,
        });
        let new = sdfg.add_block(region, Block { label: label.clone(), kind, region, loc });
        list_before(sdfg, header, &[new]);
        for id in entries {
            sdfg.transition_mut(id).dst = new;
        }
        if was_start {
            sdfg.region_mut(region).start = Some(new);
        }
        sdfg.remove_transition(self.enter);
        for id in &self.exits {
            let transition = sdfg.transition_mut(*id);
            transition.src = new;
            if self.target.is_some() {
                transition.condition = None;
            }
        }
        move_blocks(sdfg, &self.body, region, body, Some(self.first));
        sdfg.remove_block(self.guard);
        absorb_next(sdfg, new, &label, "after");
        absorb_init(sdfg, new, &label);
        drop_latch(sdfg, body, &label);
        new
    }

    /// Lets the body begin with a block of its own and without assignments on the way.
    fn separate_first(&mut self, sdfg: &mut Sdfg, region: RegionId, label: &str) {
        let assignments = sdfg.transition(self.enter).assignments.clone();
        if self.first != self.guard && assignments.is_empty() {
            return;
        }
        let first = empty_state(sdfg, region, label, "first");
        connect(sdfg, first, self.first, (None, assignments));
        let enter = sdfg.transition_mut(self.enter);
        enter.dst = first;
        enter.assignments.clear();
        self.first = first;
        self.body.insert(first);
    }

    /// Takes the transitions from the body to the guard away: the only assignment of the only one is the update of the loop,
    /// all others are made on the way to a last state of the body.
    fn close_body(
        &mut self,
        sdfg: &mut Sdfg,
        region: RegionId,
        label: &str,
    ) -> (Option<Symbol>, Option<Expression>) {
        let closing: Vec<TransitionId> = sdfg
            .transitions_to(self.guard)
            .into_iter()
            .filter(|id| self.body.contains(&sdfg.transition(*id).src))
            .collect();
        if let [id] = closing[..] {
            let transition = sdfg.transition(id);
            if transition.condition.is_none() && transition.assignments.len() <= 1 {
                let taken = sdfg
                    .remove_transition(id)
                    .and_then(|transition| transition.assignments.into_iter().next());
                return taken.map_or((None, None), |(symbol, value)| (Some(symbol), Some(value)));
            }
        }
        let latch = empty_state(sdfg, region, label, "latch");
        self.body.insert(latch);
        for id in closing {
            sdfg.transition_mut(id).dst = latch;
        }
        (None, None)
    }

    /// Breaks, and returns where the SDFG ends inside of the body.
    fn end_body(&mut self, sdfg: &mut Sdfg) {
        for block in self.ends.clone() {
            let jump = jump_after(sdfg, block, self.end_kind.clone());
            self.replace(sdfg, block, jump);
        }
        let Some(target) = self.target else { return };
        for block in self.body.clone() {
            let leaving: Vec<TransitionId> = sdfg
                .transitions_from(block)
                .into_iter()
                .filter(|id| sdfg.transition(*id).dst == target)
                .collect();
            if leaving.is_empty() {
                continue;
            }
            if is_empty(sdfg, block) && only_next(sdfg, block) == Some(target) {
                let jump = turn_into(sdfg, block, BlockKind::Break);
                self.replace(sdfg, block, jump);
            } else {
                let jump = add_jump(sdfg, block, BlockKind::Break);
                self.body.insert(jump);
                for id in leaving {
                    sdfg.transition_mut(id).dst = jump;
                }
            }
        }
    }

    fn replace(&mut self, sdfg: &Sdfg, old: BlockId, new: BlockId) {
        self.body.insert(new);
        if sdfg.get_block(old).is_none() {
            self.body.remove(&old);
            if self.first == old {
                self.first = new;
            }
        }
    }
}

/// Whether the region may be done after a block, as it is now.
fn may_end_after(sdfg: &Sdfg, block: BlockId) -> bool {
    !one_is_taken(sdfg, &tried_transitions(sdfg, block))
}

/// When the loop goes on: no earlier exit is taken, and the transition to the body is.
fn condition(sdfg: &Sdfg, guard: BlockId, enter: TransitionId, exits: &[TransitionId]) -> Option<Expression> {
    let not = |expression: Expression| Expression::unary(UnaryOp::Not, expression);
    let own = sdfg.transition(enter).condition.clone();
    let earlier: Vec<TransitionId> =
        sdfg.transitions_from(guard).into_iter().take_while(|id| *id != enter).collect();
    let mut before = Vec::new();
    for id in &earlier {
        before.push(sdfg.transition(*id).condition.clone()?);
    }
    // With one exit that is the opposite, the condition says it all.
    if let (Some(own), [exit]) = (&own, exits)
        && one_is_taken(sdfg, &[enter, *exit])
    {
        return Some(own.clone());
    }
    let all = before.into_iter().map(not).chain(own);
    all.reduce(|a, b| Expression::binary(BinaryOp::And, a, b))
}

/// The one block that follows the loop: its exit is always taken when the loop ends.
fn target(sdfg: &Sdfg, enter: TransitionId, exits: &[TransitionId]) -> Option<BlockId> {
    let [exit] = exits else { return None };
    let transition = sdfg.transition(*exit);
    let always = transition.condition.is_none()
        || sdfg.transition(enter).condition.is_none()
        || one_is_taken(sdfg, &[enter, *exit]);
    (always && transition.assignments.is_empty()).then_some(transition.dst)
}

/// The first value of a symbol, if every transition to the loop gives it the same and nothing depends on the order.
fn take_init(sdfg: &mut Sdfg, entries: &[TransitionId], symbol: &Symbol) -> Option<Expression> {
    let mut init: Option<Expression> = None;
    for id in entries {
        let assignments = &sdfg.transition(*id).assignments;
        let (_, value) = assignments.iter().find(|(assigned, _)| assigned == symbol)?;
        let independent = assignments
            .iter()
            .all(|(assigned, _)| assigned == symbol || !value.names().contains(assigned.as_str()));
        if !independent || init.as_ref().is_some_and(|known| known != value) {
            return None;
        }
        init = Some(value.clone());
    }
    for id in entries {
        sdfg.transition_mut(*id).assignments.retain(|(assigned, _)| assigned != symbol);
    }
    init
}

/// Removes the empty state in front of a loop that lowering made.
fn absorb_init(sdfg: &mut Sdfg, block: BlockId, label: &str) {
    let [id] = sdfg.transitions_to(block)[..] else { return };
    let before = sdfg.transition(id).src;
    if has_role(sdfg, before, label, "init") && only_next(sdfg, before) == Some(block) {
        super::redirect_to(sdfg, before, block);
        sdfg.remove_block(before);
    }
}

/// Removes the empty state at the end of a body that lowering made: the body ends where it was reached.
fn drop_latch(sdfg: &mut Sdfg, body: RegionId, label: &str) {
    let plain = |id: &TransitionId| {
        let transition = sdfg.transition(*id);
        transition.condition.is_none() && transition.assignments.is_empty()
    };
    let is_spare = |block: &BlockId| {
        has_role(sdfg, *block, label, "latch")
            && sdfg.region(body).start != Some(*block)
            && sdfg.transitions_from(*block).is_empty()
            && sdfg.transitions_to(*block).iter().all(plain)
    };
    // A latch of an earlier round of lowering may be there, too, with assignments on the way to it.
    let latch = sdfg.region(body).blocks.iter().copied().find(is_spare);
    if let Some(latch) = latch {
        sdfg.remove_block(latch);
    }
}
