//! Parallel schedule of the steps: subtrees of the elimination tree.
//!
//! The parent of a step is the step of the first dependent to be eliminated; it uses the step's table. Steps
//! in disjoint subtrees share nothing, so each thread receives some subtrees. All threads together compute
//! the steps above them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Distribution of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Steps of each thread, in order.
    pub(super) apart: Vec<Vec<usize>>,
    /// Steps that follow, in order.
    pub(super) together: Vec<usize>,
}

impl Schedule {
    /// One thread does everything.
    pub(super) fn of_one_thread(n_steps: usize) -> Self {
        Schedule { apart: vec![(0..n_steps).collect()], together: Vec::new() }
    }
}

/// Number of divisions of the largest subtree, for each thread, to find a better balance.
const DIVISIONS: usize = 32;

/// Divides steps among threads. Each step has a parent behind it, or none, and some amount of work.
pub(super) fn divide(parents: &[Option<usize>], work: &[u64], n_threads: usize) -> Schedule {
    let n = parents.len();
    let mut subtree = work.to_vec();
    // The last child of each step, and the child before each one: lists of their own would cost more than small steps.
    let (mut last_child, mut before) = (vec![None; n], vec![None; n]);
    for (step, parent) in parents.iter().enumerate() {
        if let Some(parent) = *parent {
            subtree[parent] = subtree[parent].saturating_add(subtree[step]);
            before[step] = last_child[parent].replace(step);
        }
    }
    let roots = (0..n).filter(|step| parents[*step].is_none());
    let mut frontier: BinaryHeap<(u64, usize)> = roots.map(|step| (subtree[step], step)).collect();
    let mut above = 0_u64;
    let mut best = (u64::MAX, Vec::new());
    for _ in 0..DIVISIONS * n_threads {
        let (span, shares) = balance(&frontier, n_threads);
        // What is above is shared, too, if not as well.
        let span = span.saturating_add(above);
        if span < best.0 {
            best = (span, shares);
        }
        let Some((_, largest)) = frontier.pop() else { break };
        if above.saturating_add(work[largest]) >= best.0 {
            break;
        }
        above = above.saturating_add(work[largest]);
        let children = std::iter::successors(last_child[largest], |child: &usize| before[*child]);
        frontier.extend(children.map(|step| (subtree[step], step)));
    }
    spread(parents, &best.1)
}

/// Gives the largest subtree to the thread that has least, again and again; the most that one thread has, and the roots
/// of all.
fn balance(frontier: &BinaryHeap<(u64, usize)>, n_threads: usize) -> (u64, Vec<Vec<usize>>) {
    let mut sorted: Vec<(u64, usize)> = frontier.iter().copied().collect();
    sorted.sort_unstable_by_key(|(work, step)| (Reverse(*work), *step));
    let mut loads = vec![0_u64; n_threads];
    let mut shares = vec![Vec::new(); n_threads];
    for (work, step) in sorted {
        let least = (0..n_threads).min_by_key(|thread| loads[*thread]).unwrap_or(0);
        loads[least] = loads[least].saturating_add(work);
        shares[least].push(step);
    }
    (loads.into_iter().max().unwrap_or(0), shares)
}

/// Every step goes where the root of its subtree is.
fn spread(parents: &[Option<usize>], shares: &[Vec<usize>]) -> Schedule {
    let mut thread = vec![None; parents.len()];
    for (index, roots) in shares.iter().enumerate() {
        roots.iter().for_each(|root| thread[*root] = Some(index));
    }
    for step in (0..parents.len()).rev() {
        thread[step] = thread[step].or_else(|| parents[step].and_then(|parent| thread[parent]));
    }
    let mut schedule = Schedule { apart: vec![Vec::new(); shares.len()], together: Vec::new() };
    for (step, thread) in thread.into_iter().enumerate() {
        match thread {
            Some(thread) => schedule.apart[thread].push(step),
            None => schedule.together.push(step),
        }
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_of_a_chain_are_done_side_by_side() {
        // 0 and 1 begin at the ends, 4 is the middle.
        let parents = [Some(2), Some(3), Some(4), Some(4), None];
        let schedule = divide(&parents, &[10; 5], 2);
        assert_eq!(schedule, Schedule { apart: vec![vec![0, 2], vec![1, 3]], together: vec![4] });
    }

    #[test]
    fn every_step_is_done_once_and_behind_those_it_needs() {
        let parents = [Some(1), Some(6), Some(3), Some(6), None, Some(6), Some(7), None];
        for threads in 1..5 {
            let schedule = divide(&parents, &[3, 1, 4, 1, 5, 9, 2, 6], threads);
            let mut all: Vec<usize> = schedule.apart.iter().flatten().copied().collect();
            for list in &schedule.apart {
                assert!(list.is_sorted());
                for (step, parent) in parents.iter().enumerate() {
                    if let Some(parent) = parent
                        && list.contains(parent)
                    {
                        assert!(list.contains(&step), "{step} is needed by {parent} on its thread");
                    }
                }
            }
            assert!(schedule.together.is_sorted());
            all.extend(&schedule.together);
            all.sort_unstable();
            assert_eq!(all, (0..parents.len()).collect::<Vec<_>>());
        }
    }
}
