//! Programs on the ranks of MPI, compared with what they give on one.
//!
//! `cargo xtask ranks --ranks 4 --programs 100 --seed 1` runs random programs: every rank generates the same
//! ones, and distributes each by the same random strategy. The results are compared with those of the interpreter on one rank.
//!
//! `--corpus` runs DaCe's graphs of `SDFG_CORPUS` instead, or those whose path has one of the names that follow, by
//! `--strategy optimal`, `data-parallel` or `random`, and compares with their expected outputs.
//!
//! `--on programs`, `--on polybench` or `--on small-polybench` runs the example programs, or PolyBench's kernels at the size MINI or at
//! tiny sizes in the same way; names after it select some.
//!
//! Every rank compiles the program of a rank and runs it. Without a launcher, the command starts itself on so many ranks. The first
//! rank prints a line for each failure, and the totals.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a command")]

mod corpus;
mod lists;
mod options;
mod random;

use std::process::ExitCode;

use sdfg_codegen::cache::Cache;
use sdfg_codegen::mpi::{Context, Launcher, Mpi, MpiError, ranks_of_environment};
use sdfg_programs::ranks::Ranks;

use options::{Options, Source};

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!(
            "usage: ranks [--ranks N] [--seed S] [--programs N | (--corpus | --on programs|polybench|small-polybench) [--strategy optimal|data-parallel|random] [NAME ..]]"
        );
        return ExitCode::from(2);
    };
    let outcome = match ranks_of_environment() {
        None => launch(&options),
        Some(_) => run(&options),
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
fn launch(options: &Options) -> Result<bool, MpiError> {
    let launcher = Launcher::find(&Mpi::find()?)?;
    let own = std::env::current_exe().unwrap_or_default();
    let mut command = launcher.command(options.ranks, own);
    let ended = command.args(std::env::args().skip(1)).status();
    Ok(ended.is_ok_and(|ended| ended.success()))
}

/// Runs the programs on the ranks that run this.
fn run(options: &Options) -> Result<bool, MpiError> {
    let library = Mpi::find()?.library(Cache::of_user().as_ref())?;
    let context = Context::of_world(&library)?;
    let ranks = Ranks { hooks: context.hooks(), rank: context.rank(), count: context.ranks() };
    Ok(match &options.source {
        Source::Random => random::run(options, &ranks),
        Source::Corpus => corpus::run(options, &ranks),
        Source::List(list) => lists::run(*list, options, &ranks),
    })
}
