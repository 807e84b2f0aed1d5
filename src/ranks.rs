//! Distributed programs on the ranks of MPI that run this process.

use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::validate::validate;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::{LowerError, lower};
use sdfg_codegen::mpi::{Hooks, MoveKind};
use sdfg_codegen::ranks::{LocaliseError, localise};
use sdfg_transforms::{Pipeline, Soundness};

use crate::applications::{Applications, refused_for_a_reason};
use crate::corpus::{Divided, Outcome, run_divided};
use crate::distributed::{Alike, Division};
use crate::random::{Rng, expanded};
use crate::rewritten::Case;
use crate::trusted;

/// The ranks of MPI that run this process.
#[derive(Debug)]
pub struct Ranks<'c> {
    /// The functions of the communicator.
    pub hooks: Hooks<'c>,
    /// The rank of this process.
    pub rank: usize,
    /// Number of ranks.
    pub count: usize,
}

/// A run of a distributed program on ranks.
#[derive(Debug)]
pub(crate) struct Run {
    /// The whole arguments after it, on every rank.
    pub(crate) found: Arguments,
    /// Bytes that this rank received by moves, as the library of communication counted them.
    pub(crate) received: i64,
    /// Number of moves in the program.
    pub(crate) moves: usize,
    /// Number of functions among them that begin moves, during which maps run.
    pub(crate) begun: usize,
}

/// Why a distributed program gave no results on ranks.
#[derive(Debug)]
pub(crate) enum NotRun {
    /// Something has no code for ranks yet. All ranks find this.
    Refused(String),
    /// It should have run.
    Failed(String),
}

impl Ranks<'_> {
    /// Compiles the program of a rank from a distributed program, and runs it on the parts of these whole arguments that this rank
    /// has. Every rank calls this with the same program and arguments.
    pub(crate) fn run(
        &self,
        distributed: &Sdfg,
        arguments: &Arguments,
        level: OptLevel,
    ) -> Result<Run, NotRun> {
        let failed = |what: String| NotRun::Failed(what);
        let local = localise(distributed).map_err(|error| match error {
            LocaliseError::Unsupported { what } => NotRun::Refused(what),
            error => failed(error.to_string()),
        })?;
        let text = || sdfg::text::print(&local.program);
        let program =
            validate(local.program.clone()).map_err(|rejected| failed(format!("{rejected}\n{}", text())))?;
        let options = CompileOptions {
            level,
            parallel_threshold: 0,
            serial_components: true,
            ..CompileOptions::default()
        };
        let program = expanded(&program).map_err(NotRun::Failed)?;
        let plan = lower(&program, &options.target(), &options.lowering()).map_err(|error| match error {
            LowerError::Unsupported { what, .. } => NotRun::Refused(what),
            error => failed(format!("not lowered: {error}\n{}", text())),
        })?;
        let object =
            llvm::compile(&plan, &options).map_err(|error| failed(format!("not compiled: {error}")))?;
        let library = trusted::load(&object).map_err(|error| failed(format!("not loaded: {error}")))?;
        let own = local.local(arguments, self.rank as u32);
        let mut own = own.map_err(|error| failed(error.to_string()))?;
        let before = self.hooks.counters();
        trusted::run_on_rank(&local, &library, &self.hooks, &mut own).map_err(NotRun::Failed)?;
        let received = self.hooks.counters().received - before.received;
        let found = trusted::gather(&local, &self.hooks, arguments, &own).map_err(NotRun::Failed)?;
        let begins = |(_, kind): &&(String, MoveKind)| matches!(kind, MoveKind::Begin(_));
        let begun = local.moves.iter().filter(begins).count();
        Ok(Run { found, received, moves: local.moves.len(), begun })
    }
}

impl Case {
    /// Distributes the program over ranks, each of which compiles and runs the program of a rank and compares the whole results.
    pub fn divided_on_ranks(&self, ranks: &Ranks<'_>, division: Division) -> (Outcome, Divided) {
        let mut divided = Divided::default();
        let outcome = match run_divided(&self.program, &self.arguments, ranks, division, &mut divided) {
            Ok(found) => match self.equals(&found, Soundness::ChangesRounding) {
                Ok(()) => Outcome::Passed,
                Err(what) => Outcome::Failed(what),
            },
            Err(outcome) => outcome,
        };
        (outcome, divided)
    }

    /// Distributes the program over ranks by a random strategy that is the same on every rank. Each rank compiles and runs the
    /// program of a rank, and compares the whole results.
    ///
    /// # Errors
    /// If the distributed program gives other results.
    pub fn on_ranks(&self, ranks: &Ranks<'_>, alike: Alike, rng: &mut Rng) -> Result<Applications, String> {
        let (pipeline, outcome, overlapped) = self.divided(ranks.count, alike, rng);
        let mut counts = Applications::new();
        let moves = counts.entry("moves").or_default();
        if outcome.divided.is_empty() {
            return Ok(counts);
        }
        let level = OptLevel::ALL[(self.seed() / 8 % OptLevel::ALL.len() as u64) as usize];
        let steps = || format!("distributed by {}", pipeline.chain().lines().join("; "));
        let run = match ranks.run(pipeline.program(), &self.arguments, level) {
            Ok(run) => run,
            Err(NotRun::Refused(what)) => {
                moves.note(Err(refused_for_a_reason("MPITransform", &what)?));
                return Ok(counts);
            }
            Err(NotRun::Failed(what)) => return Err(format!("{}: {what}", steps())),
        };
        self.same_bytes(&pipeline, ranks, run.received)?;
        (0..run.moves).for_each(|_| moves.note(Ok(())));
        counts.entry("HaloOverlap").or_default().applied += overlapped as u64;
        counts.entry("moves during maps").or_default().applied += run.begun as u64;
        self.equals(&run.found, Soundness::ChangesRounding)
            .map_err(|what| format!("on ranks, {}: {what}", steps()))?;
        Ok(counts)
    }

    /// Compares the bytes that a rank received by moves, as the library of communication counted them, with those that follow from the
    /// copies of the program.
    fn same_bytes(&self, pipeline: &Pipeline, ranks: &Ranks<'_>, received: i64) -> Result<(), String> {
        // Control flow that reads data may need broadcasts, which the interpreter does not have.
        let Some(counted) = self.counted(pipeline, ranks.count as u32)? else { return Ok(()) };
        let expected = counted.get(ranks.rank).copied().unwrap_or(0);
        if u64::try_from(received) == Ok(expected) {
            return Ok(());
        }
        Err(format!("rank {} received {received} bytes, and {expected} were predicted", ranks.rank))
    }
}
