//! `sdfg run --ranks`: a distributed program on the ranks of MPI.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sdfg::interpret::Arguments;
use sdfg::symbolic::Symbol;
use sdfg::validate::Validated;
use sdfg_codegen::cache::Cache;
use sdfg_codegen::lower::LowerOptions;
use sdfg_codegen::mpi::{Context, Launcher, Mpi, ranks_of_environment};
use sdfg_codegen::ranks::{RankProgram, localise};

use super::compilation::{SharedCode, agreed};
use super::progress::Progress;
use super::results::Results;
use super::{Run, timing};
use crate::data::{Exposed, Parts, RunData};
use crate::failure::Failure;
use crate::native::{Lowered, invalid_for_ranks};
use crate::source::Source;
use crate::terminal::Terminal;

/// A run on ranks.
pub(super) struct Ranked<'r> {
    run: &'r Run,
    mpi: Mpi,
    /// Rank and number of ranks, if this process is one.
    rank: Option<(usize, usize)>,
}

impl<'r> Ranked<'r> {
    /// A run on several ranks, if it is one: the option asks for it, or a launcher started this process.
    pub(super) fn of(run: &'r Run) -> Result<Option<Self>, Failure> {
        let rank = ranks_of_environment();
        let asked = match (run.ranks, rank) {
            (None, None | Some((_, 1))) => return Ok(None),
            (asked, _) => asked.map(|ranks| ranks.get() as usize),
        };
        if let (Some(asked), Some((_, ranks))) = (asked, rank)
            && asked != ranks
        {
            return Err(Failure::usage(format_args!(
                "the launcher started {ranks} ranks, and --ranks asks for {asked}"
            ))
            .help("leave --ranks out under mpirun"));
        }
        let mpi = Mpi::find().map_err(Failure::usage)?;
        Ok(Some(Ranked { run, mpi, rank }))
    }

    pub(super) fn execute(self, terminal: Terminal) -> Result<(), Failure> {
        match (self.rank, self.run.ranks) {
            (None, Some(ranks)) => self.launch(ranks.get() as usize),
            (Some((rank, _)), _) => {
                let result = self.on_rank(terminal);
                match result {
                    // One rank tells what all know.
                    Err(failure) if rank > 0 => std::process::exit(failure.exit_status().into()),
                    result => result,
                }
            }
            (None, None) => Ok(()),
        }
    }

    /// Starts this command again on so many ranks.
    fn launch(&self, ranks: usize) -> Result<(), Failure> {
        let launcher = Launcher::find(&self.mpi).map_err(Failure::usage)?;
        if let Some(cache) = Cache::of_user() {
            // The ranks find it there.
            self.mpi.library(Some(&cache)).map_err(Failure::usage)?;
        }
        let own = std::env::current_exe().map_err(Failure::program)?;
        let mut command: Command = launcher.command(ranks, own);
        let ended: ExitStatus = command.args(std::env::args_os().skip(1)).status().map_err(|error| {
            Failure::usage(format_args!("cannot run {}: {error}", launcher.program().display()))
        })?;
        // `exit` drops nothing.
        drop(launcher);
        match ended.code() {
            Some(0) => Ok(()),
            // The ranks have told why.
            code => std::process::exit(code.unwrap_or(1)),
        }
    }

