//! Symbols that the caller provides.
//!
//! DaCe's symbol table also lists symbols that the program assigns. This module applies DaCe's own rule: it
//! walks the control flow from the start; a symbol that is used before any assignment comes from outside.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sdfg::analysis::symbols::{DefinedSymbols, assigned_symbols, free_symbols_of_state, free_symbols_with};
use sdfg::ir::{BlockId, BlockKind, RegionId, Sdfg, StateId};
use sdfg::symbolic::Symbol;
use sdfg::syntax::Expression;

/// The symbols that an SDFG which declares none needs from its caller, who gives those in `mapping` anyway.
pub(super) fn caller_symbols(sdfg: &Sdfg, mapping: &[(String, String)]) -> BTreeSet<Symbol> {
    let assigned: BTreeSet<Symbol> = assigned_symbols(sdfg).into_iter().collect();
    let of_state = |(id, state)| (id, free_symbols_of_state(state));
    let states: BTreeMap<StateId, BTreeSet<Symbol>> = sdfg.states().map(of_state).collect();
    let mut given =
        if assigned.is_empty() { BTreeSet::new() } else { early(sdfg, mapping, &assigned, &states) };
    // Names of numbers in code are no symbols.
    let is_number = |symbol: &Symbol| matches!(symbol.as_str(), "inf" | "nan");
    let free = free_symbols_with(sdfg, &|state| states.get(&state).cloned().unwrap_or_default());
    let free = free.into_iter().filter(|symbol| !assigned.contains(symbol) && !is_number(symbol));
    given.extend(free);
    given
}

/// Symbols that are assigned somewhere and used before.
fn early(
    sdfg: &Sdfg,
    mapping: &[(String, String)],
    assigned: &BTreeSet<Symbol>,
    states: &BTreeMap<StateId, BTreeSet<Symbol>>,
) -> BTreeSet<Symbol> {
    // What is assigned on some ways only keeps the caller's value on the others.
    let is_mapped = |symbol: &&Symbol| mapping.iter().any(|(name, _)| name == symbol.as_str());
    let kept = assigned.iter().filter(is_mapped).cloned().collect();
    let always = DefinedSymbols::of(sdfg);
    let mut walk =
        Walk { sdfg, assigned, states, kept, always, seen: BTreeSet::new(), early: BTreeSet::new() };
    walk.region(sdfg.body());
    walk.early
}

struct Walk<'a> {
    sdfg: &'a Sdfg,
    assigned: &'a BTreeSet<Symbol>,
    /// The free symbols of each state.
    states: &'a BTreeMap<StateId, BTreeSet<Symbol>>,
    /// Those of them that a caller gives a value anyway.
    kept: BTreeSet<Symbol>,
    /// Symbols that have a value on every way to a block.
    always: DefinedSymbols,
    /// Symbols that something on the way has assigned.
    seen: BTreeSet<Symbol>,
    /// Symbols that are assigned somewhere and used before.
    early: BTreeSet<Symbol>,
}

impl Walk<'_> {
    /// Walks the blocks of a region by their distance from the start, then those that nothing leads to.
    fn region(&mut self, id: RegionId) {
        let region = self.sdfg.region(id);
        let mut reached: BTreeSet<BlockId> = BTreeSet::new();
        let mut waiting: VecDeque<BlockId> =
            region.start.into_iter().chain(region.blocks.iter().copied()).collect();
        while let Some(block) = waiting.pop_front() {
            if !reached.insert(block) {
                continue;
            }
            self.block(block);
            let mut next = Vec::new();
            for id in self.sdfg.transitions_from(block) {
                let transition = self.sdfg.transition(id);
                transition.expressions().for_each(|value| self.uses(value, block, true));
                self.seen.extend(transition.assignments.iter().map(|(symbol, _)| symbol.clone()));
                next.push(transition.dst);
            }
            // Blocks that were only listed come after all that lie on a way from the start.
            next.into_iter().rev().for_each(|block| waiting.push_front(block));
        }
    }

    fn block(&mut self, id: BlockId) {
        match &self.sdfg.block(id).kind {
            BlockKind::State(state) => {
                let states = self.states;
                let used = states.get(state).into_iter().flatten();
                used.for_each(|symbol| self.used(symbol.clone(), id, false));
            }
            BlockKind::Loop(repeated) => {
                repeated.init.iter().for_each(|init| self.uses(init, id, false));
                if repeated.init.is_some() {
                    self.seen.extend(repeated.symbol.clone());
                }
                if !repeated.test_after {
                    self.uses(&repeated.condition, id, true);
                }
                self.region(repeated.body);
                repeated.update.iter().for_each(|update| self.uses(update, id, true));
                self.uses(&repeated.condition, id, true);
                self.seen.extend(repeated.symbol.clone());
            }
            BlockKind::Branch(branch) => {
                for (condition, _) in &branch.arms {
                    self.uses(condition, id, false);
                }
                let arms = branch.arms.iter().map(|(_, region)| *region);
                arms.chain(branch.otherwise).for_each(|region| self.region(region));
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }

    /// Notes what an expression uses that is evaluated before a block, or after it.
    fn uses(&mut self, expression: &Expression, block: BlockId, after: bool) {
        for name in expression.names() {
            if let Ok(symbol) = Symbol::new(name) {
                self.used(symbol, block, after);
            }
        }
    }

    fn used(&mut self, symbol: Symbol, block: BlockId, after: bool) {
        let always = if after { self.always.after(block) } else { self.always.before(block) };
        let may_keep = self.kept.contains(&symbol) && always.is_some_and(|always| !always.contains(&symbol));
        if self.assigned.contains(&symbol) && (may_keep || !self.seen.contains(&symbol)) {
            self.early.insert(symbol);
        }
    }
}
