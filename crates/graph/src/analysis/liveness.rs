//! Liveness of containers: those whose contents may still be read (a backward may-analysis over the control
//! flow).
//!
//! A container is live at a point if some path from there reads contents that it has there: by a memlet, a
//! condition, an assignment, a conflict resolution, a nested SDFG, through a view or reference, or after the
//! call as an argument. It is dead if every path overwrites all of it first, or if its lifetime ends. A
//! reference is live while its target matters.

use std::collections::{BTreeMap, BTreeSet};

use super::control_graph::{ControlGraph, ControlStep, begin, containers_read};
use super::fixpoint::{Fact, solve_backward};
use super::state_effects::{Containers, StateEffects};
use crate::ir::ids::Id;
use crate::ir::{BlockId, BlockKind, ContainerId, Lifetime, Sdfg, StateId, TransitionId};

/// Live containers at each point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    before: BTreeMap<BlockId, BTreeSet<ContainerId>>,
    after: BTreeMap<BlockId, BTreeSet<ContainerId>>,
    along: BTreeMap<TransitionId, BTreeSet<ContainerId>>,
}

impl Liveness {
    /// Solves the analysis for the control flow of an SDFG; nested SDFGs are looked at as what their memlets say.
    pub fn of(sdfg: &Sdfg) -> Self {
        let graph = ControlGraph::of(sdfg);
        let containers = Containers::of(sdfg);
        let effects: BTreeMap<StateId, StateEffects> =
            sdfg.states().map(|(id, _)| (id, StateEffects::of(sdfg, id, &containers))).collect();
        let changes: BTreeMap<ControlStep, Change> = graph
            .steps()
            .iter()
            .map(|step| (*step, Change::of(sdfg, &containers, &effects, *step)))
            .collect();
        let live_before = |step: ControlStep, after: &Live| match changes.get(&step) {
            Some(change) => change.before(after),
            None => after.clone(),
        };
        let after = solve_backward(&graph, Live::of(live_after_call(sdfg)), live_before);
        let before: Vec<BTreeSet<ContainerId>> =
            (0..graph.len()).map(|at| live_before(graph.steps()[at], &after[at]).containers()).collect();
        let mut liveness =
            Liveness { before: BTreeMap::new(), after: BTreeMap::new(), along: BTreeMap::new() };
        for (block, _) in sdfg.blocks() {
            let first = graph.number(begin(sdfg, block));
            liveness.before.insert(block, first.map(|at| before[at].clone()).unwrap_or_default());
            // A jump has nothing to try after it: what holds after it is what holds where it leads.
            let done = graph.number(ControlStep::Done(block)).map(|at| before[at].clone());
            let jump = graph.number(ControlStep::Jump(block)).map(|at| after[at].containers());
            liveness.after.insert(block, done.or(jump).unwrap_or_default());
        }
        for (id, _) in sdfg.transitions() {
            let taken = graph.number(ControlStep::Take(id));
            liveness.along.insert(id, taken.map(|at| after[at].containers()).unwrap_or_default());
        }
        liveness
    }

    /// Containers that are live when a block begins.
    pub fn before(&self, block: BlockId) -> &BTreeSet<ContainerId> {
        static NONE: BTreeSet<ContainerId> = BTreeSet::new();
        self.before.get(&block).unwrap_or(&NONE)
    }

    /// Containers that are live when a block is done, before its transitions are tried.
    pub fn after(&self, block: BlockId) -> &BTreeSet<ContainerId> {
        static NONE: BTreeSet<ContainerId> = BTreeSet::new();
        self.after.get(&block).unwrap_or(&NONE)
    }

    /// Containers that are live when a transition has been taken; none if it never is.
    pub fn along(&self, transition: TransitionId) -> &BTreeSet<ContainerId> {
        static NONE: BTreeSet<ContainerId> = BTreeSet::new();
        self.along.get(&transition).unwrap_or(&NONE)
    }
}

/// Containers of one SDFG, a bit for each: the worklist visits each step several times, with hundreds of containers in large
/// programs.
#[derive(Clone, Debug, Default)]
struct Live(Vec<u64>);

impl Live {
    fn of(containers: impl IntoIterator<Item = ContainerId>) -> Self {
        let mut live = Live::default();
        containers.into_iter().for_each(|container| live.insert(container));
        live
    }

    fn insert(&mut self, container: ContainerId) {
        let (word, bit) = (container.index() / 64, container.index() % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    fn containers(&self) -> BTreeSet<ContainerId> {
        let bits = self.0.iter().enumerate().flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits & (1 << bit) != 0).map(move |bit| 64 * word + bit)
        });
        bits.map(ContainerId::from_index).collect()
    }
}

impl Fact for Live {
    fn join(&mut self, other: &Self) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut changed = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            changed |= more & !*word != 0;
            *word |= more;
        }
        changed
    }
}

/// The change of liveness over one step, backwards.
struct Change {
    overwritten: Live,
    read: Live,
}

impl Change {
    fn of(
        sdfg: &Sdfg,
        containers: &Containers,
        effects: &BTreeMap<StateId, StateEffects>,
        step: ControlStep,
    ) -> Self {
        let read = containers_read(sdfg, step);
        let mut change = Change {
            overwritten: Live::default(),
            read: Live::of(read.iter().flat_map(|container| containers.named_by(*container))),
        };
        if let ControlStep::State(block) = step
            && let BlockKind::State(state) = sdfg.block(block).kind
            && let Some(effects) = effects.get(&state)
        {
            change.overwritten = Live::of(effects.overwritten.iter().copied());
            let seen = effects.reads.iter().filter(|read| read.sees_before).map(|read| read.container);
            let lasting = seen.filter(|container| containers.lasts(*container));
            lasting.for_each(|container| change.read.insert(container));
        }
        change
    }

    fn before(&self, after: &Live) -> Live {
        let mut live = after.clone();
        for (word, overwritten) in live.0.iter_mut().zip(&self.overwritten.0) {
            *word &= !overwritten;
        }
        live.join(&self.read);
        live
    }
}

/// Containers that the caller, or the next call, may read.
fn live_after_call(sdfg: &Sdfg) -> BTreeSet<ContainerId> {
    let outlives = |container: &crate::ir::Container| match container.lifetime {
        Lifetime::Persistent | Lifetime::External => true,
        Lifetime::Scope | Lifetime::State | Lifetime::Sdfg => false,
    };
    let kept = |container: &crate::ir::Container| {
        container.constant.is_none() && (container.is_argument() || outlives(container))
    };
    sdfg.containers().filter(|(_, container)| kept(container)).map(|(id, _)| id).collect()
}
