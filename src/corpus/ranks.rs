//! Graphs that are distributed over the ranks of MPI that run this process.

use std::path::Path;

use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg_codegen::llvm::OptLevel;

use super::Outcome;
use super::run::{Loaded, failed};
use crate::distributed::{Division, simplified};
use crate::ranks::{NotRun, Ranks};

/// The division of a graph over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Divided {
    /// Maps that were divided.
    pub maps: usize,
    /// Maps that every rank runs as a whole.
    pub whole: usize,
    /// Moves of data between ranks in the program.
    pub moves: usize,
}

/// Reads a graph, distributes it over the ranks that run this process, runs it on the inputs beside it and compares the outputs.
/// Every rank calls this with the same graph and division.
pub fn check_on_ranks(graph: &Path, ranks: &Ranks<'_>, division: Division) -> (Outcome, Divided) {
    let mut divided = Divided::default();
    match attempt(graph, ranks, division, &mut divided) {
        Ok(()) => (Outcome::Passed, divided),
        Err(outcome) => (outcome, divided),
    }
}

fn attempt(
    graph: &Path,
    ranks: &Ranks<'_>,
    division: Division,
    divided: &mut Divided,
) -> Result<(), Outcome> {
    let loaded = Loaded::read(graph)?;
    let found = run_divided(loaded.program.sdfg(), loaded.arguments(), ranks, division, divided)?;
    loaded.compare(&found)
}

/// Distributes a program over the ranks that run this process, and runs it. Every rank calls this with the same program and division.
pub(crate) fn run_divided(
    program: &Sdfg,
    arguments: &Arguments,
    ranks: &Ranks<'_>,
    division: Division,
    divided: &mut Divided,
) -> Result<Arguments, Outcome> {
    let refused = |code: &str, reason: String| Outcome::Refused { code: code.to_owned(), reason };
    let mut pipeline = simplified(program);
    let number =
        |tensor: &Tensor| tensor.shape().is_empty().then(|| tensor.values().next()?.to_i64()).flatten();
    let scalars = arguments.tensors().filter_map(|(name, tensor)| Some((name, number(tensor)?)));
    let sizes = arguments.symbols().chain(scalars);
    let outcome = division.carry_out(&mut pipeline, ranks.count as u32, sizes);
    let outcome = outcome.map_err(|error| refused("strategy", error.to_string()))?;
    (divided.maps, divided.whole) = (outcome.divided.len(), outcome.whole.len());
    let run = ranks.run(pipeline.program(), arguments, OptLevel::O2);
    let run = run.map_err(|error| match error {
        NotRun::Refused(reason) => refused("ranks", reason),
        NotRun::Failed(what) => failed(format!("{what}; {}", pipeline.chain().lines().join("; "))),
    })?;
    divided.moves = run.moves;
    Ok(run.found)
}
