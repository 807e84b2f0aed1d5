//! Programs that are distributed automatically and compiled for a rank.

use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::validate::validate;
use sdfg_codegen::link::BlasLibraries;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_codegen::ranks::{RankProgram, localise};
use sdfg_library::{Blas, BuiltIn, Registry, expand};
use sdfg_programs::distributed::simplified;
use sdfg_programs::trusted;
use sdfg_transforms::Pipeline;
use sdfg_transforms::distribute::Distribute;
use sdfg_transforms::strategy::model::Machine;

use crate::Error;
use crate::timing::Place;

/// The way to distribute a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// The cheapest one of the cost model.
    Optimal,
    /// The first dimension of every map.
    DataParallel,
}

impl Strategy {
    /// Its name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Strategy::Optimal => "optimal strategy",
            Strategy::DataParallel => "data-parallel",
        }
    }
}

/// The program of a text, simplified.
pub(crate) fn read(text: &str) -> Result<Pipeline, Error> {
    let parsed = sdfg::text::parse("program", text).map_err(|errors| format!("{errors:?}"))?;
    Ok(simplified(validate(parsed)?.sdfg()))
}

/// A program on this rank.
pub(crate) struct Compiled {
    program: RankProgram,
    library: Library,
    whole: Arguments,
    local: Arguments,
}

impl Compiled {
    /// Distributes a program by a strategy for these arguments, and compiles it for a rank.
    pub(crate) fn by(
        text: &str,
        strategy: Strategy,
        place: &Place<'_>,
        machine: &Machine,
        whole: &Arguments,
    ) -> Result<Self, Error> {
        let mut pipeline = read(text)?;
        let distribute = match strategy {
            Strategy::Optimal => Distribute::optimal(machine.clone()).with_sizes(whole.symbols()),
            Strategy::DataParallel => Distribute::data_parallel(place.ranks as u32),
        };
        let _ = distribute.apply(&mut pipeline)?;
        Compiled::of(pipeline.program(), place, whole)
    }

    /// Compiles a distributed program for a rank.
    pub(crate) fn of(program: &Sdfg, place: &Place<'_>, whole: &Arguments) -> Result<Self, Error> {
        let program = localise(program)?;
        let registry: Box<dyn Registry> = match BlasLibraries::find() {
            Some(found) => Box::new(Blas::new(found.blas, found.lapack)),
            None => Box::new(BuiltIn),
        };
        let expanded = expand(&program.program, registry.as_ref())?;
        let object = sdfg_codegen::compile(&validate(expanded)?, &CompileOptions::default())?;
        let library = trusted::load(&object)?;
        let local = program.local(whole, place.rank as u32)?;
        Ok(Compiled { program, library, whole: whole.clone(), local })
    }

    /// Runs it once.
    pub(crate) fn run(&mut self, place: &Place<'_>) -> Result<(), Error> {
        Ok(trusted::run_on_rank(&self.program, &self.library, &place.hooks, &mut self.local)?)
    }

    /// The whole arguments after a run.
    pub(crate) fn results(&self, place: &Place<'_>) -> Result<Arguments, Error> {
        Ok(trusted::gather(&self.program, &place.hooks, &self.whole, &self.local)?)
    }
}
