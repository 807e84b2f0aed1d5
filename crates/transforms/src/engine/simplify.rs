//! Transformations applied until none applies; simplification does so with the strict ones.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sdfg::edit::Editor;
use sdfg::ir::Sdfg;

use super::pipeline::apply_in_series;
use super::{Evidence, Registry, Tables, Transformation, apply, places};

/// The number of applications of a series after which debug builds compare the tables with new ones.
const CHECKED: usize = 20;

/// The work of one transformation in a [`fixed_point`].
#[derive(Clone, Debug)]
pub struct Tally {
    /// The transformation.
    pub name: &'static str,
    /// How often it was applied.
    pub applications: usize,
    /// The time for matching, checks and applications.
    pub time: Duration,
    /// The facts that the checks relied on.
    pub evidence: Evidence,
}

/// Applies transformations at every match until none applies, at most `fuel` times. Gives the work of each, in their order.
///
/// The result does not depend on anything but the program and the transformations: they take turns in their order, and matches come
/// in the order of [`places`]. Some transformations always apply again, such as tiling, and end only by the fuel.
pub fn fixed_point(
    program: &mut Sdfg,
    transformations: &[Box<dyn Transformation>],
    fuel: Option<usize>,
) -> Vec<Tally> {
    let names = transformations.iter().map(|transformation| transformation.metadata().name);
    let tally = |name| Tally { name, applications: 0, time: Duration::ZERO, evidence: Evidence::default() };
    let mut tallies: Vec<Tally> = names.map(tally).collect();
    let mut left = fuel.unwrap_or(usize::MAX);
    loop {
        let before = left;
        for (transformation, tally) in transformations.iter().zip(&mut tallies) {
            if left == 0 {
                return tallies;
            }
            let start = Instant::now();
            let applied = pass(program, transformation.as_ref(), left, &mut tally.evidence);
            tally.time += start.elapsed();
            tally.applications += applied;
            left -= applied;
        }
        if left == before {
            return tallies;
        }
    }
}

/// Applies the strict transformations of a registry until none applies, at most `fuel` times, as [`fixed_point`]. Gives the number
/// of applications of each by name.
pub fn simplify(
    program: &mut Sdfg,
    registry: &Registry,
    fuel: Option<usize>,
) -> BTreeMap<&'static str, usize> {
    let tallies = fixed_point(program, &registry.strict(), fuel);
    let applied = tallies.into_iter().filter(|tally| tally.applications > 0);
    applied.map(|tally| (tally.name, tally.applications)).collect()
}

/// Applies a transformation at every match, at most `fuel` times, in one series of edits. Matches go stale when one is
/// applied, so each is checked anew; those that appear come in the next round. Gives the number of applications.
///
/// A series costs less than one for each application: the editor indexes a state once, and tables follow the edits.
fn pass(
    program: &mut Sdfg,
    transformation: &dyn Transformation,
    fuel: usize,
    evidence: &mut Evidence,
) -> usize {
    let all = places(program, transformation);
    if all.is_empty() {
        return 0;
    }
    let (mut editor, mut tables, mut applied) = (Editor::new(program), Tables::new(), 0);
    let mut facts = Vec::new();
    for found in &all {
        if applied == fuel {
            break;
        }
        if let Some(relied) = apply_in_series(&mut editor, transformation, found, &mut tables) {
            facts.extend(relied.facts);
            applied += 1;
            debug_assert!(
                applied > CHECKED || tables.are_of(editor.sdfg()),
                "tables follow {}",
                transformation.metadata().name
            );
        }
    }
    if applied == 0 || editor.commit().is_ok() {
        evidence.facts.extend(facts);
        return applied;
    }
    // One of the applications breaks the contract of edits, and took the others with it.
    let mut applied = 0;
    for found in all {
        let Some(application) =
            (applied < fuel).then(|| apply(program, transformation, &found).ok()).flatten()
        else {
            continue;
        };
        evidence.facts.extend(application.evidence.facts);
        applied += 1;
    }
    applied
}
