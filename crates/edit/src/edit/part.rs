//! Primitive changes of containers, symbols and control flow, each recorded before it is made. All other
//! edits of them consist of these.

use std::sync::Arc;

use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{
    Block, BlockId, BlockKind, Container, ContainerId, Region, RegionId, Sdfg, State, StateId, Transition,
    TransitionId,
};
use sdfg_graph::workspace::{Part, UndoSdfg};
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::{Expr, Symbol};

use super::editor::Editor;
use super::journal::Undo;

impl Editor<'_> {
    /// A container, symbol, region, block or transition is about to change; without contents, it was just made.
    pub(super) fn put_part(&mut self, part: Part) -> &mut Sdfg {
        self.sizes();
        self.mark_part(&part);
        self.change(Undo::Part(Box::new(part)))
    }

    pub(super) fn put_container(&mut self, container: Container) -> ContainerId {
        self.sizes();
        let at = self.at();
        self.pending.container_added(&at, &container);
        self.note_name(&container.name);
        container
            .shape()
            .iter()
            .flat_map(Expr::free_symbols)
            .for_each(|symbol| self.note_name(symbol.as_str()));
        let id = self.sdfg_mut().add_container(container);
        self.changed(Undo::Part(Box::new(Part::Container(id, None))));
        id
    }

    /// Changes a container in place.
    pub(super) fn set_container(&mut self, id: ContainerId, change: impl FnOnce(&mut Container)) {
        let before = self.sdfg().container(id).clone();
        self.forget_names();
        change(self.put_part(Part::Container(id, Some(before))).container_mut(id));
    }

    /// Removes a container that nothing uses any more.
    pub(super) fn take_container(&mut self, id: ContainerId) {
        let Some(before) = self.sdfg().get_container(id).cloned() else { return };
        self.forget_names();
        self.sizes();
        let at = self.at();
        self.pending.container_removed(&at, &before);
        self.change(Undo::Part(Box::new(Part::Container(id, Some(before))))).remove_container(id);
    }

    /// Declares a symbol, or with no type takes its declaration back.
    pub(super) fn put_symbol(&mut self, symbol: &Symbol, ty: Option<ScalarType>) {
        let before = self.sdfg().symbols_part();
        self.note_name(symbol.as_str());
        let sdfg = self.put_part(before);
        match ty {
            Some(ty) => sdfg.declare_symbol(symbol.clone(), ty),
            None => drop(sdfg.undeclare_symbol(symbol)),
        }
    }

    /// Puts other declarations in the place of all.
    pub(super) fn put_symbols(&mut self, declared: Vec<(Symbol, ScalarType)>) {
        let before = self.sdfg().symbols_part();
        self.forget_names();
        self.put_part(before).restore(Part::Symbols(declared.into_iter().collect()));
    }

    pub(super) fn put_state(&mut self, region: RegionId, state: State) -> (BlockId, StateId) {
        let around = self.sdfg().region(region).clone();
        let (block, state) = self.put_part(Part::Region(region, Some(around))).add_state(region, state);
        self.put_part(Part::State(state, None));
        self.put_part(Part::Block(block, None));
        (block, state)
    }

    pub(super) fn put_region(&mut self) -> RegionId {
        let id = self.sdfg_mut().add_region();
        self.put_part(Part::Region(id, None));
        id
    }

    /// Adds a block; the regions inside become its parts.
    pub(super) fn put_block(&mut self, block: Block) -> BlockId {
        let region = block.region;
        for id in block.kind.regions().into_iter().chain([region]) {
            let before = self.sdfg().region(id).clone();
            self.put_part(Part::Region(id, Some(before)));
        }
        let id = self.sdfg_mut().add_block(region, block);
        self.put_part(Part::Block(id, None));
        id
    }

    pub(super) fn put_transition(&mut self, transition: Transition) -> TransitionId {
        let region = self.sdfg().block(transition.src).region;
        let before = self.sdfg().region(region).clone();
        let id = self.put_part(Part::Region(region, Some(before))).add_transition(transition);
        self.put_part(Part::Transition(id, None));
        id
    }

    pub(super) fn take_transition(&mut self, id: TransitionId) {
        let Some(before) = self.sdfg().get_transition(id).cloned() else { return };
        if let Some(block) = self.sdfg().get_block(before.src) {
            let region = block.region;
            let around = self.sdfg().region(region).clone();
            self.put_part(Part::Region(region, Some(around)));
        }
        self.put_part(Part::Transition(id, Some(before))).remove_transition(id);
    }

    /// Removes a block with its transitions and all that is in it.
    pub(super) fn take_block(&mut self, id: BlockId) {
        let Some(region) = self.sdfg().get_block(id).map(|block| block.region) else { return };
        let around = self.sdfg().region(region).clone();
        self.put_part(Part::Region(region, Some(around.clone())));
        let sdfg = self.sdfg();
        let mut parts = Vec::new();
        let at = |transition: &TransitionId| {
            let found = sdfg.get_transition(*transition);
            found.filter(|found| found.src == id || found.dst == id).cloned()
        };
        parts.extend(around.transitions.iter().filter_map(|t| Some(Part::Transition(*t, Some(at(t)?)))));
        let mut waiting = vec![id];
        while let Some(next) = waiting.pop() {
            let Some(block) = sdfg.get_block(next) else { continue };
            parts.push(Part::Block(next, Some(block.clone())));
            if let BlockKind::State(state) = block.kind {
                parts.push(Part::State(state, sdfg.shared_state(state)));
            }
            for inner in block.kind.regions() {
                let Some(found) = sdfg.get_region(inner) else { continue };
                let transition = |id: &TransitionId| Part::Transition(*id, sdfg.get_transition(*id).cloned());
                parts.extend(found.transitions.iter().map(transition));
                waiting.extend(found.blocks.iter().copied());
                parts.push(Part::Region(inner, Some(found.clone())));
            }
        }
        for part in parts {
            if let Part::State(state, _) = &part {
                self.forget_state(*state);
            }
            self.put_part(part);
        }
        self.forget_names();
        self.sdfg_mut().remove_block(id);
    }

    /// Changes a block in place.
    pub(super) fn set_block(&mut self, id: BlockId, change: impl FnOnce(&mut Block)) {
        let before = self.sdfg().block(id).clone();
        change(self.put_part(Part::Block(id, Some(before))).block_mut(id));
    }

    /// Changes a region in place.
    pub(super) fn set_region(&mut self, id: RegionId, change: impl FnOnce(&mut Region)) {
        let before = self.sdfg().region(id).clone();
        change(self.put_part(Part::Region(id, Some(before))).region_mut(id));
    }

    /// Changes a transition in place.
    pub(super) fn set_transition(&mut self, id: TransitionId, change: impl FnOnce(&mut Transition)) {
        let before = self.sdfg().transition(id).clone();
        change(self.put_part(Part::Transition(id, Some(before))).transition_mut(id));
    }

    /// Puts another graph in the place of a state's.
    pub(super) fn replace_graph(&mut self, id: StateId, state: State) {
        let Some(before) = self.sdfg().shared_state(id) else { return };
        self.forget_state(id);
        self.forget_names();
        self.put_part(Part::State(id, Some(Arc::clone(&before)))).replace_state(id, state);
    }
}
