//! The worklist solver of data-flow problems over a [`ControlGraph`] (Kildall 1973).
//!
//! A problem is a transfer function on facts and a join. Facts must grow in a lattice of finite height, as
//! sets of the containers, symbols and definitions of one program do.

use std::collections::{BTreeMap, BTreeSet};

use super::control_graph::{ControlGraph, ControlStep};

/// Facts that only grow: the join is the union.
pub(super) trait Fact: Clone + Default {
    /// Adds another fact; whether that changed anything.
    fn join(&mut self, other: &Self) -> bool;
}

impl<T: Ord + Clone> Fact for BTreeSet<T> {
    fn join(&mut self, other: &Self) -> bool {
        let before = self.len();
        self.extend(other.iter().cloned());
        self.len() > before
    }
}

impl<K: Ord + Clone, T: Ord + Clone> Fact for BTreeMap<K, BTreeSet<T>> {
    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (key, values) in other {
            changed |= match self.get_mut(key) {
                Some(known) => known.join(values),
                None => {
                    self.insert(key.clone(), values.clone());
                    true
                }
            };
        }
        changed
    }
}

/// Facts before each step, by its number, with everything before it: `None` for steps that the entry does not
/// reach.
pub(super) fn solve_forward<F: Fact>(
    graph: &ControlGraph,
    at_entry: F,
    mut transfer: impl FnMut(ControlStep, &F) -> F,
) -> Vec<Option<F>> {
    let mut before: Vec<Option<F>> = vec![None; graph.len()];
    let mut waiting = BTreeSet::new();
    if let Some(entry) = graph.number(ControlStep::Entry) {
        before[entry] = Some(at_entry);
        waiting.insert(entry);
    }
    while let Some(at) = waiting.pop_first() {
        let Some(fact) = &before[at] else { continue };
        let after = transfer(graph.steps()[at], fact);
        for next in graph.successors(at) {
            let changed = match &mut before[*next] {
                Some(known) => known.join(&after),
                none => {
                    *none = Some(after.clone());
                    true
                }
            };
            if changed {
                waiting.insert(*next);
            }
        }
    }
    before
}

/// Facts after each step, by its number, with everything after it; `at_exit` after the exit. Steps from which
/// the exit cannot be reached have facts too.
pub(super) fn solve_backward<F: Fact>(
    graph: &ControlGraph,
    at_exit: F,
    mut transfer: impl FnMut(ControlStep, &F) -> F,
) -> Vec<F> {
    let mut after: Vec<F> = vec![F::default(); graph.len()];
    if let Some(exit) = graph.number(ControlStep::Exit) {
        after[exit] = at_exit;
    }
    let mut waiting: BTreeSet<usize> = (0..graph.len()).collect();
    while let Some(at) = waiting.pop_last() {
        let before = transfer(graph.steps()[at], &after[at]);
        for previous in graph.predecessors(at) {
            if after[*previous].join(&before) {
                waiting.insert(*previous);
            }
        }
    }
    after
}
