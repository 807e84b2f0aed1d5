//! Transitions by source block: walks over a region need those of each block, and a region stores one list of
//! all.
//!
//! The table is separate from the graph, because it follows from the graph. It belongs to a [`Revision`] and
//! is rebuilt after a change, so that no change has to update it.

use std::sync::{Arc, Mutex, PoisonError};

use super::ids::{Arena, BlockId, Id, RegionId, TransitionId};
use super::region::{Block, Region, Transition};
use super::revision::Revision;

/// The regions, blocks and transitions of a graph.
pub(super) type Flow<'a> =
    (&'a Arena<RegionId, Region>, &'a Arena<BlockId, Block>, &'a Arena<TransitionId, Transition>);

/// Lists of transitions, made when they are asked for often since a change. Those who change the graph after a few questions do not
/// pay for lists that nobody reads again: lists of all blocks cost as much as several scans.
#[derive(Debug, Default)]
pub(super) struct Outgoing(Mutex<Kept>);

#[derive(Clone, Debug, Default)]
enum Kept {
    #[default]
    Nothing,
    /// So many blocks were looked for in this revision.
    Asked(Revision, usize),
    /// For each block ever made, its transitions in the order of the region.
    Lists(Revision, Arc<Vec<Vec<TransitionId>>>),
}

/// The number of scans of a revision before lists are made.
const SCANS: usize = 8;

impl Outgoing {
    /// Transitions of a region that leave one of its blocks, in their order.
    pub(super) fn of(&self, block: BlockId, revision: Revision, flow: Flow<'_>) -> Vec<TransitionId> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lists = match &*kept {
            Kept::Lists(of, lists) if *of == revision => Arc::clone(lists),
            Kept::Asked(of, SCANS) if *of == revision => {
                let lists = Arc::new(lists(flow));
                *kept = Kept::Lists(revision, Arc::clone(&lists));
                lists
            }
            Kept::Nothing | Kept::Asked(..) | Kept::Lists(..) => {
                let scans = match &*kept {
                    Kept::Asked(of, scans) if *of == revision => scans + 1,
                    Kept::Nothing | Kept::Asked(..) | Kept::Lists(..) => 1,
                };
                *kept = Kept::Asked(revision, scans);
                drop(kept);
                return scan(block, flow);
            }
        };
        drop(kept);
        lists.get(block.index()).cloned().unwrap_or_default()
    }
}

impl Clone for Outgoing {
    fn clone(&self) -> Self {
        Outgoing(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}

/// Those of one block.
fn scan(block: BlockId, (regions, blocks, transitions): Flow<'_>) -> Vec<TransitionId> {
    let region = &regions[blocks[block].region];
    let leaves = |id: &TransitionId| transitions.get(*id).is_some_and(|transition| transition.src == block);
    region.transitions.iter().copied().filter(leaves).collect()
}

/// Those of all blocks.
fn lists((regions, blocks, transitions): Flow<'_>) -> Vec<Vec<TransitionId>> {
    let mut lists = vec![Vec::new(); blocks.created()];
    for (region, content) in regions.iter() {
        for id in &content.transitions {
            let Some(src) = transitions.get(*id).map(|transition| transition.src) else { continue };
            if blocks.get(src).is_some_and(|block| block.region == region) {
                lists[src.index()].push(*id);
            }
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Sdfg, State};
    use crate::text::parse;

    /// The lists that are kept, if there are some.
    fn kept(sdfg: &Sdfg) -> Option<Arc<Vec<Vec<TransitionId>>>> {
        match &*sdfg.outgoing.0.lock().unwrap() {
            Kept::Lists(_, lists) => Some(Arc::clone(lists)),
            Kept::Nothing | Kept::Asked(..) => None,
        }
    }

    /// The transitions of all blocks are what a scan for each finds, also of parts of loops, and after changes.
    #[test]
    fn lists_hold_what_a_scan_finds() {
        let text = "sdfg p {\n  symbol N: i64\n  state a {}\n  -> c if N > 0\n  -> b\n  state b {}\n  -> a if N < 0\n  for l: i = 0:N {\n    state d {}\n    -> d if N > 3\n    -> e\n    state e {}\n  }\n  state c {}\n}\n";
        let mut sdfg = parse("p.sdft", text).unwrap();
        for _ in 0..3 {
            for _ in 0..=SCANS {
                for (id, _) in sdfg.blocks() {
                    let expected = scan(id, sdfg.flow());
                    assert_eq!(sdfg.transitions_from(id), expected);
                }
            }
            assert!(kept(&sdfg).is_some());
            let (first, transition) =
                sdfg.transitions().map(|(id, found)| (id, found.clone())).next().unwrap();
            sdfg.remove_transition(first);
            sdfg.add_transition(transition);
        }
    }

    /// A walk over all blocks looks through the transitions some times, not once for each block.
    #[test]
    fn one_list_serves_a_walk_and_its_snapshots() {
        let mut sdfg = Sdfg::new("p");
        let body = sdfg.body();
        let (first, _) = sdfg.add_state(body, State::new("a"));
        let (second, _) = sdfg.add_state(body, State::new("b"));
        for _ in 0..SCANS {
            assert!(sdfg.transitions_from(first).is_empty());
            assert!(kept(&sdfg).is_none(), "few questions are answered by looking");
        }
        sdfg.transitions_from(second);
        let lists = kept(&sdfg).unwrap();
        sdfg.transitions_from(first);
        let snapshot = sdfg.clone();
        snapshot.transitions_from(first);
        for sdfg in [&sdfg, &snapshot] {
            assert!(Arc::ptr_eq(&lists, &kept(sdfg).unwrap()));
        }
    }
}
