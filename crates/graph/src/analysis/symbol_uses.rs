//! The places of an SDFG that depend on each symbol: what a transformation of loops asks about many symbols in turn.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::symbolic::{Expr, Symbol};

use super::control_graph::{ControlStep, expressions};
use super::symbols::free_symbols_of_state;
use crate::ir::{BlockKind, ContainerId, Sdfg};

/// The containers that each symbol sizes, and the steps of control that read it.
#[derive(Clone, Debug, Default)]
pub struct SymbolUses {
    sized: BTreeMap<Symbol, Vec<ContainerId>>,
    readers: BTreeMap<Symbol, Vec<(usize, ControlStep)>>,
}

impl SymbolUses {
    /// Looks at all containers, states, loops, branches and transitions of an SDFG.
    pub fn of(sdfg: &Sdfg) -> Self {
        let mut uses = SymbolUses::default();
        for (id, container) in sdfg.containers() {
            let sizes = container.shape().iter().chain(container.distribution.exprs());
            for symbol in sizes.flat_map(Expr::free_symbols).collect::<BTreeSet<_>>() {
                uses.sized.entry(symbol).or_default().push(id);
            }
        }
        for (at, step) in reading_steps(sdfg).into_iter().enumerate() {
            let names = expressions(sdfg, step).into_iter().flat_map(|value| value.names());
            let mut read: Vec<Symbol> = names.filter_map(|name| Symbol::new(name).ok()).collect();
            if let ControlStep::State(block) = step
                && let BlockKind::State(state) = sdfg.block(block).kind
            {
                read.extend(free_symbols_of_state(sdfg.state(state)));
            }
            read.sort_unstable();
            read.dedup();
            for symbol in read {
                uses.readers.entry(symbol).or_default().push((at, step));
            }
        }
        uses
    }

    /// The containers whose shape or distribution depends on a symbol.
    pub fn sized(&self, symbol: &Symbol) -> &[ContainerId] {
        self.sized.get(symbol).map_or(&[], Vec::as_slice)
    }

    /// The steps that read a symbol, a state for all that is in it; each with its number in the order of blocks, then transitions.
    pub fn readers(&self, symbol: &Symbol) -> &[(usize, ControlStep)] {
        self.readers.get(symbol).map_or(&[], Vec::as_slice)
    }
}

/// The steps that evaluate expressions or run a state.
fn reading_steps(sdfg: &Sdfg) -> Vec<ControlStep> {
    let mut found = Vec::new();
    for (id, block) in sdfg.blocks() {
        match &block.kind {
            BlockKind::State(_) => found.push(ControlStep::State(id)),
            BlockKind::Loop(_) => {
                found.extend([ControlStep::Init(id), ControlStep::Test(id), ControlStep::Update(id)]);
            }
            BlockKind::Branch(branch) => {
                found.extend((0..branch.arms.len()).map(|at| ControlStep::Arm(id, at)));
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
    for (id, _) in sdfg.transitions() {
        found.extend([ControlStep::Try(id), ControlStep::Take(id)]);
    }
    found
}
