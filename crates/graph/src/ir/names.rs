//! Blocks by label: code that builds a graph checks for each new block whether its label is free.
//!
//! The table is separate from the graph, like [`outgoing`](super::outgoing). Most changes leave labels alone,
//! so the table grows with the blocks and does not belong to a revision. It is dropped when a block is
//! borrowed mutably or removed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::ids::{Arena, BlockId};
use super::region::Block;

/// `wanted`, or the first of `wanted_1`, `wanted_2`, ... that is not taken.
pub fn fresh(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(wanted) {
        return wanted.to_owned();
    }
    let mut n = 1u32;
    loop {
        let label = format!("{wanted}_{n}");
        if !taken(&label) {
            return label;
        }
        n += 1;
    }
}

/// After so many questions the table is made. Fewer of them between two changes of blocks cost less than making it.
const SCANS: u32 = 8;

/// The table, if it pays.
#[derive(Debug, Default)]
pub(super) struct Labels(Mutex<Kept>);

#[derive(Debug)]
enum Kept {
    /// Number of queries that were answered by a search of all blocks.
    Scans(u32),
    Table(Table),
}

#[derive(Debug, Default)]
struct Table {
    /// The oldest block of each label.
    blocks: BTreeMap<String, BlockId>,
    /// The number at which the search for a free label begins, for those that were wanted: smaller ones are taken.
    begins: BTreeMap<String, u32>,
}

impl Default for Kept {
    fn default() -> Self {
        Kept::Scans(0)
    }
}

impl Labels {
    /// The oldest block with a label.
    pub(super) fn find(&self, label: &str, blocks: &Arena<BlockId, Block>) -> Option<BlockId> {
        self.ask(blocks, |table| match table {
            Some(table) => table.blocks.get(label).copied(),
            None => blocks.iter().find(|(_, block)| block.label == label).map(|(id, _)| id),
        })
    }

    /// `wanted`, or the first of `wanted_1`, `wanted_2`, ... that no block has.
    pub(super) fn fresh(&self, wanted: &str, blocks: &Arena<BlockId, Block>) -> String {
        self.ask(blocks, |table| {
            let Some(Table { blocks: taken, begins }) = table else {
                return fresh(wanted, |label| blocks.iter().any(|(_, block)| block.label == label));
            };
            if !taken.contains_key(wanted) {
                return wanted.to_owned();
            }
            let number = begins.entry(wanted.to_owned()).or_insert(1);
            loop {
                let label = format!("{wanted}_{number}");
                if !taken.contains_key(&label) {
                    return label;
                }
                *number += 1;
            }
        })
    }

    /// A block was added.
    pub(super) fn add(&mut self, label: &str, id: BlockId) {
        if let Kept::Table(table) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            table.blocks.entry(label.to_owned()).or_insert(id);
        }
    }

    /// A block may get another label, or is gone.
    pub(super) fn forget(&mut self) {
        *self.0.get_mut().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }

    fn ask<T>(&self, blocks: &Arena<BlockId, Block>, answer: impl FnOnce(Option<&mut Table>) -> T) -> T {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *kept {
            Kept::Scans(scans) if *scans < SCANS => {
                *scans += 1;
                answer(None)
            }
            Kept::Scans(_) => {
                let mut table = Table::default();
                for (id, block) in blocks.iter() {
                    table.blocks.entry(block.label.clone()).or_insert(id);
                }
                let found = answer(Some(&mut table));
                *kept = Kept::Table(table);
                found
            }
            Kept::Table(table) => answer(Some(table)),
        }
    }
}

/// A snapshot makes a table of its own when it needs one.
impl Clone for Labels {
    fn clone(&self) -> Self {
        Labels::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ir::{Sdfg, State};
    use crate::workspace::Part;

    proptest! {
        /// Whatever happens in between, labels are found as by looking at each block.
        #[test]
        fn the_table_answers_as_a_scan(steps in prop::collection::vec((0..10_u8, 0..4_usize), 0..120)) {
            let names = ["s", "s_1", "t", "s_2"];
            let mut sdfg = Sdfg::new("p");
            let body = sdfg.body();
            for (step, name) in steps {
                let wanted = names[name];
                let (taken, first) = {
                    let find = |label: &str| sdfg.blocks().find(|(_, block)| block.label == label).map(|(id, _)| id);
                    (fresh(wanted, |label| find(label).is_some()), find(wanted))
                };
                prop_assert_eq!(sdfg.fresh_block_label(wanted), taken.clone());
                prop_assert_eq!(sdfg.find_block(wanted), first);
                match (step, first) {
                    (0, Some(first)) => {
                        sdfg.remove_block(first);
                    }
                    (1, Some(first)) => sdfg.block_mut(first).label = "u".to_owned(),
                    (2, _) => {
                        sdfg.add_state(body, State::new(wanted));
                    }
                    (3, _) => sdfg = sdfg.clone(),
                    // An edit that is taken back.
                    (4, Some(first)) => {
                        let earlier = sdfg.block(first).clone();
                        sdfg.block_mut(first).label = "u".to_owned();
                        prop_assert_eq!(sdfg.find_block("u"), sdfg.blocks().find(|(_, block)| block.label == "u").map(|(id, _)| id));
                        sdfg.restore(Part::Block(first, Some(earlier)));
                    }
                    _ => {
                        sdfg.add_state(body, State::new(taken));
                    }
                }
            }
        }
    }

    /// Each question after the first ones is answered by the table, which additions keep.
    #[test]
    fn a_graph_that_grows_has_one_table() {
        let mut sdfg = Sdfg::new("p");
        let body = sdfg.body();
        for number in 0..100 {
            let label = sdfg.fresh_block_label("s");
            assert_eq!(label, if number == 0 { "s".to_owned() } else { format!("s_{number}") });
            sdfg.add_state(body, State::new(label));
        }
        let kept = sdfg.labels.0.lock().unwrap();
        let Kept::Table(table) = &*kept else { panic!("{kept:?}") };
        assert_eq!((table.blocks.len(), table.begins["s"]), (100, 99));
    }
}
