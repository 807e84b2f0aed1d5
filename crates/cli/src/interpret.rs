//! `sdfg interpret`: runs a program under the reference semantics.

use std::str::FromStr;

use clap::Args;
use sdfg::analysis::callbacks::callbacks;
use sdfg::interpret::{Externals, Interpreter, Options, Order, Report, RunError, Trap, TrapKind};
use sdfg::ir::{NodeKind, Sdfg, Tasklet, TaskletBody};
use sdfg::tasklet::ExternalOrigin;
use sdfg_codegen::NativeExternals;
use sdfg_codegen::cache::Cache;
use sdfg_library::BuiltIn;

use crate::blas::BlasOption;
use crate::crash::{Running, report_signals};
use crate::data::{DataOptions, RunData, with_dumps};
use crate::failure::Failure;
use crate::native::brings_code;
use crate::retarget::RetargetOption;
use crate::source::Source;
use crate::terminal::Terminal;

/// Run a program under the reference semantics, and report every trap and conflict.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg interpret laplace.sdft --set N=10 --set T=2\n  \
                        sdfg interpret laplace.sdft -i A=field.npy --set T=100 -o A=result.npy\n  \
                        sdfg interpret query.sdft --set N=100 --order random:7")]
pub(crate) struct Interpret {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
    #[command(flatten)]
    data: DataOptions,
    /// The order of unordered work: `fixed`, `random` or `random:SEED`.
    #[arg(long, default_value = "fixed", value_name = "ORDER")]
    order: RunOrder,
    /// Do not detect conflicts. This is faster and needs less memory.
    #[arg(long)]
    no_conflict_check: bool,
    /// Trap after this many steps.
    #[arg(long, value_name = "STEPS")]
    step_limit: Option<u64>,
    /// Trap when the program needs more than this many bytes of memory.
    #[arg(long, value_name = "BYTES")]
    memory_limit: Option<u64>,
    /// The number of virtual ranks.
    #[arg(long, value_name = "RANKS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,
    /// Show the blocks in the order of their execution, their counts, and the bytes that each memlet moved.
    #[arg(long)]
    trace: bool,
    /// Permit external code: C functions from sources or libraries of the program, and C++ code of DaCe's files. Such code has all your
    /// permissions.
    #[arg(long)]
    allow_external: bool,
    #[command(flatten)]
    retarget: RetargetOption,
    /// Expands library nodes first, as `run --blas` does, and makes the calls. Without, each is computed as its operation means.
    #[command(flatten)]
    blas: BlasOption,
}

#[derive(Clone, Copy, Debug)]
struct RunOrder(Order);

impl FromStr for RunOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "fixed" => Ok(RunOrder(Order::Fixed)),
            None if text == "random" => Ok(RunOrder(Order::Random(0))),
            Some(("random", seed)) => {
                let seed = seed.parse().map_err(|_| format!("the seed `{seed}` is not a natural number"))?;
                Ok(RunOrder(Order::Random(seed)))
            }
            Some(_) | None => Err("expected `fixed`, `random` or `random:SEED`".to_owned()),
        }
    }
}

