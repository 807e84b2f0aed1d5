//! The part of [`MapFission`](super::MapFission) that splits a map around a call by the states of the called SDFG.

use std::collections::BTreeSet;

use sdfg::analysis::loops::counted_range;
use sdfg::analysis::symbols::assigned_symbols;
use sdfg::analysis::{ScopeTree, owning_scopes};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    BlockId, BlockKind, ContainerId, ContainerKind, Layout, Lifetime, Map, NestedSdfg, Node, NodeId,
    NodeKind, RegionId, Sdfg, State, StateId, Storage, TransitionId,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Sign, Symbol};
use sdfg::syntax::Expression;

use super::{loop_to_map, map_split, nested_maps};
use crate::engine::{Claim, Evidence, Refusal, Site};

/// The call of several blocks that is all that a map contains.
pub(super) fn only_call<'s>(state: &'s State, tree: &ScopeTree, entry: NodeId) -> Option<&'s NestedSdfg> {
    let exit = state.exit_of(entry);
    let mut children = tree.children(Some(entry)).iter().filter(|node| Some(**node) != exit);
    let (Some(only), None) = (children.next(), children.next()) else { return None };
    match &state.node(*only).kind {
        NodeKind::Nested(nested) if nested.sdfg.region(nested.sdfg.body()).blocks.len() > 1 => Some(nested),
        _ => None,
    }
}

/// Whether all iterations of the map can run a block of the called SDFG before any of them runs the next one.
pub(super) fn check(site: &Site<'_>, nested: &NestedSdfg) -> Result<Evidence, Refusal> {
    map_split::copyable(site)?;
    let map = site.map(0)?;
    nested_maps::on_host(site, map)?;
    let varying = varying(map, nested);
    let control = Control::of(nested, &varying)?;
    let shared = outliving(&nested.sdfg);
    for id in &shared {
        can_gain_dimensions(&nested.sdfg, *id, &varying)?;
    }
    let known = site.known_in(site.scopes().scope_of(site.found.node(0)));
    let mut evidence = Evidence::of_structure();
    for (param, range) in map.params.iter().zip(&map.ranges.0) {
        if let Some(other) = map.params.iter().find(|other| range.free_symbols().contains(other))
            && !shared.is_empty()
        {
            return Err(Refusal::DependsOn { range: range.to_string(), parameter: other.clone() });
        }
        let ascends = range.step.sign(&known) == Sign::Positive && range.tile.is_one();
        let has_extent = ascends && range.begin.le(&range.end, &known).is_proved();
        if !shared.is_empty() && !has_extent {
            let needed = format!("{} <= {}", range.begin, range.end);
            return Err(Refusal::Unproved { about: param.to_string(), needed });
        }
        // Without an iteration, the called SDFG does not run.
        if control.may_not_end && !range.is_empty(&known).is_refuted() {
            let needed = format!("{} < {}", range.begin, range.end);
            return Err(Refusal::Unproved { about: param.to_string(), needed });
        }
        if control.may_not_end && ascends {
            evidence.note(param.as_str(), Claim::Positive(&range.end - &range.begin));
        }
    }
    Ok(evidence)
}

/// The symbols of the called SDFG that may differ between iterations of the map.
fn varying(map: &Map, nested: &NestedSdfg) -> BTreeSet<Symbol> {
    let differs = |value: &Expr| value.free_symbols().iter().any(|symbol| map.params.contains(symbol));
    nested
        .symbol_mapping
        .iter()
        .filter(|(_, value)| differs(value))
        .map(|(symbol, _)| symbol.clone())
        .collect()
}

/// The control flow of the called SDFG.
struct Control {
    /// Branches that iterations take differently. They stay in the map, as calls.
    varying: Vec<BlockId>,
    /// Whether what all iterations have in common may run forever.
    may_not_end: bool,
}

