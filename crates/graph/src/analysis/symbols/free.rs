//! Free symbols: those whose value comes from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{
    Expression, ExpressionKind, Statement, StatementKind, visit_block, visit_targets,
};
use sdfg_language::workspace::remembered;

use super::super::owning_scopes::owning_scopes;
use super::super::scope_tree::ScopeTree;
use super::{DefinedSymbols, assigned_symbols, bound_symbols};
use crate::ir::{
    BlockKind, Container, ContainerId, ContainerKind, LibraryNode, Memlet, NodeId, NodeKind, Revision, Sdfg,
    State, StateId, Tasklet, TaskletBody, Volume,
};

/// Symbols that the caller of an SDFG gives: declared ones, and those that occur where nothing inside gives them a
/// value on every path.
///
/// Names of containers in conditions, and names in code that belong to connectors or locals, are no symbols.
pub fn free_symbols(sdfg: &Sdfg) -> BTreeSet<Symbol> {
    free_symbols_with(sdfg, &|state| free_symbols_of_state(sdfg.state(state)))
}

/// As [`free_symbols`], with the free symbols of each state by `of_state`, where they are known already.
pub fn free_symbols_with(sdfg: &Sdfg, of_state: &dyn Fn(StateId) -> BTreeSet<Symbol>) -> BTreeSet<Symbol> {
    let mut free: BTreeSet<Symbol> = sdfg.symbols().map(|(symbol, _)| symbol.clone()).collect();
    // A transient of a size that control flow decides is made in a state where it is known.
    let assigned: BTreeSet<Symbol> = assigned_symbols(sdfg).into_iter().collect();
    let mut inner = Vec::new();
    for (id, container) in sdfg.containers() {
        let used = free_symbols_of_container(container);
        if !container.transient {
            free.extend(used);
            continue;
        }
        let mut used: BTreeSet<Symbol> =
            used.into_iter().filter(|symbol| !assigned.contains(symbol)).collect();
        used.retain(|symbol| !free.contains(symbol));
        if !used.is_empty() {
            inner.push((id, used));
        }
    }
    extend_by_inner(sdfg, inner, &mut free);
    let defined = DefinedSymbols::of(sdfg);
    for (id, block) in sdfg.blocks() {
        let Some(before) = defined.before(id) else { continue };
        let mut used = BTreeSet::new();
        match &block.kind {
            BlockKind::State(state) => used = of_state(*state),
            BlockKind::Loop(repeated) => {
                used.extend(repeated.init.iter().flat_map(|init| control_symbols(sdfg, init)));
                let own = repeated.symbol.as_ref().filter(|_| repeated.init.is_some());
                let tests = [Some(&repeated.condition), repeated.update.as_ref()];
                let tested = tests.into_iter().flatten().flat_map(|test| control_symbols(sdfg, test));
                used.extend(tested.filter(|symbol| Some(symbol) != own));
            }
            BlockKind::Branch(branch) => {
                used.extend(branch.arms.iter().flat_map(|(condition, _)| control_symbols(sdfg, condition)));
            }
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
        free.extend(used.into_iter().filter(|symbol| !before.contains(symbol)));
    }
    for (_, transition) in sdfg.transitions() {
        let Some(after) = defined.after(transition.src) else { continue };
        let used = transition.expressions().flat_map(|value| control_symbols(sdfg, value));
        free.extend(used.filter(|symbol| !after.contains(symbol)));
    }
    free
}

/// Every symbol that occurs in an SDFG: declared, assigned, bound by a scope, or used. Those that only a called SDFG uses are none.
pub fn occurring_symbols(sdfg: &Sdfg) -> BTreeSet<Symbol> {
    let mut found: BTreeSet<Symbol> = sdfg.symbols().map(|(symbol, _)| symbol.clone()).collect();
    found.extend(assigned_symbols(sdfg));
    let mut note = |symbol: &Symbol| {
        if !found.contains(symbol) {
            found.insert(symbol.clone());
        }
    };
    for (_, container) in sdfg.containers() {
        visit_container(container, &mut note);
    }
    for (_, state) in sdfg.states() {
        for (_, edge) in state.edges() {
            visit_memlet(&edge.memlet, &mut note);
        }
        for (id, node) in state.nodes() {
            symbols_of_node(state, id, &node.kind).iter().for_each(&mut note);
            bound_symbols(state, id).iter().for_each(&mut note);
        }
    }
    let of_blocks = sdfg.blocks().flat_map(|(_, block)| block.kind.expressions());
    let of_transitions = sdfg.transitions().flat_map(|(_, transition)| transition.expressions());
    for value in of_blocks.chain(of_transitions) {
        control_symbols(sdfg, value).iter().for_each(&mut note);
    }
    found
}

/// Adds symbols in the sizes of transients, but for those that the scopes around all uses of a transient bind.
fn extend_by_inner(sdfg: &Sdfg, inner: Vec<(ContainerId, BTreeSet<Symbol>)>, free: &mut BTreeSet<Symbol>) {
    let is_used = |symbol: Symbol| inner.iter().any(|(_, used)| used.contains(&symbol));
    let mut entries = sdfg.states().flat_map(|(_, state)| state.nodes().map(move |(node, _)| (state, node)));
    let may_be_bound =
        !inner.is_empty() && entries.any(|(state, node)| bound_symbols(state, node).into_iter().any(is_used));
    let owning_scopes = if may_be_bound { owning_scopes(sdfg) } else { BTreeMap::new() };
    for (id, mut used) in inner {
        if let Some((state, scope)) = owning_scopes.get(&id) {
            let state = sdfg.state(*state);
            for entry in ScopeTree::of(state).enclosing_scope(Some(*scope)) {
                bound_symbols(state, entry).iter().for_each(|symbol| {
                    used.remove(symbol);
                });
            }
        }
        free.extend(used);
    }
}

/// Symbols that occur in a state and are not bound by a scope around the place.
pub fn free_symbols_of_state(state: &State) -> BTreeSet<Symbol> {
    free_symbols_in_scope(state, None)
}

/// Symbols that occur inside the scope of `root`, or with `None` anywhere in the state, and are not bound by a scope in it
/// around the place. What `root` itself binds is free in its scope.
pub fn free_symbols_in_scope(state: &State, root: Option<NodeId>) -> BTreeSet<Symbol> {
    let tree = ScopeTree::of(state);
    let mut free = BTreeSet::new();
    // What scopes bind at a place; nothing for places that are not in question.
    let bound_at = |scope: Option<NodeId>| -> Option<BTreeSet<Symbol>> {
        if root.is_some() && !tree.enclosing_scope(scope).any(|entry| Some(entry) == root) {
            return None;
        }
        let inner = tree.enclosing_scope(scope).take_while(|entry| Some(*entry) != root);
        Some(inner.flat_map(|entry| bound_symbols(state, entry)).collect())
    };
    let mut bound: BTreeMap<Option<NodeId>, Option<BTreeSet<Symbol>>> = BTreeMap::new();
    for (id, edge) in state.edges() {
        let scope = tree.scope_of_edge(state, id);
        let Some(bound) = bound.entry(scope).or_insert_with(|| bound_at(scope)) else { continue };
        visit_memlet(&edge.memlet, &mut |symbol| {
            if !bound.contains(symbol) && !free.contains(symbol) {
                free.insert(symbol.clone());
            }
        });
    }
    for (id, node) in state.nodes() {
        let scope = tree.scope_of(id);
        let Some(bound) = bound.entry(scope).or_insert_with(|| bound_at(scope)) else { continue };
        let used = symbols_of_node(state, id, &node.kind);
        free.extend(used.into_iter().filter(|symbol| !bound.contains(symbol)));
    }
    free
}

/// Symbols that occur among the nodes inside the scope of `root`, as [`free_symbols_in_scope`], for callers who know them and
/// the scope that each lies in.
pub fn free_symbols_inside(
    state: &State,
    root: NodeId,
    inside: &BTreeSet<NodeId>,
    scope_of: &dyn Fn(NodeId) -> Option<NodeId>,
) -> BTreeSet<Symbol> {
    let mut free = BTreeSet::new();
    let bound_at = |scope: Option<NodeId>| -> BTreeSet<Symbol> {
        let scopes = std::iter::successors(scope, |entry| scope_of(*entry)).take(inside.len() + 1);
        scopes.take_while(|entry| *entry != root).flat_map(|entry| bound_symbols(state, entry)).collect()
    };
    let mut bound: BTreeMap<Option<NodeId>, BTreeSet<Symbol>> = BTreeMap::new();
    for id in inside.iter().copied().chain([root]) {
        let kind = &state.node(id).kind;
        let behind = if kind.is_scope_entry() { Some(id) } else { scope_of(id) };
        let here = bound.entry(behind).or_insert_with(|| bound_at(behind));
        for (_, edge) in state.each_out_edge(id) {
            visit_memlet(&edge.memlet, &mut |symbol| {
                if !here.contains(symbol) && !free.contains(symbol) {
                    free.insert(symbol.clone());
                }
            });
        }
        if id != root {
            let around = scope_of(id);
            let here = bound.entry(around).or_insert_with(|| bound_at(around));
            let used = symbols_of_node(state, id, kind);
            free.extend(used.into_iter().filter(|symbol| !here.contains(symbol)));
        }
    }
    free
}

/// Symbols in the subsets and the volume of a memlet.
pub fn free_symbols_of_memlet(memlet: &Memlet) -> BTreeSet<Symbol> {
    let mut found = BTreeSet::new();
    visit_memlet(memlet, &mut |symbol| {
        found.insert(symbol.clone());
    });
    found
}

/// Gives the symbols in an access, volume or binding, as often as they occur.
fn visit_memlet(memlet: &Memlet, visit: &mut dyn FnMut(&Symbol)) {
    for range in memlet.accesses().flat_map(|access| &access.subset().0) {
        range.visit_symbols(visit);
    }
    match &memlet.volume {
        Volume::Exact(n) | Volume::AtMost(n) => n.visit_symbols(visit),
        Volume::Dynamic => {}
    }
}

/// Symbols in shape, layout and distribution.
pub fn free_symbols_of_container(container: &Container) -> BTreeSet<Symbol> {
    let mut found = BTreeSet::new();
    visit_container(container, &mut |symbol| {
        if !found.contains(symbol) {
            found.insert(symbol.clone());
        }
    });
    found
}

/// Gives the symbols in shape, layout and distribution, as often as they occur.
fn visit_container(container: &Container, visit: &mut dyn FnMut(&Symbol)) {
    let layout = container.kind.layout().into_iter();
    let layout = layout.flat_map(|layout| layout.strides.iter().chain([&layout.offset, &layout.total_size]));
    let capacity = match &container.kind {
        ContainerKind::Stream { capacity, .. } => capacity.as_ref(),
        ContainerKind::Scalar
        | ContainerKind::Array(_)
        | ContainerKind::View(_)
        | ContainerKind::Reference(_) => None,
    };
    for part in container.shape().iter().chain(layout).chain(capacity).chain(container.distribution.exprs()) {
        part.visit_symbols(visit);
    }
}

/// Symbols that a node uses and does not bind itself.
fn symbols_of_node(state: &State, id: NodeId, kind: &NodeKind) -> BTreeSet<Symbol> {
    match kind {
        NodeKind::Access(_) | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => BTreeSet::new(),
        NodeKind::Library(library) => symbols_of_library_node(library),
        NodeKind::Tasklet(tasklet) => symbols_of_tasklet(tasklet),
        NodeKind::MapEntry(map) => {
            let mut used = map.ranges.free_symbols();
            used.extend(map.schedule.expressions().flat_map(Expr::free_symbols));
            for symbol in bound_symbols(state, id) {
                used.remove(&symbol);
            }
            used
        }
        NodeKind::ConsumeEntry(consume) => {
            let mut used = consume.elements.free_symbols();
            used.extend(consume.chunk.free_symbols());
            used.extend(consume.schedule.expressions().flat_map(Expr::free_symbols));
            used
        }
        NodeKind::Nested(nested) => {
            let mut used = BTreeSet::new();
            for symbol in free_symbols_of_called(&nested.sdfg).iter().cloned() {
                match nested.symbol_mapping.iter().find(|(inner, _)| *inner == symbol) {
                    Some((_, value)) => used.extend(value.free_symbols()),
                    None if nested.inputs.iter().any(|input| input.name == symbol.as_str()) => {}
                    None => {
                        used.insert(symbol);
                    }
                }
            }
            used
        }
        NodeKind::Reduce(reduce) => reduce.identity.iter().flat_map(symbols_of_expression).collect(),
    }
}

/// The free symbols of a called SDFG. The states around the call change more often than it does.
fn free_symbols_of_called(sdfg: &Sdfg) -> Arc<BTreeSet<Symbol>> {
    /// The free symbols of an SDFG of this revision.
    #[derive(PartialEq, Eq, Hash)]
    struct Free(Revision);
    remembered(Free(sdfg.revision()), || Arc::new(free_symbols(sdfg)))
}

/// A bare name may be a word that the operation knows, so it is not among them.
fn symbols_of_library_node(library: &LibraryNode) -> BTreeSet<Symbol> {
    let mut used = BTreeSet::new();
    for (property, value) in &library.properties {
        let is_code = LibraryNode::assigned(property).is_some();
        if is_code || !matches!(value.kind, ExpressionKind::Name(_)) {
            let free = value.names().into_iter().filter(|name| !(is_code && library.binds(name)));
            used.extend(free.filter_map(|name| Symbol::new(name).ok()));
        }
    }
    used
}

/// Names in the code of a tasklet that are neither connectors nor locals.
fn symbols_of_tasklet(tasklet: &Tasklet) -> BTreeSet<Symbol> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut own: BTreeSet<&str> =
        tasklet.inputs.iter().chain(&tasklet.outputs).map(|connector| connector.name.as_str()).collect();
    match &tasklet.body {
        TaskletBody::Code(code) => {
            visit_block(code.block(), &mut |expression| {
                if let ExpressionKind::Name(name) = &expression.kind {
                    names.insert(name);
                }
            });
            visit_targets(code.block(), &mut |target| {
                own.insert(&target.name.text);
            });
            loop_variables(code.block(), &mut own);
        }
        TaskletBody::External(call) => names.extend(call.arguments.iter().flat_map(Expression::names)),
    }
    names.difference(&own).filter_map(|name| Symbol::new(name).ok()).collect()
}

fn loop_variables<'c>(block: &'c [Statement], found: &mut BTreeSet<&'c str>) {
    for statement in block {
        match &statement.kind {
            StatementKind::For { variable, body, .. } => {
                found.insert(&variable.text);
                loop_variables(body, found);
            }
            StatementKind::While { body, .. } => loop_variables(body, found),
            StatementKind::If { branches, otherwise } => {
                branches.iter().for_each(|(_, body)| loop_variables(body, found));
                loop_variables(otherwise, found);
            }
            StatementKind::Assign { .. } | StatementKind::Augmented { .. } | StatementKind::Pass => {}
        }
    }
}

/// Names in an expression; constants such as `math.pi`, which are no identifiers, are left out.
fn symbols_of_expression(expression: &Expression) -> BTreeSet<Symbol> {
    expression.names().into_iter().filter_map(|name| Symbol::new(name).ok()).collect()
}

/// Names in a condition or assignment that are not containers.
fn control_symbols(sdfg: &Sdfg, expression: &Expression) -> BTreeSet<Symbol> {
    let mut symbols = symbols_of_expression(expression);
    symbols.retain(|symbol| sdfg.find_container(symbol.as_str()).is_none());
    symbols
}
