//! Symbols with a value at each block of an SDFG.
//!
//! The analysis is a may-analysis: a symbol counts from every transition or loop that assigns it on some path
//! to the block. Therefore no program is refused for a path that it never takes.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::ir::{BlockId, BlockKind, RegionId, Sdfg, Transition};

use super::persistent_set::PersistentSet;

/// Symbols that may have a value when each block begins.
pub(super) struct SymbolTable {
    at_block: BTreeMap<BlockId, PersistentSet>,
    everywhere: PersistentSet,
}

impl SymbolTable {
    pub(super) fn of(sdfg: &Sdfg) -> Self {
        let declared: PersistentSet = sdfg.symbols().map(|(symbol, _)| symbol.clone()).collect();
        let mut everywhere = declared.clone();
        assigned_in(sdfg, sdfg.body(), &mut everywhere);
        let mut table = SymbolTable { at_block: BTreeMap::new(), everywhere };
        table.region(sdfg, sdfg.body(), declared);
        table
    }

    /// Symbols that may have a value when a block begins.
    pub(super) fn before(&self, block: BlockId) -> &PersistentSet {
        self.at_block.get(&block).unwrap_or(&self.everywhere)
    }

    /// Symbols that may have a value when a block has ended and one of its transitions is tried.
    pub(super) fn after(&self, sdfg: &Sdfg, block: BlockId) -> PersistentSet {
        let mut defined = self.before(block).clone();
        assigned_by(sdfg, block, &mut defined);
        defined
    }

    /// Declared symbols and all that are assigned anywhere in the SDFG.
    pub(super) fn everywhere(&self) -> &PersistentSet {
        &self.everywhere
    }

    /// Spreads what is defined at the start of a region along its transitions until nothing changes.
    fn region(&mut self, sdfg: &Sdfg, id: RegionId, incoming: PersistentSet) {
        let region = sdfg.region(id);
        let Some(start) = region.start else { return };
        let mut leaving: BTreeMap<BlockId, Vec<&Transition>> = BTreeMap::new();
        for transition in region.transitions.iter().map(|id| sdfg.transition(*id)) {
            leaving.entry(transition.src).or_default().push(transition);
        }
        let order = order_from(start, &leaving);
        let mut at: BTreeMap<BlockId, PersistentSet> = BTreeMap::from([(start, incoming)]);
        // Blocks by their place in the order: without loops, each is looked at once.
        let mut waiting: BTreeSet<(usize, BlockId)> = BTreeSet::from([(0, start)]);
        while let Some((_, block)) = waiting.pop_first() {
            let mut after = at.get(&block).cloned().unwrap_or_default();
            assigned_by(sdfg, block, &mut after);
            for transition in leaving.get(&block).into_iter().flatten() {
                let is_new = !at.contains_key(&transition.dst);
                let known = at.entry(transition.dst).or_default();
                let before = known.len();
                *known = known.union(&after);
                known.extend(transition.assignments.iter().map(|(symbol, _)| symbol.clone()));
                if is_new || known.len() > before {
                    let place = order.get(&transition.dst).copied().unwrap_or(usize::MAX);
                    waiting.insert((place, transition.dst));
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

/// Places in reverse postorder: a block comes before those that follow it, but for the ways back of loops.
fn order_from(start: BlockId, leaving: &BTreeMap<BlockId, Vec<&Transition>>) -> BTreeMap<BlockId, usize> {
    let next = |block: BlockId, at: usize| leaving.get(&block)?.get(at).map(|transition| transition.dst);
    let mut seen = BTreeSet::from([start]);
    let (mut open, mut done) = (vec![(start, 0)], Vec::new());
    while let Some((block, at)) = open.last_mut() {
        match next(*block, *at) {
            Some(next) => {
                *at += 1;
                if seen.insert(next) {
                    open.push((next, 0));
                }
            }
            None => {
                done.push(*block);
                open.pop();
            }
        }
    }
    done.into_iter().rev().enumerate().map(|(place, block)| (block, place)).collect()
}

/// Adds the symbols that a region assigns.
fn assigned_in(sdfg: &Sdfg, region: RegionId, defined: &mut PersistentSet) {
    let region = sdfg.region(region);
    for transition in region.transitions.iter().map(|id| sdfg.transition(*id)) {
        defined.extend(transition.assignments.iter().map(|(symbol, _)| symbol.clone()));
    }
    for block in &region.blocks {
        assigned_by(sdfg, *block, defined);
    }
}

/// Adds the symbols that a block assigns.
pub(super) fn assigned_by(sdfg: &Sdfg, block: BlockId, defined: &mut PersistentSet) {
    let block = sdfg.block(block);
    if let BlockKind::Loop(repeated) = &block.kind {
        defined.extend(repeated.symbol.clone());
    }
    for part in block.kind.regions() {
        assigned_in(sdfg, part, defined);
    }
}
