//! Elements that a transient keeps from an earlier run of its state.
//!
//! A copy of such elements brings back values that the container at its other end may have lost since. Without the copy, it has the later
//! ones. Elements that never had a value are no matter: to take them is an error.

use std::collections::BTreeSet;

use sdfg::analysis::executions::ExecutionTable;
use sdfg::analysis::{Footprint, leaf_edges};
use sdfg::ir::{ContainerId, EdgeId, Lifetime, NodeId, NodeKind, StateId};
use sdfg::subset::Subset;
use sdfg::symbolic::Symbol;

use super::partition::fixed_symbols;
use crate::engine::{Refusal, Site};
use crate::loops::state_block;

/// Refuses a transient that may keep elements from an earlier run of the state, unless it has them in each run.
///
/// The container at the other end of copies gets all its values by `copies`, if these are given and nothing else writes it: then it kept
/// the same values.
pub(super) fn none_kept(
    site: &Site<'_>,
    transient: ContainerId,
    other: Option<(ContainerId, &[EdgeId])>,
    has_them_in_each_run: impl FnOnce() -> bool,
) -> Result<(), Refusal> {
    let container = site.sdfg.container(transient);
    let keeps_none = match container.lifetime {
        Lifetime::State => true,
        Lifetime::Persistent | Lifetime::External => false,
        Lifetime::Scope | Lifetime::Sdfg => {
            runs_once(site, site.found.state())
                || other.is_some_and(|(other, copies)| {
                    outlives_state(site, other) && !is_written_elsewhere(site, other, copies)
                })
                || has_them_in_each_run()
        }
    };
    match keeps_none {
        true => Ok(()),
        false => {
            let reason = "may keep elements of an earlier run of the state, which others changed since";
            Err(Refusal::container(&container.name, reason))
        }
    }
}

/// Whether a container keeps its values for the next run of a state.
fn outlives_state(site: &Site<'_>, id: ContainerId) -> bool {
    let container = site.sdfg.container(id);
    !container.transient || container.lifetime != Lifetime::State
}

/// Whether a call of the SDFG runs a state once at most.
fn runs_once(site: &Site<'_>, state: StateId) -> bool {
    let block = state_block(site.sdfg, state);
    let runs = block.map(|block| ExecutionTable::of(site.sdfg).of_block(site.sdfg, block));
    runs.is_some_and(|runs| !runs.may_repeat())
}

/// Whether something else than some edges of the state writes a container, by any name.
fn is_written_elsewhere(site: &Site<'_>, id: ContainerId, edges: &[EdgeId]) -> bool {
    let (sdfg, here, names) = (site.sdfg, site.found.state(), site.same_memory(id));
    sdfg.states().any(|(state, graph)| {
        graph.edges().any(|(edge, content)| {
            let written = content.memlet.write_access().map(|access| access.container);
            written.is_some_and(|id| names.contains(&id)) && !(state == here && edges.contains(&edge))
        })
    })
}

/// Whether elements are the same ones while the program runs.
pub(super) fn is_fixed(site: &Site<'_>, subset: &Subset) -> bool {
    subset.free_symbols().is_subset(&fixed_symbols(site.sdfg))
}

/// Whether each run sets the same elements at an access node, and all of them.
pub(super) fn sets_the_same(site: &Site<'_>, node: NodeId) -> bool {
    let (state, graph, tree) = (site.found.state(), site.state(), site.scopes());
    let fixed = fixed_symbols(site.sdfg);
    let is_same = |leaf: EdgeId| {
        let mut known = fixed.clone();
        let (mut used, mut given) = (BTreeSet::new(), BTreeSet::new());
        for entry in tree.enclosing_scope(tree.scope_of_edge(graph, leaf)) {
            let NodeKind::MapEntry(map) = &graph.node(entry).kind else { return false };
            known.extend(map.params.iter().cloned());
            used.extend(map.ranges.free_symbols());
            given.extend(
                graph.each_in_edge(entry).filter_map(|(_, edge)| edge.given_symbol()).map(Symbol::of),
            );
        }
        // Data may give another value in each run, also to a name that has one outside.
        known.retain(|symbol| !given.contains(symbol));
        let footprint = Footprint::of_node(site.sdfg, state, graph.edge(leaf).src);
        let mut written = footprint.writes.iter().filter(|part| part.edge == Some((state, leaf)));
        written.all(|part| {
            used.extend(part.subset.as_inner().free_symbols());
            part.subset.is_exact()
        }) && used.is_subset(&known)
    };
    let mut written = graph.each_in_edge(node).filter(|(_, edge)| edge.memlet.write_access().is_some());
    written.all(|(edge, _)| leaf_edges(graph, edge).into_iter().all(is_same))
}