impl Control {
    /// Refuses control flow that cannot leave the map, and other than branches cannot stay in it.
    fn of(nested: &NestedSdfg, varying: &BTreeSet<Symbol>) -> Result<Self, Refusal> {
        let sdfg = &nested.sdfg;
        if let Some(symbol) = assigned_symbols(sdfg).into_iter().find(|symbol| varying.contains(symbol)) {
            let reason = format!("sets `{symbol}`, whose first value differs between iterations");
            return Err(Refusal::structure(&sdfg.name, reason));
        }
        let mut control = Control { varying: Vec::new(), may_not_end: false };
        control.add_region(sdfg, sdfg.body(), varying)?;
        Ok(control)
    }

    fn add_region(
        &mut self,
        sdfg: &Sdfg,
        region: RegionId,
        varying: &BTreeSet<Symbol>,
    ) -> Result<(), Refusal> {
        let refuse = |block: BlockId, name: &str| {
            let reason = format!("goes on by `{name}`, which may differ between iterations");
            Err(Refusal::structure(&sdfg.block(block).label, reason))
        };
        for transition in sdfg.region(region).transitions.iter().map(|id| sdfg.transition(*id)) {
            // Without blocks of their own, conditions may make loops.
            self.may_not_end |= transition.condition.is_some();
            for value in transition.expressions() {
                if let Some(name) = differing(sdfg, value, varying) {
                    return refuse(transition.src, name);
                }
            }
        }
        for id in sdfg.region(region).blocks.iter().copied() {
            let kind = &sdfg.block(id).kind;
            let differs = kind.expressions().into_iter().find_map(|value| differing(sdfg, value, varying));
            let Some(name) = differs else {
                let repeats = match kind {
                    BlockKind::Loop(repeated) => counted_range(sdfg, repeated).is_none(),
                    _ => false,
                };
                self.may_not_end |= repeats;
                kind.regions().into_iter().try_for_each(|inner| self.add_region(sdfg, inner, varying))?;
                continue;
            };
            if !matches!(kind, BlockKind::Branch(_)) || sets_symbols(sdfg, id) {
                return refuse(id, name);
            }
            self.varying.push(id);
        }
        Ok(())
    }
}

/// A name in an expression whose value may differ between iterations: each iteration has its own data.
fn differing<'e>(sdfg: &Sdfg, value: &'e Expression, varying: &BTreeSet<Symbol>) -> Option<&'e str> {
    let differs = |name: &&str| {
        sdfg.find_container(name).is_some() || varying.iter().any(|symbol| symbol.as_str() == *name)
    };
    value.names().into_iter().find(differs)
}

/// Whether blocks inside of a block set symbols, which others may read after it.
fn sets_symbols(sdfg: &Sdfg, block: BlockId) -> bool {
    sdfg.block(block).kind.regions().into_iter().any(|region| {
        let found = sdfg.region(region);
        let assigns = |id: &TransitionId| !sdfg.transition(*id).assignments.is_empty();
        let sets =
            |id: &BlockId| matches!(sdfg.block(*id).kind, BlockKind::Loop(_)) || sets_symbols(sdfg, *id);
        found.transitions.iter().any(assigns) || found.blocks.iter().any(sets)
    })
}

/// The transients of an SDFG whose elements may outlive a state, in order of their declaration.
fn outliving(sdfg: &Sdfg) -> Vec<ContainerId> {
    let owned = owning_scopes(sdfg);
    let outlives = |id: ContainerId| {
        let container = sdfg.container(id);
        let mut states = sdfg.states().filter(|(_, state)| state.accesses_of(id).next().is_some());
        let (first, second) = (states.next(), states.next());
        let is_confined = container.is_alias() && second.is_none();
        first.is_some()
            && container.transient
            && container.constant.is_none()
            && container.lifetime != Lifetime::State
            && !owned.contains_key(&id)
            && !is_confined
    };
    sdfg.containers().map(|(id, _)| id).filter(|id| outlives(*id)).collect()
}

