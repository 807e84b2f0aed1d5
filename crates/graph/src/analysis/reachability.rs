//! Reachability in any graph.
//!
//! Callers provide the successor function, so one search serves states, control flow and aliases.
//!
//! ```
//! # use sdfg_graph as sdfg;
//! use sdfg::analysis::{leads_to, reached};
//!
//! let next = |n: u32| [2 * n, 2 * n + 1].into_iter().filter(|n| *n < 8);
//! assert_eq!(reached([3], next).into_iter().collect::<Vec<_>>(), [3, 6, 7]);
//! assert!(leads_to([1], 5, next) && !leads_to([3], 5, next));
//! ```

use std::collections::BTreeSet;

use crate::ir::{NodeId, State};

/// The starts, and all that they lead to.
pub fn reached<T: Copy + Ord, N: IntoIterator<Item = T>>(
    starts: impl IntoIterator<Item = T>,
    mut next: impl FnMut(T) -> N,
) -> BTreeSet<T> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<T> = starts.into_iter().collect();
    while let Some(at) = waiting.pop() {
        if found.insert(at) {
            waiting.extend(next(at));
        }
    }
    found
}

/// Whether one of the starts is a place or leads to it. It looks no further than that.
pub fn leads_to<T: Copy + Ord, N: IntoIterator<Item = T>>(
    starts: impl IntoIterator<Item = T>,
    to: T,
    mut next: impl FnMut(T) -> N,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<T> = starts.into_iter().collect();
    while let Some(at) = waiting.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            waiting.extend(next(at));
        }
    }
    false
}

/// The nodes at the ends of the edges out of a node, one for each edge.
pub fn followers(state: &State, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    state.each_out_edge(node).map(|(_, edge)| edge.dst)
}

/// Whether a path of edges leads from a node of a state to another, or they are the same.
///
/// The search goes forward from one node and backward from the other in turn, edge by edge, and ends when one side has nowhere
/// to go. So it costs twice the smaller side, however many edges the other one has.
pub fn node_leads_to(state: &State, from: NodeId, to: NodeId) -> bool {
    if from == to {
        return true;
    }
    let mut forward = Side::at(from, |node| followers(state, node));
    let mut backward = Side::at(to, |node| state.each_in_edge(node).map(|(_, edge)| edge.src));
    loop {
        match forward.step() {
            Some(node) if backward.seen.contains(&node) => return true,
            Some(_) => {}
            None => return false,
        }
        match backward.step() {
            Some(node) if forward.seen.contains(&node) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// Nodes of a state with all nodes from which a path leads to them.
pub fn ancestors(state: &State, nodes: impl IntoIterator<Item = NodeId>) -> BTreeSet<NodeId> {
    let mut waiting: Vec<NodeId> = nodes.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            waiting.extend(state.each_in_edge(id).map(|(_, edge)| edge.src));
        }
    }
    found
}

/// One side of a search from both ends.
struct Side<F, I> {
    seen: BTreeSet<NodeId>,
    waiting: Vec<NodeId>,
    /// The rest of the edges of the node that is looked at.
    edges: Option<I>,
    next: F,
}

impl<F: Fn(NodeId) -> I, I: Iterator<Item = NodeId>> Side<F, I> {
    fn at(start: NodeId, next: F) -> Self {
        Side { seen: BTreeSet::from([start]), waiting: vec![start], edges: None, next }
    }

    /// The end of the next edge; `None` if there is none left.
    fn step(&mut self) -> Option<NodeId> {
        loop {
            if let Some(node) = self.edges.as_mut().and_then(Iterator::next) {
                if self.seen.insert(node) {
                    self.waiting.push(node);
                }
                return Some(node);
            }
            self.edges = Some((self.next)(self.waiting.pop()?));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ir::{Container, ContainerKind, Edge, Memlet, Node, NodeKind, Sdfg};
    use sdfg_language::dtype::ScalarType;

    proptest! {
        #[test]
        fn searches_agree_with_the_closure_of_the_relation(
            edges in prop::collection::vec((0..7_usize, 0..7_usize), 0..14),
            starts in prop::collection::vec(0..7_usize, 0..3),
            to in 0..7_usize,
        ) {
            // Warshall's closure, with each node in its own.
            let mut closure = [[false; 7]; 7];
            (0..7).for_each(|at| closure[at][at] = true);
            edges.iter().for_each(|(from, to)| closure[*from][*to] = true);
            for by in 0..7 {
                for from in 0..7 {
                    for to in 0..7 {
                        closure[from][to] |= closure[from][by] && closure[by][to];
                    }
                }
            }
            let next = |at: usize| {
                edges.iter().filter(move |(from, _)| *from == at).map(|(_, to)| *to).collect::<Vec<_>>()
            };
            let expected: BTreeSet<usize> =
                (0..7).filter(|at| starts.iter().any(|start| closure[*start][*at])).collect();
            prop_assert_eq!(leads_to(starts.iter().copied(), to, next), expected.contains(&to));
            prop_assert_eq!(reached(starts, next), expected);
        }

        /// A search from both ends finds what one from the start finds, also in circles.
        #[test]
        fn nodes_lead_to_those_that_a_search_from_the_start_finds(
            edges in prop::collection::vec((0..9_usize, 0..9_usize), 0..20),
        ) {
            let mut sdfg = Sdfg::new("p");
            let scalar = sdfg.add_container(Container::new("a", ScalarType::F64.into(), ContainerKind::Scalar));
            let mut state = State::new("s");
            let node = |at: usize| Node { label: format!("n{at}"), kind: NodeKind::Access(scalar), loc: None };
            let nodes: Vec<NodeId> = (0..9).map(|at| state.add_node(node(at))).collect();
            for (from, to) in edges {
                let (src, dst) = (nodes[from], nodes[to]);
                state.add_edge(Edge { src, dst, src_connector: None, dst_connector: None, memlet: Memlet::order(), loc: None });
            }
            for from in &nodes {
                for to in &nodes {
                    let expected = leads_to([*from], *to, |node| followers(&state, node));
                    prop_assert_eq!(node_leads_to(&state, *from, *to), expected);
                }
            }
        }
    }
}
