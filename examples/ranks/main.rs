//! Random programs on the ranks of MPI: `cargo run --release --example ranks -- --ranks 4 --programs 100 --seed 1`.
//!
//! Every rank generates the same programs, distributes each by the same random strategy, compiles the program of a rank and runs it.
//! The whole results are compared with those of the interpreter on one rank. Without a launcher, the command starts itself on so many
//! ranks. The first rank prints a line for each failure, and the totals.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a command")]

use std::process::ExitCode;

use sdfg_codegen::cache::Cache;
use sdfg_codegen::mpi::{Context, Launcher, Mpi, MpiError, ranks_of_environment};
use sdfg_programs::applications::Applications;
use sdfg_programs::distributed::Ranks;
use sdfg_programs::random::check_on_ranks;

fn main() -> ExitCode {
    let (mut ranks, mut programs, mut seed) = (4, 50, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let number = arguments.next().and_then(|text| text.parse::<u64>().ok());
        match (argument.as_str(), number) {
            ("--ranks", Some(number)) => ranks = number as usize,
            ("--programs", Some(number)) => programs = number,
            ("--seed", Some(number)) => seed = number,
            _ => {
                eprintln!("usage: ranks [--ranks N] [--programs N] [--seed S]");
                return ExitCode::from(2);
            }
        }
    }
    let outcome = match ranks_of_environment() {
        None => launch(ranks),
        Some(_) => run(seed, programs),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Starts this command on ranks.
fn launch(ranks: usize) -> Result<bool, MpiError> {
    let launcher = Launcher::find(&Mpi::find()?)?;
    let own = std::env::current_exe().unwrap_or_default();
    let mut command = launcher.command(ranks, own);
    let ended = command.args(std::env::args().skip(1)).status();
    Ok(ended.is_ok_and(|ended| ended.success()))
}

/// Runs the programs on the ranks that run this.
fn run(seed: u64, programs: u64) -> Result<bool, MpiError> {
    let library = Mpi::find()?.library(Cache::of_user().as_ref())?;
    let context = Context::of_world(&library)?;
    let ranks = Ranks { hooks: context.hooks(), rank: context.rank(), count: context.ranks() };
    let (mut passed, mut moved, mut failed) = (0_u64, 0_u64, 0_u64);
    let mut totals = Applications::new();
    for seed in seed..seed + programs {
        match check_on_ranks(seed, &ranks) {
            Ok(counts) => {
                passed += 1;
                moved += u64::from(counts.values().any(|outcomes| outcomes.applied > 0));
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
        println!("on {} ranks: passed {passed}, of which {moved} moved data, failed {failed}", ranks.count);
    }
    Ok(failed == 0)
}
