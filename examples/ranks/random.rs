//! Random programs by random strategies.

use sdfg_programs::applications::Applications;
use sdfg_programs::random::check_on_ranks;
use sdfg_programs::ranks::Ranks;

use crate::options::Options;

/// Runs random programs, and tells whether none failed.
pub(crate) fn run(options: &Options, ranks: &Ranks<'_>) -> bool {
    let (mut passed, mut moved, mut failed) = (0_u64, 0_u64, 0_u64);
    let mut totals = Applications::new();
    for seed in options.seed..options.seed + options.programs {
        match check_on_ranks(seed, ranks) {
            Ok(counts) => {
                passed += 1;
                moved += u64::from(counts.get("moves").is_some_and(|outcomes| outcomes.applied > 0));
                for (name, outcomes) in counts {
                    totals.entry(name).or_default().add(outcomes);
                }
            }
            Err(failure) => {
                failed += 1;
                if ranks.rank == 0 {
                    println!("seed {seed}: failed\n{failure}\n");
                }
            }
        }
    }
    if ranks.rank == 0 {
        for (reason, count) in totals.values().flat_map(|outcomes| &outcomes.refused) {
            println!("{count:>6} {reason}");
        }
        for (name, outcomes) in &totals {
            println!("{name}: {}", outcomes.applied);
        }
        println!("on {} ranks: passed {passed}, of which {moved} moved data, failed {failed}", ranks.count);
    }
    failed == 0
}
