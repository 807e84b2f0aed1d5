//! Symbols of a program: their types, and the places where they have a value.
//!
//! The caller gives values to declared symbols. Loops and transitions set symbols for the rest of the SDFG
//! call. Map and consume scopes bind symbols inside (`docs/semantics.md`).

pub(crate) mod defined;
pub(crate) mod free;

use std::collections::BTreeSet;

use defined::loop_symbol;
pub use defined::{DefinedAt, DefinedSymbols};
pub use free::{
    free_symbols, free_symbols_in_scope, free_symbols_of_container, free_symbols_of_memlet,
    free_symbols_of_state, free_symbols_with,
};
use indexmap::IndexMap;
use sdfg_language::dtype::ScalarType;
use sdfg_language::subset::Range;
use sdfg_language::symbolic::{Expr, Symbol};

use super::scope_tree::ScopeTree;
use crate::ir::{NodeId, NodeKind, RegionId, Sdfg, State};

/// The type of a symbol that nothing declares.
pub const UNDECLARED_SYMBOL: ScalarType = ScalarType::I64;

/// Types of the symbols of an SDFG, whether they have a value or not: declared ones first, then those that loops and
/// transitions set, which are `i64` unless declared.
pub fn symbol_types(sdfg: &Sdfg) -> IndexMap<Symbol, ScalarType> {
    let mut types: IndexMap<Symbol, ScalarType> =
        sdfg.symbols().map(|(symbol, ty)| (symbol.clone(), ty)).collect();
    for symbol in assigned_symbols(sdfg) {
        types.entry(symbol).or_insert(UNDECLARED_SYMBOL);
    }
    types
}

/// Symbols that loops and transitions set, in order of creation of the loops, then of the transitions.
pub fn assigned_symbols(sdfg: &Sdfg) -> Vec<Symbol> {
    let mut found = Vec::new();
    for (_, block) in sdfg.blocks() {
        found.extend(loop_symbol(&block.kind));
    }
    for (_, transition) in sdfg.transitions() {
        found.extend(transition.assignments.iter().map(|(symbol, _)| symbol.clone()));
    }
    found
}

/// As [`assigned_symbols`], for the loops and transitions of one region and of the regions in it.
pub fn assigned_symbols_of(sdfg: &Sdfg, region: RegionId) -> Vec<Symbol> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![region];
    while let Some(region) = waiting.pop() {
        if !seen.insert(region) {
            continue;
        }
        let region = sdfg.region(region);
        for block in &region.blocks {
            let kind = &sdfg.block(*block).kind;
            found.extend(loop_symbol(kind));
            waiting.extend(kind.regions());
        }
        for transition in &region.transitions {
            let assignments = &sdfg.transition(*transition).assignments;
            found.extend(assignments.iter().map(|(symbol, _)| symbol.clone()));
        }
    }
    found
}

/// Iteration symbols of a scope with their ranges, outermost first; empty for nodes that begin none.
pub fn scope_parameters(state: &State, entry: NodeId) -> Vec<(Symbol, Range)> {
    match &state.node(entry).kind {
        NodeKind::MapEntry(map) => map.params.iter().cloned().zip(map.ranges.0.iter().cloned()).collect(),
        NodeKind::ConsumeEntry(consume) => {
            vec![(consume.element.clone(), Range::new(Expr::zero(), consume.elements.clone()))]
        }
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => Vec::new(),
    }
}

/// Symbols that an entry binds in its scope: map parameters, the processing element, and symbols that get their value
/// from data. Empty for other nodes.
pub fn bound_symbols(state: &State, entry: NodeId) -> Vec<Symbol> {
    let Some(node) = state.get_node(entry) else { return Vec::new() };
    let mut bound: Vec<Symbol> = match &node.kind {
        NodeKind::MapEntry(map) => map.params.clone(),
        NodeKind::ConsumeEntry(consume) => vec![consume.element.clone()],
        NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => return Vec::new(),
    };
    for edge in state.in_edges(entry) {
        if let Some(name) = state.edge(edge).given_symbol() {
            bound.extend(Symbol::new(name));
        }
    }
    bound
}

/// As [`symbol_types`], for a place in a scope of a state (`None`: outside all scopes): with the symbols that the
/// enclosing scopes bind, which are `i64` and hide others of their name.
pub fn symbol_types_in(
    sdfg: &Sdfg,
    state: &State,
    tree: &ScopeTree,
    scope: Option<NodeId>,
) -> IndexMap<Symbol, ScalarType> {
    let mut types = symbol_types(sdfg);
    let mut entries: Vec<NodeId> = tree.enclosing_scope(scope).collect();
    entries.reverse();
    for symbol in entries.into_iter().flat_map(|entry| bound_symbols(state, entry)) {
        types.insert(symbol, UNDECLARED_SYMBOL);
    }
    types
}
