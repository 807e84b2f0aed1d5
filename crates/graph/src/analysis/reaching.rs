//! Reaching definitions: writes that a read of a container may see, and assignments that a use of a symbol
//! may see (forward may-analyses over the control flow).
//!
//! Containers are treated as wholes: a write kills earlier ones only if it certainly overwrites the
//! container. A definition certainly reaches a read if it is the only one that may.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::symbolic::Symbol;

use super::control_graph::{ControlGraph, ControlStep, begin, symbols_set};
use super::fixpoint::solve_forward;
use super::state_effects::{Containers, Read, StateEffects};
use super::symbols::{free_symbols, symbol_types};
use crate::ir::{BlockId, BlockKind, ContainerId, EdgeId, Lifetime, Sdfg, StateId, TransitionId};

/// Possible origins of the contents of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Definition {
    /// Some elements may never have been written.
    Undefined,
    /// The caller, an earlier call, or a constant's contents.
    Initial,
    /// The write of an edge. For a reference, the edge that binds it.
    Write {
        /// The state.
        state: StateId,
        /// The leaf edge that moves the data.
        edge: EdgeId,
    },
}

/// Possible origins of the value of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolDefinition {
    /// Nothing: it may have no value.
    Undefined,
    /// The caller.
    Caller,
    /// The start of a loop.
    Init(BlockId),
    /// The update of a loop.
    Update(BlockId),
    /// A transition.
    Assign(TransitionId),
}

type Contents = BTreeMap<ContainerId, BTreeSet<Definition>>;

/// Definitions of containers and the places that they reach. What the entry does not reach has none.
#[derive(Clone, Debug)]
pub struct ReachingDefinitions {
    graph: ControlGraph,
    containers: Containers,
    effects: BTreeMap<StateId, StateEffects>,
    before: Vec<Option<Contents>>,
}

impl ReachingDefinitions {
    /// Solves the analysis for the control flow of an SDFG. A nested SDFG counts as writes at its output connectors.
    pub fn of(sdfg: &Sdfg) -> Self {
        let graph = ControlGraph::of(sdfg);
        let containers = Containers::of(sdfg);
        let effects: BTreeMap<StateId, StateEffects> =
            sdfg.states().map(|(id, _)| (id, StateEffects::of(sdfg, id, &containers))).collect();
        let before = solve_forward(&graph, at_entry(sdfg, &containers), |step, before| {
            let mut after = before.clone();
            if let Some((state, effects)) = state_of(sdfg, &effects, step) {
                for container in &effects.overwritten {
                    after.insert(*container, BTreeSet::new());
                }
                for write in effects.writes.iter().filter(|write| containers.lasts(write.container)) {
                    let definition = Definition::Write { state, edge: write.edge };
                    after.entry(write.container).or_default().insert(definition);
                }
            }
            after
        });
        ReachingDefinitions { graph, containers, effects, before }
    }

    /// Definitions of what a container holds when a block begins; empty for a block that is never reached and for a
    /// container that keeps nothing from block to block.
    pub fn before(&self, sdfg: &Sdfg, block: BlockId, container: ContainerId) -> BTreeSet<Definition> {
        self.at(begin(sdfg, block), container)
    }

    /// Definitions of what a container holds when a step of control begins, for the reads of a condition or assignment.
    pub fn at(&self, step: ControlStep, container: ContainerId) -> BTreeSet<Definition> {
        let before = self.graph.number(step).and_then(|at| self.before[at].as_ref());
        let named = self.containers.named_by(container);
        named
            .flat_map(|named| before.and_then(|before| before.get(&named)).into_iter().flatten())
            .copied()
            .collect()
    }

