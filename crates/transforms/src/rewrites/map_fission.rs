//! [`MapFission`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::ScopeTree;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{NodeId, State};
use serde::{Deserialize, Serialize};

use super::{anchored, described, fission_of_call, map_split};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Splits a map into one for each part of its contents. No edge joins two parts. A map around the call of an SDFG of several
/// blocks becomes a call with a map in each of its states.
///
/// # When it applies
///
/// The map has several such parts and touches no stream. Data that give it symbols are not written by it. No transient of an
/// iteration is used by two parts.
///
/// Around a call, all iterations take the same way through its blocks, except for branches, which stay in a map. A transient
/// whose elements outlive a state becomes an array with one for each iteration.
///
/// # Refusals
///
/// - The contents are one part.
/// - Two parts use a transient of an iteration, which would not live from one map to the next.
/// - The map uses a stream, binds a view or reference, or writes what gives it a symbol.
/// - Around a call: a loop, or a transition, depends on data or on the iteration.
/// - Around a call: a transient that outlives a state is a stream, has a size that depends on the iteration, or the ranges of the
///   map depend on each other or descend.
/// - Around a call: the map may have no iteration, and a loop that would then run may not end.
///
/// # Before
///
/// ```sdft
/// sdfg sums_and_products {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   array sums: f64[N]
///   array products: f64[N]
///
///   state main {
///     access A
///     access B
///     map elements [i = 0:N] {
///       tasklet add (a, b) -> (s) { s = a + b }
///       tasklet multiply (a, b) -> (p) { p = a * b }
///       elements.A -> add.a: A[i]
///       elements.B -> add.b: B[i]
///       elements.A -> multiply.a: A[i]
///       elements.B -> multiply.b: B[i]
///       add.s -> elements.sums: sums[i]
///       multiply.p -> elements.products: products[i]
///     }
///     access sums
///     access products
///     A -> elements.A
///     B -> elements.B
///     elements.sums -> sums
///     elements.products -> products
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg sums_and_products {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   array sums: f64[N]
///   array products: f64[N]
///
///   state main {
///     access A
///     access B
///     map elements [i = 0:N] {
///       tasklet add (a, b) -> (s) { s = a + b }
///       elements.A -> add.a: A[i]
///       elements.B -> add.b: B[i]
///       add.s -> elements.sums: sums[i]
///     }
///     access sums
///     access products
///     map elements_1 [i = 0:N] {
///       tasklet multiply_1 (a, b) -> (p) { p = a * b }
///       elements_1.A -> multiply_1.a: A[i]
///       elements_1.B -> multiply_1.b: B[i]
///       multiply_1.p -> elements_1.products: products[i]
///     }
///     A -> elements.A
///     B -> elements.B
///     elements.sums -> sums
///     A -> elements_1.A
///     B -> elements_1.B
///     elements_1.products -> products
///   }
/// }
/// ```
///
/// # Soundness
///
/// Iterations of a map are concurrent, and the parts of an iteration have no order. So parts exchange no
/// data, and the new maps need no order. Around a call, an iteration runs its states in the same order as before, and finds
/// what it left in its own elements.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapFission {}

static METADATA: Metadata = Metadata {
    name: "MapFission",
    group: Group::Map,
    summary: "Splits a map into one for each part of its contents.",
    source: "DaCe, MapFission",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_fission.rs"),
    parameters: &[],
};

anchored!(MapFission);

/// The parts of the nodes directly in a scope, in order of their first nodes.
fn parts(state: &State, inside: &BTreeSet<NodeId>) -> Vec<BTreeSet<NodeId>> {
    let mut left = inside.clone();
    let mut found = Vec::new();
    while let Some(first) = left.pop_first() {
        let mut part = BTreeSet::from([first]);
        let mut waiting = vec![first];
        while let Some(node) = waiting.pop() {
            let out = state.each_out_edge(node).map(|(_, edge)| edge.dst);
            let into = state.each_in_edge(node).map(|(_, edge)| edge.src);
            let kind = &state.node(node).kind;
            // The exit of a node that is no entry would be looked for among all nodes.
            let exit = kind.is_scope_entry().then(|| state.exit_of(node)).flatten();
            let scope = exit.into_iter().chain(kind.exit_of());
            let next: Vec<NodeId> = out.chain(into).chain(scope).filter(|next| left.contains(next)).collect();
            for node in next {
                if left.remove(&node) {
                    part.insert(node);
                    waiting.push(node);
                }
            }
        }
        found.push(part);
    }
    found
}

/// The nodes of the scope of the match, with those of inner scopes, without its exit.
fn inside(site: &Site<'_>) -> BTreeSet<NodeId> {
    let entry = site.found.node(0);
    let exit = site.state().exit_of(entry);
    site.nodes_within(entry).into_iter().filter(|node| Some(*node) != exit).collect()
}

impl Transformation for MapFission {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        if let Some(nested) = fission_of_call::only_call(site.state(), &site.scopes(), site.found.node(0)) {
            return fission_of_call::check(site, nested);
        }
        map_split::copyable_with_symbols(site)?;
        let (state, entry) = (site.state(), site.found.node(0));
        let parts = parts(state, &inside(site));
        if parts.len() < 2 {
            return Err(Refusal::structure(site.label(0), "has contents of one part"));
        }
        let own = site.owning_scopes();
        let mut users: BTreeMap<_, usize> = BTreeMap::new();
        for (at, part) in parts.iter().enumerate() {
            for container in part.iter().filter_map(|node| state.node(*node).kind.container()) {
                let is_own = own.get(&container) == Some(&(site.found.state(), entry));
                if is_own && users.insert(container, at).is_some_and(|other| other != at) {
                    let name = &site.sdfg.container(container).name;
                    return Err(Refusal::container(name, "belongs to an iteration, and two parts use it"));
                }
            }
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let graph = editor.state(state)?;
        if fission_of_call::only_call(graph, &ScopeTree::of(graph), entry).is_some() {
            return fission_of_call::apply(editor, (state, entry));
        }
        loop {
            // The first part stays; the others move to a copy, of which the same is done.
            let split = |editor: &Editor<'_>, scope: NodeId| -> Result<Vec<BTreeSet<NodeId>>, EditError> {
                let graph = editor.state(state)?;
                let tree = ScopeTree::of(graph);
                let exit = graph.exit_of(scope);
                let is_inside = |node: &NodeId| {
                    Some(*node) != exit && tree.enclosing(*node).any(|around| around == scope)
                };
                let nodes = graph.nodes().map(|(node, _)| node).filter(is_inside).collect();
                Ok(parts(graph, &nodes))
            };
            let own = split(editor, entry)?;
            let [.., last] = own.as_slice() else { return Err(EditError::NoNode(entry)) };
            if own.len() < 2 {
                return Ok(());
            }
            let copy = editor.copy_scope(state, entry)?;
            let last = last.clone();
            for other in split(editor, copy)?.iter().take(own.len() - 1) {
                remove(editor, state, other)?;
            }
            remove(editor, state, &last)?;
        }
    }
}

/// Removes nodes, of a scope with its entry.
fn remove(
    editor: &mut Editor<'_>,
    state: sdfg::ir::StateId,
    nodes: &BTreeSet<NodeId>,
) -> Result<(), EditError> {
    for node in nodes {
        if editor.state(state)?.get_node(*node).is_some() {
            editor.remove_node(state, *node)?;
        }
    }
    Ok(())
}
