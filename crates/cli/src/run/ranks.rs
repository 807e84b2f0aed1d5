//! `sdfg run --ranks`: a distributed program on the ranks of MPI.

use std::collections::BTreeMap;
use std::process::{Command, ExitStatus};
use std::time::Instant;

use sdfg::interpret::Arguments;
use sdfg::symbolic::Symbol;
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::cache::Cache;
use sdfg_codegen::load::Library;
use sdfg_codegen::mpi::{Context, Hooks, Launcher, Mpi, ranks_of_environment};
use sdfg_codegen::ranks::{CONTEXT, Part, RankProgram, localise};

use super::{Run, is_symbol, timing};
use crate::data::{Exposed, RunData};
use crate::failure::Failure;
use crate::source::Source;
use crate::terminal::Terminal;

/// The site of the moves that bring results to the rank that shows them; those of a program count from 0.
const RESULTS: i64 = 1 << 19;

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
                // One rank tells what all know.
                if result.is_err() && rank > 0 {
                    std::process::exit(1);
                }
                result
            }
            (None, None) => Ok(()),
        }
    }

    /// Starts this command again on so many ranks.
    fn launch(&self, ranks: usize) -> Result<(), Failure> {
        let launcher = Launcher::find(&self.mpi).map_err(Failure::usage)?;
        let own = std::env::current_exe().map_err(Failure::program)?;
        let mut command: Command = launcher.command(ranks, own);
        let ended: ExitStatus = command.args(std::env::args_os().skip(1)).status().map_err(|error| {
            Failure::usage(format_args!("cannot run {}: {error}", launcher.program().display()))
        })?;
        match ended.code() {
            Some(0) => Ok(()),
            // The ranks have told why.
            code => std::process::exit(code.unwrap_or(1)),
        }
    }

    fn on_rank(&self, terminal: Terminal) -> Result<(), Failure> {
        let cache = Cache::of_user();
        let library = self.mpi.library(cache.as_ref()).map_err(Failure::usage)?;
        let mut context = Context::of_world(&library).map_err(Failure::usage)?;
        let prepared = self.prepare(&context, if context.rank() == 0 { terminal } else { terminal.silent() });
        let failure = prepared.as_ref().err().map(Failure::message);
        context.agree(failure.as_deref()).map_err(Failure::program)?;
        let Prepared { program, library, data, symbols, .. } = prepared?;
        let words: Vec<i64> = symbols.values().copied().collect();
        context.same(&words).map_err(Failure::program)?;
        let hooks = context.hooks().map_err(Failure::usage)?;
        let mut times = Vec::new();
        let mut results = Arguments::new();
        let rounds = self.run.repeat.map_or(1, std::num::NonZeroU32::get);
        for round in 0..rounds {
            let mut local = parts(&program, &data.arguments, context.rank(), &symbols)?;
            let start = Instant::now();
            self.call(&library, &program, &hooks, context.rank(), &symbols, &mut local)?;
            times.push(start.elapsed());
            if round + 1 == rounds {
                results = gathered(&program, &hooks, &data.arguments, local, &symbols)?;
            }
        }
        if context.rank() > 0 {
            return Ok(());
        }
        if self.run.repeat.is_some() {
            terminal.message(&timing(times));
        }
        data.finish(&results)
    }

    /// Everything before the first message: it may fail on one rank alone.
    fn prepare(&self, context: &Context, terminal: Terminal) -> Result<Prepared, Failure> {
        let run = self.run;
        if !run.data.dumps_nothing() {
            return Err(Failure::usage("--dump shows containers of one process, not of several ranks")
                .help("`sdfg interpret --ranks` shows them"));
        }
        let source =
            Source::read(&run.program, run.native.allow_external())?.retargeted(run.native.retarget());
        let validated = source.validated(terminal)?;
        let program = localise(validated.sdfg()).map_err(Failure::program)?;
        if (context.ranks() as u64) < u64::from(program.ranks()) {
            let (needed, ranks) = (program.ranks(), context.ranks());
            return Err(Failure::usage(format_args!(
                "the program is divided over {needed} ranks, and runs on {ranks}"
            ))
            .help(format_args!("run it with `--ranks {needed}` or more, or distribute it for {ranks}")));
        }
        let local = valid(&program)?;
        let lowered = run.native.lower_for_ranks(&local)?;
        run.native.consent(&lowered)?;
        let object = run.native.compile(&lowered)?;
        // SAFETY: code of the program's own is there only if the user allows it, who vouches for it so.
        let library = unsafe { Library::load_external(&object) }.map_err(Failure::usage)?;
        let exposed = Exposed { program: validated, added: Vec::new(), shown: Vec::new() };
        let data = RunData::prepare(&exposed, &run.data, terminal)?;
        let symbols: BTreeMap<Symbol, i64> =
            data.arguments.symbols().map(|(name, value)| (Symbol::of(name), value)).collect();
        Ok(Prepared { program, library, data, symbols })
    }

    fn call(
        &self,
        library: &Library,
        program: &RankProgram,
        hooks: &Hooks<'_>,
        rank: usize,
        symbols: &BTreeMap<Symbol, i64>,
        tensors: &mut [(String, Tensor)],
    ) -> Result<(), Failure> {
        let own = program.symbols(rank as u32, symbols).map_err(Failure::program)?;
        let interface = library.interface();
        let mut call = library.call();
        if let Some(threads) = self.run.native.threads() {
            call = call.threads(threads);
        }
        for (symbol, value) in symbols.iter().chain(&own) {
            if is_symbol(interface, symbol.as_str()) {
                call = call.symbol(symbol.as_str(), *value);
            }
        }
        if is_symbol(interface, CONTEXT) {
            call = call.symbol(CONTEXT, hooks.address());
        }
        for (name, combines) in &program.moves {
            call = call.callback(name, hooks.function(*combines));
        }
        for (name, tensor) in tensors {
            if interface.position(name).is_some() {
                call = call.tensor(name, tensor);
            }
        }
        // SAFETY: a user who runs a program natively vouches for it, as the documentation of the command says. The functions move
        // data as the program describes it.
        unsafe { call.run() }.map_err(Failure::program)
    }
}

