//! Accesses that DaCe's code orders although no path does.
//!
//! DaCe's code runs the nodes of a state one after the other ([`Order`]). Graphs with fused states or maps
//! rely on this order: one node reads elements that another one overwrites, without a path between them. Such
//! accesses conflict in our semantics, so the reader adds order edges in DaCe's order.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::ir::{ConflictResolution, Memlet};
use sdfg::subset::Subset;
use sdfg::symbolic::Assumptions;

use super::SdfgLowering;
use super::sequence::{Order, SequencePosition};
use super::state::{End, Graph, exit_of};
use crate::model::{self, DescriptorKind, NodeKind};
use crate::report::Code;
use crate::text::resolution;

/// States with more nodes are left as they are: what leads where is a table with the square of it.
const MOST_NODES: usize = 4000;

/// Pairs of accesses that nothing orders, of which it is asked whether they touch one element. Of more it is assumed.
const MOST_QUESTIONS: usize = 10_000;

/// Effect of one step of a scope on a container.
struct Touch<'a> {
    /// The node that the step begins with, and the one that it ends with: those of a scope, the ends of a copy, or one node twice.
    first: usize,
    last: usize,
    /// When DaCe's code makes the access.
    place: SequencePosition,
    writes: bool,
    edge: &'a model::Edge,
    end: End<'a>,
}

impl Touch<'_> {
    /// Whether two steps may not change places, if they touch one element.
    fn clashes_with(&self, other: &Touch<'_>) -> bool {
        let is_other_step = (self.first, self.last) != (other.first, other.last);
        let resolves_alike = self.resolution().is_some() && self.resolution() == other.resolution();
        is_other_step && (self.writes || other.writes) && !resolves_alike
    }

    /// A conflict resolution for which the order does not matter.
    fn resolution(&self) -> Option<ConflictResolution> {
        let found = self.edge.memlet.resolution.as_ref().filter(|_| self.writes).map(resolution);
        found.filter(|found| !matches!(found, ConflictResolution::Replace | ConflictResolution::Custom(_)))
    }
}

impl<'a> SdfgLowering<'a> {
    /// Orders steps of one scope that touch one element, of which one writes it, as DaCe's code does.
    pub(super) fn order_hazards(&self, graph: &mut Graph<'a>) {
        if graph.model.nodes.len() > MOST_NODES {
            let message = "the state has too many nodes to order what no path orders";
            self.log().note(Code::Approximated, &graph.state.label, message);
            return;
        }
        let order = Order::of(graph.model, self.shared.version);
        let touches = self.touches(graph, &order);
        let has_hazard = |all: &Vec<Touch<'_>>| all.len() > 1 && all.iter().any(|touch| touch.writes);
        if !touches.values().any(has_hazard) {
            return;
        }
        let unknown = Self::unknown(graph);
        let mut leads = Leads::of(graph.model, &order);
        let mut questions = 0;
        for mut all in touches.into_values().filter(has_hazard) {
            all.sort_by_key(|touch| touch.place);
            // The nearest first: through it the others are ordered, too.
            let pairs = (0..all.len()).flat_map(|after| (0..after).rev().map(move |before| (before, after)));
            for (before, after) in pairs.map(|(before, after)| (&all[before], &all[after])) {
                if !before.clashes_with(after) || leads.are_ordered(before, after) {
                    continue;
                }
                questions += 1;
                if questions < MOST_QUESTIONS && self.are_apart(graph, &unknown, before, after) {
                    continue;
                }
                // A copy out of a scope ends where the scope does: nothing in it can come after that.
                let leaves = graph.paths.scope_of(before.first) != graph.paths.scope_of(before.last);
                if leaves || leads.reach(after.first, before.last) {
                    continue;
                }
                leads.join(before.last, after.first);
                let [src, dst] = [before.last, after.first].map(|node| graph.nodes[node]);
                graph.join((src, None), (dst, None), Memlet::order());
            }
        }
    }

