//! Programs that are distributed over ranks by random strategies, run in the interpreter on virtual ranks.

use sdfg::ir::Sdfg;
use sdfg::path::ElementPath;
use sdfg::symbolic::Symbol;
use sdfg::validate::validate;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::{LowerError, lower};
use sdfg_codegen::mpi::Hooks;
use sdfg_codegen::ranks::{LocaliseError, localise};
use sdfg_library::{ExpandLibrary, transformations};
use sdfg_transforms::distribute::{Distributed, distribute, distribute_by, outer_maps, prepare};
use sdfg_transforms::strategy::model::{Machine, Model, ModelOptions};
use sdfg_transforms::strategy::{self, StrategyFile};
use sdfg_transforms::{Pipeline, Soundness, Step};

use crate::applications::{Applications, refused_for_a_reason};
use crate::random::{Rng, expanded};
use crate::rewritten::Case;
use crate::trusted;

/// The most ranks of a random strategy.
const MOST_RANKS: usize = 16;

impl Case {
    /// Distributes the program by random numbers of parts of its maps, and compares the results on as many ranks as there are
    /// parts, on one less, and on one.
    ///
    /// # Errors
    /// If the distributed program is not valid, traps or gives other results.
    pub fn distributed(&self, rng: &mut Rng) -> Result<Applications, String> {
        let ranks = 1 + rng.below(MOST_RANKS);
        let (pipeline, outcome) = self.divided(ranks, rng);
        let mut counts = Applications::new();
        let divided = counts.entry("MPITransform").or_default();
        outcome.divided.iter().for_each(|_| divided.note(Ok(())));
        for (_, reason) in &outcome.whole {
            divided.note(Err(refused_for_a_reason("MPITransform", reason)?));
        }
        let merged = counts.entry("RedundantRedistribution").or_default();
        (0..outcome.left_out).for_each(|_| merged.note(Ok(())));
        self.compare(pipeline.program(), Soundness::ChangesRounding)
            .map_err(|what| format!("distributed by {}: {what}", pipeline.chain().lines().join("; ")))?;
        Ok(counts)
    }

    /// The program, distributed by random numbers of parts of its maps, at most so many for each.
    fn divided(&self, ranks: usize, rng: &mut Rng) -> (Pipeline, Distributed) {
        let mut pipeline = prepared(&self.program);
        let steps = random_parts(&pipeline, ranks, rng);
        let outcome = distribute_by(&mut pipeline, &steps, rng.chance(50));
        (pipeline, outcome)
    }

    /// The bytes that each rank receives if the program is divided by its cheapest strategy on a machine: as the cost model predicts, and as
    /// the interpreter counts on as many virtual ranks.
    ///
    /// # Errors
    /// If the model refuses the program, or the distributed program fails.
    pub fn predicted_bytes(&self, machine: &Machine) -> Result<(Vec<u64>, Vec<u64>), String> {
        let mut pipeline = prepared(&self.program);
        let symbols: Vec<(&str, i64)> = self.arguments.symbols().collect();
        let searched = Searched::of(pipeline.program(), &symbols, machine)?;
        let _ = distribute(&mut pipeline, &searched.file, true).map_err(|error| error.to_string())?;
        let distributed = validate(pipeline.program().clone()).map_err(|rejected| rejected.to_string())?;
        let report = self.report(&distributed, machine.ranks)?;
        let mut counted: Vec<u64> =
            report.received.iter().map(|received| received.copied + received.combined).collect();
        counted.resize(machine.ranks as usize, 0);
        Ok((searched.model.predicted(&searched.strategy).received, counted))
    }

