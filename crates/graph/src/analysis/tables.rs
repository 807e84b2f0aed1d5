//! Side tables of an SDFG, computed on demand and again after the graph has changed.
//!
//! They are separate from the graph, so that nothing in the graph becomes stale, and separate from the
//! analyses, so that each analysis stays a function of a borrowed graph. The [`Revision`] detects changes of
//! the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::changed_parts::ChangedParts;
use super::control_graph::ControlGraph;
use super::cost::Costs;
use super::dominators::DominatorTree;
use super::footprint::Footprint;
use super::known::SymbolFacts;
use super::liveness::Liveness;
use super::memlet_tree::MemletTrees;
use super::owning_scopes::owning_scopes;
use super::reaching::{ReachingDefinitions, ReachingSymbols};
use super::region_graph::RegionGraph;
use super::scope_tree::ScopeTree;
use super::symbol_uses::SymbolUses;
use super::uses::Uses;
use crate::ir::{BlockKind, ContainerId, NodeId, RegionId, Revision, Sdfg, StateId};

/// Side tables of one SDFG, each computed on first request for its current revision.
///
/// A table is shared: whoever holds it may go on to edit the graph, and then holds the table of the graph before the
/// edit. Tables of states depend on that state alone and survive changes elsewhere. Those of the program survive a series of edits that
/// did not touch what they tell of, if they are told of it by [`follow`](Analyses::follow). A nested SDFG has tables of its own;
/// using one of these for several SDFGs in turn is right, but computes everything anew each time.
#[derive(Clone, Debug, Default)]
pub struct Analyses {
    revision: Revision,
    program: ProgramTables,
    states: BTreeMap<Revision, StateTables>,
}

/// Tables that any change of the SDFG invalidates, unless it is known what the change is.
#[derive(Clone, Debug, Default)]
struct ProgramTables {
    known: Option<Arc<SymbolFacts>>,
    region_graphs: BTreeMap<RegionId, Arc<RegionGraph>>,
    dominators: BTreeMap<RegionId, Arc<DominatorTree>>,
    post_dominators: BTreeMap<RegionId, Arc<DominatorTree>>,
    control_graph: Option<Arc<ControlGraph>>,
    footprints: BTreeMap<StateId, Arc<Footprint>>,
    region_footprints: BTreeMap<RegionId, Arc<Footprint>>,
    liveness: Option<Arc<Liveness>>,
    reaching: Option<Arc<ReachingDefinitions>>,
    reaching_symbols: Option<Arc<ReachingSymbols>>,
    symbol_uses: Option<Arc<SymbolUses>>,
    costs: Option<Arc<Costs>>,
    uses: Option<Arc<Uses>>,
    owning_scopes: Option<Arc<BTreeMap<ContainerId, (StateId, NodeId)>>>,
}

/// Tables of one state.
#[derive(Clone, Debug, Default)]
struct StateTables {
    scopes: Option<Arc<ScopeTree>>,
    trees: Option<Arc<MemletTrees>>,
    order: Option<Arc<Option<Vec<NodeId>>>>,
}

impl Analyses {
    /// No tables yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The control-flow graph of a region.
    pub fn region_graph(&mut self, sdfg: &Sdfg, region: RegionId) -> Arc<RegionGraph> {
        let tables = &mut self.current(sdfg).region_graphs;
        tables.entry(region).or_insert_with(|| Arc::new(RegionGraph::of(sdfg, region))).clone()
    }

    /// The dominators of the blocks of a region.
    pub fn dominators(&mut self, sdfg: &Sdfg, region: RegionId) -> Arc<DominatorTree> {
        let graph = self.region_graph(sdfg, region);
        let tables = &mut self.program.dominators;
        tables.entry(region).or_insert_with(|| Arc::new(DominatorTree::dominators(&graph))).clone()
    }

