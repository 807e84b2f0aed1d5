//! Edits that raise transitions to loops and branches, and lower blocks to transitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use sdfg_graph::ir::{Block, BlockId, BlockKind, Region, RegionId, Sdfg, Transition};
use sdfg_graph::workspace::{Part, UndoSdfg};

use super::EditError;
use super::control::{expect_block, jumps_out};
use super::editor::Editor;
use super::journal::Undo;
use crate::control;

impl Editor<'_> {
    /// Makes loops and branches of the transitions of an SDFG where they have the form of one, as
    /// [`raise`](crate::control::raise) does in all SDFGs of a program. The program means the same as before.
    ///
    /// # Errors
    /// [`EditError::ControlFlow`] if there is nothing to raise.
    pub fn raise_control(&mut self) -> Result<(), EditError> {
        if !self.rewrite_control(control::raise_one) {
            let label = self.sdfg().name.clone();
            return Err(EditError::ControlFlow {
                label,
                reason: "no transitions have the form of a loop or branch",
            });
        }
        Ok(())
    }

    /// Makes states and transitions of a loop or branch and of all that is in it. The program means the same as before.
    ///
    /// # Errors
    /// [`EditError::NoBlock`], [`EditError::WrongKind`] for other blocks, and [`EditError::ControlFlow`] for a branch with a jump
    /// that means a loop around it, and for a return in a block.
    pub fn lower_control(&mut self, block: BlockId) -> Result<(), EditError> {
        let found = expect_block(self.sdfg(), block)?;
        if found.kind.regions().is_empty() {
            let (label, found) = (found.label.clone(), found.kind.noun());
            return Err(EditError::WrongKind { label, found, expected: "loops and branches" });
        }
        let refuse = |reason| Err(EditError::ControlFlow { label: found.label.clone(), reason });
        if jumps_out(self.sdfg(), block) {
            return refuse("it jumps in a loop around it: lower that loop");
        }
        self.rewrite_control(|sdfg| control::lower_block(sdfg, block));
        Ok(())
    }

    /// Changes control flow by a function of the SDFG. Gives whether it changed something.
    pub(super) fn rewrite_control(&mut self, change: impl FnOnce(&mut Sdfg)) -> bool {
        self.sizes();
        let before = self.sdfg().clone();
        change(self.sdfg_mut());
        let parts = changed_parts(&before, self.sdfg());
        let (at, is_changed) = (self.at(), !parts.is_empty());
        for part in parts {
            if let Part::State(state, _) = &part {
                self.forget_state(*state);
            }
            self.pending.part(&at, &before, &part);
            self.changed(Undo::Part(Box::new(part)));
        }
        if is_changed {
            self.forget_names();
        }
        is_changed
    }
}

/// The parts of control flow that are others, as they were before.
fn changed_parts(before: &Sdfg, after: &Sdfg) -> Vec<Part> {
    let mut parts = Vec::new();
    for id in &regions(before) | &regions(after) {
        let was = before.get_region(id);
        if !is_same(was, after.get_region(id), is_same_region) {
            parts.push(Part::Region(id, was.cloned()));
        }
    }
    let states = |sdfg: &Sdfg| sdfg.states().map(|(id, _)| id).collect::<BTreeSet<_>>();
    for id in &states(before) | &states(after) {
        let (was, now) = (before.shared_state(id), after.shared_state(id));
        if !is_same(was.as_ref(), now.as_ref(), Arc::ptr_eq) {
            parts.push(Part::State(id, was));
        }
    }
    let blocks = |sdfg: &Sdfg| sdfg.blocks().map(|(id, _)| id).collect::<BTreeSet<_>>();
    for id in &blocks(before) | &blocks(after) {
        let was = before.get_block(id);
        if !is_same(was, after.get_block(id), is_same_block) {
            parts.push(Part::Block(id, was.cloned()));
        }
    }
    let transitions = |sdfg: &Sdfg| sdfg.transitions().map(|(id, _)| id).collect::<BTreeSet<_>>();
    for id in &transitions(before) | &transitions(after) {
        let was = before.get_transition(id);
        if !is_same(was, after.get_transition(id), is_same_transition) {
            parts.push(Part::Transition(id, was.cloned()));
        }
    }
    parts
}

/// Whether two parts are absent, or the same.
fn is_same<T>(was: Option<&T>, now: Option<&T>, same: impl Fn(&T, &T) -> bool) -> bool {
    match (was, now) {
        (Some(was), Some(now)) => same(was, now),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn is_same_region(a: &Region, b: &Region) -> bool {
    (&a.blocks, &a.transitions, a.start, a.parent) == (&b.blocks, &b.transitions, b.start, b.parent)
}

fn is_same_transition(a: &Transition, b: &Transition) -> bool {
    (a.src, a.dst, &a.condition, &a.assignments) == (b.src, b.dst, &b.condition, &b.assignments)
}

/// Whether a block lies where it lay, and does the same.
fn is_same_block(a: &Block, b: &Block) -> bool {
    let header = |block: &Block| match &block.kind {
        BlockKind::State(state) => (Some(*state), None),
        BlockKind::Loop(of) => (None, Some((of.symbol.clone(), of.test_after, of.unroll))),
        BlockKind::Branch(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => (None, None),
    };
    (&a.label, a.region, a.kind.noun()) == (&b.label, b.region, b.kind.noun())
        && header(a) == header(b)
        && a.kind.regions() == b.kind.regions()
        && a.kind.expressions() == b.kind.expressions()
}

/// The regions of an SDFG.
fn regions(sdfg: &Sdfg) -> BTreeSet<RegionId> {
    let inner = sdfg.blocks().flat_map(|(_, block)| BlockKind::regions(&block.kind));
    inner.chain([sdfg.body()]).collect()
}
