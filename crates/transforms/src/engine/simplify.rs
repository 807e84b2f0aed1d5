//! Simplification: the strict transformations, run until none applies.

use std::collections::BTreeMap;

use sdfg::edit::Editor;
use sdfg::ir::Sdfg;

use super::pipeline::apply_in_series;
use super::{Registry, Tables, Transformation, apply, places};

/// The number of applications of a series after which debug builds compare the tables with new ones.
const CHECKED: usize = 20;

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
            if left == 0 {
                return counts;
            }
            let applied = pass(program, transformation.as_ref(), left);
            if applied > 0 {
                *counts.entry(transformation.metadata().name).or_insert(0) += applied;
                left -= applied;
            }
        }
        if left == before {
            return counts;
        }
    }
}

/// Applies a transformation at every match, at most `fuel` times, in one series of edits. Matches go stale when one is
/// applied, so each is checked anew; those that appear come in the next round. Gives the number of applications.
///
/// A series costs less than one for each application: the editor indexes a state once, and tables follow the edits.
fn pass(program: &mut Sdfg, transformation: &dyn Transformation, fuel: usize) -> usize {
    let all = places(program, transformation);
    if all.is_empty() {
        return 0;
    }
    let (mut editor, mut tables, mut applied) = (Editor::new(program), Tables::new(), 0);
    for found in &all {
        if applied == fuel {
            break;
        }
        if apply_in_series(&mut editor, transformation, found, &mut tables) {
            applied += 1;
            debug_assert!(
                applied > CHECKED || tables.are_of(editor.sdfg()),
                "tables follow {}",
                transformation.metadata().name
            );
        }
    }
    if applied == 0 || editor.commit().is_ok() {
        return applied;
    }
    // One of the applications breaks the contract of edits, and took the others with it.
    let mut applied = 0;
    for found in all {
        if applied < fuel && apply(program, transformation, &found).is_ok() {
            applied += 1;
        }
    }
    applied
}
