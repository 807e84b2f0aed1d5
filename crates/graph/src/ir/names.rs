//! Blocks by label and containers by name: code that builds a graph checks for each new element whether its name is free, and
//! code that reads expressions looks each name up.
//!
//! The table is separate from the graph, like [`outgoing`](super::outgoing). Most changes leave names alone,
//! so the table grows with the elements and does not belong to a revision. It is dropped when an element is
//! borrowed mutably or removed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::container::Container;
use super::ids::{Arena, Id};
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

/// An element that is looked up by name.
pub(super) trait Named {
    /// Its name.
    fn name(&self) -> &str;
}

impl Named for Block {
    fn name(&self) -> &str {
        &self.label
    }
}

impl Named for Container {
    fn name(&self) -> &str {
        &self.name
    }
}

/// The table, if it pays.
#[derive(Debug)]
pub(super) struct Names<I>(Mutex<Kept<I>>);

#[derive(Debug)]
enum Kept<I> {
    /// Number of queries that were answered by a search of all elements.
    Scans(u32),
    Table(Table<I>),
}

#[derive(Debug)]
struct Table<I> {
    /// The oldest element of each name.
    oldest: BTreeMap<String, I>,
    /// The number at which the search for a free name begins, for those that were wanted: smaller ones are taken.
    begins: BTreeMap<String, u32>,
}

impl<I> Default for Names<I> {
    fn default() -> Self {
        Names(Mutex::new(Kept::Scans(0)))
    }
}

impl<I: Id> Names<I> {
    /// The oldest element with a name.
    pub(super) fn find<T: Named>(&self, name: &str, elements: &Arena<I, T>) -> Option<I> {
        self.ask(elements, |table| match table {
            Some(table) => table.oldest.get(name).copied(),
            None => elements.iter().find(|(_, element)| element.name() == name).map(|(id, _)| id),
        })
    }

    /// `wanted`, or the first of `wanted_1`, `wanted_2`, ... that no element has.
    pub(super) fn fresh<T: Named>(&self, wanted: &str, elements: &Arena<I, T>) -> String {
        self.ask(elements, |table| {
            let Some(Table { oldest: taken, begins }) = table else {
                return fresh(wanted, |name| elements.iter().any(|(_, element)| element.name() == name));
            };
            if !taken.contains_key(wanted) {
                return wanted.to_owned();
            }
            let number = begins.entry(wanted.to_owned()).or_insert(1);
            loop {
                let name = format!("{wanted}_{number}");
                if !taken.contains_key(&name) {
                    return name;
                }
                *number += 1;
            }
        })
    }

    /// An element was added.
    pub(super) fn add(&mut self, name: &str, id: I) {
        if let Kept::Table(table) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            table.oldest.entry(name.to_owned()).or_insert(id);
        }
    }

    /// An element may get another name, or is gone.
    pub(super) fn forget(&mut self) {
        *self.0.get_mut().unwrap_or_else(PoisonError::into_inner) = Kept::Scans(0);
    }

    fn ask<T: Named, R>(&self, elements: &Arena<I, T>, answer: impl FnOnce(Option<&mut Table<I>>) -> R) -> R {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *kept {
            Kept::Scans(scans) if *scans < SCANS => {
                *scans += 1;
                answer(None)
            }
            Kept::Scans(_) => {
                let mut table = Table { oldest: BTreeMap::new(), begins: BTreeMap::new() };
                for (id, element) in elements.iter() {
                    table.oldest.entry(element.name().to_owned()).or_insert(id);
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
impl<I> Clone for Names<I> {
    fn clone(&self) -> Self {
        Names::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use sdfg_language::dtype::ScalarType;

    use super::*;
    use crate::ir::{ContainerKind, Sdfg, State};
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

    proptest! {
        /// Whatever happens in between, containers are found as by looking at each one.
        #[test]
        fn containers_are_found_as_by_a_scan(steps in prop::collection::vec((0..8_u8, 0..4_usize), 0..120)) {
            let names = ["a", "b", "c", "d"];
            let mut sdfg = Sdfg::new("p");
            for (step, name) in steps {
                let wanted = names[name];
                let scanned = |sdfg: &Sdfg, name: &str| {
                    sdfg.containers().find(|(_, container)| container.name == name).map(|(id, _)| id)
                };
                let first = scanned(&sdfg, wanted);
                prop_assert_eq!(sdfg.find_container(wanted), first);
                match (step, first) {
                    (0, Some(first)) => {
                        sdfg.remove_container(first);
                    }
                    (1, Some(first)) => sdfg.container_mut(first).name = "a".to_owned(),
                    (2, _) => sdfg = sdfg.clone(),
                    // An edit that is taken back.
                    (3, Some(first)) => {
                        let earlier = sdfg.container(first).clone();
                        sdfg.container_mut(first).name = "d".to_owned();
                        prop_assert_eq!(sdfg.find_container("d"), scanned(&sdfg, "d"));
                        sdfg.restore(Part::Container(first, Some(earlier)));
                    }
                    _ => {
                        let added = sdfg.add_container(Container::new(wanted, ScalarType::F64.into(), ContainerKind::Scalar));
                        // An addition that is taken back.
                        if step == 4 {
                            prop_assert_eq!(sdfg.find_container(wanted), scanned(&sdfg, wanted));
                            sdfg.restore(Part::Container(added, None));
                        }
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
        assert_eq!((table.oldest.len(), table.begins["s"]), (100, 99));
    }
}
