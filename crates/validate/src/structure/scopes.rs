//! Rule: scopes. Each entry has one exit that encloses everything in between, and there are no cycles.

use std::collections::BTreeMap;

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::diagnostic::{Code, Diagnostic, Element, Secondary};
use sdfg_graph::ir::{NodeId, NodeKind, State};

use super::super::site::{Findings, Site};

/// Checks that a state is acyclic and its scopes nest.
pub(super) fn check(site: &Site<'_>, findings: &mut Findings) {
    let is_acyclic = acyclic(site, findings);
    let has_exits = exits(site, findings);
    // Which scope a node is in has no answer in a cyclic graph or one whose scopes do not end.
    if is_acyclic && has_exits {
        let scopes = site.scopes();
        crossings(site, &scopes, findings);
        if scopes.crossing_edges().is_empty() {
            dead_ends(site, &scopes, findings);
        }
    }
}

fn acyclic(site: &Site<'_>, findings: &mut Findings) -> bool {
    if site.topological_order().is_some() {
        return true;
    }
    let cycle: Vec<String> =
        on_cycles(site.state).into_iter().map(|id| site.end(id, None).to_string()).collect();
    let message = format!("there is a cycle through {}", cycle.join(", "));
    let error = Diagnostic::error(Code::Cycle, site.path.clone(), message).at(site.state.loc.as_ref());
    findings.push(error.suggest("split the state, or use another access node for what is written"));
    false
}

/// Nodes that remain when nodes without incoming edges, and then those without outgoing edges, are taken away.
fn on_cycles(state: &State) -> Vec<NodeId> {
    let mut left: Vec<NodeId> = state.nodes().map(|(id, _)| id).collect();
    loop {
        let is_inner = |id: &NodeId| {
            state.in_edges(*id).iter().any(|edge| left.contains(&state.edge(*edge).src))
                && state.out_edges(*id).iter().any(|edge| left.contains(&state.edge(*edge).dst))
        };
        let next: Vec<NodeId> = left.iter().copied().filter(is_inner).collect();
        if next.len() == left.len() {
            return next;
        }
        left = next;
    }
}

/// Every entry has exactly one exit, of the same kind and label, and every exit an entry.
fn exits(site: &Site<'_>, findings: &mut Findings) -> bool {
    let before = findings.len();
    let mut exits_of: BTreeMap<NodeId, usize> = BTreeMap::new();
    for entry in site.state.nodes().filter_map(|(_, node)| node.kind.exit_of()) {
        *exits_of.entry(entry).or_default() += 1;
    }
    for (id, node) in site.state.nodes() {
        if node.kind.is_scope_entry() {
            let exits = exits_of.get(&id).copied().unwrap_or_default();
            if exits != 1 {
                let message = format!("this scope has {exits} exits");
                findings.push(site.node_error(Code::MalformedScope, id, None, message));
            }
        } else if let Some(entry) = node.kind.exit_of() {
            let found = site.state.get_node(entry);
            let fits = match found.map(|entry| &entry.kind) {
                Some(NodeKind::MapEntry(_)) => matches!(node.kind, NodeKind::MapExit(_)),
                Some(NodeKind::ConsumeEntry(_)) => matches!(node.kind, NodeKind::ConsumeExit(_)),
                Some(_) | None => false,
            };
            if !fits {
                let message =
                    format!("this {} ends {entry}, which does not begin such a scope", node.kind.noun());
                findings.push(site.node_error(Code::MalformedScope, id, None, message));
            } else if found.is_some_and(|entry| entry.label != node.label) {
                let message = "an exit has the label of its entry, this one has another".to_owned();
                findings.push(site.node_error(Code::MalformedScope, id, None, message));
            }
        }
    }
    findings.len() == before
}

/// Edges stay in their scope or go through its entry or exit.
fn crossings(site: &Site<'_>, scopes: &ScopeTree, findings: &mut Findings) {
    for id in scopes.crossing_edges() {
        let edge = site.state.edge(*id);
        let label = |node: NodeId| &site.state.node(node).label;
        let place = |scope: Option<NodeId>| match scope {
            Some(entry) => format!("in the scope `{}`", label(entry)),
            None => "outside of all scopes".to_owned(),
        };
        let inner = scopes.scope_of_edge(site.state, *id);
        let exits = site.state.node(edge.dst).kind.exit_of();
        let outer = exits.or_else(|| scopes.scope_of(edge.dst));
        let destination = match exits {
            Some(entry) => format!("this is the exit of `{}`", label(entry)),
            None => format!("`{}` is {}", label(edge.dst), place(outer)),
        };
        let message = format!("`{}` is {}, {destination}", label(edge.src), place(inner));
        let mut error = site.edge_error(Code::EdgeCrossesScope, *id, message);
        match site.state.in_edges(edge.src).first() {
            Some(first) => {
                let first = site.edge_path(*first);
                error =
                    error.note(format!("`{}` is where its first edge comes from, {first}", label(edge.src)));
            }
            None if outer.is_some() => {
                error = error
                    .note(format!("`{}` has no incoming edge that puts it into a scope", label(edge.src)));
            }
            None => {}
        }
        error = error.suggest(
            "lead the edge through the entry or exit of each scope, or order the node after the entry",
        );
        if let Some(entry) = outer.or(inner) {
            error = error.also(Secondary {
                message: "the scope".to_owned(),
                path: site.path.to(Element::Node(site.end(entry, None))),
                loc: site.node_loc(entry).cloned(),
            });
        }
        findings.push(error);
    }
}

/// Every node of a scope leads to its exit: as edges do not leave the scope, it is enough that each goes on.
fn dead_ends(site: &Site<'_>, scopes: &ScopeTree, findings: &mut Findings) {
    for (id, node) in site.state.nodes() {
        let scope = if node.kind.is_scope_entry() { Some(id) } else { scopes.scope_of(id) };
        if let (Some(entry), true) = (scope, site.state.out_edges(id).is_empty()) {
            let label = &site.state.node(entry).label;
            let message = format!("nothing leads from `{}` to the exit of `{label}`", node.label);
            let error = site.node_error(Code::NodeNotEnclosed, id, None, message);
            findings.push(
                error.suggest(format!("write `order {} -> {label}`, or use what it produces", node.label)),
            );
        }
    }
}
