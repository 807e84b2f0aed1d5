//! The `sdfg` command: checks, explains, prints, interprets, compiles, runs, reduces and transforms programs.
//!
//! Each subcommand has one file. Shared parts are in files of their own.

mod allocator;
mod blas;
mod cache;
mod call;
mod chain;
mod check;
mod compile;
mod crash;
mod data;
mod devices;
mod explain;
mod failure;
mod info;
mod interpret;
mod interrupt;
mod matching;
mod measure;
mod minimize;
mod mpi_library;
mod native;
mod optimize;
mod output;
mod print;
mod profile;
mod program;
mod retarget;
mod run;
mod source;
mod strategy;
mod terminal;
mod transform;
mod tune;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;
use sdfg::symbolic::with_proof_cache;
use terminal::{ColorChoice, Terminal};

/// Graphs are many small pieces of memory. Libraries leave the choice of an allocator to the command.
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// Checks, interprets, compiles and runs stateful dataflow multigraphs (SDFGs).
#[derive(Parser)]
#[command(
    name = "sdfg",
    version,
    arg_required_else_help = true,
    after_help = "Programs are files in the text form (.sdft), in JSON or in DaCe's form (.sdfg); the content determines the form. `-` is the \
                  standard input.\n\n\
                  Exit status: 0 success; 1 the program has errors, traps or fails; 2 wrong usage, wrong inputs, \
                  unreadable files or missing tools."
)]
struct Cli {
    /// Colour messages; `auto` colours on terminals unless NO_COLOR is set.
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Check),
    Explain(explain::Explain),
    Print(print::Print),
    Info(info::Info),
    Interpret(interpret::Interpret),
    Compile(compile::Compile),
    Run(run::Run),
    Devices(devices::DevicesCommand),
    Cache(cache::CacheCommand),
    #[command(visible_alias = "reduce")]
    Minimize(minimize::MinimizeCommand),
    Strategy(strategy::StrategyCommand),
    Distribute(strategy::distribute::DistributeCommand),
    MpiLibrary(mpi_library::MpiLibraryCommand),
    Transforms(transform::Transforms),
    Match(matching::Match),
    Transform(transform::Transform),
    Simplify(transform::Simplify),
    Optimize(optimize::Optimize),
    Chain(chain::ChainCommand),
    Tune(tune::Tune),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let printed = error.print();
            if error.use_stderr() {
                return ExitCode::from(2);
            }
            // Asking for help is no error.
            return match output::shown(printed) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => report(&failure, Terminal::new(ColorChoice::default())),
            };
        }
    };
    let terminal = Terminal::new(cli.color);
    let result = match &cli.command {
        Command::Check(command) => command.execute(terminal),
        Command::Explain(command) => command.execute(),
        Command::Print(command) => command.execute(terminal),
        Command::Info(command) => command.execute(terminal),
        Command::Interpret(command) => command.execute(terminal),
        Command::Compile(command) => command.execute(terminal),
        Command::Run(command) => command.execute(terminal),
        Command::Devices(command) => command.execute(),
        Command::Cache(command) => command.execute(),
        Command::Minimize(command) => command.execute(terminal),
        Command::Strategy(command) => command.execute(terminal),
        Command::Distribute(command) => command.execute(terminal),
        Command::MpiLibrary(command) => command.execute(),
        Command::Transforms(command) => command.execute(),
        Command::Match(command) => command.execute(terminal),
        Command::Transform(command) => command.execute(terminal),
        // Reading, validation and the steps of a rewrite ask for the same proofs.
        Command::Simplify(command) => with_proof_cache(|| command.execute(terminal)),
        Command::Optimize(command) => with_proof_cache(|| command.execute(terminal)),
        Command::Chain(command) => with_proof_cache(|| command.execute(terminal)),
        Command::Tune(command) => with_proof_cache(|| command.execute(terminal)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report(&failure, terminal),
    }
}

fn report(failure: &Failure, terminal: Terminal) -> ExitCode {
    terminal.message(&failure.render(terminal.style()));
    failure.exit_code()
}