    /// Distributes the program over the ranks of MPI that run this process, by a random strategy that is the same on every rank.
    /// Each rank compiles and runs the program of a rank, and compares the whole results.
    ///
    /// # Errors
    /// If the distributed program gives other results.
    pub fn on_ranks(&self, ranks: &Ranks<'_>, rng: &mut Rng) -> Result<Applications, String> {
        let (pipeline, outcome) = self.divided(ranks.count, rng);
        let mut counts = Applications::new();
        let moves = counts.entry("moves").or_default();
        if outcome.divided.is_empty() {
            return Ok(counts);
        }
        let steps = || format!("distributed by {}", pipeline.chain().lines().join("; "));
        let local = match localise(pipeline.program()) {
            Ok(local) => local,
            Err(LocaliseError::Unsupported { what }) => {
                moves.note(Err(refused_for_a_reason("MPITransform", &what)?));
                return Ok(counts);
            }
            Err(error) => return Err(format!("{}: {error}", steps())),
        };
        let text = || format!("{}\n{}", steps(), sdfg::text::print(&local.program));
        let program =
            validate(local.program.clone()).map_err(|rejected| format!("{rejected}\n{}", text()))?;
        let level = OptLevel::ALL[(self.seed() / 8 % OptLevel::ALL.len() as u64) as usize];
        let options = CompileOptions {
            level,
            parallel_threshold: 0,
            serial_components: true,
            ..CompileOptions::default()
        };
        let lowered = lower(&expanded(&program)?, &options.target(), &options.lowering());
        let plan = match lowered {
            Ok(plan) => plan,
            Err(LowerError::Unsupported { what, .. }) => {
                moves.note(Err(refused_for_a_reason("MPITransform", &what)?));
                return Ok(counts);
            }
            Err(error) => return Err(format!("not lowered: {error}\n{}", text())),
        };
        let object = llvm::compile(&plan, &options).map_err(|error| format!("not compiled: {error}"))?;
        let library = trusted::load(&object).map_err(|error| format!("not loaded: {error}"))?;
        let mut own = local.local(&self.arguments, ranks.rank as u32).map_err(|error| error.to_string())?;
        let before = ranks.hooks.counters();
        trusted::run_on_rank(&local, &library, &ranks.hooks, &mut own)?;
        let received = ranks.hooks.counters().received - before.received;
        // A rank that fails after the run takes part in what the others wait for.
        let found = trusted::gather(&local, &ranks.hooks, &self.arguments, &own)?;
        self.same_bytes(pipeline.program(), ranks, received)?;
        local.moves.iter().for_each(|_| moves.note(Ok(())));
        self.equals(&found, Soundness::ChangesRounding)
            .map_err(|what| format!("on ranks: {what}\n{}", text()))?;
        Ok(counts)
    }

    /// Compares the bytes that a rank received by moves, as the library of communication counted them, with those of the interpreter
    /// on as many virtual ranks. Combinations count apart: they take the steps of an all-reduce.
    fn same_bytes(&self, program: &Sdfg, ranks: &Ranks<'_>, received: i64) -> Result<(), String> {
        let program = validate(program.clone()).map_err(|rejected| rejected.to_string())?;
        let report = self.report(&program, ranks.count as u32)?;
        let expected = report.received.get(ranks.rank).map_or(0, |received| received.copied);
        if u64::try_from(received) == Ok(expected) {
            return Ok(());
        }
        Err(format!("rank {} received {received} bytes, and {expected} in the interpreter", ranks.rank))
    }
}

/// A program that is ready to be divided: without library nodes, and each map in a state of its own.
pub fn prepared(program: &Sdfg) -> Pipeline {
    let mut pipeline = Pipeline::on(program.clone());
    // Not every program has something to expand.
    let _ = pipeline.apply(Step::from(ExpandLibrary::by("pure")).everywhere(None));
    pipeline.simplify(&transformations(), None);
    prepare(&mut pipeline);
    pipeline
}

/// The costs of a program, and its cheapest strategy.
#[derive(Debug)]
pub struct Searched {
    /// The costs.
    pub model: Model,
    /// The configuration of each operation.
    pub strategy: Vec<usize>,
    /// The strategy as [`distribute`] takes it.
    pub file: StrategyFile,
}

impl Searched {
    /// Searches the cheapest strategy of a prepared program for these values of its symbols, and checks the proof.
    ///
    /// # Errors
    /// If the model refuses the program, the search fails, or the proof is rejected.
    pub fn of(program: &Sdfg, symbols: &[(&str, i64)], machine: &Machine) -> Result<Self, String> {
        let program = validate(program.clone()).map_err(|rejected| rejected.to_string())?;
        let values = symbols.iter().map(|(name, value)| (Symbol::of(name), *value)).collect();
        let model = Model::new(&program, &values, machine, &ModelOptions::default());
        let model = model.map_err(|error| error.to_string())?;
        let options = strategy::Options::default();
        let solution = strategy::search(&model, &options, &()).map_err(|error| error.to_string())?;
        let limits = strategy::Limits::from(&options);
        let checked = solution.certificate.check(&model, &solution.strategy, solution.cost, &limits);
        let checked = checked.map_err(|error| error.to_string())?;
        let mut file = StrategyFile::new(&model, &solution, &checked);
        model.describe(&values, &solution.strategy, &mut file);
        Ok(Searched { model, strategy: solution.strategy, file })
    }
}

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

/// For each map outside of scopes a number of parts of each dimension, at most so many in all.
fn random_parts(pipeline: &Pipeline, ranks: usize, rng: &mut Rng) -> Vec<(ElementPath, Vec<u32>)> {
    let parts = |dimensions: usize, rng: &mut Rng| {
        let mut left = ranks;
        let mut count = || {
            let count = 1 + rng.below(left);
            left /= count;
            count as u32
        };
        (0..dimensions).map(|_| count()).collect()
    };
    let maps = outer_maps(pipeline.program()).into_iter();
    maps.map(|(path, dimensions)| (path, parts(dimensions, rng))).collect()
}