    /// The post-dominators of the blocks of a region.
    pub fn post_dominators(&mut self, sdfg: &Sdfg, region: RegionId) -> Arc<DominatorTree> {
        let graph = self.region_graph(sdfg, region);
        let tables = &mut self.program.post_dominators;
        tables.entry(region).or_insert_with(|| Arc::new(DominatorTree::post_dominators(&graph))).clone()
    }

    /// The control flow of the whole SDFG, flattened.
    pub fn control_graph(&mut self, sdfg: &Sdfg) -> Arc<ControlGraph> {
        let table = &mut self.current(sdfg).control_graph;
        table.get_or_insert_with(|| Arc::new(ControlGraph::of(sdfg))).clone()
    }

    /// Facts about symbols at all places.
    pub fn known(&mut self, sdfg: &Sdfg) -> Arc<SymbolFacts> {
        let table = &mut self.current(sdfg).known;
        table.get_or_insert_with(|| Arc::new(SymbolFacts::of(sdfg))).clone()
    }

    /// Reads and writes of one execution of a state.
    pub fn footprint(&mut self, sdfg: &Sdfg, state: StateId) -> Arc<Footprint> {
        let known = self.known(sdfg);
        let tables = &mut self.program.footprints;
        let compute = || Arc::new(Footprint::of_state_among(sdfg, &known, state));
        tables.entry(state).or_insert_with(compute).clone()
    }

    /// Reads and writes of one execution of a region.
    pub fn region_footprint(&mut self, sdfg: &Sdfg, region: RegionId) -> Arc<Footprint> {
        let tables = &mut self.current(sdfg).region_footprints;
        tables.entry(region).or_insert_with(|| Arc::new(Footprint::of_region(sdfg, region))).clone()
    }

    /// Live containers at each point.
    pub fn liveness(&mut self, sdfg: &Sdfg) -> Arc<Liveness> {
        let table = &mut self.current(sdfg).liveness;
        table.get_or_insert_with(|| Arc::new(Liveness::of(sdfg))).clone()
    }

    /// Writes that reach each read.
    pub fn reaching_definitions(&mut self, sdfg: &Sdfg) -> Arc<ReachingDefinitions> {
        let table = &mut self.current(sdfg).reaching;
        table.get_or_insert_with(|| Arc::new(ReachingDefinitions::of(sdfg))).clone()
    }

    /// Assignments of symbols that reach each step of control.
    pub fn reaching_symbols(&mut self, sdfg: &Sdfg) -> Arc<ReachingSymbols> {
        let table = &mut self.current(sdfg).reaching_symbols;
        table.get_or_insert_with(|| Arc::new(ReachingSymbols::of(sdfg))).clone()
    }

    /// What depends on each symbol.
    pub fn symbol_uses(&mut self, sdfg: &Sdfg) -> Arc<SymbolUses> {
        let table = &mut self.current(sdfg).symbol_uses;
        table.get_or_insert_with(|| Arc::new(SymbolUses::of(sdfg))).clone()
    }

    /// Uses of containers.
    pub fn uses(&mut self, sdfg: &Sdfg) -> Arc<Uses> {
        let table = &mut self.current(sdfg).uses;
        table.get_or_insert_with(|| Arc::new(Uses::of_program(sdfg))).clone()
    }

    /// The scope that holds all uses of a container, as [`owning_scopes`] finds it.
    pub fn owning_scopes(&mut self, sdfg: &Sdfg) -> Arc<BTreeMap<ContainerId, (StateId, NodeId)>> {
        let table = &mut self.current(sdfg).owning_scopes;
        table.get_or_insert_with(|| Arc::new(owning_scopes(sdfg))).clone()
    }

    /// Bytes moved and arithmetic work.
    pub fn costs(&mut self, sdfg: &Sdfg) -> Arc<Costs> {
        let table = &mut self.current(sdfg).costs;
        table.get_or_insert_with(|| Arc::new(Costs::of(sdfg))).clone()
    }

