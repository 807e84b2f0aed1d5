//! Names of what edits add.
//!
//! Chains of transformations find nodes by label, so labels of new nodes follow from those of old ones by one rule and
//! from nothing else: the label of what the node was made for, a dot, its role, and the first number that is free.

use crate::ir::{Sdfg, State};

/// The label of a new node of a state that has `role` for the node labelled `origin`: `gemm.tile0`, then `gemm.tile1`.
pub fn derived_label(state: &State, origin: &str, role: &str) -> String {
    numbered(origin, role, |label| state.nodes().any(|(_, node)| node.label == label))
}

/// The label of a new block that has `role` for the block labelled `origin`: `step.before0`.
pub fn derived_block_label(sdfg: &Sdfg, origin: &str, role: &str) -> String {
    numbered(origin, role, |label| sdfg.find_block(label).is_some())
}

/// The name of a new container that has `role` for the container named `origin`: `A_local0`. A container has no dot in its
/// name, because expressions use it.
pub fn derived_container_name(sdfg: &Sdfg, origin: &str, role: &str) -> String {
    let names = super::names::used(sdfg);
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
