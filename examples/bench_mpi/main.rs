//! Distributed programs on the ranks of MPI beside the same algorithms written by hand: `cargo xtask bench mpi [--quick] [NAME...]`.
//!
//! `benches/mpi` has programs, and C with MPI that `mpicc` compiles. The command starts itself on one and on two ranks. In a process of
//! a rank, all variants of a case take turns: programs that were distributed automatically, and those written by hand. Results are
//! compared before anything is measured. Each run begins at a barrier, and the slowest rank counts.
#![expect(clippy::print_stdout, reason = "this is a command")]

#[path = "../../crates/transforms/examples/models/alexnet.rs"]
mod alexnet;
mod cases;
mod distributed;
#[path = "../../crates/transforms/examples/models/lstm.rs"]
mod lstm;
mod machine;
mod models;
#[path = "../../crates/transforms/examples/models/network.rs"]
mod network;
mod peers;
mod strategies;
mod timing;
#[path = "../../crates/transforms/examples/models/training.rs"]
mod training;
#[path = "../../crates/transforms/examples/models/transformer.rs"]
mod transformer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sdfg_codegen::cache::Cache;
use sdfg_codegen::mpi::{Context, Launcher, Mpi, ranks_of_environment};

use cases::Case;
use machine::Machine;
use peers::Sources;
use timing::{Comparison, Place};

type Error = Box<dyn std::error::Error>;

/// Numbers of ranks that are measured.
const RANKS: [usize; 2] = [1, 2];

/// Ranks of the comparison of strategies.
const STRATEGY_RANKS: usize = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match ranks_of_environment() {
        None => start(&arguments),
        Some(_) => on_rank(&arguments),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The options of the command line.
struct Options {
    /// Small sizes, for a test of the command.
    is_quick: bool,
    /// Folder of the compiled peers, in the process of a rank.
    peers: PathBuf,
    names: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut options = Options { is_quick: false, peers: PathBuf::new(), names: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => options.is_quick = true,
                "--peers" => options.peers = arguments.next().ok_or("`--peers` needs a folder")?.into(),
                name if cases::NAMES.contains(&name) || strategies::is_name(name) => {
                    options.names.push(name.to_owned());
                }
                other => {
                    let known = cases::NAMES.join(", ");
                    let message = format!("no case `{other}`: there are {known} and {}", strategies::names());
                    return Err(message.into());
                }
            }
        }
        Ok(options)
    }

    fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|chosen| chosen == name)
    }
}

/// Compiles what was written by hand, and starts this command on each number of ranks.
fn start(arguments: &[String]) -> Result<bool, Error> {
    let is_quick = Options::parse(arguments)?.is_quick;
    let mpi = Mpi::find()?;
    let launcher = Launcher::find(&mpi)?;
    let folder = tempfile::tempdir()?;
    let sources = Sources::compile(&mpi, folder.path())?;
    println!(
        "milliseconds of the slowest rank, medians of {} interleaved runs, one thread on each rank; C by {} -O3 -march=native",
        timing::rounds(is_quick),
        mpi.compiler().display()
    );
    if let Some(reason) = &sources.without_scalapack {
        println!("pdgemm is left out: {reason}");
    }
    let mut passed = true;
    for ranks in RANKS {
        let mut command = launcher.command(ranks, std::env::current_exe()?);
        command.args(arguments).arg("--peers").arg(folder.path());
        command.env("OMP_NUM_THREADS", "1").env("OPENBLAS_NUM_THREADS", "1");
        if is_quick {
            // Beside other tests, ranks that wait must not take the processors.
            command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        }
        passed &= command.status()?.success();
    }
    Ok(passed)
}

/// Measures on the ranks that run this process.
fn on_rank(arguments: &[String]) -> Result<bool, Error> {
    let options = Options::parse(arguments)?;
    let library = Mpi::find()?.library(Cache::of_user().as_ref())?;
    let context = Context::of_world(&library)?;
    let machine = Machine::open(&options.peers)?;
    let place = Place {
        machine: &machine,
        hooks: context.hooks(),
        rank: context.rank(),
        ranks: context.ranks(),
        rounds: timing::rounds(options.is_quick),
    };
    let mut passed = true;
    for case in cases::all(options.is_quick, place.ranks) {
        if options.has(case.name) {
            passed &= compare(&place, &case, &options.peers)?;
        }
    }
    if place.ranks == STRATEGY_RANKS {
        strategies::compare(&place, options.is_quick, &|name| options.has(name))?;
    }
    Ok(passed)
}

/// Measures one case. Whether all results agree.
fn compare(place: &Place<'_>, case: &Case, peers: &Path) -> Result<bool, Error> {
    let mut comparison = Comparison::new(place, case)?;
    for strategy in case.strategies() {
        comparison.add_program(strategy)?;
    }
    for peer in &case.peers {
        comparison.add_peer(peer, peers)?;
    }
    comparison.run()
}