/// Refuses transients of which no array can hold one for each iteration.
fn can_gain_dimensions(sdfg: &Sdfg, id: ContainerId, varying: &BTreeSet<Symbol>) -> Result<(), Refusal> {
    let container = sdfg.container(id);
    let refuse = |reason: &str| Err(Refusal::container(&container.name, reason));
    if container.is_stream() || container.is_alias() {
        return refuse("is a stream, view or reference that two states of the called SDFG use");
    }
    if container.lifetime == Lifetime::Persistent {
        return refuse("keeps its elements from one call to the next");
    }
    match container.kind.size_symbols().into_iter().find(|symbol| varying.contains(symbol)) {
        Some(symbol) => {
            refuse(&format!("has a size that depends on `{symbol}`, which differs between iterations"))
        }
        None => Ok(()),
    }
}

/// Makes the map a call of an SDFG with the control flow of the called one, in which each state is a map around a call.
pub(super) fn apply(editor: &mut Editor<'_>, (state, entry): (StateId, NodeId)) -> Result<(), EditError> {
    let label = editor.state(state)?.node(entry).label.clone();
    let role = editor.derived_label(state, &label, "call")?;
    let call = editor.wrap_in_nested(state, &BTreeSet::from([entry]), &role)?;
    editor.within(state, call, |inner| split(inner, &label))
}

/// Splits the map that is all of an SDFG.
fn split(editor: &mut Editor<'_>, label: &str) -> Result<(), EditError> {
    let (state, entry, map) = only_map(editor.sdfg(), label)?;
    let tree = ScopeTree::of(editor.state(state)?);
    let calls = |node: &&NodeId| matches!(editor.sdfg().state(state).node(**node).kind, NodeKind::Nested(_));
    let call = tree.children(Some(entry)).iter().find(calls).copied().ok_or(EditError::NoNode(entry))?;
    let NodeKind::Nested(nested) = &editor.state(state)?.node(call).kind else {
        return Err(EditError::NoNode(call));
    };
    let refused =
        |_| EditError::ControlFlow { label: label.to_owned(), reason: "iterations take other ways" };
    let control = Control::of(nested, &varying(&map, nested)).map_err(refused)?;
    editor.within(state, call, |inner| {
        let done = control.varying.iter().map(|block| wrap_block(inner, *block));
        let done: Vec<StateId> = done.collect::<Result<_, _>>()?;
        wrap_states(inner, &done)
    })?;
    let before: BTreeSet<ContainerId> = editor.sdfg().containers().map(|(id, _)| id).collect();
    // As symbols of the SDFG, the parameters mean themselves until the maps of the states bind them again.
    let params = map.params.iter().map(|param| Range::index(Expr::symbol(param.clone())));
    let itself = Map { ranges: Subset(params.collect()), ..map.clone() };
    editor.replace_node(state, entry, NodeKind::MapEntry(itself))?;
    editor.unwrap_map(state, entry)?;
    editor.inline_blocks(state, call)?;
    let new: Vec<ContainerId> =
        editor.sdfg().containers().map(|(id, _)| id).filter(|id| !before.contains(id)).collect();
    new.into_iter().try_for_each(|id| add_dimensions(editor, id, &map))?;
    let states: Vec<StateId> = editor.sdfg().states().map(|(id, _)| id).collect();
    for state in states {
        let is_call = |node: &Node| matches!(node.kind, NodeKind::Nested(_));
        let calls = editor.state(state)?.nodes().filter(|(_, node)| is_call(node));
        let Some(call) = calls.map(|(id, _)| id).next() else { continue };
        let label = editor.fresh_label(state, label)?;
        editor.wrap_in_map(state, &BTreeSet::from([call]), &label, map.clone())?;
    }
    Ok(())
}

