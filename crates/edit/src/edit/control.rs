//! Edits of containers, symbols and control flow: adding, changing and removing.

use std::collections::BTreeSet;

use sdfg_graph::ir::{
    Block, BlockId, BlockKind, Container, ContainerId, Region, RegionId, Sdfg, State, StateId, Transition,
    TransitionId,
};
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::Symbol;

use super::EditError;
use super::editor::Editor;

impl Editor<'_> {
    /// Adds a container.
    ///
    /// # Errors
    /// [`EditError::NameTaken`] if a container has the name.
    pub fn add_container(&mut self, container: Container) -> Result<ContainerId, EditError> {
        if self.sdfg().find_container(&container.name).is_some() {
            return Err(EditError::NameTaken { name: container.name });
        }
        Ok(self.put_container(container))
    }

    /// Changes a container in place. Its name is another operation's:
    /// [`rename_container`](Editor::rename_container).
    ///
    /// # Errors
    /// [`EditError::NoContainer`].
    pub fn change_container(
        &mut self,
        id: ContainerId,
        change: impl FnOnce(&mut Container),
    ) -> Result<(), EditError> {
        self.sdfg().get_container(id).ok_or(EditError::NoContainer(id))?;
        self.set_container(id, change);
        Ok(())
    }

    /// Removes a container. What uses it has to go before the series ends.
    ///
    /// # Errors
    /// [`EditError::NoContainer`].
    pub fn remove_container(&mut self, id: ContainerId) -> Result<(), EditError> {
        self.sdfg().get_container(id).ok_or(EditError::NoContainer(id))?;
        self.take_container(id);
        Ok(())
    }

    /// Declares a symbol, or changes the type of a declared one.
    pub fn declare_symbol(&mut self, symbol: &Symbol, ty: ScalarType) {
        self.put_symbol(symbol, Some(ty));
    }

    /// Takes the declaration of a symbol back.
    ///
    /// # Errors
    /// [`EditError::NoSymbol`].
    pub fn undeclare_symbol(&mut self, symbol: &Symbol) -> Result<(), EditError> {
        self.sdfg().symbol_type(symbol).ok_or_else(|| EditError::NoSymbol(symbol.clone()))?;
        self.put_symbol(symbol, None);
        Ok(())
    }

    /// Adds a state to a region, without transitions; it is the start of a region that was empty.
    ///
    /// # Errors
    /// [`EditError::NoRegion`], and [`EditError::NameTaken`] if a block has its label.
    pub fn add_state(&mut self, region: RegionId, state: State) -> Result<(BlockId, StateId), EditError> {
        self.expect_region(region)?;
        self.check_block_label(&state.label)?;
        Ok(self.put_state(region, state))
    }

    /// Adds an empty region, for a block to be made of it.
    pub fn add_region(&mut self) -> RegionId {
        self.put_region()
    }

    /// Adds a block to its region, without transitions.
    ///
    /// # Errors
    /// [`EditError::NoRegion`], [`EditError::NoState`], and [`EditError::NameTaken`] if a block has its label.
    pub fn add_block(&mut self, block: Block) -> Result<BlockId, EditError> {
        for region in block.kind.regions().into_iter().chain([block.region]) {
            self.expect_region(region)?;
        }
        if let BlockKind::State(state) = block.kind {
            self.state(state)?;
        }
        self.check_block_label(&block.label)?;
        Ok(self.put_block(block))
    }

    /// Removes a block with its transitions and all that is in it.
    ///
    /// # Errors
    /// [`EditError::NoBlock`].
    pub fn remove_block(&mut self, id: BlockId) -> Result<(), EditError> {
        expect_block(self.sdfg(), id)?;
        self.take_block(id);
        Ok(())
    }

    /// Changes a block in place.
    ///
    /// # Errors
    /// [`EditError::NoBlock`].
    pub fn change_block(&mut self, id: BlockId, change: impl FnOnce(&mut Block)) -> Result<(), EditError> {
        expect_block(self.sdfg(), id)?;
        self.set_block(id, change);
        Ok(())
    }

    /// Changes a region in place.
    ///
    /// # Errors
    /// [`EditError::NoRegion`].
    pub fn change_region(&mut self, id: RegionId, change: impl FnOnce(&mut Region)) -> Result<(), EditError> {
        self.expect_region(id)?;
        self.set_region(id, change);
        Ok(())
    }

    /// Adds a transition, tried after those that its source has.
    ///
    /// # Errors
    /// [`EditError::NoBlock`].
    pub fn add_transition(&mut self, transition: Transition) -> Result<TransitionId, EditError> {
        expect_block(self.sdfg(), transition.src)?;
        expect_block(self.sdfg(), transition.dst)?;
        Ok(self.put_transition(transition))
    }

    /// Removes a transition.
    ///
    /// # Errors
    /// [`EditError::NoTransition`].
    pub fn remove_transition(&mut self, id: TransitionId) -> Result<(), EditError> {
        self.sdfg().get_transition(id).ok_or(EditError::NoTransition(id))?;
        self.take_transition(id);
        Ok(())
    }

    /// Changes a transition in place.
    ///
    /// # Errors
    /// [`EditError::NoTransition`].
    pub fn change_transition(
        &mut self,
        id: TransitionId,
        change: impl FnOnce(&mut Transition),
    ) -> Result<(), EditError> {
        self.sdfg().get_transition(id).ok_or(EditError::NoTransition(id))?;
        self.set_transition(id, change);
        Ok(())
    }

    fn expect_region(&self, id: RegionId) -> Result<(), EditError> {
        self.sdfg().get_region(id).map(|_| ()).ok_or(EditError::NoRegion(id))
    }

    pub(super) fn check_block_label(&self, label: &str) -> Result<(), EditError> {
        match self.sdfg().find_block(label) {
            Some(_) => Err(EditError::NameTaken { name: label.to_owned() }),
            None => Ok(()),
        }
    }
}

pub(super) fn expect_block(sdfg: &Sdfg, block: BlockId) -> Result<&Block, EditError> {
    sdfg.get_block(block).ok_or(EditError::NoBlock(block))
}

pub(super) fn expect_state_block(sdfg: &Sdfg, block: BlockId) -> Result<StateId, EditError> {
    let found = expect_block(sdfg, block)?;
    match found.kind {
        BlockKind::State(state) => Ok(state),
        BlockKind::Loop(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => {
            let (label, found) = (found.label.clone(), found.kind.noun());
            Err(EditError::WrongKind { label, found, expected: "states" })
        }
    }
}

/// Whether a break or continue in a block, or the block itself, means a loop around it.
pub(crate) fn jumps_out(sdfg: &Sdfg, block: BlockId) -> bool {
    let mut waiting = vec![block];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        match &sdfg.block(id).kind {
            BlockKind::Break | BlockKind::Continue => return true,
            BlockKind::State(_) | BlockKind::Return | BlockKind::Loop(_) => {}
            BlockKind::Branch(_) => {
                let regions = sdfg.block(id).kind.regions();
                waiting.extend(regions.iter().flat_map(|region| sdfg.region(*region).blocks.clone()));
            }
        }
    }
    false
}