    /// Definitions that the read of a leaf edge may see, which may be a write that combines with what was there; of all
    /// containers that it may name if it goes through an alias. Empty if the state is never reached.
    pub fn reaching(&self, sdfg: &Sdfg, state: StateId, edge: EdgeId) -> BTreeSet<Definition> {
        let mut found = BTreeSet::new();
        let is_own = |kind: &BlockKind| matches!(kind, BlockKind::State(own) if *own == state);
        let Some((block, _)) = sdfg.blocks().find(|(_, block)| is_own(&block.kind)) else { return found };
        let before = self.graph.number(ControlStep::State(block)).and_then(|at| self.before[at].as_ref());
        let (Some(before), Some(effects)) = (before, self.effects.get(&state)) else { return found };
        for read in effects.reads.iter().filter(|read| read.edge == Some(edge)) {
            found.extend(self.seen(sdfg, state, effects, read, before));
        }
        found
    }

    fn seen(
        &self,
        sdfg: &Sdfg,
        state: StateId,
        effects: &StateEffects,
        read: &Read,
        before: &Contents,
    ) -> BTreeSet<Definition> {
        let mut found: BTreeSet<Definition> = read
            .sees
            .iter()
            .map(|write| Definition::Write { state, edge: effects.writes[*write].edge })
            .collect();
        if read.sees_before {
            if self.containers.lasts(read.container) {
                found.extend(before.get(&read.container).into_iter().flatten());
            } else if !sdfg.container(read.container).is_alias() {
                found.insert(Definition::Undefined);
            }
        }
        found
    }
}

fn state_of<'a>(
    sdfg: &Sdfg,
    effects: &'a BTreeMap<StateId, StateEffects>,
    step: ControlStep,
) -> Option<(StateId, &'a StateEffects)> {
    let ControlStep::State(block) = step else { return None };
    let BlockKind::State(state) = sdfg.block(block).kind else { return None };
    Some((state, effects.get(&state)?))
}

fn at_entry(sdfg: &Sdfg, containers: &Containers) -> Contents {
    let lasting = sdfg.containers().filter(|(id, _)| containers.lasts(*id));
    let initial = lasting.map(|(id, container)| {
        let kept = match container.lifetime {
            Lifetime::Persistent | Lifetime::External => true,
            Lifetime::Scope | Lifetime::State | Lifetime::Sdfg => false,
        };
        let mut definitions = BTreeSet::new();
        if container.is_argument() || container.constant.is_some() || kept {
            definitions.insert(Definition::Initial);
        }
        // A stream that nothing was pushed to is empty, not undefined.
        if !container.is_argument() && container.constant.is_none() && !container.is_stream() {
            definitions.insert(Definition::Undefined);
        }
        (id, definitions)
    });
    initial.collect()
}

/// Definitions of symbols and the places that they reach.
#[derive(Clone, Debug)]
pub struct ReachingSymbols {
    graph: ControlGraph,
    /// The symbols that each step sets.
    sets: Vec<Vec<Symbol>>,
    /// The steps that control may reach.
    reached: Vec<bool>,
    at_entry: BTreeMap<Symbol, SymbolDefinition>,
}

/// Some steps of control.
#[derive(Clone, Debug)]
pub struct ReachedSteps<'g> {
    graph: &'g ControlGraph,
    found: Vec<bool>,
}

impl ReachedSteps<'_> {
    /// Whether a step is among them.
    pub fn contains(&self, step: ControlStep) -> bool {
        self.graph.number(step).is_some_and(|at| self.found[at])
    }
}

impl ReachingSymbols {
    /// The control flow of an SDFG with all that sets a symbol. Symbols that scopes bind are no concern of control flow.
    pub fn of(sdfg: &Sdfg) -> Self {
        let graph = ControlGraph::of(sdfg);
        let undefined = symbol_types(sdfg).into_keys().map(|symbol| (symbol, SymbolDefinition::Undefined));
        let mut at_entry: BTreeMap<_, _> = undefined.collect();
        at_entry.extend(free_symbols(sdfg).into_iter().map(|symbol| (symbol, SymbolDefinition::Caller)));
        let sets = graph.steps().iter().map(|step| symbols_set(sdfg, *step)).collect();
        let reached = reach(&graph, graph.number(ControlStep::Entry).into_iter().collect(), |_| false);
        ReachingSymbols { graph, sets, reached, at_entry }
    }

