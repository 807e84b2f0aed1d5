//! The example programs, or PolyBench's kernels.

use sdfg_programs::ranks::Ranks;
use sdfg_programs::subjects::{NoCase, Subjects};

use crate::corpus::Totals;
use crate::options::Options;

/// Runs the programs of a list that are named, all without names, and tells whether none failed.
pub(crate) fn run(list: Subjects, options: &Options, ranks: &Ranks<'_>) -> bool {
    let tell = |line: String| {
        if ranks.rank == 0 {
            println!("{line}");
        }
    };
    let Some(division) = options.division() else { return false };
    let mut totals = Totals::default();
    for number in 0..list.count() {
        let (name, _) = list.program(number);
        if !options.names.is_empty() && !options.names.iter().any(|wanted| wanted == name) {
            continue;
        }
        let case = match list.case(number, options.seed) {
            Ok(case) => case,
            Err(NoCase::Missing(what)) => {
                tell(format!("{name}: skipped: {what}"));
                continue;
            }
            Err(NoCase::Failed(what)) => {
                tell(what);
                return false;
            }
        };
        let (outcome, divided) = case.divided_on_ranks(ranks, division);
        tell(totals.line(name, &outcome, divided));
    }
    tell(format!("on {} ranks: {totals}", ranks.count));
    totals.failed == 0
}
