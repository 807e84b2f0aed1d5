//! Transformations applied until none applies; simplification does so with the strict ones.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sdfg::edit::Editor;
use sdfg::ir::{Revision, Sdfg};
use sdfg::symbolic::with_proof_cache;

use super::pipeline::apply_in_series;
use super::{Evidence, Match, Registry, Tables, Transformation};

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
/// in the order of [`places`](super::places). Some transformations always apply again, such as tiling, and end only by the fuel.
pub fn fixed_point(
    program: &mut Sdfg,
    transformations: &[Box<dyn Transformation>],
    fuel: Option<usize>,
) -> Vec<Tally> {
    with_proof_cache(|| applied_until_idle(program, transformations, fuel))
}

fn applied_until_idle(
    program: &mut Sdfg,
    transformations: &[Box<dyn Transformation>],
    fuel: Option<usize>,
) -> Vec<Tally> {
    let names = transformations.iter().map(|transformation| transformation.metadata().name);
    let tally = |name| Tally { name, applications: 0, time: Duration::ZERO, evidence: Evidence::default() };
    let mut tallies: Vec<Tally> = names.map(tally).collect();
    let mut left = fuel.unwrap_or(usize::MAX);
    let mut series = Series { editor: Editor::new(program), tables: Tables::new() };
    // The revision of the program in which each transformation applies nowhere.
    let mut idle: Vec<Option<Revision>> = vec![None; transformations.len()];
    loop {
        let before = left;
        for ((transformation, tally), idle) in transformations.iter().zip(&mut tallies).zip(&mut idle) {
            if left == 0 {
                return tallies;
            }
            if *idle == Some(series.editor.sdfg().revision()) {
                continue;
            }
            let start = Instant::now();
            let applied = series.pass(transformation.as_ref(), left, &mut tally.evidence);
            if applied == 0 {
                *idle = Some(series.editor.sdfg().revision());
            }
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

/// A program in the course of many passes. The editor and the tables follow all of them, so that a pass costs what it looks at
/// and what it changes, and not what the program is long.
struct Series<'p> {
    editor: Editor<'p>,
    tables: Tables,
}

impl Series<'_> {
    /// Applies a transformation at every match, at most `fuel` times, in one series of edits. Matches go stale when one is
    /// applied, so each is checked anew; those that appear come in the next round. Gives the number of applications.
    fn pass(&mut self, transformation: &dyn Transformation, fuel: usize, evidence: &mut Evidence) -> usize {
        self.tables.renew();
        let all = self.tables.places(self.editor.sdfg(), transformation);
        let (mut facts, mut applied) = (Vec::new(), 0);
        for found in &all {
            if applied == fuel {
                break;
            }
            if let Some(relied) = self.apply(transformation, found) {
                facts.extend(relied.facts);
                applied += 1;
                debug_assert!(
                    applied > CHECKED || self.tables.are_of(self.editor.sdfg()),
                    "tables follow {}",
                    transformation.metadata().name
                );
            }
        }
        if applied == 0 || self.commit() {
            evidence.facts.extend(facts);
            return applied;
        }
        // One of the applications breaks the contract of edits, and took the others with it.
        let mut applied = 0;
        for found in &all {
            if applied == fuel {
                break;
            }
            self.tables.renew();
            if let Some(relied) = self.apply(transformation, found)
                && self.commit()
            {
                evidence.facts.extend(relied.facts);
                applied += 1;
            }
        }
        applied
    }

    fn apply(&mut self, transformation: &dyn Transformation, found: &Match) -> Option<Evidence> {
        apply_in_series(&mut self.editor, transformation, found, &mut self.tables)
    }

    /// Ends a series of edits. False if it broke the contract of edits: then the program is as it was before.
    fn commit(&mut self) -> bool {
        let is_kept = self.editor.commit_part().is_ok();
        if !is_kept {
            self.tables = Tables::new();
        }
        is_kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Metadata, Refusal, Site};
    use crate::pattern::{NodeClass, Pattern};
    use sdfg::edit::EditError;
    use sdfg::ir::{ContainerKind, Lifetime};

    /// Makes a transient persistent; one of the name `bad` becomes a scalar, although its memlets name elements.
    #[derive(Debug)]
    struct Persistent;

    impl Transformation for Persistent {
        fn metadata(&self) -> &'static Metadata {
            crate::rewrites::MapTiling::default().metadata()
        }

        fn parameters(&self) -> serde_json::Value {
            serde_json::Value::Null
        }

        fn pattern(&self) -> Pattern {
            Pattern::path([("data", NodeClass::Access)])
        }

        fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
            let id = site.state().node(site.found.node(0)).kind.container();
            let container = id.map(|id| site.sdfg.container(id));
            match container.filter(|found| found.transient && found.lifetime != Lifetime::Persistent) {
                Some(_) => Ok(Evidence::of_structure()),
                None => Err(Refusal::structure(site.label(0), "is persistent, or no transient")),
            }
        }

        fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
            let (state, node) = (found.state(), found.node(0));
            let id = editor.state(state)?.node(node).kind.container().ok_or(EditError::NoNode(node))?;
            editor.change_container(id, |container| {
                container.lifetime = Lifetime::Persistent;
                if container.name == "bad" {
                    container.kind = ContainerKind::Scalar;
                }
            })
        }
    }

    /// Transformations that were never applied are left out.
    #[test]
    fn simplification_counts_those_that_apply() {
        let counts = |text: &str| {
            let mut program = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
            simplify(&mut program, &Registry::standard(), None)
        };
        let fused = counts("sdfg p {\n  state a { }\n  state b { }\n}\n");
        assert!(!fused.is_empty() && fused.values().all(|count| *count > 0), "{fused:?}");
        assert_eq!(counts("sdfg p {\n  state a { }\n}\n"), BTreeMap::new());
    }

    /// An application that the editor takes back does not count, and takes no other one with it.
    #[test]
    fn applications_beside_one_that_is_wrong_count() {
        let names = ["bad", "one", "two", "three"];
        let declared: Vec<String> =
            names.iter().map(|name| format!("  transient array {name}: f64[2]\n")).collect();
        let copy = |name: &&str| format!("    access {name}\n    A -> {name}: A[0:2] -> {name}[0:2]\n");
        let copies: Vec<String> = names.iter().map(copy).collect();
        let text = format!(
            "sdfg p {{\n  array A: f64[2]\n{}  state s {{\n    access A\n{}  }}\n}}\n",
            declared.concat(),
            copies.concat()
        );
        let before = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        for (fuel, expected) in [(None, 3), (Some(2), 2), (Some(0), 0)] {
            let mut program = before.clone();
            let tallies = fixed_point(&mut program, &[Box::new(Persistent)], fuel);
            let persistent = |name: &&&str| {
                let id = program.find_container(name).expect("a container");
                program.container(id).lifetime == Lifetime::Persistent
            };
            assert_eq!(tallies[0].applications, expected);
            assert_eq!(names.iter().filter(persistent).count(), expected);
        }
    }
}
