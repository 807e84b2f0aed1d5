//! Definedness of symbols: a forward must-analysis of the control flow.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;
use sdfg_language::symbolic::Symbol;

use super::symbol_types;
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
///
/// A set holds a bit for each symbol that is declared or assigned: sets of names take quadratic time in programs of many loops,
/// each with a symbol of its own.
#[derive(Clone, Debug)]
pub struct DefinedSymbols {
    numbers: BTreeMap<Symbol, usize>,
    before: BTreeMap<BlockId, FixedBitSet>,
    after: BTreeMap<BlockId, FixedBitSet>,
}

/// The symbols that have a value at one place.
#[derive(Clone, Copy, Debug)]
pub struct DefinedAt<'a> {
    numbers: &'a BTreeMap<Symbol, usize>,
    defined: &'a FixedBitSet,
}

impl<'a> DefinedAt<'a> {
    /// Whether a symbol is among them.
    pub fn contains(&self, symbol: &Symbol) -> bool {
        self.numbers.get(symbol).is_some_and(|at| self.defined.contains(*at))
    }

    /// The symbols, by name.
    pub fn iter(&self) -> impl Iterator<Item = &'a Symbol> + use<'a> {
        let defined = self.defined;
        self.numbers.iter().filter(|(_, at)| defined.contains(**at)).map(|(symbol, _)| symbol)
    }
}

impl DefinedSymbols {
    /// Solves the forward must-analysis over blocks and transitions by iteration; declared symbols have a value from
    /// the start.
    pub fn of(sdfg: &Sdfg) -> Self {
        let symbols = symbol_types(sdfg).into_keys().enumerate();
        let numbers: BTreeMap<Symbol, usize> = symbols.map(|(at, symbol)| (symbol, at)).collect();
        let mut declared = FixedBitSet::with_capacity(numbers.len());
        sdfg.symbols().for_each(|(symbol, _)| declared.insert(numbers[symbol]));
        let mut defined = DefinedSymbols { numbers, before: BTreeMap::new(), after: BTreeMap::new() };
        defined.enter_region(sdfg, sdfg.body(), declared);
        defined
    }

    /// Symbols that have a value whenever the block begins; `None` for a block that is never reached.
    pub fn before(&self, block: BlockId) -> Option<DefinedAt<'_>> {
        self.before.get(&block).map(|defined| DefinedAt { numbers: &self.numbers, defined })
    }

    /// Symbols that have a value whenever the block has ended and the next transition is chosen; `None` for a block
    /// that is never reached or does not go on (break, continue, return).
    pub fn after(&self, block: BlockId) -> Option<DefinedAt<'_>> {
        self.after.get(&block).map(|defined| DefinedAt { numbers: &self.numbers, defined })
    }

    /// Analyses a region that is entered with `defined`; gives what has a value when it ends.
    fn enter_region(&mut self, sdfg: &Sdfg, region: RegionId, defined: FixedBitSet) -> Option<FixedBitSet> {
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
                carried.extend(transition.assignments.iter().map(|(symbol, _)| self.numbers[symbol]));
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

    fn enter_block(&mut self, sdfg: &Sdfg, id: BlockId) -> Option<FixedBitSet> {
        let mut defined = self.before.get(&id)?.clone();
        match &sdfg.block(id).kind {
            BlockKind::State(_) => Some(defined),
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => None,
            BlockKind::Loop(repeated) => {
                if repeated.init.is_some() {
                    defined.extend(repeated.symbol.iter().map(|symbol| self.numbers[symbol]));
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
fn meet(before: &mut BTreeMap<BlockId, FixedBitSet>, block: BlockId, carried: FixedBitSet) -> bool {
    match before.get_mut(&block) {
        None => {
            before.insert(block, carried);
            true
        }
        Some(known) => {
            let changed = !known.is_subset(&carried);
            known.intersect_with(&carried);
            changed
        }
    }
}
