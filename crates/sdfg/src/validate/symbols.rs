//! Which symbols have a value at each block of an SDFG.
//!
//! The answer is "may have": a symbol counts from every transition or loop that assigns it on some way to the block, so
//! that no program is refused for a path that it never takes.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{BlockId, BlockKind, RegionId, Sdfg};
use crate::symbolic::Symbol;

/// Symbols that may have a value.
pub(super) type Defined = BTreeSet<Symbol>;

/// Symbols that may have a value when each block begins.
pub(super) struct SymbolTable {
    at_block: BTreeMap<BlockId, Defined>,
    everywhere: Defined,
}

impl SymbolTable {
    pub(super) fn of(sdfg: &Sdfg) -> Self {
        let declared: Defined = sdfg.symbols().map(|(symbol, _)| symbol.clone()).collect();
        let mut everywhere = declared.clone();
        assigned_in(sdfg, sdfg.body(), &mut everywhere);
        let mut table = SymbolTable { at_block: BTreeMap::new(), everywhere };
        table.region(sdfg, sdfg.body(), declared);
        table
    }

    /// Symbols that may have a value when a block begins.
    pub(super) fn before(&self, block: BlockId) -> &Defined {
        self.at_block.get(&block).unwrap_or(&self.everywhere)
    }

    /// Symbols that may have a value when a block has ended and one of its transitions is tried.
    pub(super) fn after(&self, sdfg: &Sdfg, block: BlockId) -> Defined {
        let mut defined = self.before(block).clone();
        assigned_by(sdfg, block, &mut defined);
        defined
    }

    /// Declared symbols and all that are assigned anywhere in the SDFG.
    pub(super) fn everywhere(&self) -> &Defined {
        &self.everywhere
    }

    /// Spreads what is defined at the start of a region along its transitions until nothing changes.
    fn region(&mut self, sdfg: &Sdfg, id: RegionId, incoming: Defined) {
        let region = sdfg.region(id);
        let Some(start) = region.start else { return };
        let mut at: BTreeMap<BlockId, Defined> = BTreeMap::from([(start, incoming)]);
        let mut waiting = vec![start];
        while let Some(block) = waiting.pop() {
            for transition in region.transitions.iter().map(|id| sdfg.transition(*id)) {
                if transition.src != block {
                    continue;
                }
                let mut defined = at.get(&block).cloned().unwrap_or_default();
                assigned_by(sdfg, block, &mut defined);
                defined.extend(transition.assignments.iter().map(|(symbol, _)| symbol.clone()));
                let is_new = !at.contains_key(&transition.dst);
                let known = at.entry(transition.dst).or_default();
                let before = known.len();
                known.extend(defined);
                if is_new || known.len() > before {
                    waiting.push(transition.dst);
                }
            }
        }
        for block in &region.blocks {
            // A block that is never reached is reported as such; its symbols are not.
            let defined = at.remove(block).unwrap_or_else(|| self.everywhere.clone());
            for part in sdfg.block(*block).kind.regions() {
                let mut inner = defined.clone();
                if let BlockKind::Loop(repeated) = &sdfg.block(*block).kind {
                    inner.extend(repeated.symbol.clone());
                    assigned_in(sdfg, part, &mut inner);
                }
                self.region(sdfg, part, inner);
            }
            self.at_block.insert(*block, defined);
        }
    }
}

/// Adds the symbols that a region assigns.
fn assigned_in(sdfg: &Sdfg, region: RegionId, defined: &mut Defined) {
    let region = sdfg.region(region);
    for transition in region.transitions.iter().map(|id| sdfg.transition(*id)) {
        defined.extend(transition.assignments.iter().map(|(symbol, _)| symbol.clone()));
    }
    for block in &region.blocks {
        assigned_by(sdfg, *block, defined);
    }
}

/// Adds the symbols that a block assigns.
pub(super) fn assigned_by(sdfg: &Sdfg, block: BlockId, defined: &mut Defined) {
    let block = sdfg.block(block);
    if let BlockKind::Loop(repeated) = &block.kind {
        defined.extend(repeated.symbol.clone());
    }
    for part in block.kind.regions() {
        assigned_in(sdfg, part, defined);
    }
}
