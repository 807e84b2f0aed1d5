//! Maps whose iterations depend on each other, with the schedule `Sequential`.
//!
//! DaCe runs their iterations one after the other, and programs count on it. Here the iterations of a map have no order: such
//! a map becomes a nested SDFG with loops. Those that do not depend on each other stay a map, which transformations know more about.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::bound_symbols;
use sdfg::analysis::{ScopeTree, homes, is_leaf};
use sdfg::edit::{
    EditError, atomically, derived_block_label, derived_label, unwrap_map, wrap_in_loop, wrap_in_nested,
};
use sdfg::ir::{
    Access, BlockKind, ConflictResolution, ContainerId, EdgeId, Loop, Map, NodeId, NodeKind, RegionId,
    Schedule, Sdfg, State, StateId,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Symbol;
use sdfg::syntax::{BinaryOp, CompareOp, Expression};

/// Makes loops of such maps in an SDFG and in those that it calls, which are at most as deep as a document.
pub(crate) fn order(sdfg: &mut Sdfg) {
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    for state in states {
        for entry in dependent(sdfg, state) {
            // What cannot be one stays a map, and validation says what is wrong with it.
            let _ = atomically(sdfg, |sdfg| to_loops(sdfg, state, entry));
        }
        let nodes: Vec<NodeId> = sdfg.state(state).nodes().map(|(id, _)| id).collect();
        for node in nodes {
            if let NodeKind::Nested(nested) = &mut sdfg.state_mut(state).node_mut(node).kind {
                order(&mut nested.sdfg);
            }
        }
    }
}

/// The outermost entries of sequential maps whose iterations depend on each other.
fn dependent(sdfg: &Sdfg, state: StateId) -> Vec<NodeId> {
    let graph = sdfg.state(state);
    let is_sequential = |entry: &NodeId| matches!(&graph.node(*entry).kind, NodeKind::MapEntry(map) if map.schedule == Schedule::Sequential);
    if !graph.nodes().any(|(id, _)| is_sequential(&id)) {
        return Vec::new();
    }
    let tree = ScopeTree::of(graph);
    let homes = homes(sdfg);
    let mut found: Vec<NodeId> = Vec::new();
    let mut waiting: Vec<NodeId> = tree.children(None).to_vec();
    while let Some(node) = waiting.pop() {
        if !graph.node(node).kind.is_scope_entry() {
            continue;
        }
        let is_own = |id: ContainerId| {
            let home = homes.get(&id).filter(|_| sdfg.container(id).transient);
            home.is_some_and(|(at, scope)| {
                *at == state && tree.enclosing_scope(Some(*scope)).any(|outer| outer == node)
            })
        };
        if is_sequential(&node)
            && Iterations::of(graph, &tree, node, &is_own).is_some_and(|found| found.depend())
        {
            found.push(node);
        } else {
            waiting.extend(tree.children(Some(node)));
        }
    }
    found
}

/// What the iterations of a map do to containers that they share.
struct Iterations<'g> {
    map: &'g Map,
    /// Parameters of the scopes within, with their ranges.
    inner: Vec<(&'g Symbol, &'g Range)>,
    /// By container: subsets that are read, and that are written, or combined with.
    reads: BTreeMap<ContainerId, Vec<&'g Subset>>,
    writes: BTreeMap<ContainerId, Vec<(&'g Subset, bool)>>,
}

impl<'g> Iterations<'g> {
    /// `None` for what is judged otherwise: a parameter that data gives a value.
    fn of(
        graph: &'g State,
        tree: &ScopeTree,
        entry: NodeId,
        is_own: &dyn Fn(ContainerId) -> bool,
    ) -> Option<Self> {
        let NodeKind::MapEntry(map) = &graph.node(entry).kind else { return None };
        if bound_symbols(graph, entry) != map.params {
            return None;
        }
        let is_within = |scope: Option<NodeId>| tree.enclosing_scope(scope).any(|outer| outer == entry);
        let mut found =
            Iterations { map, inner: Vec::new(), reads: BTreeMap::new(), writes: BTreeMap::new() };
        for (id, node) in graph.nodes() {
            if let NodeKind::MapEntry(inner) = &node.kind
                && id != entry
                && is_within(Some(id))
            {
                found.inner.extend(inner.params.iter().zip(&inner.ranges.0));
            }
        }
        let is_shared = |access: &Access| !access.is_queue() && !is_own(access.container);
        for (id, edge) in graph.edges() {
            // What a nested SDFG picks of its arguments is not looked at.
            if !is_within(tree.scope_of_edge(graph, id)) || !is_leaf(graph, id) || is_call(graph, id) {
                continue;
            }
            if let Some(access) = edge.memlet.read_access().filter(|access| is_shared(access)) {
                found.reads.entry(access.container).or_default().push(access.subset());
            }
            if let Some(access) = edge.memlet.write_access().filter(|access| is_shared(access)) {
                let resolution = edge.memlet.resolution();
                let combines =
                    resolution.is_some_and(|resolution| *resolution != ConflictResolution::Replace);
                found.writes.entry(access.container).or_default().push((access.subset(), combines));
            }
        }
        Some(found)
    }

    /// Whether one iteration may read or overwrite what another one wrote.
    fn depend(&self) -> bool {
        let parameters = || self.map.params.iter().zip(&self.map.ranges.0);
        let varying: Vec<&Symbol> =
            parameters().filter(|(_, range)| !range.size().is_one()).map(|(param, _)| param).collect();
        self.writes.iter().any(|(container, writes)| {
            let overwrites = |(write, combines): &(&Subset, bool)| {
                !combines && varying.iter().any(|param| !self.tells_apart(write, param))
            };
            let reads = self.reads.get(container).map_or(&[][..], Vec::as_slice);
            writes.iter().any(overwrites)
                || writes.iter().any(|(write, _)| reads.iter().any(|read| self.may_meet(read, write)))
        })
    }

    /// Whether a subset is another one for each value of a parameter: it mentions it, or a parameter within whose range does.
    fn tells_apart(&self, subset: &Subset, param: &Symbol) -> bool {
        let mut told = BTreeSet::from([param]);
        for (inner, range) in &self.inner {
            if told.iter().any(|outer| range.free_symbols().contains(*outer)) {
                told.insert(*inner);
            }
        }
        let mentioned = subset.free_symbols();
        told.into_iter().any(|symbol| mentioned.contains(symbol))
    }

    /// Whether what is read in one iteration may be written in another one.
    fn may_meet(&self, read: &Subset, write: &Subset) -> bool {
        if read == write {
            return false;
        }
        let bound: BTreeSet<&Symbol> =
            self.map.params.iter().chain(self.inner.iter().map(|(param, _)| *param)).collect();
        // An index that is the same in all iterations keeps them apart if it is another one.
        let is_apart = |(a, b): (&Range, &Range)| {
            let is_fixed = |range: &Range| {
                range.is_index() && range.free_symbols().iter().all(|symbol| !bound.contains(symbol))
            };
            let difference = (&a.begin - &b.begin).as_int();
            is_fixed(a) && is_fixed(b) && difference.is_some_and(|difference| difference != 0)
        };
        !read.0.iter().zip(&write.0).any(is_apart)
    }
}

fn is_call(graph: &State, edge: EdgeId) -> bool {
    let edge = graph.edge(edge);
    [edge.src, edge.dst].into_iter().any(|node| matches!(graph.node(node).kind, NodeKind::Nested(_)))
}

/// Puts a map scope into a nested SDFG, and loops over its parameters into the place of the map.
fn to_loops(sdfg: &mut Sdfg, state: StateId, entry: NodeId) -> Result<(), EditError> {
    let graph = sdfg.state(state);
    let NodeKind::MapEntry(map) = graph.node(entry).kind.clone() else { return Ok(()) };
    let label = graph.node(entry).label.clone();
    let placeholder = sdfg.body();
    let headers =
        map.params.iter().zip(&map.ranges.0).map(|(param, range)| header(param, range, placeholder));
    let Some(headers) = headers.collect::<Option<Vec<Loop>>>() else {
        return Err(EditError::NoNode(entry));
    };
    let call = derived_label(graph, &label, "in_order");
    let call = wrap_in_nested(sdfg, state, &BTreeSet::from([entry]), &call)?;
    let NodeKind::Nested(nested) = &mut sdfg.state_mut(state).node_mut(call).kind else { return Ok(()) };
    let inner = &mut nested.sdfg;
    let states: Vec<_> = inner
        .blocks()
        .filter(|(_, block)| matches!(block.kind, BlockKind::State(_)))
        .map(|(id, _)| id)
        .collect();
    let (Some(mut block), Some(id)) = (states.first().copied(), inner.states().map(|(id, _)| id).next())
    else {
        return Ok(());
    };
    for (param, header) in map.params.iter().zip(headers).rev() {
        let label = derived_block_label(inner, &label, param.as_str());
        block = wrap_in_loop(inner, block, &label, header)?;
    }
    let found = inner.state(id).nodes().find(|(_, node)| node.label == label).map(|(id, _)| id);
    let entry = found.ok_or(EditError::NoNode(entry))?;
    if let NodeKind::MapEntry(map) = &mut inner.state_mut(id).node_mut(entry).kind {
        map.ranges = Subset(map.params.iter().map(|param| Range::index(param.clone())).collect());
    }
    unwrap_map(inner, id, entry)
}

/// A loop over a parameter; `None` if its direction is not known.
fn header(param: &Symbol, range: &Range, body: RegionId) -> Option<Loop> {
    let step = range.step.as_int().filter(|step| *step != 0)?;
    let symbol = || Expression::name(param.as_str());
    let (goes_on, moves) =
        if step > 0 { (CompareOp::Less, BinaryOp::Add) } else { (CompareOp::Greater, BinaryOp::Subtract) };
    Some(Loop {
        symbol: Some(param.clone()),
        init: Some(range.begin.to_expression()?),
        condition: Expression::compare(goes_on, symbol(), range.end.to_expression()?),
        update: Some(Expression::binary(moves, symbol(), Expression::integer(step.abs()))),
        test_after: false,
        unroll: false,
        body,
    })
}
