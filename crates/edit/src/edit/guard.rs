//! Guards: a block under a condition, with a copy of it for where the condition does not hold.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::{Use, Uses};
use sdfg_graph::ir::{BlockId, BlockKind, Branch, Container, ContainerId, Lifetime, RegionId, Sdfg, StateId};
use sdfg_language::syntax::Expression;

use super::EditError;
use super::control::expect_block;
use super::editor::Editor;
use super::regions::states_in;
use crate::control;

impl Editor<'_> {
    /// Puts a block into the arm of a new branch with a condition. With `otherwise`, a copy of the block becomes the other arm,
    /// so that the program means the same as before; without, the caller knows that the condition holds. Gives the branch.
    ///
    /// Transients that the block alone uses are copied, too: neither arm shares them with the other one.
    ///
    /// # Errors
    /// [`EditError::NoBlock`], and those of [`copy_region`](Editor::copy_region).
    pub fn guard_block(
        &mut self,
        block: BlockId,
        condition: &Expression,
        otherwise: bool,
    ) -> Result<BlockId, EditError> {
        let label = expect_block(self.sdfg(), block)?.label.clone();
        let label = self.derived_block_label(&label, "case");
        self.attempt(|editor| {
            let arm =
                |arm| BlockKind::Branch(Branch { arms: vec![(condition.clone(), arm)], otherwise: None });
            let branch = editor.enclose(block, &label, arm);
            if !otherwise {
                return Ok(branch);
            }
            let from = editor.sdfg().block(block).region;
            let own = only_used_in(editor.sdfg(), from);
            let copy = editor.put_region();
            editor.copy_region(from, copy, &BTreeMap::new())?;
            editor.copy_own(copy, own);
            editor.set_block(branch, |found| {
                if let BlockKind::Branch(found) = &mut found.kind {
                    found.otherwise = Some(copy);
                }
            });
            // The region is a part of the branch from now on.
            editor.set_region(copy, |region| region.parent = Some(branch));
            Ok(branch)
        })
    }

    /// Puts the blocks of the first arm of a branch in the place of the branch.
    ///
    /// # Errors
    /// [`EditError::NoBlock`], and [`EditError::WrongKind`] for other blocks.
    pub fn take_arm(&mut self, branch: BlockId) -> Result<(), EditError> {
        let found = expect_block(self.sdfg(), branch)?;
        if !matches!(found.kind, BlockKind::Branch(_)) {
            let (label, found) = (found.label.clone(), found.kind.noun());
            return Err(EditError::WrongKind { label, found, expected: "branches" });
        }
        self.rewrite_control(|sdfg| control::take_first_arm(sdfg, branch));
        Ok(())
    }

    /// Lets a region use copies of transients.
    fn copy_own(&mut self, region: RegionId, own: BTreeSet<ContainerId>) {
        let mut copies = BTreeMap::new();
        for id in own {
            let container = self.sdfg().container(id).clone();
            let name = self.derived_container_name(&container.name, "copy");
            copies.insert(id, self.put_container(Container { name, ..container }));
        }
        if copies.is_empty() {
            return;
        }
        let name = |sdfg: &Sdfg, id: ContainerId| sdfg.container(id).name.clone();
        let names: BTreeMap<String, Expression> = copies
            .iter()
            .map(|(old, new)| (name(self.sdfg(), *old), Expression::name(name(self.sdfg(), *new))))
            .collect();
        for state in states_in(self.sdfg(), region) {
            let mut renamed = self.sdfg().state(state).clone();
            super::regions::use_containers(&mut renamed, &copies);
            self.replace_graph(state, renamed);
        }
        let mut waiting = vec![region];
        while let Some(region) = waiting.pop() {
            let found = self.sdfg().region(region).clone();
            for block in found.blocks {
                let kind = &self.sdfg().block(block).kind;
                waiting.extend(kind.regions());
                if !kind.regions().is_empty() {
                    self.set_block(block, |block| {
                        for value in block.kind.expressions_mut() {
                            *value = value.replace_names(&names);
                        }
                    });
                }
            }
            for transition in found.transitions {
                self.set_transition(transition, |transition| {
                    for value in transition.expressions_mut() {
                        *value = value.replace_names(&names);
                    }
                });
            }
        }
    }
}

/// Transients that only the blocks of a region use.
fn only_used_in(sdfg: &Sdfg, region: RegionId) -> BTreeSet<ContainerId> {
    let states: BTreeSet<StateId> = states_in(sdfg, region);
    let mut blocks = BTreeSet::new();
    let mut waiting = vec![region];
    while let Some(region) = waiting.pop() {
        for block in &sdfg.region(region).blocks {
            blocks.insert(*block);
            waiting.extend(sdfg.block(*block).kind.regions());
        }
    }
    let uses = Uses::of_program(sdfg);
    let is_inside = |used: &Use| match *used {
        Use::Access(state, _) | Use::Memlet(state, _) | Use::Condition(state, _) => states.contains(&state),
        Use::Block(block) => blocks.contains(&block),
        Use::Transition(id) => blocks.contains(&sdfg.transition(id).src),
    };
    let is_own = |id: &ContainerId, container: &Container| {
        let mut used = uses.of(*id).iter().peekable();
        container.transient
            && container.constant.is_none()
            && match container.lifetime {
                Lifetime::Scope | Lifetime::State | Lifetime::Sdfg => true,
                Lifetime::Persistent | Lifetime::External => false,
            }
            && used.peek().is_some()
            && used.all(is_inside)
    };
    sdfg.containers().filter(|(id, container)| is_own(id, container)).map(|(id, _)| id).collect()
}
