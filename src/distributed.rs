//! Programs that are distributed over ranks by random strategies, run in the interpreter on virtual ranks.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sdfg::analysis::ScopeTree;
use sdfg::interpret::Arguments;
use sdfg::ir::{NodeKind, Sdfg};
use sdfg::path::{ElementPath, ElementPlace, Target};
use sdfg::symbolic::Symbol;
use sdfg::validate::validate;
use sdfg_codegen::interface::ArgumentKind;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::{LowerError, lower};
use sdfg_codegen::mpi::Hooks;
use sdfg_codegen::ranks::{CONTEXT, LocaliseError, RankProgram, localise};
use sdfg_library::{ExpandLibrary, transformations};
use sdfg_transforms::distribute::{Distributed, distribute_by, prepare};
use sdfg_transforms::{Pipeline, Soundness, Step};

use crate::applications::{Applications, refused_for_a_reason};
use crate::random::{Rng, expanded};
use crate::rewritten::Case;
use crate::trusted;

/// The site of the moves that bring results together; those of a program count from 0.
const RESULTS: i64 = 1 << 19;

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
        let mut pipeline = Pipeline::on(self.program.clone());
        // Not every program has something to expand.
        let _ = pipeline.apply(Step::from(ExpandLibrary::default()).everywhere(None));
        pipeline.simplify(&transformations(), None);
        prepare(&mut pipeline);
        let steps = random_parts(&pipeline, ranks, rng);
        let outcome = distribute_by(&mut pipeline, &steps, rng.chance(50));
        (pipeline, outcome)
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
        let before = ranks.hooks.counters();
        let found = ranks.run(&library, &local, &self.arguments, &mut || {
            let after = ranks.hooks.counters();
            self.same_bytes(pipeline.program(), ranks, after.received - before.received)
        })?;
        local.moves.iter().for_each(|_| moves.note(Ok(())));
        self.equals(&found, Soundness::ChangesRounding)
            .map_err(|what| format!("on ranks: {what}\n{}", text()))?;
        Ok(counts)
    }
}

impl Case {
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

impl Ranks<'_> {
    /// Runs the program of a rank, and gives the whole results.
    fn run(
        &self,
        library: &Library,
        program: &RankProgram,
        arguments: &Arguments,
        after: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<Arguments, String> {
        let symbols: BTreeMap<Symbol, i64> =
            arguments.symbols().map(|(name, value)| (Symbol::of(name), value)).collect();
        let rank = self.rank as u32;
        let own = program.symbols(rank, &symbols).map_err(|error| error.to_string())?;
        let mut tensors = Vec::new();
        for (name, tensor) in arguments.tensors() {
            let part = program.part(name, rank, &symbols).map_err(|error| error.to_string())?;
            let tensor = match part {
                None => tensor.clone(),
                Some(part) => part.of(tensor).ok_or_else(|| format!("`{name}` has no parts"))?,
            };
            tensors.push((name.to_owned(), tensor));
        }
        let is_symbol = |name: &str| {
            let interface = library.interface();
            let kind = interface.position(name).map(|position| &interface.arguments()[position].kind);
            matches!(kind, Some(ArgumentKind::Symbol { .. }))
        };
        let mut call = library.call().threads(NonZeroU32::MIN);
        let context = [(Symbol::of(CONTEXT), self.hooks.address())];
        for (symbol, value) in symbols.iter().chain(&own).chain(context.iter().map(|(name, at)| (name, at))) {
            if is_symbol(symbol.as_str()) {
                call = call.symbol(symbol.as_str(), *value);
            }
        }
        for (name, combines) in &program.moves {
            call = call.callback(name, self.hooks.function(*combines));
        }
        for (name, tensor) in &mut tensors {
            if library.interface().position(name).is_some() {
                call = call.tensor(name, tensor);
            }
        }
        trusted::call(call).map_err(|error| error.to_string())?;
        let counted = after();
        let mut results = arguments.clone();
        for (site, (name, tensor)) in (RESULTS..).zip(tensors) {
            let Some(mut whole) = arguments.get(&name).cloned() else { continue };
            let gathering = program.gathering(&name, &whole, &symbols).map_err(|error| error.to_string())?;
            match gathering {
                None => whole = tensor,
                Some(moved) => trusted::gather(&self.hooks, site, &moved, &tensor, &mut whole),
            }
            results.set(name, whole);
        }
        counted.map(|()| results)
    }
}

/// For each map outside of scopes a number of parts of each dimension, at most so many in all.
fn random_parts(pipeline: &Pipeline, ranks: usize, rng: &mut Rng) -> Vec<(ElementPath, Vec<u32>)> {
    let program = pipeline.program();
    let mut steps = Vec::new();
    for (state, graph) in program.states() {
        let tree = ScopeTree::of(graph);
        for node in tree.children(None) {
            let NodeKind::MapEntry(map) = &graph.node(*node).kind else { continue };
            let mut left = ranks;
            let mut parts = Vec::new();
            for _ in &map.params {
                let count = 1 + rng.below(left);
                left /= count;
                parts.push(count as u32);
            }
            let place = ElementPlace { calls: Vec::new(), target: Target::Node(state, *node) };
            steps.extend(place.path(program).map(|path| (path, parts)));
        }
    }
    steps
}
