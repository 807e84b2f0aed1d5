//! Two maps of which the outer one contains nothing but the inner one.

use std::collections::BTreeSet;

use sdfg::analysis::symbols::{bound_symbols, free_symbols_of_container};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{Map, NodeId, NodeKind, Schedule, ScheduleKind, StateId, Team};
use sdfg::subset::Subset;
use sdfg::symbolic::Symbol;

use super::map_pair::touched;
use crate::engine::{Refusal, Site};
use crate::pattern::{NodeClass, Pattern};

/// The pattern of the entries of two nested maps.
pub(super) fn pattern() -> Pattern {
    Pattern::path([("outer", NodeClass::MapEntry), ("inner", NodeClass::MapEntry)])
}

/// Refuses a map whose schedule brings its contents to a device, where they have their own data.
pub(super) fn on_host(site: &Site<'_>, map: &Map) -> Result<(), Refusal> {
    match map.schedule.kind() {
        ScheduleKind::Default
        | ScheduleKind::Sequential
        | ScheduleKind::Unrolled
        | ScheduleKind::Simd
        | ScheduleKind::CpuMulticore => Ok(()),
        ScheduleKind::GpuGrid
        | ScheduleKind::GpuBlock
        | ScheduleKind::FpgaDevice
        | ScheduleKind::FpgaReplicated
        | ScheduleKind::Mpi => {
            Err(Refusal::structure(site.label(0), "has a schedule that brings its contents to a device"))
        }
    }
}

/// Refuses a scope with a container whose size names one of these symbols, which get other names or values: sizes are not part of a
/// scope.
pub(super) fn no_sizes(site: &Site<'_>, entry: NodeId, symbols: &BTreeSet<&Symbol>) -> Result<(), Refusal> {
    if symbols.is_empty() {
        return Ok(());
    }
    for id in touched(site, site.state(), entry).into_keys() {
        let container = site.sdfg.container(id);
        let sizes = free_symbols_of_container(container);
        if let Some(symbol) = symbols.iter().find(|symbol| sizes.contains(**symbol)) {
            let reason = format!("has a size with the parameter `{symbol}`");
            return Err(Refusal::container(&container.name, reason));
        }
    }
    Ok(())
}

/// The two maps of a match of [`pattern`], if the outer one contains the inner one alone, their parameters have different names,
/// and no data gives them symbols.
pub(super) fn maps<'p>(site: &Site<'p>) -> Result<(&'p Map, &'p Map), Refusal> {
    let (outer, inner) = (site.found.node(0), site.found.node(1));
    let state = site.state();
    let exit = state.exit_of(inner);
    let tree = site.scopes();
    let is_part = |node: &NodeId| {
        *node == inner || Some(*node) == exit || state.node(*node).kind.exit_of() == Some(outer)
    };
    if tree.scope_of(inner) != Some(outer) {
        return Err(Refusal::structure(site.label(1), "is not in the scope of the outer map"));
    }
    if let Some(other) = tree.children(Some(outer)).iter().find(|node| !is_part(node)) {
        let label = &state.node(*other).label;
        return Err(Refusal::structure(site.label(0), format!("contains `{label}` besides the inner map")));
    }
    for at in [0, 1] {
        no_symbols_from_data(site, at)?;
    }
    let (first, second) = (site.map(0)?, site.map(1)?);
    if let Some(param) = second.params.iter().find(|param| first.params.contains(param)) {
        return Err(Refusal::structure(
            site.label(1),
            format!("has the parameter `{param}` of the outer map"),
        ));
    }
    Ok((first, second))
}

/// Refuses a map at a position whose ranges use numbers that flow into it.
pub(super) fn no_symbols_from_data(site: &Site<'_>, at: usize) -> Result<(), Refusal> {
    let (node, map) = (site.found.node(at), site.map(at)?);
    match bound_symbols(site.state(), node).iter().find(|symbol| !map.params.contains(symbol)) {
        Some(symbol) => Err(Refusal::structure(site.label(at), format!("gets `{symbol}` from data"))),
        None => Ok(()),
    }
}

/// The map of an entry.
pub(super) fn entry_map(editor: &Editor<'_>, state: StateId, entry: NodeId) -> Result<Map, EditError> {
    match editor.state(state)?.get_node(entry).map(|node| &node.kind) {
        Some(NodeKind::MapEntry(map)) => Ok(map.clone()),
        Some(_) | None => Err(EditError::NoNode(entry)),
    }
}

/// Refuses ranges that depend on one of some parameters.
pub(super) fn independent(ranges: &Subset, params: &[Symbol]) -> Result<(), Refusal> {
    for range in &ranges.0 {
        let used = range.free_symbols();
        if let Some(parameter) = params.iter().find(|parameter| used.contains(*parameter)) {
            return Err(Refusal::DependsOn { range: range.to_string(), parameter: parameter.clone() });
        }
    }
    Ok(())
}

/// Refuses maps with memlets outside of which a user wrote the subset: they may name parameters that move.
pub(super) fn no_declared_memlets(site: &Site<'_>, nodes: &[NodeId]) -> Result<(), Refusal> {
    let state = site.state();
    for node in nodes {
        let exit = state.exit_of(*node);
        let edges = [Some(*node), exit]
            .into_iter()
            .flatten()
            .flat_map(|node| state.each_in_edge(node).chain(state.each_out_edge(node)).collect::<Vec<_>>());
        if edges.into_iter().any(|(_, edge)| edge.memlet.declared) {
            let label = &state.node(*node).label;
            return Err(Refusal::structure(label, "has a memlet whose subset is declared"));
        }
    }
    Ok(())
}

/// A schedule for a map of so many dimensions: threads share no more dimensions than there are.
pub(super) fn fitted(schedule: Schedule, dimensions: usize) -> Schedule {
    let fit =
        |team: Team| Team { collapse: team.collapse.filter(|count| *count as usize <= dimensions), ..team };
    match schedule {
        Schedule::Default(team) => Schedule::Default(fit(team)),
        Schedule::CpuMulticore(team) => Schedule::CpuMulticore(fit(team)),
        Schedule::Sequential
        | Schedule::Unrolled
        | Schedule::Simd
        | Schedule::GpuGrid(_)
        | Schedule::GpuBlock(_)
        | Schedule::FpgaDevice
        | Schedule::FpgaReplicated
        | Schedule::Mpi => schedule,
    }
}
