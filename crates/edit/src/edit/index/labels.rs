//! Labels of the nodes of a state, and free numbered labels.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::ir::NodeId;

/// Nodes by label.
#[derive(Clone, Debug, Default)]
pub(in crate::edit) struct Labels {
    nodes: BTreeMap<String, BTreeSet<NodeId>>,
    /// For a beginning of labels a number below which every number behind it is taken.
    taken_below: BTreeMap<String, u32>,
}

impl Labels {
    pub(super) fn insert(&mut self, label: &str, id: NodeId) {
        match self.nodes.get_mut(label) {
            Some(found) => drop(found.insert(id)),
            None => drop(self.nodes.insert(label.to_owned(), BTreeSet::from([id]))),
        }
    }

    pub(super) fn remove(&mut self, label: &str, id: NodeId) {
        let Some(found) = self.nodes.get_mut(label) else { return };
        found.remove(&id);
        if !found.is_empty() {
            return;
        }
        self.nodes.remove(label);
        // A beginning may end with digits itself.
        let digits = label.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        for at in digits..label.len() {
            if let (Some(below), Ok(number)) =
                (self.taken_below.get_mut(&label[..at]), label[at..].parse::<u32>())
            {
                *below = number.min(*below);
            }
        }
    }

    /// Whether a node has the label.
    pub(in crate::edit) fn contains(&self, label: &str) -> bool {
        self.nodes.contains_key(label)
    }

    /// Number of different labels; every scope has its own.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Nodes with the label, in order of creation.
    pub(super) fn get(&self, label: &str) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.get(label).into_iter().flatten().copied()
    }

    /// The label that `beginning` and the first free number from `first` on make.
    pub(in crate::edit) fn numbered(&mut self, beginning: &str, first: u32) -> String {
        let mut number = self.taken_below.get(beginning).copied().unwrap_or(first).max(first);
        let label = loop {
            let label = format!("{beginning}{number}");
            if !self.contains(&label) {
                break label;
            }
            number += 1;
        };
        self.taken_below.insert(beginning.to_owned(), number);
        label
    }
}