    /// The memlet trees of a state.
    pub fn memlet_trees(&mut self, sdfg: &Sdfg, state: StateId) -> Arc<MemletTrees> {
        let tables = self.of_state(sdfg, state);
        tables.trees.get_or_insert_with(|| Arc::new(MemletTrees::of(sdfg.state(state)))).clone()
    }

    /// The nodes of a state such that every edge goes forward, the smallest id first among those that are ready; `None` if
    /// there is a cycle.
    pub fn topological_order(&mut self, sdfg: &Sdfg, state: StateId) -> Arc<Option<Vec<NodeId>>> {
        let tables = self.of_state(sdfg, state);
        tables.order.get_or_insert_with(|| Arc::new(sdfg.state(state).topological_order())).clone()
    }

    /// The scopes of a state.
    pub fn scopes(&mut self, sdfg: &Sdfg, state: StateId) -> Arc<ScopeTree> {
        let tables = self.of_state(sdfg, state);
        tables.scopes.get_or_insert_with(|| Arc::new(ScopeTree::of(sdfg.state(state)))).clone()
    }

    /// Keeps the tables that a change of the SDFG did not touch, such as a series of edits that was committed. Without this, or if
    /// the tables are not those of the SDFG before the change, all of them but those of states are computed anew.
    pub fn follow(&mut self, sdfg: &Sdfg, touched: &ChangedParts) {
        let parts = touched.parts();
        if parts.before == parts.after || (self.revision, sdfg.revision()) != (parts.before, parts.after) {
            return;
        }
        let old = std::mem::take(&mut self.program);
        self.begin(sdfg);
        if parts.is_more {
            return;
        }
        let of_region = |region: &RegionId| !parts.regions.contains(region);
        self.program.region_graphs = old.region_graphs;
        self.program.region_graphs.retain(|region, _| of_region(region));
        self.program.dominators = old.dominators;
        self.program.dominators.retain(|region, _| of_region(region));
        self.program.post_dominators = old.post_dominators;
        self.program.post_dominators.retain(|region, _| of_region(region));
        if touched.is_in_states() {
            let around = regions_around(sdfg, &parts.states);
            self.program.known = old.known;
            self.program.control_graph = old.control_graph;
            self.program.footprints = old.footprints;
            self.program.footprints.retain(|state, _| !parts.states.contains(state));
            self.program.region_footprints = old.region_footprints;
            self.program.region_footprints.retain(|region, _| !around.contains(region));
        }
    }

    /// The tables of the SDFG as it is now; those of an earlier revision are dropped.
    fn current(&mut self, sdfg: &Sdfg) -> &mut ProgramTables {
        if self.revision != sdfg.revision() {
            self.program = ProgramTables::default();
            self.begin(sdfg);
        }
        &mut self.program
    }

    /// Goes on to another revision.
    fn begin(&mut self, sdfg: &Sdfg) {
        self.revision = sdfg.revision();
        let present: BTreeSet<Revision> = sdfg.states().map(|(_, state)| state.revision()).collect();
        self.states.retain(|revision, _| present.contains(revision));
    }

    fn of_state(&mut self, sdfg: &Sdfg, state: StateId) -> &mut StateTables {
        self.current(sdfg);
        self.states.entry(sdfg.state(state).revision()).or_default()
    }
}

/// The regions that hold some of the states.
fn regions_around(sdfg: &Sdfg, states: &BTreeSet<StateId>) -> BTreeSet<RegionId> {
    let mut found = BTreeSet::new();
    for (_, block) in sdfg.blocks() {
        if !matches!(block.kind, BlockKind::State(state) if states.contains(&state)) {
            continue;
        }
        let mut at = Some(block.region);
        while let Some(region) = at.filter(|region| found.insert(*region)) {
            let parent = sdfg.get_region(region).and_then(|found| found.parent);
            at = parent.and_then(|block| sdfg.get_block(block)).map(|block| block.region);
        }
    }
    found
}
