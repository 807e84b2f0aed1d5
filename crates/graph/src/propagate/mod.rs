//! Memlet propagation: derives the memlets of outer edges from those of the innermost edges (paper section
//! 4.3, step 1; ADR 0003).
//!
//! The memlet of an outer segment is the union of the images of the inner ones under the ranges of the scope.
//! It is exact or covers more, and the result states which. Segments that a user declared are unchanged.

mod nested;
pub(crate) mod scope;

use std::collections::BTreeMap;

use scope::Scope;
use sdfg_language::symbolic::Assumptions;
use sdfg_language::symbolic::with_proof_cache;

use crate::analysis::{ScopeTree, SymbolFacts, enter_scope};
use crate::ir::{EdgeId, Node, NodeId, NodeKind, Sdfg, State, StateId};

/// Results of propagation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Propagation {
    /// For every derived segment of the SDFG's own states whether its subset is exactly what is accessed; otherwise it
    /// covers it. Nested SDFGs are derived too, but not listed.
    pub exact: BTreeMap<(StateId, EdgeId), bool>,
}

/// Derives the memlets of all outer segments, in nested SDFGs too, from the innermost ones.
///
/// Segments whose inner edges are missing or name different containers are left as they are: validation refuses them.
pub fn propagate(sdfg: &mut Sdfg) -> Propagation {
    with_proof_cache(|| derive_all(sdfg))
}

fn derive_all(sdfg: &mut Sdfg) -> Propagation {
    let mut result = Propagation::default();
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    for id in &states {
        let is_nested = |(_, node): &(NodeId, &Node)| matches!(node.kind, NodeKind::Nested(_));
        let nested: Vec<NodeId> = sdfg.state(*id).nodes().filter(is_nested).map(|(node, _)| node).collect();
        for node in nested {
            if let NodeKind::Nested(nested) = &mut sdfg.state_mut(*id).node_mut(node).kind {
                derive_all(&mut nested.sdfg);
            }
        }
    }
    let known = SymbolFacts::of(sdfg);
    for id in states {
        let tree = ScopeTree::of(sdfg.state(id));
        if tree.entries().is_empty() {
            continue;
        }
        let known = known.in_state(sdfg, id);
        // Scopes look at containers besides the state.
        let mut state = std::mem::take(sdfg.state_mut(id));
        let derived = derive(sdfg, &mut state, &tree, &known);
        *sdfg.state_mut(id) = state;
        result.exact.extend(derived.into_iter().map(|(edge, exact)| ((id, edge), exact)));
    }
    result
}

/// Derives segments of a state: inner scopes first, so that outer ones build on them. Gives whether each is exact.
fn derive(sdfg: &Sdfg, state: &mut State, tree: &ScopeTree, known: &Assumptions) -> BTreeMap<EdgeId, bool> {
    let mut exactness: BTreeMap<EdgeId, bool> = BTreeMap::new();
    for entry in tree.entries().into_iter().rev() {
        let around = known_around(state, tree, entry, known);
        let Some(scope) = Scope::of(sdfg, state, entry, around) else { continue };
        for (edge, memlet, exact) in scope.segments(&exactness, &|_| true) {
            *state.memlet_mut(edge) = memlet;
            exactness.insert(edge, exact);
        }
    }
    exactness
}

/// Facts about symbols around a scope.
fn known_around(state: &State, tree: &ScopeTree, entry: NodeId, known: &Assumptions) -> Assumptions {
    let mut around = known.clone();
    let mut enclosing: Vec<NodeId> = tree.enclosing(entry).collect();
    enclosing.reverse();
    enclosing.into_iter().for_each(|scope| enter_scope(state, scope, &mut around));
    around
}
