//! Maps of schedule `Sequential` whose iterations depend on each other.
//!
//! DaCe runs their iterations in order, and programs rely on it. The iterations of our maps have no order, so
//! such a map becomes a nested SDFG with loops. Maps with independent iterations stay maps, because
//! transformations know more about maps.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::{ScopeTree, is_leaf, owning_scopes};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, ConflictResolution, ContainerId, Edge, EdgeId, Map, NodeId, NodeKind, Schedule, Sdfg, State,
    StateId,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};

use super::races::is_moved;
use crate::report::{Code, Log};

/// The scopes that containers live in.
type Homes = BTreeMap<ContainerId, (StateId, NodeId)>;

/// Makes loops of such maps in an SDFG and in those that it calls, which are at most as deep as a document.
pub(crate) fn order(sdfg: &mut Sdfg, log: &Log) {
    let name = sdfg.name.clone();
    let mut editor = Editor::of_draft(sdfg);
    order_in(&mut editor, log);
    if let Err(refusal) = editor.commit() {
        let message =
            format!("iterations of maps may depend on each other, and their order is not kept: {refusal}");
        log.note(Code::Approximated, &name, message);
    }
}

fn order_in(editor: &mut Editor<'_>, log: &Log) {
    let states: Vec<StateId> = editor.sdfg().states().map(|(id, _)| id).collect();
    // Nearly no SDFG needs them. Maps that become calls take their own containers along, and leave others where they are.
    let mut known = None;
    for state in states {
        for entry in dependent(editor.sdfg(), state, &mut known) {
            let label = editor.sdfg().state(state).node(entry).label.clone();
            if editor.map_to_loops(state, entry).is_err() {
                let message =
                    format!("iterations of `{label}` may depend on each other, and their order is not kept");
                log.note(Code::Approximated, &editor.sdfg().name, message);
            }
        }
        let is_call = |kind: &NodeKind| matches!(kind, NodeKind::Nested(_));
        let nodes = editor.sdfg().state(state).nodes().filter(|(_, node)| is_call(&node.kind));
        for node in nodes.map(|(id, _)| id).collect::<Vec<NodeId>>() {
            // The node is there and calls an SDFG.
            let _: Result<(), EditError> = editor.within(state, node, |inside| {
                order_in(inside, log);
                Ok(())
            });
        }
    }
}

/// The outermost entries of sequential maps whose iterations depend on each other.
fn dependent(sdfg: &Sdfg, state: StateId, known: &mut Option<Homes>) -> Vec<NodeId> {
    let graph = sdfg.state(state);
    let is_sequential = |kind: &NodeKind| match kind {
        NodeKind::MapEntry(map) => map.schedule == Schedule::Sequential,
        _ => false,
    };
    if !graph.nodes().any(|(_, node)| is_sequential(&node.kind)) {
        return Vec::new();
    }
    let tree = ScopeTree::of(graph);
    let owning_scopes = known.get_or_insert_with(|| owning_scopes(sdfg));
    let mut found: Vec<NodeId> = Vec::new();
    let mut waiting: Vec<NodeId> = tree.children(None).to_vec();
    while let Some(node) = waiting.pop() {
        if !graph.node(node).kind.is_scope_entry() {
            continue;
        }
        let is_own = |id: ContainerId| {
            let owner = owning_scopes.get(&id).filter(|_| sdfg.container(id).transient);
            owner.is_some_and(|(at, scope)| {
                *at == state && tree.enclosing_scope(Some(*scope)).any(|outer| outer == node)
            })
        };
        if is_sequential(&graph.node(node).kind)
            && Iterations::of(graph, &tree, node, &is_own).is_some_and(|found| found.depend())
        {
            found.push(node);
        } else {
            waiting.extend(tree.children(Some(node)));
        }
    }
    found
}

/// Effects of the iterations of a map on shared containers.
struct Iterations<'g> {
    map: &'g Map,
    /// Parameters of the map and of the scopes within, with their ranges.
    params: Vec<(&'g Symbol, &'g Range)>,
    /// By container: subsets that are read.
    reads: BTreeMap<ContainerId, Vec<&'g Subset>>,
    /// By container: subsets that are written, and whether they are combined with in a way in which no order is seen.
    writes: BTreeMap<ContainerId, Vec<(&'g Subset, bool)>>,
    /// Whether elements are pushed that nothing beside the map takes.
    pushes: bool,
}

