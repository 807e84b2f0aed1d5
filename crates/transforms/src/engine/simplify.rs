//! Simplification: the strict transformations, run until none applies.

use std::collections::BTreeMap;

use sdfg::ir::Sdfg;

use super::{Registry, apply, places};

/// Applies the strict transformations of a registry until none applies, at most `fuel` times. Gives the number of applications of
/// each by name.
///
/// The result does not depend on anything but the program: transformations take turns in the order of their names, and matches
/// come in the order of [`places`].
pub fn simplify(
    program: &mut Sdfg,
    registry: &Registry,
    fuel: Option<usize>,
) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    let mut left = fuel.unwrap_or(usize::MAX);
    let strict: Vec<_> = registry
        .defaults()
        .into_iter()
        .filter(|transformation| transformation.metadata().is_strict)
        .collect();
    loop {
        let before = left;
        for transformation in &strict {
            // Matches go stale when one is applied, so that each is checked anew; those that appear come in the next round.
            for found in places(program, transformation.as_ref()) {
                if left == 0 {
                    return counts;
                }
                if apply(program, transformation.as_ref(), &found).is_ok() {
                    *counts.entry(transformation.metadata().name).or_insert(0) += 1;
                    left -= 1;
                }
            }
        }
        if left == before {
            return counts;
        }
    }
}
