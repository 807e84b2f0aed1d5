//! Substitution in one state. Scopes bind names, so replacements differ between scopes.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::analysis::symbols::{bound_symbols, free_symbols};
use sdfg_graph::ir::draft::DraftState;
use sdfg_graph::ir::{
    Consume, EdgeId, LibraryNode, Map, Memlet, NestedSdfg, NodeId, NodeKind, Sdfg, State, Volume,
};
use sdfg_graph::text::print_ends;
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::tasklet::Dialect;

use super::super::{EditError, names};
use super::Replacements;
use super::tasklet;

/// The state with symbols replaced inside the scope of `root`. Scopes there bind nothing that is inserted or in `avoid`.
pub(super) fn substituted(
    sdfg: &Sdfg,
    state: &State,
    root: Option<NodeId>,
    replacements: &Replacements,
    avoid: &BTreeSet<Symbol>,
) -> Result<State, EditError> {
    let tree = ScopeTree::of(state);
    let mut result = state.clone();
    let active = scopes(sdfg, &mut result, &tree, (root, replacements), avoid);
    for (id, edge) in state.edges() {
        if let Some(active) = active.get(&tree.scope_of_edge(state, id)) {
            memlet(result.memlet_mut(id), active);
            same_dimensions(state, &result, id, edge.src)?;
            same_dimensions(state, &result, id, edge.dst)?;
        }
    }
    for (id, _) in state.nodes() {
        // The root itself is not in its scope.
        let Some(outside) = active.get(&tree.scope_of(id)).filter(|_| root != Some(id)) else { continue };
        node(sdfg, &mut result, id, outside, active.get(&Some(id)))?;
    }
    Ok(result)
}

/// Replacements in each scope, from `root` inwards; binders that would capture something are renamed in
/// `state`.
fn scopes(
    sdfg: &Sdfg,
    state: &mut State,
    tree: &ScopeTree,
    (root, replacements): (Option<NodeId>, &Replacements),
    avoid: &BTreeSet<Symbol>,
) -> BTreeMap<Option<NodeId>, Replacements> {
    let mut active = BTreeMap::from([(root, replacements.clone())]);
    // Names are looked up when a binder needs a new one, which is seldom.
    let mut taken: Option<BTreeSet<String>> = None;
    let all_taken = || {
        let mut taken = names::used(sdfg);
        taken.extend(replacements.inserted().iter().chain(avoid).map(|symbol| symbol.as_str().to_owned()));
        taken
    };
    for entry in tree.entries() {
        let Some(outside) = active.get(&tree.scope_of(entry)).filter(|_| root != Some(entry)) else {
            continue;
        };
        let mut inside = outside.clone();
        for symbol in bound_symbols(state, entry) {
            inside.hide(&symbol);
        }
        for symbol in bound_symbols(state, entry) {
            if (inside.inserted().contains(&symbol) || avoid.contains(&symbol))
                && let Ok(new) =
                    Symbol::new(&names::fresh(symbol.as_str(), taken.get_or_insert_with(all_taken)))
            {
                rename_binder(state, entry, &symbol, &new);
                inside.rename(symbol, new);
            }
        }
        active.insert(Some(entry), inside);
    }
    active
}

/// Renames what an entry binds, at the entry only.
fn rename_binder(state: &mut State, entry: NodeId, from: &Symbol, to: &Symbol) {
    for edge in state.in_edges(entry) {
        let found = state.edge(edge);
        if found.dst_connector.as_deref() == Some(from.as_str()) {
            let src = found.src_connector.clone();
            state.set_connectors(edge, src, Some(to.as_str().to_owned()));
        }
    }
    match &mut state.node_mut(entry).kind {
        NodeKind::MapEntry(map) => {
            map.params.iter_mut().filter(|param| *param == from).for_each(|param| *param = to.clone());
        }
        NodeKind::ConsumeEntry(consume) if consume.element == *from => consume.element = to.clone(),
        NodeKind::ConsumeEntry(_)
        | NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => {}
    }
}

fn memlet(memlet: &mut Memlet, active: &Replacements) {
    memlet.accesses_mut().for_each(|access| active.subset(access.subset_mut()));
    match &mut memlet.volume {
        Volume::Exact(n) | Volume::AtMost(n) => active.expr(n),
        Volume::Dynamic => {}
    }
}

