//! DaCe's graphs of a corpus with expected outputs.

use std::path::Path;

use sdfg_programs::corpus::{Divided, Outcome, check_on_ranks, folder, graphs};
use sdfg_programs::ranks::Ranks;

use crate::options::Options;

/// Runs the graphs whose paths have one of the names, all without names, and tells whether none failed.
pub(crate) fn run(options: &Options, ranks: &Ranks<'_>) -> bool {
    let names = &options.names;
    let tell = |line: String| {
        if ranks.rank == 0 {
            println!("{line}");
        }
    };
    let folder = folder();
    let Ok(all) = graphs(&folder) else {
        tell(format!("{} cannot be read; `SDFG_CORPUS` names the folder of the corpus", folder.display()));
        return false;
    };
    let is_wanted = |graph: &Path| {
        let path = graph.to_string_lossy();
        names.is_empty() || names.iter().any(|name| path.contains(name.as_str()))
    };
    let Some(division) = options.division() else { return false };
    let mut totals = Totals::default();
    for graph in all.iter().filter(|graph| is_wanted(graph)) {
        let (outcome, divided) = check_on_ranks(graph, ranks, division);
        let name = graph.strip_prefix(&folder).unwrap_or(graph);
        tell(totals.line(&name.display().to_string(), &outcome, divided));
    }
    tell(format!("on {} ranks: {totals}", ranks.count));
    totals.failed == 0
}

/// Numbers of programs.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    passed: usize,
    /// Those of which nothing was divided.
    whole: usize,
    refused: usize,
    pub(crate) failed: usize,
}

impl Totals {
    /// Counts a program, and tells what became of it.
    pub(crate) fn line(&mut self, name: &str, outcome: &Outcome, divided: Divided) -> String {
        match outcome {
            Outcome::Passed if divided.maps == 0 => self.whole += 1,
            Outcome::Passed => self.passed += 1,
            Outcome::Refused { .. } => self.refused += 1,
            Outcome::Failed(_) => self.failed += 1,
        }
        let Divided { maps, whole, moves } = divided;
        format!("{name}: {outcome}; {maps} maps divided, {whole} as a whole, {moves} moves")
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Totals { passed, whole, refused, failed } = self;
        write!(f, "passed {passed}, passed with nothing divided {whole}, refused {refused}, failed {failed}")
    }
}
