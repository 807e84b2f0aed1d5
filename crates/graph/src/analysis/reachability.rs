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
pub fn node_leads_to(state: &State, from: NodeId, to: NodeId) -> bool {
    leads_to([from], to, |node| followers(state, node))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
    }
}