impl Interpret {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        self.data.spare(&self.program)?;
        let source = Source::read(&self.program, self.allow_external)?.retargeted(self.retarget);
        let validated = source.validated(terminal)?;
        if !self.allow_external && calls_c(validated.sdfg()) {
            return Err(brings_code());
        }
        without_callbacks(validated.sdfg())?;
        let exposed = with_dumps(validated, &self.data)?;
        let data = RunData::prepare(&exposed, &self.data, terminal)?;
        let expanded = self.blas.is_given().then(|| self.blas.expanded(&exposed.program)).transpose()?;
        let program = expanded.as_ref().unwrap_or(&exposed.program);
        let mut interpreter = Interpreter::new(program).map_err(Failure::program)?;
        // SAFETY: without --allow-external, the program names no functions but those of a BLAS that the user asked for. With it, the
        // user vouches for the others.
        let externals = unsafe { NativeExternals::new(Cache::of_user()) };
        let options = Options {
            libraries: Some(&BuiltIn),
            // Code of the program's own was refused above, unless the user allows it.
            externals: (self.allow_external || self.blas.is_given()).then_some(&externals as &dyn Externals),
            order: self.order.0,
            check_conflicts: !self.no_conflict_check,
            step_limit: self.step_limit,
            memory_limit: self.memory_limit.unwrap_or(Options::default().memory_limit),
            ranks: self.ranks,
            trace: self.trace,
        };
        if options.externals.is_some() && calls_c(program.sdfg()) {
            report_signals(Running { checked: true, external: true }, terminal);
        }
        let mut results = data.arguments.clone();
        let report = interpreter.run(&mut results, &options).map_err(|error| match error {
            RunError::Arguments(error) => Failure::usage(error),
            RunError::Trap(trap) => trapped(&trap),
        })?;
        if self.trace {
            terminal.message(&trace(&report));
        }
        data.finish(&results)
    }
}

/// Refuses to run a program whose caller has to pass functions: a command has none.
pub(crate) fn without_callbacks(sdfg: &Sdfg) -> Result<(), Failure> {
    let names = callbacks(sdfg);
    if names.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let (names, plural) = (names.join(", "), if names.len() == 1 { "" } else { "s" });
    let message = format!("the program calls the callback{plural} {names}, which no command can pass");
    Err(Failure::usage(message).help("call it from Python, C or Rust (docs/semantics.md, \"Callbacks\")"))
}

/// Whether a program has tasklets that call C functions of libraries or sources.
pub(crate) fn calls_c(sdfg: &Sdfg) -> bool {
    let mut waiting = vec![sdfg];
    while let Some(sdfg) = waiting.pop() {
        for (_, node) in sdfg.states().flat_map(|(_, state)| state.nodes()) {
            if let NodeKind::Tasklet(Tasklet { body: TaskletBody::External(call), .. }) = &node.kind
                && call.origin != ExternalOrigin::Callback
            {
                return true;
            }
            if let NodeKind::Nested(nested) = &node.kind {
                waiting.push(&nested.sdfg);
            }
        }
    }
    false
}

fn trapped(trap: &Trap) -> Failure {
    let with = trap.iteration.iter().map(|(name, value)| format!(", {name} = {value}"));
    let failure = Failure::program(&trap.kind).at(format!("{}{}", trap.path, with.collect::<String>()));
    match trap.kind {
        TrapKind::StepLimit { .. } => failure.help("raise the limit with --step-limit"),
        TrapKind::MemoryLimit { .. } | TrapKind::OutOfMemory { .. } => {
            failure.help("if the program is right, raise the limit with --memory-limit")
        }
        // The others say all that is known.
        _ => failure,
    }
}

/// Number of blocks that the trace shows individually.
const SHOWN: usize = 1000;

fn trace(report: &Report) -> String {
    let mut text = format!("{} steps, {} tasklets\n", report.steps, report.tasklets);
    text.push_str("blocks in order:\n");
    for block in report.order.iter().take(SHOWN) {
        text.push_str(&format!("  {}\n", report.blocks[*block].0));
    }
    if report.order.len() > SHOWN {
        text.push_str(&format!("  and {} more\n", report.order.len() - SHOWN));
    }
    text.push_str("blocks:\n");
    for (path, count) in &report.blocks {
        text.push_str(&format!("  {path}: ran {}\n", times(*count)));
    }
    text.push_str("memlets:\n");
    for moved in &report.moved {
        let verb = if moved.writes { "wrote" } else { "read" };
        text.push_str(&format!(
            "  {}: {verb} {} elements, {} bytes of {}, {}\n",
            moved.path,
            moved.elements,
            moved.bytes,
            moved.memlet,
            times(moved.times)
        ));
    }
    text
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
