//! Containers that nodes, states and regions read and write.
//!
//! The sets contain containers, not elements; memlets hold the subsets. An access to a view or reference
//! counts for the alias; [`alias_targets`] lists the containers that it may name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_language::syntax::Expression;
use sdfg_language::workspace::remembered;

use super::bound_alias;
use crate::ir::{
    BlockKind, Consume, Container, ContainerId, EdgeId, NodeId, NodeKind, RegionId, Revision, Sdfg, State,
};

/// Containers that are read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSets {
    /// Read by memlets, conditions or assignments, or combined with by a conflict resolution.
    pub reads: BTreeSet<ContainerId>,
    /// Written by memlets.
    pub writes: BTreeSet<ContainerId>,
}

impl AccessSets {
    /// Reads and writes of the edges at a node: for an entry or exit, everything that passes through its
    /// scope.
    pub fn of_node(state: &State, node: NodeId) -> Self {
        let mut sets = AccessSets::default();
        for edge in state.in_edges(node).into_iter().chain(state.out_edges(node)) {
            sets.add_edge(state, edge);
        }
        sets
    }

    /// Reads and writes of a state.
    pub fn of_state(state: &State) -> Self {
        let mut sets = AccessSets::default();
        for (edge, _) in state.edges() {
            sets.add_edge(state, edge);
        }
        sets
    }

    /// Reads and writes of the states, conditions and assignments of a region, including inner regions.
    pub fn of_region(sdfg: &Sdfg, region: RegionId) -> Self {
        let mut sets = AccessSets::default();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![region];
        while let Some(region) = waiting.pop() {
            if !seen.insert(region) {
                continue;
            }
            for block in &sdfg.region(region).blocks {
                let kind = &sdfg.block(*block).kind;
                if let BlockKind::State(state) = kind {
                    let state = sdfg.state(*state);
                    sets.merge(AccessSets::of_state(state));
                    sets.reads.extend(consume_condition_reads(sdfg, state, None));
                }
                waiting.extend(kind.regions());
            }
        }
        sets.reads.extend(control_reads_of(sdfg, region));
        sets
    }

    /// The same, where an access to a view or reference counts for all that it may name, too.
    pub fn through_aliases(mut self, sdfg: &Sdfg) -> Self {
        for (alias, targets) in all_alias_targets(sdfg).iter() {
            for set in [&mut self.reads, &mut self.writes] {
                if set.contains(alias) {
                    set.extend(targets);
                }
            }
        }
        self
    }

    /// Whether both access a container that at least one of them writes.
    pub fn conflicts_with(&self, other: &AccessSets) -> bool {
        !self.writes.is_disjoint(&other.writes)
            || !self.writes.is_disjoint(&other.reads)
            || !self.reads.is_disjoint(&other.writes)
    }

    fn merge(&mut self, other: AccessSets) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
    }

    fn add_edge(&mut self, state: &State, edge: EdgeId) {
        let memlet = &state.edge(edge).memlet;
        self.reads.extend(memlet.read_access().map(|access| access.container));
        if let Some(access) = memlet.write_access() {
            self.writes.insert(access.container);
            if memlet.resolution().is_some() {
                self.reads.insert(access.container);
            }
        }
    }
}

/// Containers that conditions and assignments of an SDFG read.
pub fn control_flow_reads(sdfg: &Sdfg) -> BTreeSet<ContainerId> {
    let mut found = BTreeSet::new();
    for (_, block) in sdfg.blocks() {
        for expression in block.kind.expressions() {
            found.extend(containers_in(sdfg, expression));
        }
    }
    for (_, transition) in sdfg.transitions() {
        found.extend(transition.expressions().flat_map(|value| containers_in(sdfg, value)));
    }
    found
}