/// The map with a label in the only state of an SDFG.
fn only_map(sdfg: &Sdfg, label: &str) -> Result<(StateId, NodeId, Map), EditError> {
    let mut maps =
        sdfg.states().flat_map(|(state, graph)| graph.nodes().map(move |(id, node)| (state, id, node)));
    let found = maps.find_map(|(state, id, node)| match &node.kind {
        NodeKind::MapEntry(map) if node.label == label => Some((state, id, map.clone())),
        _ => None,
    });
    found.ok_or_else(|| EditError::ControlFlow { label: label.to_owned(), reason: "it is no map" })
}

/// Makes a state that calls a block.
fn wrap_block(editor: &mut Editor<'_>, block: BlockId) -> Result<StateId, EditError> {
    let label = editor.sdfg().block(block).label.clone();
    let around = editor.guard_block(block, &Expression::bool(true), false)?;
    let role = editor.derived_block_label(&label, "call");
    let arm = editor.sdfg().block(block).region;
    let (state, _) = editor.wrap_region_in_nested(arm, &role, &BTreeSet::new())?;
    loop_to_map::hoist(editor, around, arm)?;
    Ok(state)
}

/// Makes a call of the contents of each other state of an SDFG.
fn wrap_states(editor: &mut Editor<'_>, done: &[StateId]) -> Result<(), EditError> {
    let states: Vec<StateId> = editor.sdfg().states().map(|(id, _)| id).collect();
    for state in states.into_iter().filter(|state| !done.contains(state)) {
        let graph = editor.state(state)?;
        let nodes: BTreeSet<NodeId> = graph.nodes().map(|(id, _)| id).collect();
        if !nodes.is_empty() {
            let label = editor.derived_label(state, &graph.label.clone(), "call")?;
            editor.wrap_in_nested(state, &nodes, &label)?;
        }
    }
    Ok(())
}

/// Gives a transient that one iteration used dimensions of all iterations in front, and each access the index of its iteration.
fn add_dimensions(editor: &mut Editor<'_>, id: ContainerId, map: &Map) -> Result<(), EditError> {
    let at = |param: &Symbol, range: &Range| &Expr::symbol(param.clone()) - &range.begin;
    let indices: Vec<Range> =
        map.params.iter().zip(&map.ranges.0).map(|(param, range)| Range::index(at(param, range))).collect();
    editor.change_container(id, |container| {
        let extents = map.ranges.0.iter().map(|range| &range.end - &range.begin);
        let inner = container.kind.layout().cloned().unwrap_or_else(|| Layout::packed(Vec::new()));
        container.kind = ContainerKind::Array(with_leading(extents.collect(), inner));
        container.lifetime = Lifetime::default();
        // These are memories of one iteration or thread.
        if matches!(container.storage, Storage::Register | Storage::CpuThreadLocal) {
            container.storage = Storage::Default;
        }
    })?;
    let states: Vec<StateId> = editor.sdfg().states().map(|(state, _)| state).collect();
    for state in states {
        let uses = |edge: &sdfg::ir::Edge| edge.memlet.accesses().any(|access| access.container == id);
        let edges = editor.state(state)?.edges().filter(|(_, edge)| uses(edge));
        for (edge, mut memlet) in edges.map(|(id, edge)| (id, edge.memlet.clone())).collect::<Vec<_>>() {
            for access in memlet.accesses_mut().filter(|access| access.container == id) {
                let subset = indices.iter().chain(&access.subset().0).cloned().collect();
                *access.subset_mut() = Subset(subset);
            }
            editor.set_memlet(state, edge, memlet)?;
        }
    }
    Ok(())
}

/// A layout with dimensions in front, whose elements are as far apart as the whole of the layout.
fn with_leading(extents: Vec<Expr>, inner: Layout) -> Layout {
    let outer = Layout::packed(extents);
    let strides = outer.strides.iter().map(|stride| stride * &inner.total_size);
    Layout {
        strides: strides.chain(inner.strides).collect(),
        shape: outer.shape.into_iter().chain(inner.shape).collect(),
        offset: inner.offset,
        total_size: &outer.total_size * &inner.total_size,
    }
}
