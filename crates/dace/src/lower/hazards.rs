//! What no path orders, and DaCe's code does.
//!
//! DaCe's code runs the nodes of a state one after another, in a depth-first topological order that the order of nodes and edges in
//! the file decides. Its graphs count on that where states or maps were fused: one node reads what another one overwrites, without
//! a path between them. Here such accesses conflict, so they are ordered as they are there.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::ir::Memlet;
use sdfg::subset::Subset;
use sdfg::symbolic::Assumptions;
use sdfg::syntax::Lambda;

use super::Frame;
use super::state::{End, Graph, exit_of};
use crate::model::{self, DescriptorKind, NodeKind};

/// States with more nodes are left as they are: what leads where is a table with the square of it.
const MOST_NODES: usize = 4000;

/// What one step of a scope does to a container.
struct Touch<'a> {
    /// The node that the step begins with, and the one that it ends with: those of a scope, the ends of a copy, or one node twice.
    first: usize,
    last: usize,
    /// The node at which DaCe makes the access.
    at: usize,
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

    fn resolution(&self) -> Option<&Lambda> {
        self.edge.memlet.resolution.as_ref().filter(|_| self.writes)
    }
}

impl<'a> Frame<'a> {
    /// Orders steps of one scope that touch one element, of which one writes it, as DaCe's code does.
    pub(super) fn order_hazards(&self, graph: &mut Graph<'a>) {
        let touches = self.touches(graph);
        let has_hazard = |all: &&Vec<Touch<'_>>| {
            let is_other = |touch: &Touch<'_>| all.first().is_some_and(|first| touch.first != first.first);
            all.iter().any(|touch| touch.writes) && all.iter().any(is_other)
        };
        if graph.model.nodes.len() > MOST_NODES || !touches.values().any(|all| has_hazard(&all)) {
            return;
        }
        let places = order_of(graph.model);
        let calls = Self::calls(graph);
        let mut leads = Leads::of(graph.model, &places);
        for mut all in touches.into_values().filter(|all| has_hazard(&all)) {
            all.sort_by_key(|touch| places[touch.at]);
            // The nearest first: through it the others are ordered, too.
            let pairs = (0..all.len()).flat_map(|after| (0..after).rev().map(move |before| (before, after)));
            for (before, after) in pairs.map(|(before, after)| (&all[before], &all[after])) {
                if !before.clashes_with(after)
                    || leads.are_ordered(before, after)
                    || self.are_apart(graph, &calls, before, after)
                {
                    continue;
                }
                // What leaves a scope comes last in it.
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

    /// Nested SDFGs, and the entries of scopes with one: what their memlets say of them is not reliable in DaCe's graphs.
    fn calls(graph: &Graph<'a>) -> BTreeSet<usize> {
        let nodes = graph.model.nodes.iter().enumerate();
        let nested = nodes.filter(|(_, node)| matches!(node.kind, NodeKind::Nested { .. }));
        nested
            .flat_map(|(at, _)| std::iter::successors(Some(at), |within| graph.paths.scope_of(*within)))
            .collect()
    }

    /// Whether two accesses of a container surely touch different elements.
    fn are_apart(
        &self,
        graph: &Graph<'a>,
        calls: &BTreeSet<usize>,
        own: &Touch<'a>,
        other: &Touch<'a>,
    ) -> bool {
        match [own, other].map(|touch| self.part(graph, calls, touch)) {
            [Some(own), Some(other)] => own.disjoint(&other, &Assumptions::new()).is_proved(),
            [Some(_) | None, Some(_) | None] => false,
        }
    }

    /// The part of a container that is touched, if that is known: of what a nested SDFG touches, it is what it is given here.
    fn part(&self, graph: &Graph<'a>, calls: &BTreeSet<usize>, touch: &Touch<'a>) -> Option<Subset> {
        let Touch { edge, end, writes, .. } = touch;
        if end.descriptor.kind == DescriptorKind::View {
            return None;
        }
        if matches!(graph.model.nodes[touch.first].kind, NodeKind::Nested { .. }) {
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
        let is_named = edge.memlet.data.as_deref() == Some(end.name);
        let subset = if is_named { &edge.memlet.subset } else { &edge.memlet.other_subset };
        let is_known = !calls.contains(&touch.first);
        subset.as_ref().filter(|_| is_known).map(|subset| self.subset(*end, subset))
    }

    /// What each step touches, by scope and container.
    fn touches(&self, graph: &Graph<'a>) -> BTreeMap<(Option<usize>, &'a str), Vec<Touch<'a>>> {
        let mut found: BTreeMap<(Option<usize>, &'a str), Vec<Touch<'a>>> = BTreeMap::new();
        let nodes = &graph.model.nodes;
        let exits: BTreeMap<usize, usize> =
            nodes.iter().enumerate().filter_map(|(at, node)| Some((exit_of(node)?, at))).collect();
        let is_view_edge = |edge: &model::Edge| {
            [&edge.src_connector, &edge.dst_connector].iter().any(|name| name.as_deref() == Some("views"))
        };
        for edge in graph.model.edges.iter().filter(|edge| edge.memlet.data.is_some()) {
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
            // Copies are made at the access node that they lead to, or where they leave the scope of one.
            let scope = scope_of(edge.src);
            let (copy, at) = match (is_access(edge.src), is_access(edge.dst)) {
                (true, true) => (Some((edge.src, edge.dst)), edge.dst),
                (false, true) if scope == Some(edge.src) => (Some((edge.dst, edge.dst)), edge.dst),
                (true, false) if exit_of(&nodes[edge.dst]) == scope && scope.is_some() => {
                    (Some((edge.src, edge.dst)), edge.src)
                }
                _ => (None, edge.src),
            };
            let mut add = |end: Option<End<'a>>, writes: bool| {
                let Some(end) = end.filter(|end| !end.descriptor.kind_is_stream()) else { return };
                let node = if writes { edge.src } else { edge.dst };
                if copy.is_none() && is_access(node) {
                    return;
                }
                let (first, last) = copy.unwrap_or_else(|| step(node));
                let is_view = end.descriptor.kind == DescriptorKind::View;
                let name = if is_view { self.viewed(graph, end.name) } else { end.name };
                let at = if copy.is_some() { at } else { first };
                found.entry((scope, name)).or_default().push(Touch { first, last, at, writes, edge, end });
            };
            add(from, false);
            add(to, true);
        }
        found
    }

    /// What a view of a state is a view of, through other views.
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

/// Which nodes of a state lead to which, as bits.
struct Leads {
    rows: Vec<Vec<u64>>,
}

impl Leads {
    /// Of nodes with places in a topological order.
    fn of(state: &model::State, places: &[usize]) -> Self {
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

/// The place of each node in the order in which DaCe's code runs them (`dfs_topological_sort`): from each node without a predecessor
/// on, in the order of the file, to the first successor of which all predecessors have run.
fn order_of(state: &model::State) -> Vec<usize> {
    let n = state.nodes.len();
    let (mut successors, mut waits): (Vec<Vec<usize>>, Vec<BTreeSet<usize>>) =
        (vec![Vec::new(); n], vec![BTreeSet::new(); n]);
    for edge in &state.edges {
        successors[edge.src].push(edge.dst);
        waits[edge.dst].insert(edge.src);
    }
    let starts: Vec<usize> = (0..n).filter(|node| waits[*node].is_empty()).collect();
    // Nodes on cycles, which are an error, come last.
    let mut places = vec![n; n];
    let mut next_place = 0;
    for start in starts {
        let mut stack = vec![(start, 0)];
        places[start] = next_place;
        next_place += 1;
        while let Some((node, number)) = stack.last_mut() {
            let Some(next) = successors[*node].get(*number).copied() else {
                stack.pop();
                continue;
            };
            *number += 1;
            if places[next] == n && waits[next].iter().all(|before| places[*before] < n) {
                places[next] = next_place;
                next_place += 1;
                stack.push((next, 0));
            }
        }
    }
    places
}