/// Refuses a memlet at a code node whose single indices are others than before.
fn same_dimensions(before: &State, after: &State, edge: EdgeId, node: NodeId) -> Result<(), EditError> {
    let form = |state: &State| -> Vec<bool> {
        let accesses = state.edge(edge).memlet.accesses();
        accesses
            .flat_map(|access| access.subset().0.iter().map(sdfg_language::subset::Range::is_index))
            .collect()
    };
    let node = before.node(node);
    if node.kind.is_code() && form(before) != form(after) {
        let edge = print_ends(before, before.edge(edge));
        return Err(EditError::DimensionsChange { edge, label: node.label.clone() });
    }
    Ok(())
}

/// Replaces in a node; `inside` is what is replaced in the scope that it begins.
fn node(
    sdfg: &Sdfg,
    state: &mut State,
    id: NodeId,
    outside: &Replacements,
    inside: Option<&Replacements>,
) -> Result<(), EditError> {
    let label = state.node(id).label.clone();
    let mut kind = state.node(id).kind.clone();
    match &mut kind {
        NodeKind::Access(_) | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => return Ok(()),
        NodeKind::Tasklet(_) => {
            return tasklet::substitute(state, id, outside);
        }
        NodeKind::MapEntry(map) => ranges(map, outside, inside.unwrap_or(outside)),
        NodeKind::ConsumeEntry(consume) => self::consume(sdfg, consume, outside, &label)?,
        NodeKind::Nested(nested) => self::nested(nested, outside),
        NodeKind::Reduce(reduce) => {
            if let Some(identity) = &mut reduce.identity {
                outside.control(sdfg, identity, &label)?;
            }
        }
        NodeKind::Library(library) => {
            for at in 0..library.properties.len() {
                let (property, value) = &library.properties[at];
                let is_code = LibraryNode::assigned(property).is_some();
                let free = value.names().into_iter().filter(|name| !(is_code && library.binds(name)));
                let names = free.filter_map(|name| Symbol::new(name).ok()).collect::<Vec<_>>();
                let value = &mut library.properties[at].1;
                let values = outside.values(names, true, Dialect::Python, &label)?;
                *value = value.replace_names(&values);
            }
        }
    }
    state.node_mut(id).kind = kind;
    Ok(())
}

/// A range sees the parameters before it, and what the entry binds from data.
fn ranges(map: &mut Map, outside: &Replacements, inside: &Replacements) {
    // A renamed parameter has its old name in the keys of `inside` and its new one in the map.
    let old_name = |param: &Symbol| {
        let renamed = inside.symbols().find(|old| inside.get(old).and_then(Expr::as_symbol) == Some(param));
        renamed.unwrap_or(param).clone()
    };
    let params: Vec<Symbol> = map.params.iter().map(old_name).collect();
    for (at, range) in map.ranges.0.iter_mut().enumerate() {
        let mut here = inside.clone();
        for later in params.iter().skip(at) {
            here.reveal(later, outside);
        }
        here.range(range);
    }
    map.schedule.expressions_mut().into_iter().for_each(|expr| outside.expr(expr));
}

fn consume(sdfg: &Sdfg, consume: &mut Consume, outside: &Replacements, label: &str) -> Result<(), EditError> {
    outside.expr(&mut consume.elements);
    outside.expr(&mut consume.chunk);
    consume.schedule.expressions_mut().into_iter().for_each(|expr| outside.expr(expr));
    match &mut consume.condition {
        Some(condition) => outside.control(sdfg, condition, label),
        None => Ok(()),
    }
}

/// Symbols inside keep their names: what they had from outside by name, they now have by the mapping.
fn nested(nested: &mut NestedSdfg, outside: &Replacements) {
    nested.symbol_mapping.iter_mut().for_each(|(_, value)| outside.expr(value));
    for symbol in free_symbols(&nested.sdfg) {
        let is_mapped = nested.symbol_mapping.iter().any(|(mapped, _)| *mapped == symbol);
        let is_connected = nested.inputs.iter().any(|input| input.name == symbol.as_str());
        if !is_mapped
            && !is_connected
            && let Some(value) = outside.get(&symbol)
        {
            nested.symbol_mapping.push((symbol, value.clone()));
        }
    }
}
