//! Memlet propagation: what passes the edges outside of scopes follows from what the innermost edges move (paper section 4.3,
//! step 1; ADR 0003).
//!
//! The memlet of an outer segment is the union of the images of the inner ones under the ranges of the scope. It is exact or
//! covers more, and the result says which. Segments that a user declared stay as they are.

mod nested;
mod scope;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::analysis::ScopeTree;
use crate::analysis::footprint::nonnegative_extents;
use crate::analysis::loops::counted_loops_around;
use crate::analysis::symbols::scope_parameters;
use crate::ir::{BlockKind, EdgeId, Memlet, Node, NodeId, NodeKind, Sdfg, State, StateId};
use crate::symbolic::{Assumptions, remembering};

pub(crate) use scope::Scope;

/// What propagation derived.
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
    remembering(|| derive_all(sdfg))
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
    let around = loops_around(sdfg);
    for id in states {
        let known = around.get(&id).cloned().unwrap_or_else(|| nonnegative_extents(sdfg));
        let derived = derive(sdfg, id, &known);
        if !derived.is_empty() {
            let state = sdfg.state_mut(id);
            for (edge, memlet, exact) in derived {
                *state.memlet_mut(edge) = memlet;
                result.exact.insert((id, edge), exact);
            }
        }
    }
    result
}

/// Derives the memlets of the outer segments of one state, but not in SDFGs that it calls. For each whether its subset is
/// exactly what is accessed.
///
/// # Panics
/// If the state is absent: that is a fault of the calling code.
pub fn propagate_state(sdfg: &mut Sdfg, state: StateId) -> BTreeMap<EdgeId, bool> {
    let known = loops_around(sdfg).remove(&state).unwrap_or_else(|| nonnegative_extents(sdfg));
    let mut exact = BTreeMap::new();
    for (edge, memlet, is_exact) in derive(sdfg, state, &known) {
        *sdfg.state_mut(state).memlet_mut(edge) = memlet;
        exact.insert(edge, is_exact);
    }
    exact
}

/// What is known of symbols in each state: those of shapes, and those of counted loops around it.
fn loops_around(sdfg: &Sdfg) -> BTreeMap<StateId, Assumptions> {
    let shapes = nonnegative_extents(sdfg);
    let mut around = BTreeMap::new();
    for (block, content) in sdfg.blocks() {
        if let BlockKind::State(state) = content.kind {
            let mut known = shapes.clone();
            for (symbol, range) in counted_loops_around(sdfg, block) {
                range.constrain(symbol, &mut known);
            }
            around.insert(state, known);
        }
    }
    around
}

/// Derived segments of a state: inner scopes first, so that outer ones build on them.
fn derive(sdfg: &Sdfg, id: StateId, known: &Assumptions) -> Vec<(EdgeId, Memlet, bool)> {
    let tree = ScopeTree::of(sdfg.state(id));
    if tree.entries().is_empty() {
        return Vec::new();
    }
    let mut state: State = sdfg.state(id).clone();
    let mut derived = Vec::new();
    let mut exactness: BTreeMap<EdgeId, bool> = BTreeMap::new();
    for entry in tree.entries().into_iter().rev() {
        let around = known_around(&state, &tree, entry, known);
        let Some(scope) = Scope::of(sdfg, &state, entry, around) else { continue };
        for (edge, memlet, exact) in scope.segments(&exactness, &|_| true) {
            *state.memlet_mut(edge) = memlet.clone();
            exactness.insert(edge, exact);
            derived.push((edge, memlet, exact));
        }
    }
    derived
}

/// What is known of symbols around a scope.
fn known_around(state: &State, tree: &ScopeTree, entry: NodeId, known: &Assumptions) -> Assumptions {
    let mut around = known.clone();
    let mut enclosing: Vec<NodeId> = tree.enclosing(entry).collect();
    enclosing.reverse();
    for (symbol, range) in enclosing.into_iter().flat_map(|scope| scope_parameters(state, scope)) {
        range.constrain(symbol, &mut around);
    }
    around
}
