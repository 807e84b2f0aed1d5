//! Buffers that are live at the same time.
//!
//! A buffer is live between two steps if it may have been written since its lifetime began, and some path
//! from there reads it before its lifetime begins again. Both conditions are reachability problems, so each
//! buffer is analysed separately: forwards from its writes and backwards from its reads. A partial write does
//! not end liveness, because the other elements keep their values.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::{Flow, FlowStep};
use crate::plan::BufferId;

/// Pairs of buffers that may not share memory.
#[derive(Debug)]
pub(super) struct Conflicts {
    pairs: BTreeSet<(BufferId, BufferId)>,
}

impl Conflicts {
    /// The conflicts between some buffers.
    pub(super) fn of(flow: &Flow, buffers: &[BufferId]) -> Self {
        let mut conflicts = Conflicts { pairs: BTreeSet::new() };
        // One alone has nothing to share with.
        if buffers.len() < 2 {
            return conflicts;
        }
        let of_arena: BTreeSet<BufferId> = buffers.iter().copied().collect();
        let mut before = vec![Vec::new(); flow.steps.len()];
        for (at, step) in flow.steps.iter().enumerate() {
            step.next.iter().for_each(|next| before[*next].push(at));
        }
        let lifetimes: BTreeMap<BufferId, Vec<bool>> =
            buffers.iter().map(|buffer| (*buffer, in_use(&flow.steps, &before, *buffer))).collect();
        for (at, step) in flow.steps.iter().enumerate() {
            let touched: Vec<BufferId> = step.touched().filter(|buffer| of_arena.contains(buffer)).collect();
            for first in &touched {
                touched.iter().for_each(|second| conflicts.add(*first, *second));
            }
            for written in step.writes.intersection(&of_arena) {
                let others = lifetimes.iter().filter(|(_, in_use)| in_use[at]);
                others.for_each(|(other, _)| conflicts.add(*written, *other));
            }
        }
        conflicts
    }

    fn add(&mut self, a: BufferId, b: BufferId) {
        self.pairs.insert((a.min(b), a.max(b)));
    }

    /// Whether two buffers are in use at the same time.
    pub(super) fn between(&self, a: BufferId, b: BufferId) -> bool {
        self.pairs.contains(&(a.min(b), a.max(b)))
    }
}

/// For each step, whether what a buffer holds before it may still be read after it; `before` are the steps that lead to each.
fn in_use(steps: &[FlowStep], before: &[Vec<usize>], buffer: BufferId) -> Vec<bool> {
    let stops = |at: usize| steps[at].begins == Some(buffer);
    let written = steps.iter().map(|step| step.writes.contains(&buffer));
    let holds = reached(written, &|at| steps[at].next.as_slice(), &stops);
    let read = steps.iter().map(|step| step.reads.contains(&buffer));
    let needed = reached(read, &|at| before[at].as_slice(), &stops);
    holds.iter().zip(&needed).map(|(holds, needed)| *holds && *needed).collect()
}

/// Steps that are reached from others over one edge or more, without going on from those that stop.
fn reached<'s>(
    from: impl Iterator<Item = bool>,
    neighbours: &dyn Fn(usize) -> &'s [usize],
    stops: &dyn Fn(usize) -> bool,
) -> Vec<bool> {
    let from: Vec<bool> = from.collect();
    let mut found = vec![false; from.len()];
    let mut waiting: Vec<usize> = (0..from.len()).filter(|at| from[*at]).collect();
    while let Some(at) = waiting.pop() {
        for &next in neighbours(at) {
            if !found[next] {
                found[next] = true;
                if !stops(next) {
                    waiting.push(next);
                }
            }
        }
    }
    found
}