    fn on_rank(&self, terminal: Terminal) -> Result<(), Failure> {
        let cache = Cache::of_user();
        let communication = self.mpi.library(cache.as_ref()).map_err(Failure::usage)?;
        let mut context = Context::of_world(&communication).map_err(Failure::usage)?;
        let of_each_rank = terminal;
        let terminal = if context.rank() == 0 { terminal } else { terminal.silent() };
        let prepared = self.prepare(context.ranks(), terminal);
        let Prepared { program: validated, ranked: program, lowered } = agreed(&mut context, prepared)?;
        let data = |rank: usize| {
            let exposed = Exposed { program: validated.clone(), added: Vec::new(), shown: Vec::new() };
            let parts = RankParts { program: &program, rank: rank as u32 };
            RunData::prepare_parts(&exposed, &self.run.data, &parts, terminal)
        };
        let (library, mut data) = SharedCode { native: &self.run.native, lowered: &lowered, terminal }
            .load_beside(&mut context, data)?;
        // The descriptors of the messages until here go with their context.
        drop(context);
        let mut context = Context::of_world(&communication).map_err(Failure::usage)?;
        let distributed = validated.sdfg();
        let symbols: BTreeMap<Symbol, i64> =
            data.arguments.symbols().map(|(name, value)| (Symbol::of(name), value)).collect();
        let words: Vec<i64> = symbols.values().copied().collect();
        context.same(&words).map_err(Failure::program)?;
        let rank = context.rank() as u32;
        let mut times = Vec::new();
        let mut local = Arguments::new();
        {
            let hooks = context.hooks();
            let repetitions = self.run.repeat.map_or(1, NonZeroU32::get);
            let progress = Progress {
                program: distributed,
                symbols: &symbols,
                ranks: context.ranks() as u32,
                repetitions,
                begun: hooks.moves_begun(),
                terminal,
            };
            let mut run = || -> Result<(), Failure> {
                for repetition in 1..=repetitions {
                    // The last run takes what there is, so that a single one needs no copy.
                    let is_last = repetition == repetitions;
                    local =
                        if is_last { std::mem::take(&mut data.arguments) } else { data.arguments.clone() };
                    for (symbol, value) in program.symbols(rank, &symbols).map_err(Failure::program)? {
                        local.set_symbol(symbol.as_str(), value);
                    }
                    let start = Instant::now();
                    let threads = self.run.native.threads();
                    // SAFETY: a user who runs a program natively vouches for it, as the documentation of the command says.
                    let ended = unsafe {
                        program.run(&library, &hooks, &mut local, |call| match threads {
                            Some(threads) => call.threads(threads),
                            None => call,
                        })
                    };
                    if let Err(error) = ended {
                        if rank > 0 {
                            // No other rank knows of it.
                            let own = Failure::program(format_args!("rank {rank}: {error}"));
                            of_each_rank.message(&own.render(of_each_rank.style()));
                        }
                        return Err(Failure::program(error));
                    }
                    times.push(start.elapsed());
                }
                Ok(())
            };
            std::thread::scope(|scope| {
                let (running, ended) = mpsc::channel::<()>();
                if rank == 0 && self.run.progress > 0 {
                    let every = Duration::from_secs(self.run.progress.into());
                    scope.spawn(move || progress.tell(every, &ended));
                }
                let result = run();
                drop(running);
                result
            })?;
        }
        if self.run.repeat.is_some() {
            terminal.message(&timing(times));
        }
        Results { program: &program, data: &data, local: &local, symbols: &symbols }.write(&mut context)
    }

    /// The program of a rank, which may fail on one rank alone.
    fn prepare(&self, ranks: usize, terminal: Terminal) -> Result<Prepared, Failure> {
        let run = self.run;
        if !run.data.dumps_nothing() {
            return Err(Failure::usage("--dump shows containers of one process, not of several ranks")
                .help("`sdfg interpret --ranks` shows them"));
        }
        if run.profile.instrumentation()?.is_some() {
            return Err(Failure::usage("--profile and --trace measure one process, not several ranks"));
        }
        run.native.only_host()?;
        let source =
            Source::read(&run.program, run.native.allow_external())?.retargeted(run.native.retarget());
        let program = run.native.read(&source, &run.data, terminal)?;
        let ranked = localise(program.sdfg()).map_err(Failure::program)?;
        if (ranks as u64) < u64::from(ranked.ranks()) {
            let needed = ranked.ranks();
            return Err(Failure::usage(format_args!(
                "the program is divided over {needed} ranks, and runs on {ranks}"
            ))
            .help(format_args!("run it with `--ranks {needed}` or more, or distribute it for {ranks}")));
        }
        let local = ranked.validated().map_err(|rejected| invalid_for_ranks(&rejected))?;
        let lowered = run.native.lower_for_ranks(&local, &LowerOptions::default())?;
        run.native.consent(&lowered)?;
        Ok(Prepared { program, ranked, lowered })
    }
}

/// The elements of arguments that a rank holds.
struct RankParts<'p> {
    program: &'p RankProgram,
    rank: u32,
}

impl Parts for RankParts<'_> {
    fn is_part(&self, argument: &str) -> bool {
        self.program.is_part(argument)
    }

    fn held(
        &self,
        argument: &str,
        symbols: &BTreeMap<Symbol, i64>,
    ) -> Result<Option<Vec<Range<i64>>>, Failure> {
        let mut all = self.program.symbols(self.rank, symbols).map_err(Failure::program)?;
        all.extend(symbols.iter().map(|(symbol, value)| (symbol.clone(), *value)));
        let part = self.program.part(argument, &all).map_err(Failure::program)?;
        Ok(part.map(|part| part.held))
    }
}

/// A program that is ready to be compiled for a rank.
struct Prepared {
    program: Validated,
    ranked: RankProgram,
    lowered: Lowered,
}