    /// The entries of scopes whose memlets do not say what they touch: of nested SDFGs, as they are not reliable in DaCe's graphs,
    /// and of code that touches more here than its memlets say there.
    fn unknown(graph: &Graph<'a>) -> BTreeSet<usize> {
        let nodes = graph.model.nodes.iter().enumerate();
        let nested = nodes.filter(|(_, node)| matches!(node.kind, NodeKind::Nested { .. }));
        let told = nested.map(|(at, _)| at).chain(graph.widened.iter().copied());
        told.flat_map(|at| std::iter::successors(Some(at), |within| graph.paths.scope_of(*within))).collect()
    }

    /// Whether two accesses of a container surely touch different elements.
    fn are_apart(
        &self,
        graph: &Graph<'a>,
        unknown: &BTreeSet<usize>,
        own: &Touch<'a>,
        other: &Touch<'a>,
    ) -> bool {
        match [own, other].map(|touch| self.part(graph, unknown, touch)) {
            [Some(own), Some(other)] => own.disjoint(&other, &Assumptions::new()).is_proved(),
            [Some(_) | None, Some(_) | None] => false,
        }
    }

    /// The part of a container that is touched, if that is known: of a node what it is given here, of a scope what its memlet says.
    fn part(&self, graph: &Graph<'a>, unknown: &BTreeSet<usize>, touch: &Touch<'a>) -> Option<Subset> {
        let Touch { edge, end, writes, .. } = touch;
        if end.descriptor.kind == DescriptorKind::View {
            return None;
        }
        let is_access = matches!(graph.model.nodes[touch.first].kind, NodeKind::Access { .. });
        if touch.first == touch.last && !is_access {
            let (node, state) = (graph.nodes[touch.first], &graph.state);
            let edges = if *writes { state.out_edges(node) } else { state.in_edges(node) };
            return edges.into_iter().map(|id| state.edge(id)).find_map(|found| {
                let (own, named, access) = if *writes {
                    (&found.src_connector, &edge.src_connector, found.memlet.write_access()?)
                } else {
                    (&found.dst_connector, &edge.dst_connector, found.memlet.read_access()?)
                };
                (own == named && access.container == end.id).then(|| access.subset().clone())
            });
        }
        let ends =
            [graph.paths.source(edge), graph.paths.destination(edge)].map(|node| &graph.model.nodes[node]);
        let ends = ends.map(|node| self.end(node).map(|end| end.name));
        if unknown.contains(&touch.first) || ends == [Some(end.name); 2] {
            return None;
        }
        let is_named = edge.memlet.data.as_deref() == Some(end.name);
        let subset = if is_named { &edge.memlet.subset } else { &edge.memlet.other_subset };
        subset.as_ref().map(|subset| self.subset(*end, subset))
    }

