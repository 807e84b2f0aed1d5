//! Labels of added elements.
//!
//! Chains of transformations find nodes by label. Therefore one rule derives the labels of new nodes from
//! those of old ones and from nothing else: the label of the original node, a dot, a role, and the first free
//! number.

use sdfg_graph::ir::{Sdfg, State, StateId};

use super::EditError;
use super::editor::Editor;

impl Editor<'_> {
    /// As [`derived_label`](derived_label()), without a look at all nodes.
    ///
    /// # Errors
    /// [`EditError::NoState`].
    pub fn derived_label(&mut self, state: StateId, origin: &str, role: &str) -> Result<String, EditError> {
        self.state(state)?;
        let beginning = format!("{origin}.{role}");
        Ok(self.indexed(state, |_, index| index.labels.numbered(&beginning, 0)))
    }

    /// As [`State::fresh_label`], without a look at all nodes.
    ///
    /// # Errors
    /// [`EditError::NoState`].
    pub fn fresh_label(&mut self, state: StateId, wanted: &str) -> Result<String, EditError> {
        self.state(state)?;
        Ok(self.free_label(state, wanted))
    }

    /// As [`fresh_label`](Editor::fresh_label), of a state that an edit has found to be there.
    pub(super) fn free_label(&mut self, state: StateId, wanted: &str) -> String {
        self.indexed(state, |_, index| {
            if !index.labels.contains(wanted) {
                return wanted.to_owned();
            }
            index.labels.numbered(&format!("{wanted}_"), 1)
        })
    }

    /// As [`derived_block_label`](derived_block_label()).
    pub fn derived_block_label(&self, origin: &str, role: &str) -> String {
        derived_block_label(self.sdfg(), origin, role)
    }

    /// As [`derived_container_name`](derived_container_name()); names that edits of this series have freed may be taken.
    pub fn derived_container_name(&mut self, origin: &str, role: &str) -> String {
        let variables = super::names::variables(self.sdfg());
        let names = self.names();
        first_free(|n| format!("{origin}_{role}{n}"), |name| names.contains(name) || variables.contains(name))
    }
}

/// The label of a new node of a state that has `role` for the node labelled `origin`: `gemm.tile0`, then `gemm.tile1`.
pub fn derived_label(state: &State, origin: &str, role: &str) -> String {
    numbered(origin, role, |label| state.nodes().any(|(_, node)| node.label == label))
}

/// The label of a new block that has `role` for the block labelled `origin`: `step.before0`.
pub fn derived_block_label(sdfg: &Sdfg, origin: &str, role: &str) -> String {
    numbered(origin, role, |label| sdfg.find_block(label).is_some())
}

/// The name of a new container or symbol that has `role` for the one named `origin`: `A_local0`. A container has no dot in its
/// name, because expressions use it. No variable of a tasklet has the name: code would assign to it.
pub fn derived_container_name(sdfg: &Sdfg, origin: &str, role: &str) -> String {
    let mut names = super::names::used(sdfg);
    names.append(&mut super::names::variables(sdfg));
    first_free(|n| format!("{origin}_{role}{n}"), |name| names.contains(name))
}

fn numbered(origin: &str, role: &str, taken: impl Fn(&str) -> bool) -> String {
    first_free(|n| format!("{origin}.{role}{n}"), taken)
}

fn first_free(name: impl Fn(u32) -> String, taken: impl Fn(&str) -> bool) -> String {
    let mut n = 0;
    loop {
        let candidate = name(n);
        if !taken(&candidate) {
            return candidate;
        }
        n += 1;
    }
}
