//! The order in which DaCe's code runs the nodes of a state.
//!
//! The code is one sequence (`openmp_sections` is off by default). It runs one connected component of the
//! state after the other (`concurrent_subgraphs`), each in depth-first topological order
//! (`dfs_topological_sort`), following the order of nodes and edges in the file. Library nodes are expanded
//! beforehand, which places them after all other nodes. Later alphas of version 2 treat copies in the same
//! way.

use std::collections::{BTreeMap, BTreeSet};

use crate::decode::Version;
use crate::model::{IN_MEMORY, NodeKind, State};

/// When something runs: its part of the state, and its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SequencePosition(usize, usize);

/// When the nodes of a state run.
pub(super) struct Order {
    /// The part of each node that is no begin of data; a node that data begins at runs in each part that reads it.
    parts: Vec<Option<usize>>,
    /// In depth-first topological order; the number of places for nodes on cycles, which are an error.
    places: Vec<usize>,
    /// Nodes of their own for copies, by the number of their edge.
    copies: BTreeMap<usize, usize>,
}

impl Order {
    pub(super) fn of(state: &State, version: Version) -> Self {
        let n_nodes = state.nodes.len();
        let is_access = |node: usize| matches!(state.nodes[node].kind, NodeKind::Access { .. });
        let mut copies = BTreeMap::new();
        let mut n = n_nodes;
        let mut joints = Vec::with_capacity(state.edges.len());
        for (number, edge) in state.edges.iter().enumerate() {
            let binds = [&edge.src_connector, &edge.dst_connector].into_iter().any(Option::is_some);
            if version > Version::First && !binds && is_access(edge.src) && is_access(edge.dst) {
                copies.insert(number, n);
                joints.extend([(edge.src, n), (n, edge.dst)]);
                n += 1;
            } else {
                joints.push((edge.src, edge.dst));
            }
        }
        let is_late = |node: usize| match state.nodes.get(node).map(|node| &node.kind) {
            // What was a call of BLAS in the file is a library node only here.
            Some(NodeKind::Library { properties, .. }) => !properties.contains_key(IN_MEMORY),
            Some(_) => false,
            None => true,
        };
        let (mut successors, mut before) = (vec![Vec::new(); n], vec![BTreeSet::new(); n]);
        for (from, to) in joints {
            successors[from].push(to);
            before[to].insert(from);
        }
        for list in &mut successors {
            list.sort_by_key(|next| is_late(*next).then_some(*next));
        }
        let mut starts: Vec<usize> = (0..n).filter(|node| before[*node].is_empty()).collect();
        starts.sort_by_key(|start| is_late(*start).then_some(*start));
        let parts = parts_of(&successors, &starts, |node| node < n_nodes && is_access(node));
        Order { parts, places: depth_first(&successors, &before, &starts), copies }
    }

    /// When a node runs.
    pub(super) fn of_node(&self, node: usize) -> SequencePosition {
        SequencePosition(self.parts[node].unwrap_or(0), self.places[node])
    }

    /// When a copy runs, by the number of its edge: at its source, in the part of its destination.
    pub(super) fn of_copy(&self, number: usize, from: usize, to: usize) -> SequencePosition {
        let at = self.copies.get(&number).copied().unwrap_or(from);
        SequencePosition(self.parts[to].unwrap_or(0), self.places[at])
    }

    /// A place for each node that is higher than those of the nodes that lead to it.
    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }
}

/// The connected parts of a state, by nodes: each start, or what reads it if it is data, with all that it leads to; of parts that
/// meet one is made, which comes last.
fn parts_of(
    successors: &[Vec<usize>],
    starts: &[usize],
    is_data: impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    let mut parts: Vec<Option<usize>> = vec![None; successors.len()];
    let mut begun = BTreeSet::new();
    let firsts = starts.iter().flat_map(|start| match is_data(*start) {
        true => successors[*start].clone(),
        false => vec![*start],
    });
    for (part, first) in firsts.filter(|first| begun.insert(*first)).enumerate() {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![first]);
        while let Some(node) = waiting.pop() {
            if seen.insert(node) {
                waiting.extend(&successors[node]);
            }
        }
        let met: BTreeSet<usize> = seen.iter().filter_map(|node| parts[*node]).collect();
        seen.into_iter().for_each(|node| parts[node] = Some(part));
        if !met.is_empty() {
            let others = parts.iter_mut().flatten().filter(|other| met.contains(other));
            others.for_each(|other| *other = part);
        }
    }
    parts
}

/// From each start on, to the first successor of which all predecessors have run.
fn depth_first(successors: &[Vec<usize>], before: &[BTreeSet<usize>], starts: &[usize]) -> Vec<usize> {
    let n = successors.len();
    let mut places = vec![n; n];
    let mut next_place = 0..n;
    for start in starts {
        let mut stack = vec![(*start, 0)];
        places[*start] = next_place.next().unwrap_or(n);
        while let Some((node, number)) = stack.last_mut() {
            let Some(next) = successors[*node].get(*number).copied() else {
                stack.pop();
                continue;
            };
            *number += 1;
            if places[next] == n && before[next].iter().all(|earlier| places[*earlier] < n) {
                places[next] = next_place.next().unwrap_or(n);
                stack.push((next, 0));
            }
        }
    }
    places
}
