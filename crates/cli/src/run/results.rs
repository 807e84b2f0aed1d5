//! Results of a run on ranks: each rank writes its own elements to files, and rank 0 the rest.

use std::collections::BTreeMap;

use sdfg::interpret::Arguments;
use sdfg::symbolic::Symbol;
use sdfg::tensor::Tensor;
use sdfg_codegen::mpi::Context;
use sdfg_codegen::ranks::{Part, RankProgram};

use crate::data::{RunData, SharedOutput};
use crate::failure::Failure;

/// The results on a rank.
pub(super) struct Results<'r> {
    pub(super) program: &'r RankProgram,
    pub(super) data: &'r RunData,
    /// The arguments of the rank, with its symbols.
    pub(super) local: &'r Arguments,
    /// Symbols of the program.
    pub(super) symbols: &'r BTreeMap<Symbol, i64>,
}

impl Results<'_> {
    /// Writes what was asked for. Every rank does so at the same time.
    pub(super) fn write(&self, context: &mut Context) -> Result<(), Failure> {
        let mut results = Arguments::new();
        for (name, path) in self.data.results() {
            let Some(own) = self.local.get(name) else { continue };
            let part = self.part(name)?;
            match (part, path.and_then(SharedOutput::at)) {
                (Some(part), Some(file)) => write_part(context, &file, &part, own)?,
                (Some(_), None) => {
                    let rank = context.rank() as u32;
                    // SAFETY: the tensor is the rank's argument, which had the elements of its part.
                    let whole = unsafe {
                        self.program.gather_on_first(&context.hooks(), rank, (name, own), self.symbols)
                    };
                    if let Some(whole) = whole.map_err(Failure::program)? {
                        results.set(name, whole);
                    }
                }
                (None, _) => {
                    results.set(name, own.clone());
                }
            }
        }
        let written = if context.rank() == 0 { self.data.finish(&results) } else { Ok(()) };
        agreed(context, written)
    }

    fn part(&self, name: &str) -> Result<Option<Part>, Failure> {
        let symbols: BTreeMap<Symbol, i64> =
            self.local.symbols().map(|(name, value)| (Symbol::of(name), value)).collect();
        self.program.part(name, &symbols).map_err(Failure::program)
    }
}

/// Writes a file of which each rank has a part.
fn write_part(context: &mut Context, file: &SharedOutput, part: &Part, own: &Tensor) -> Result<(), Failure> {
    let is_first = context.rank() == 0;
    let made = if is_first { file.create(own, &part.shape) } else { Ok(()) };
    agreed(context, made)?;
    let first: Vec<i64> = part.held.iter().map(|range| range.start).collect();
    let written = if part.is_owner { file.write(&part.shape, &part.own, own, &first) } else { Ok(()) };
    let result = agreed(context, written);
    let finished = if is_first { file.finish(result.is_ok()) } else { Ok(()) };
    result.and(agreed(context, finished))
}

/// The failure of this rank, or of another one.
fn agreed(context: &mut Context, result: Result<(), Failure>) -> Result<(), Failure> {
    let message = result.as_ref().err().map(Failure::message);
    let others = context.agree(message.as_deref()).map_err(Failure::program);
    result.and(others)
}
