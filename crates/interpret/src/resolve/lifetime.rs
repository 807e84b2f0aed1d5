//! Lifetimes of transients: the call, state or scope that allocates each one (`docs/semantics.md`,
//! "Programs").

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::analysis::accesses::control_flow_reads;
use sdfg_graph::analysis::symbols::assigned_symbols;
use sdfg_graph::ir::{ContainerId, Lifetime, NodeId, StateId};
use sdfg_language::symbolic::Symbol;

use super::Context;

/// The allocation of the containers of an SDFG.
#[derive(Debug, Default)]
pub(super) struct Lifetimes {
    /// Allocated when the SDFG is called.
    pub(super) call: Vec<usize>,
    /// Of those, the ones whose size depends on symbols that the call sets itself: allocated where first used.
    pub(super) late: BTreeSet<usize>,
    /// Allocated by each run of a scope, or of a state (`None`).
    pub(super) bodies: BTreeMap<(StateId, Option<NodeId>), Vec<usize>>,
    /// Containers that each state uses.
    pub(super) used: BTreeMap<StateId, BTreeSet<usize>>,
}

/// A place where a container is used.
type Use = (StateId, Option<NodeId>);

/// Decides for every container that is not an argument.
pub(super) fn lifetimes(context: &Context<'_>) -> Lifetimes {
    let sdfg = context.sdfg;
    let mut uses: BTreeMap<ContainerId, BTreeSet<Use>> = BTreeMap::new();
    let mut trees = BTreeMap::new();
    for (id, state) in sdfg.states() {
        let tree = ScopeTree::of(state);
        for (node, body) in state.nodes() {
            if let Some(container) = body.kind.container() {
                uses.entry(container).or_default().insert((id, tree.scope_of(node)));
            }
        }
        for (edge, body) in state.edges() {
            for access in body.memlet.accesses() {
                uses.entry(access.container).or_default().insert((id, tree.scope_of_edge(state, edge)));
            }
        }
        trees.insert(id, tree);
    }
    let in_control_flow = control_flow_reads(sdfg);
    let assigned: BTreeSet<Symbol> = assigned_symbols(sdfg).into_iter().collect();
    let mut lifetimes = Lifetimes::default();
    for (id, container) in sdfg.containers() {
        let number = context.containers[&id];
        let uses = uses.remove(&id).unwrap_or_default();
        for (state, _) in &uses {
            lifetimes.used.entry(*state).or_default().insert(number);
        }
        if container.is_argument() {
            continue;
        }
        let body = match container.lifetime {
            Lifetime::Scope if container.constant.is_none() && !in_control_flow.contains(&id) => {
                innermost(&uses, &trees)
            }
            Lifetime::Scope | Lifetime::Sdfg | Lifetime::Persistent | Lifetime::External => None,
            Lifetime::State => None,
        };
        match body {
            Some(body) => lifetimes.bodies.entry(body).or_default().push(number),
            None if container.lifetime == Lifetime::State => {
                let states: BTreeSet<StateId> = uses.iter().map(|(state, _)| *state).collect();
                for state in states {
                    lifetimes.bodies.entry((state, None)).or_default().push(number);
                }
            }
            None => {
                lifetimes.call.push(number);
                if container.kind.size_symbols().iter().any(|symbol| assigned.contains(symbol)) {
                    lifetimes.late.insert(number);
                }
            }
        }
    }
    lifetimes
}

/// The innermost scope that holds all uses; `None` if that is no scope, but the call.
fn innermost(uses: &BTreeSet<Use>, trees: &BTreeMap<StateId, ScopeTree>) -> Option<Use> {
    let (state, scope) = uses.first()?;
    if uses.iter().any(|(other, _)| other != state) {
        return None;
    }
    let tree = trees.get(state)?;
    let common = tree.enclosing_scope(*scope).find(|candidate| {
        uses.iter().all(|(_, scope)| tree.enclosing_scope(*scope).any(|outer| outer == *candidate))
    })?;
    Some((*state, Some(common)))
}