    /// Definitions of the value that a symbol has when a step of control begins.
    ///
    /// The search goes back from the step as far as to the steps that set the symbol. Definitions of all symbols at all steps take
    /// space and time that grow with their product.
    pub fn at(&self, step: ControlStep, symbol: &Symbol) -> BTreeSet<SymbolDefinition> {
        let mut found = BTreeSet::new();
        let Some(start) = self.graph.number(step).filter(|at| self.reached[*at]) else { return found };
        let (mut seen, mut waiting) = (BTreeSet::from([start]), vec![start]);
        while let Some(at) = waiting.pop() {
            if self.graph.steps()[at] == ControlStep::Entry {
                found.extend(self.at_entry.get(symbol));
            }
            for before in self.graph.predecessors(at) {
                if !self.reached[*before] {
                    continue;
                }
                if self.sets[*before].contains(symbol) {
                    found.extend(definition(self.graph.steps()[*before]));
                } else if seen.insert(*before) {
                    waiting.push(*before);
                }
            }
        }
        found
    }

    /// The steps at which a symbol may still have the value, or none, that it has when the SDFG begins.
    pub fn reached_from_entry(&self, symbol: &Symbol) -> ReachedSteps<'_> {
        self.forward(self.graph.number(ControlStep::Entry).into_iter().collect(), symbol)
    }

    /// The steps at which a symbol may have a value that some of these steps set.
    pub fn reached_after(
        &self,
        steps: impl IntoIterator<Item = ControlStep>,
        symbol: &Symbol,
    ) -> ReachedSteps<'_> {
        let numbers = steps.into_iter().filter_map(|step| self.graph.number(step));
        let setting = numbers.filter(|at| self.reached[*at] && self.sets[*at].contains(symbol));
        self.forward(setting.flat_map(|at| self.graph.successors(at).iter().copied()).collect(), symbol)
    }

    /// The steps to which control comes from some without one between that sets the symbol.
    fn forward(&self, first: Vec<usize>, symbol: &Symbol) -> ReachedSteps<'_> {
        let found = reach(&self.graph, first, |at| self.sets[at].contains(symbol));
        ReachedSteps { graph: &self.graph, found }
    }

    /// Definitions of the value that a symbol has when a block begins, and in a state throughout.
    pub fn before(&self, sdfg: &Sdfg, block: BlockId, symbol: &Symbol) -> BTreeSet<SymbolDefinition> {
        self.at(begin(sdfg, block), symbol)
    }
}

/// Whether control may come to each step from the first ones, without going on behind steps that stop it.
fn reach(graph: &ControlGraph, first: Vec<usize>, stops: impl Fn(usize) -> bool) -> Vec<bool> {
    let (mut found, mut waiting) = (vec![false; graph.len()], first);
    while let Some(at) = waiting.pop() {
        if !std::mem::replace(&mut found[at], true) && !stops(at) {
            waiting.extend(graph.successors(at));
        }
    }
    found
}

/// The definition of the symbols that a step sets.
fn definition(step: ControlStep) -> Option<SymbolDefinition> {
    match step {
        ControlStep::Init(block) => Some(SymbolDefinition::Init(block)),
        ControlStep::Update(block) => Some(SymbolDefinition::Update(block)),
        ControlStep::Take(transition) => Some(SymbolDefinition::Assign(transition)),
        ControlStep::Entry
        | ControlStep::State(_)
        | ControlStep::Jump(_)
        | ControlStep::Test(_)
        | ControlStep::Arm(..)
        | ControlStep::Done(_)
        | ControlStep::Try(_)
        | ControlStep::Exit => None,
    }
}