/// Containers that conditions and assignments of an SDFG read, with those that the views and references among them name.
pub fn memory_of_control_flow(sdfg: &Sdfg) -> BTreeSet<ContainerId> {
    let mut found = control_flow_reads(sdfg);
    let is_alias = |id: &ContainerId| sdfg.get_container(*id).is_some_and(Container::is_alias);
    if !found.iter().any(is_alias) {
        return found;
    }
    let binds: Vec<(ContainerId, ContainerId)> = sdfg
        .states()
        .flat_map(|(_, state)| state.edges().filter_map(move |(edge, _)| bound_alias(state, edge)))
        .map(|(alias, target)| (alias, target.container))
        .collect();
    // A view may be one of another view.
    while let Some((_, target)) =
        binds.iter().find(|(alias, target)| found.contains(alias) && !found.contains(target))
    {
        found.insert(*target);
    }
    found
}

/// Containers that conditions and assignments of a region read, those of the regions inside it included.
pub fn control_reads_of(sdfg: &Sdfg, region: RegionId) -> BTreeSet<ContainerId> {
    let (mut found, mut seen, mut waiting) = (BTreeSet::new(), BTreeSet::new(), vec![region]);
    while let Some(region) = waiting.pop() {
        if !seen.insert(region) {
            continue;
        }
        let region = sdfg.region(region);
        for block in &region.blocks {
            let kind = &sdfg.block(*block).kind;
            found.extend(kind.expressions().into_iter().flat_map(|value| containers_in(sdfg, value)));
            waiting.extend(kind.regions());
        }
        for transition in &region.transitions {
            let transition = sdfg.transition(*transition);
            found.extend(transition.expressions().flat_map(|value| containers_in(sdfg, value)));
        }
    }
    found
}

/// Containers that the conditions of the consume scopes of a state read, or that of one entry.
pub fn consume_condition_reads(sdfg: &Sdfg, state: &State, entry: Option<NodeId>) -> BTreeSet<ContainerId> {
    let mut found = BTreeSet::new();
    for (id, node) in state.nodes() {
        if let NodeKind::ConsumeEntry(Consume { condition: Some(condition), .. }) = &node.kind
            && entry.is_none_or(|entry| entry == id)
        {
            found.extend(containers_in(sdfg, condition));
        }
    }
    found
}

/// For each view and reference that some state binds, the containers that it is bound to.
pub fn alias_targets(sdfg: &Sdfg) -> Arc<BTreeMap<ContainerId, BTreeSet<ContainerId>>> {
    /// The targets of the aliases of an SDFG of this revision.
    #[derive(PartialEq, Eq, Hash)]
    struct Targets(Revision);
    if !sdfg.containers().any(|(_, container)| container.is_alias()) {
        return Arc::default();
    }
    remembered(Targets(sdfg.revision()), || Arc::new(found_targets(sdfg)))
}

/// As [`alias_targets`], also the containers that an alias names through other aliases.
pub fn all_alias_targets(sdfg: &Sdfg) -> Arc<BTreeMap<ContainerId, BTreeSet<ContainerId>>> {
    /// The same of an SDFG of this revision, through other aliases too.
    #[derive(PartialEq, Eq, Hash)]
    struct AllTargets(Revision);
    let direct = alias_targets(sdfg);
    if direct.is_empty() {
        return direct;
    }
    remembered(AllTargets(sdfg.revision()), || {
        let reached = |alias: &ContainerId| {
            let (mut found, mut waiting) = (BTreeSet::new(), vec![*alias]);
            while let Some(next) = waiting.pop() {
                let targets = direct.get(&next).into_iter().flatten();
                waiting.extend(targets.copied().filter(|target| found.insert(*target)));
            }
            found
        };
        Arc::new(direct.keys().map(|alias| (*alias, reached(alias))).collect())
    })
}

fn found_targets(sdfg: &Sdfg) -> BTreeMap<ContainerId, BTreeSet<ContainerId>> {
    let mut targets: BTreeMap<ContainerId, BTreeSet<ContainerId>> = BTreeMap::new();
    for (_, state) in sdfg.states() {
        for (alias, target) in state.edges().filter_map(|(edge, _)| bound_alias(state, edge)) {
            targets.entry(alias).or_default().insert(target.container);
        }
    }
    targets
}

/// The containers that an expression names.
pub fn containers_in(sdfg: &Sdfg, expression: &Expression) -> BTreeSet<ContainerId> {
    expression.names().into_iter().filter_map(|name| sdfg.find_container(name)).collect()
}
