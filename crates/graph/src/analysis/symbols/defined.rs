//! Definedness of symbols: a forward must-analysis of the control flow.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::symbolic::Symbol;

use crate::ir::{BlockId, BlockKind, RegionId, Sdfg};

/// The symbol that a loop counts with; none for other blocks.
pub fn loop_symbol(kind: &BlockKind) -> Option<Symbol> {
    match kind {
        BlockKind::Loop(repeated) => repeated.symbol.clone(),
        BlockKind::State(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => None,
    }
}

/// Symbols that have a value on every path to each place of the control flow.
#[derive(Clone, Debug)]
pub struct DefinedSymbols {
    before: BTreeMap<BlockId, BTreeSet<Symbol>>,
    after: BTreeMap<BlockId, BTreeSet<Symbol>>,
}

impl DefinedSymbols {
    /// Solves the forward must-analysis over blocks and transitions by iteration; declared symbols have a value from
    /// the start.
    pub fn of(sdfg: &Sdfg) -> Self {
        let mut defined = DefinedSymbols { before: BTreeMap::new(), after: BTreeMap::new() };
        let declared = sdfg.symbols().map(|(symbol, _)| symbol.clone()).collect();
        defined.enter_region(sdfg, sdfg.body(), declared);
        defined
    }

    /// Symbols that have a value whenever the block begins; `None` for a block that is never reached.
    pub fn before(&self, block: BlockId) -> Option<&BTreeSet<Symbol>> {
        self.before.get(&block)
    }

    /// Symbols that have a value whenever the block has ended and the next transition is chosen; `None` for a block
    /// that is never reached or does not go on (break, continue, return).
    pub fn after(&self, block: BlockId) -> Option<&BTreeSet<Symbol>> {
        self.after.get(&block)
    }

    /// Analyses a region that is entered with `defined`; gives what has a value when it ends.
    fn enter_region(
        &mut self,
        sdfg: &Sdfg,
        region: RegionId,
        defined: BTreeSet<Symbol>,
    ) -> Option<BTreeSet<Symbol>> {
        let region = sdfg.region(region);
        let Some(start) = region.start else { return Some(defined) };
        let mut waiting = BTreeSet::new();
        if meet(&mut self.before, start, defined) {
            waiting.insert(start);
        }
        while let Some(block) = waiting.pop_first() {
            let Some(after) = self.enter_block(sdfg, block) else { continue };
            self.after.insert(block, after.clone());
            for id in sdfg.transitions_from(block) {
                let transition = sdfg.transition(id);
                let mut carried = after.clone();
                carried.extend(transition.assignments.iter().map(|(symbol, _)| symbol.clone()));
                if meet(&mut self.before, transition.dst, carried) {
                    waiting.insert(transition.dst);
                }
                if transition.condition.is_none() {
                    break;
                }
            }
        }
        // The region may end at every block that does not surely go on.
        let ends = region.blocks.iter().filter(|block| {
            !sdfg.transitions_from(**block).iter().any(|id| sdfg.transition(*id).condition.is_none())
        });
        ends.filter_map(|block| self.after.get(block).cloned()).reduce(|a, b| &a & &b)
    }

    fn enter_block(&mut self, sdfg: &Sdfg, id: BlockId) -> Option<BTreeSet<Symbol>> {
        let mut defined = self.before.get(&id)?.clone();
        match &sdfg.block(id).kind {
            BlockKind::State(_) => Some(defined),
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => None,
            BlockKind::Loop(repeated) => {
                if repeated.init.is_some() {
                    defined.extend(repeated.symbol.clone());
                }
                self.enter_region(sdfg, repeated.body, defined.clone());
                Some(defined)
            }
            BlockKind::Branch(branch) => {
                let mut ends = Vec::new();
                for region in branch.arms.iter().map(|(_, region)| *region).chain(branch.otherwise) {
                    ends.push(self.enter_region(sdfg, region, defined.clone()));
                }
                if branch.otherwise.is_none() {
                    ends.push(Some(defined));
                }
                ends.into_iter().flatten().reduce(|a, b| &a & &b)
            }
        }
    }
}

/// Narrows what holds before a block to what also holds on another way to it; whether that changed anything.
fn meet(before: &mut BTreeMap<BlockId, BTreeSet<Symbol>>, block: BlockId, carried: BTreeSet<Symbol>) -> bool {
    match before.get_mut(&block) {
        None => {
            before.insert(block, carried);
            true
        }
        Some(known) => {
            let narrowed = &*known & &carried;
            let changed = narrowed != *known;
            *known = narrowed;
            changed
        }
    }
}
