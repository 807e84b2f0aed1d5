//! DaCe's graphs of a corpus with expected outputs.

use std::path::Path;

use sdfg_programs::corpus::{Outcome, check_on_ranks, folder, graphs};
use sdfg_programs::ranks::Ranks;

use crate::options::Options;

/// Runs the graphs whose paths have one of the names, all without names, and tells whether none failed.
pub(crate) fn run(options: &Options, names: &[String], ranks: &Ranks<'_>) -> bool {
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
    let [mut passed, mut whole, mut refused, mut failed] = [0; 4];
    for graph in all.iter().filter(|graph| is_wanted(graph)) {
        let (outcome, divided) = check_on_ranks(graph, ranks, division);
        match &outcome {
            Outcome::Passed if divided.maps == 0 => whole += 1,
            Outcome::Passed => passed += 1,
            Outcome::Refused { .. } => refused += 1,
            Outcome::Failed(_) => failed += 1,
        }
        let name = graph.strip_prefix(&folder).unwrap_or(graph);
        tell(format!(
            "{}: {outcome}; {} maps divided, {} as a whole, {} moves",
            name.display(),
            divided.maps,
            divided.whole,
            divided.moves
        ));
    }
    tell(format!(
        "on {} ranks: passed {passed}, passed with nothing divided {whole}, refused {refused}, failed {failed}",
        ranks.count
    ));
    failed == 0
}
