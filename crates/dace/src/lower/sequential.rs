//! Maps that DaCe runs in order, and whose iterations depend on each other.
//!
//! DaCe runs the iterations of maps of schedule `Sequential` and `Unrolled` in order, and those of maps of
//! schedule `Default` within a map of the CPU. Programs rely on it. The iterations of our maps have no order, so
//! such a map becomes a nested SDFG with loops. Maps with independent iterations stay maps, because
//! transformations know more about maps.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::{ScopeTree, is_leaf, owning_scopes};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, ConflictResolution, ContainerId, Edge, EdgeId, Map, NodeId, NodeKind, Schedule, ScheduleKind,
    Sdfg, State, StateId,
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
    order_in(&mut editor, false, log);
    if let Err(refusal) = editor.commit() {
        let message =
            format!("iterations of maps may depend on each other, and their order is not kept: {refusal}");
        log.note(Code::Approximated, &name, message);
    }
}

/// `inside` states whether the SDFG runs within an iteration of a map of the CPU.
fn order_in(editor: &mut Editor<'_>, inside: bool, log: &Log) {
    let states: Vec<StateId> = editor.sdfg().states().map(|(id, _)| id).collect();
    // Nearly no SDFG needs them. Maps that become calls take their own containers along, and leave others where they are.
    let mut known = None;
    for state in states {
        for entry in dependent(editor.sdfg(), state, inside, &mut known) {
            let label = editor.sdfg().state(state).node(entry).label.clone();
            if editor.map_to_loops(state, entry).is_err() {
                let message =
                    format!("iterations of `{label}` may depend on each other, and their order is not kept");
                log.note(Code::Approximated, &editor.sdfg().name, message);
            }
        }
        let graph = editor.sdfg().state(state);
        let calls = graph.nodes().filter(|(_, node)| matches!(node.kind, NodeKind::Nested(_)));
        let mut tree = None;
        let mut is_inside =
            |call: NodeId| inside || is_in_map(graph, tree.get_or_insert_with(|| ScopeTree::of(graph)), call);
        for (node, inside) in calls.map(|(id, _)| (id, is_inside(id))).collect::<Vec<(NodeId, bool)>>() {
            // The node is there and calls an SDFG.
            let _: Result<(), EditError> = editor.within(state, node, |called| {
                order_in(called, inside, log);
                Ok(())
            });
        }
    }
}

/// Whether a node lies in a map whose inner maps DaCe runs in order where nothing else is said.
fn is_in_map(graph: &State, tree: &ScopeTree, node: NodeId) -> bool {
    tree.enclosing(node).any(|outer| match &graph.node(outer).kind {
        NodeKind::MapEntry(map) => matches!(
            map.schedule.kind(),
            ScheduleKind::Default | ScheduleKind::CpuMulticore | ScheduleKind::Sequential
        ),
        _ => false,
    })
}

/// The outermost entries of maps that run in order and whose iterations depend on each other.
fn dependent(sdfg: &Sdfg, state: StateId, inside: bool, known: &mut Option<Homes>) -> Vec<NodeId> {
    let graph = sdfg.state(state);
    let kind = |node: NodeId| match &graph.node(node).kind {
        NodeKind::MapEntry(map) => Some(map.schedule.kind()),
        _ => None,
    };
    let maps: Vec<ScheduleKind> = graph.nodes().filter_map(|(id, _)| kind(id)).collect();
    let is_inner = inside || maps.len() > 1;
    let is_ordered = |kind: &ScheduleKind| match kind {
        ScheduleKind::Sequential | ScheduleKind::Unrolled => true,
        other => *other == ScheduleKind::Default && is_inner,
    };
    if !maps.iter().any(is_ordered) {
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
        let iterations = || Iterations::of(graph, &tree, node, &is_own);
        let depends = match kind(node) {
            Some(ScheduleKind::Sequential | ScheduleKind::Unrolled) => {
                iterations().is_some_and(|found| found.depend())
            }
            // A map with another use of its elements stays one.
            Some(ScheduleKind::Default) if inside || is_in_map(graph, &tree, node) => {
                let writes_element = |id: EdgeId| {
                    graph.edge(id).memlet.write_access().is_some_and(|access| access.subset().is_element())
                };
                let exit = tree.exit_of(node);
                exit.is_some_and(|exit| graph.in_edges(exit).into_iter().any(writes_element))
                    && iterations().is_some_and(|found| found.write_one_element())
            }
            Some(_) | None => false,
        };
        if depends {
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
            if !is_within(tree.scope_of_edge(graph, id)) || !is_leaf(graph, id) {
                continue;
            }
            // What a nested SDFG picks of its arguments is not looked at, unless it is unrolled: that order is always kept.
            let is_known = |access: &Access| {
                !is_call(graph, id) || map.schedule == Schedule::Unrolled || access.subset().is_element()
            };
            let is_shared = |access: &&Access| !is_own(access.container) && is_known(access);
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

    /// Whether all iterations write one element, without a resolution of conflicts.
    fn write_one_element(&self) -> bool {
        let is_bound = |symbol: &Symbol| self.params.iter().any(|(param, _)| *param == symbol);
        self.map.ranges.0.iter().any(|range| !range.size().is_one())
            && self.writes.values().flatten().any(|(subset, combines)| {
                !combines && subset.is_element() && !subset.free_symbols().iter().any(is_bound)
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
