//! Liveness of containers: those whose contents may still be read (a backward may-analysis over the control
//! flow).
//!
//! A container is live at a point if some path from there reads contents that it has there: by a memlet, a
//! condition, an assignment, a conflict resolution, a nested SDFG, through a view or reference, or after the
//! call as an argument. It is dead if every path overwrites all of it first, or if its lifetime ends. A
//! reference is live while its target matters.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;

use super::control_graph::{ControlGraph, ControlStep, begin, containers_read};
use super::fixpoint::{Fact, solve_backward};
use super::state_effects::{Containers, StateEffects};
use crate::ir::ids::Id;
use crate::ir::{BlockId, BlockKind, ContainerId, Lifetime, Sdfg, StateId, TransitionId};

/// Live containers at each point.
#[derive(Clone, Debug)]
pub struct Liveness {
    before: BTreeMap<BlockId, Live>,
    after: BTreeMap<BlockId, Live>,
    along: BTreeMap<TransitionId, Live>,
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
        let before: Vec<Live> =
            (0..graph.len()).map(|at| live_before(graph.steps()[at], &after[at])).collect();
        let mut liveness =
            Liveness { before: BTreeMap::new(), after: BTreeMap::new(), along: BTreeMap::new() };
        for (block, _) in sdfg.blocks() {
            let first = graph.number(begin(sdfg, block));
            liveness.before.insert(block, first.map(|at| before[at].clone()).unwrap_or_default());
            // A jump has nothing to try after it: what holds after it is what holds where it leads.
            let done = graph.number(ControlStep::Done(block)).map(|at| before[at].clone());
            let jump = graph.number(ControlStep::Jump(block)).map(|at| after[at].clone());
            liveness.after.insert(block, done.or(jump).unwrap_or_default());
        }
        for (id, _) in sdfg.transitions() {
            let taken = graph.number(ControlStep::Take(id));
            liveness.along.insert(id, taken.map(|at| after[at].clone()).unwrap_or_default());
        }
        liveness
    }

    /// Containers that are live when a block begins.
    pub fn before(&self, block: BlockId) -> &Live {
        self.before.get(&block).unwrap_or(&NONE)
    }

    /// Containers that are live when a block is done, before its transitions are tried.
    pub fn after(&self, block: BlockId) -> &Live {
        self.after.get(&block).unwrap_or(&NONE)
    }

    /// Containers that are live when a transition has been taken; none if it never is.
    pub fn along(&self, transition: TransitionId) -> &Live {
        self.along.get(&transition).unwrap_or(&NONE)
    }
}

static NONE: Live = Live(FixedBitSet::new());

/// Live containers of one SDFG, a bit for each: the worklist visits each step several times, with thousands of containers in
/// large programs.
#[derive(Clone, Debug, Default)]
pub struct Live(FixedBitSet);

impl Live {
    /// Whether a container is live.
    pub fn contains(&self, container: ContainerId) -> bool {
        self.0.contains(container.index())
    }

    fn of(containers: impl IntoIterator<Item = ContainerId>) -> Self {
        Live(containers.into_iter().map(Id::index).collect())
    }
}

impl Fact for Live {
    fn join(&mut self, other: &Self) -> bool {
        let changed = !other.0.is_subset(&self.0);
        if changed {
            self.0.union_with(&other.0);
        }
        changed
    }
}

/// The change of liveness over one step, backwards.
struct Change {
    overwritten: Vec<ContainerId>,
    read: Vec<ContainerId>,
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
            overwritten: Vec::new(),
            read: read.iter().flat_map(|container| containers.named_by(*container)).collect(),
        };
        if let ControlStep::State(block) = step
            && let BlockKind::State(state) = sdfg.block(block).kind
            && let Some(effects) = effects.get(&state)
        {
            change.overwritten = effects.overwritten.iter().copied().collect();
            let seen = effects.reads.iter().filter(|read| read.sees_before).map(|read| read.container);
            change.read.extend(seen.filter(|container| containers.lasts(*container)));
        }
        change
    }

    fn before(&self, after: &Live) -> Live {
        let mut live = after.clone();
        for container in self.overwritten.iter().filter(|container| after.contains(**container)) {
            live.0.remove(container.index());
        }
        live.0.extend(self.read.iter().map(|container| container.index()));
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