/// A program that is ready to run on a rank.
struct Prepared {
    program: RankProgram,
    library: Library,
    data: RunData,
    symbols: BTreeMap<Symbol, i64>,
}

fn valid(program: &RankProgram) -> Result<Validated, Failure> {
    validate(program.program.clone()).map_err(|rejected| {
        Failure::program(format_args!("the program of a rank is not valid: {rejected}"))
            .help("this is a defect of the compiler: please report it with the program")
    })
}

/// The arguments of a rank.
fn parts(
    program: &RankProgram,
    arguments: &Arguments,
    rank: usize,
    symbols: &BTreeMap<Symbol, i64>,
) -> Result<Vec<(String, Tensor)>, Failure> {
    let mut tensors = Vec::new();
    for (name, tensor) in arguments.tensors() {
        let part: Option<Part> = program.part(name, rank as u32, symbols).map_err(Failure::program)?;
        let own = match part {
            None => tensor.clone(),
            Some(part) => {
                part.of(tensor).ok_or_else(|| Failure::program(format_args!("`{name}` has no parts")))?
            }
        };
        tensors.push((name.to_owned(), own));
    }
    Ok(tensors)
}

/// The whole arguments after a run.
fn gathered(
    program: &RankProgram,
    hooks: &Hooks<'_>,
    before: &Arguments,
    local: Vec<(String, Tensor)>,
    symbols: &BTreeMap<Symbol, i64>,
) -> Result<Arguments, Failure> {
    let mut results = before.clone();
    for (site, (name, tensor)) in (RESULTS..).zip(local) {
        let Some(like) = before.get(&name) else { continue };
        let mut whole = like.clone();
        match program.gathering(&name, like, symbols).map_err(Failure::program)? {
            None => {
                results.set(name, tensor);
            }
            Some(description) => {
                let (source, target) = (tensor.bytes().as_ptr(), whole.bytes_mut().as_mut_ptr());
                // SAFETY: the tensors have the elements of the part of this rank, and of the whole argument.
                unsafe { hooks.run(site, &description, source.cast(), target.cast()) };
                results.set(name, whole);
            }
        }
    }
    Ok(results)
}
