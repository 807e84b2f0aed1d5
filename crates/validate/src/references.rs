//! Rule: references. Something sets each one, and unordered iterations do not.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::accesses::alias_targets;
use sdfg_graph::analysis::{ScopeTree, bound_alias, owning_scopes};
use sdfg_graph::diagnostic::Code;
use sdfg_graph::ir::{ContainerId, ContainerKind, EdgeId, NodeId, NodeKind, StateId};
use sdfg_language::subset::Subset;
use sdfg_language::symbolic::Expr;

use super::site::{Findings, Program, Site};

/// Checks the references of one SDFG.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    if program.sdfg.containers().all(|(_, container)| !matches!(container.kind, ContainerKind::Reference(_)))
    {
        return;
    }
    unset(program, findings);
    let owning_scopes = owning_scopes(program.sdfg);
    for site in program.sites() {
        let scopes = site.scopes();
        for (edge, _) in site.state.edges() {
            set_by_iterations(&site, edge, &scopes, &owning_scopes, findings);
        }
    }
}

/// A reference that is used is set somewhere.
fn unset(program: &Program<'_>, findings: &mut Findings) {
    let is_reference =
        |id: ContainerId| matches!(program.sdfg.container(id).kind, ContainerKind::Reference(_));
    let targets = alias_targets(program.sdfg);
    let mut seen = BTreeSet::new();
    for site in program.sites() {
        for (id, node) in site.state.nodes() {
            let Some(container) = node.kind.container().filter(|id| is_reference(*id)) else { continue };
            if targets.contains_key(&container) || !seen.insert(container) {
                continue;
            }
            let name = site.name(container);
            let message = format!("nothing ever sets the reference `{name}`");
            let error = site.node_error(Code::UnboundAlias, id, None, message);
            findings.push(error.suggest(format!("write `bind a -> {}: A[...]` before", node.label)));
        }
    }
}

/// The target of a reference is not determined after iterations that set it differently, nor in other
/// iterations.
fn set_by_iterations(
    site: &Site<'_>,
    id: EdgeId,
    scopes: &ScopeTree,
    owning_scopes: &BTreeMap<ContainerId, (StateId, NodeId)>,
    findings: &mut Findings,
) {
    let Some((alias, target)) = bound_alias(site.state, id) else { return };
    if !matches!(site.sdfg.container(alias).kind, ContainerKind::Reference(_)) {
        return;
    }
    // Each iteration of its owning scope has a reference of its own.
    let owner = owning_scopes.get(&alias).map(|(_, entry)| *entry);
    for entry in scopes.enclosing_scope(scopes.scope_of_edge(site.state, id)) {
        if Some(entry) == owner {
            return;
        }
        let kind = &site.state.node(entry).kind;
        if varies(kind, target.subset()) {
            let (name, scope) = (site.name(alias), &site.state.node(entry).label);
            let message = |verb: &str| {
                format!(
                    "iterations of `{scope}` {verb} the reference `{name}`, which outlives them, to different elements"
                )
            };
            let found = if differs(kind, target.subset()) {
                site.edge_error(Code::WriteConflict, id, message("set"))
            } else {
                site.edge_error(Code::PossibleConflict, id, message("may set")).into_warning()
            };
            findings.push(found.suggest("use it in the iteration alone, or set it in a loop"));
            return;
        }
    }
}

/// Whether iterations of a scope may have different elements in a subset.
fn varies(entry: &NodeKind, subset: &Subset) -> bool {
    let chosen = subset.free_symbols();
    match entry {
        NodeKind::MapEntry(map) => {
            let mut used = map.params.iter().zip(&map.ranges.0).filter(|(param, _)| chosen.contains(*param));
            used.any(|(_, range)| range.count().as_int().is_none_or(|count| count > 1))
        }
        NodeKind::ConsumeEntry(consume) => chosen.contains(&consume.element),
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => false,
    }
}

/// Whether the first two iterations along a dimension of a map, which there are, have different elements in a subset.
fn differs(entry: &NodeKind, subset: &Subset) -> bool {
    let NodeKind::MapEntry(map) = entry else { return false };
    let is_run = map.ranges.0.iter().all(|range| range.count().as_int().is_some_and(|count| count > 0));
    let dimensions = map.params.iter().zip(&map.ranges.0);
    is_run
        && dimensions.filter(|(_, range)| range.count().as_int().is_some_and(|count| count > 1)).any(
            |(param, range)| {
                let at = |value: &Expr| subset.substitute(&BTreeMap::from([(param.clone(), value.clone())]));
                let (first, second) = (at(&range.begin), at(&(&range.begin + &range.step)));
                let pairs = first.0.iter().zip(&second.0);
                pairs
                    .map(|(a, b)| &b.begin - &a.begin)
                    .any(|moved| moved.as_int().is_some_and(|moved| moved != 0))
            },
        )
}