impl<'g> Iterations<'g> {
    fn of(
        graph: &'g State,
        tree: &ScopeTree,
        entry: NodeId,
        is_own: &dyn Fn(ContainerId) -> bool,
    ) -> Option<Self> {
        let NodeKind::MapEntry(map) = &graph.node(entry).kind else { return None };
        let is_within = |scope: Option<NodeId>| tree.enclosing_scope(scope).any(|outer| outer == entry);
        let inner = graph.nodes().filter(|(id, _)| *id != entry && is_within(Some(*id)));
        let maps = inner.filter_map(|(_, node)| match &node.kind {
            NodeKind::MapEntry(inner) => Some(inner),
            _ => None,
        });
        let params =
            [map].into_iter().chain(maps).flat_map(|map| map.params.iter().zip(&map.ranges.0)).collect();
        let (reads, writes) = (BTreeMap::new(), BTreeMap::new());
        let mut found = Iterations { map, params, reads, writes, pushes: false };
        for (id, edge) in graph.edges() {
            // What a nested SDFG picks of its arguments is not looked at.
            if !is_within(tree.scope_of_edge(graph, id)) || !is_leaf(graph, id) || is_call(graph, id) {
                continue;
            }
            let is_shared = |access: &&Access| !is_own(access.container);
            if let Some(access) =
                edge.memlet.read_access().filter(is_shared).filter(|access| !access.is_queue())
            {
                found.reads.entry(access.container).or_default().push(access.subset());
            }
            let Some(access) = edge.memlet.write_access().filter(is_shared) else { continue };
            if access.is_queue() {
                let is_taken = |(_, edge): (EdgeId, &Edge)| {
                    edge.memlet.read_access().is_some_and(|read| read.container == access.container)
                };
                found.pushes |= !graph.edges().any(is_taken);
                continue;
            }
            let combines = edge.memlet.resolution().is_some_and(|resolution| {
                !matches!(resolution, ConflictResolution::Replace | ConflictResolution::Custom(_))
            });
            found.writes.entry(access.container).or_default().push((access.subset(), combines));
        }
        Some(found)
    }

    /// Whether one iteration may read or overwrite what another one wrote.
    fn depend(&self) -> bool {
        self.pushes
            || self.writes.iter().any(|(container, writes)| {
                let reads = self.reads.get(container).map_or(&[][..], Vec::as_slice);
                writes.iter().any(|(write, combines)| {
                    let is_read = reads.contains(write);
                    let others =
                        writes.iter().filter(|(_, other)| !(*combines && *other)).map(|(other, _)| *other);
                    (!combines || is_read) && !self.tells_apart(write)
                        || reads.iter().copied().chain(others).any(|other| self.may_meet(other, write))
                })
            })
    }

    /// Whether a subset has no element in common in two iterations.
    ///
    /// A parameter tells them apart if a range of the subset moves on by its length with it and with no other parameter but
    /// those that do so, or if a parameter that does has a range that moves so, as that of a tile.
    fn tells_apart(&self, subset: &Subset) -> bool {
        let mut told: BTreeSet<&Symbol> = BTreeSet::new();
        let is_bound = |symbol: &Symbol| self.params.iter().any(|(param, _)| *param == symbol);
        loop {
            let moves = |range: &Range, param: &Symbol, step: &Expr| {
                let alone = |symbol: &Symbol| symbol == param || told.contains(symbol) || !is_bound(symbol);
                range.free_symbols().iter().all(alone) && is_moved(range, param, step)
            };
            let next = self.params.iter().find(|(param, range)| {
                let tiles =
                    self.params.iter().filter(|(inner, _)| told.contains(inner)).map(|(_, tile)| *tile);
                let mut ranges = subset.0.iter().chain(tiles);
                !told.contains(param) && ranges.any(|of| moves(of, param, &range.step))
            });
            match next {
                Some((param, _)) => told.insert(param),
                None => break,
            };
        }
        let mut varying =
            self.map.params.iter().zip(&self.map.ranges.0).filter(|(_, range)| !range.size().is_one());
        varying.all(|(param, _)| told.contains(param))
    }

    /// Whether two subsets that are not the same may have an element in common, also in different iterations.
    fn may_meet(&self, one: &Subset, other: &Subset) -> bool {
        let is_apart = |(a, b): (&Range, &Range)| {
            let difference = (&a.begin - &b.begin).as_int().filter(|_| a.is_index() && b.is_index());
            let step = self.params.iter().try_fold(0, |step, (param, _)| {
                let next = BTreeMap::from([((*param).clone(), Expr::symbol((*param).clone()) + 1)]);
                Some(num_integer::gcd(step, (a.begin.substitute(&next) - &a.begin).as_int()?.unsigned_abs()))
            });
            match (difference, step) {
                (Some(difference), Some(0)) => difference != 0,
                (Some(difference), Some(step)) => !difference.unsigned_abs().is_multiple_of(step),
                (None, _) | (_, None) => false,
            }
        };
        one != other && !one.0.iter().zip(&other.0).any(is_apart)
    }
}

fn is_call(graph: &State, edge: EdgeId) -> bool {
    let edge = graph.edge(edge);
    [edge.src, edge.dst].into_iter().any(|node| matches!(graph.node(node).kind, NodeKind::Nested(_)))
}