    /// Accesses of each step, by scope and container.
    fn touches(
        &self,
        graph: &Graph<'a>,
        order: &Order,
    ) -> BTreeMap<(Option<usize>, &'a str), Vec<Touch<'a>>> {
        let mut found: BTreeMap<(Option<usize>, &'a str), Vec<Touch<'a>>> = BTreeMap::new();
        let mut roots: BTreeMap<&'a str, &'a str> = BTreeMap::new();
        let nodes = &graph.model.nodes;
        let exits: BTreeMap<usize, usize> =
            nodes.iter().enumerate().filter_map(|(at, node)| Some((exit_of(node)?, at))).collect();
        let is_view_edge = |edge: &model::Edge| {
            [&edge.src_connector, &edge.dst_connector].iter().any(|name| name.as_deref() == Some("views"))
        };
        for (number, edge) in graph.model.edges.iter().enumerate() {
            if edge.memlet.data.is_none() {
                continue;
            }
            let (source, destination) = (graph.paths.source(edge), graph.paths.destination(edge));
            let (from, to) = (self.end(&nodes[source]), self.end(&nodes[destination]));
            if is_view_edge(edge)
                || from.zip(to).is_some_and(|(from, to)| self.views(graph, edge, from, to).is_some())
            {
                continue;
            }
            let is_access = |node: usize| matches!(nodes[node].kind, NodeKind::Access { .. });
            let step = |node: usize| match exit_of(&nodes[node]) {
                Some(entry) => (entry, node),
                None => (node, exits.get(&node).copied().unwrap_or(node)),
            };
            let scope_of = |node: usize| match nodes[node].kind {
                NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => Some(node),
                _ => graph.paths.scope_of(node),
            };
            // Copies are made at the node that they begin at, where they enter a scope at the one that they lead to.
            let scope = scope_of(edge.src);
            let copy = match (is_access(edge.src), is_access(edge.dst)) {
                (true, true) => Some((edge.src, edge.dst, order.of_copy(number, edge.src, edge.dst))),
                (false, true) if scope == Some(edge.src) => {
                    Some((edge.dst, edge.dst, order.of_node(edge.dst)))
                }
                (true, false) if exit_of(&nodes[edge.dst]) == scope && scope.is_some() => {
                    Some((edge.src, edge.dst, order.of_node(edge.src)))
                }
                _ => None,
            };
            let mut add = |end: Option<End<'a>>, writes: bool| {
                let Some(end) = end.filter(|end| !end.descriptor.kind_is_stream()) else { return };
                let node = if writes { edge.src } else { edge.dst };
                if copy.is_none() && is_access(node) {
                    return;
                }
                let (first, last, place) = copy.unwrap_or_else(|| {
                    let (first, last) = step(node);
                    (first, last, order.of_node(first))
                });
                let is_view = end.descriptor.kind == DescriptorKind::View;
                let root = || if is_view { self.viewed(graph, end.name) } else { end.name };
                let name = *roots.entry(end.name).or_insert_with(root);
                found.entry((scope, name)).or_default().push(Touch { first, last, place, writes, edge, end });
            };
            add(from, false);
            add(to, true);
        }
        found
    }

    /// Target of a view of a state, through other views.
    fn viewed(&self, graph: &Graph<'a>, view: &'a str) -> &'a str {
        let (mut name, mut known) = (view, BTreeSet::from([view]));
        let nodes = &graph.model.nodes;
        while let Some(next) = graph.model.edges.iter().find_map(|edge| {
            let (from, to) = (
                self.end(&nodes[graph.paths.source(edge)])?,
                self.end(&nodes[graph.paths.destination(edge)])?,
            );
            let told = [(&edge.dst_connector, true), (&edge.src_connector, false)];
            let told = told.into_iter().find(|(connector, _)| connector.as_deref() == Some("views"));
            let is_to = told.map(|(_, is_to)| is_to).or_else(|| self.views(graph, edge, from, to))?;
            let (alias, target) = if is_to { (to, from) } else { (from, to) };
            (alias.name == name).then_some(target.name)
        }) {
            if !known.insert(next) {
                break;
            }
            name = next;
        }
        name
    }
}

/// Reachability between nodes of a state, as bits.
struct Leads {
    rows: Vec<Vec<u64>>,
}

impl Leads {
    fn of(state: &model::State, order: &Order) -> Self {
        let places = order.places();
        let mut nodes: Vec<usize> = (0..state.nodes.len()).collect();
        nodes.sort_by_key(|node| places[*node]);
        let mut successors: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        state.edges.iter().for_each(|edge| successors[edge.src].push(edge.dst));
        let mut rows = vec![vec![0_u64; nodes.len().div_ceil(64)]; nodes.len()];
        for node in nodes.into_iter().rev() {
            let mut row = std::mem::take(&mut rows[node]);
            row[node / 64] |= 1 << (node % 64);
            for next in &successors[node] {
                row.iter_mut().zip(&rows[*next]).for_each(|(own, of_next)| *own |= of_next);
            }
            rows[node] = row;
        }
        Leads { rows }
    }

    fn reach(&self, from: usize, to: usize) -> bool {
        self.rows[from][to / 64] & (1 << (to % 64)) != 0
    }

    fn are_ordered(&self, own: &Touch<'_>, other: &Touch<'_>) -> bool {
        self.reach(own.last, other.first) || self.reach(other.last, own.first)
    }

    /// Adds an edge.
    fn join(&mut self, from: usize, to: usize) {
        let of_next = self.rows[to].clone();
        for row in self.rows.iter_mut().filter(|row| row[from / 64] & (1 << (from % 64)) != 0) {
            row.iter_mut().zip(&of_next).for_each(|(own, of_next)| *own |= of_next);
        }
    }
}
