//! Compiled code before loading or linking: object files and their external requirements.
//!
//! In-process loading and linking to a file both start from this type, with or without LLVM.

use std::path::PathBuf;

use sdfg::diagnostic::Code;
use sdfg::ir::structure::CallerStructure;
use sdfg::tasklet::ExternalOrigin;
use sdfg_runtime::Sanitizer;

use crate::interface::Interface;

/// Relocatable object files of the host's format, with the interface of the program in them.
///
/// The bytes are a function of the program and the compile options alone. The parts cannot be changed from outside: what is
/// known of the code ([`ObjectCode::hazard`]) would be true of another.
#[derive(Clone, Debug)]
pub struct ObjectCode {
    pub(crate) interface: Interface,
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) requirements: Requirements,
    pub(crate) hazard: Option<Hazard>,
}

impl ObjectCode {
    /// The calling interface of the program.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The object files: one, or several of a large program, which call each other.
    pub fn files(&self) -> &[Vec<u8>] {
        &self.files
    }

    /// The same with structures that C callers may pass in the place of their members.
    #[must_use]
    pub fn with_structures(self, structures: Vec<CallerStructure>) -> Self {
        ObjectCode { interface: self.interface.with_structures(structures), ..self }
    }

    /// The name of each object file with its bytes.
    pub(crate) fn named_files(&self) -> impl Iterator<Item = (String, &[u8])> {
        let name = self.interface.name();
        self.files.iter().enumerate().map(move |(number, bytes)| {
            let name = if number == 0 { name.to_owned() } else { format!("{name}.{number}") };
            (name, bytes.as_slice())
        })
    }

    /// Requirements of the code that the objects do not contain.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// Why a run of this code could corrupt memory; `None` if it cannot, so that safe Rust may run it.
    pub fn hazard(&self) -> Option<&Hazard> {
        self.hazard.as_ref()
    }

    /// The same code with the functions of its external tasklets taken from other places.
    pub fn with_externals(mut self, externals: Vec<ExternalOrigin>) -> Self {
        self.requirements.externals = externals;
        self
    }
}

/// Why code could corrupt memory when it runs, so that only `unsafe` functions run it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Hazard {
    /// It trusts the indices of the program.
    #[error("it was compiled without checks: set `checked` in its `CompileOptions`")]
    Unchecked,
    /// It calls functions that are not its own.
    #[error("it calls C or C++ functions, which no check covers")]
    ExternalCode,
    /// The program has a warning V705: threads may meet at an element.
    #[error(
        "accesses that nothing orders may touch the same element ({}): {message}",
        Code::PossibleConflict
    )]
    PossibleConflict {
        /// The first warning.
        message: String,
    },
    /// LLVM may assume that no value is infinite or not a number, also of one that becomes an index.
    #[error(
        "its arithmetic is `fast`, so that a value that is not a number has no defined effect: choose another float mode"
    )]
    FastArithmetic,
    /// The processor was named, and nothing compares it with this one.
    #[error(
        "it was compiled for a named processor: compile it for the host, or for several levels of x86-64"
    )]
    NamedProcessor,
    /// It does not come from [`compile`](crate::compile()), but from a plan, a cache or a file.
    #[error("it was not made by `sdfg_codegen::compile`, which alone knows the program")]
    UnknownProgram,
}

impl Requirements {
    /// The objects of this project's runtime that the code needs, with their names.
    pub(crate) fn runtime_objects(&self) -> impl Iterator<Item = (&'static str, &'static [u8])> {
        let runtime = self.runtime.then_some(sdfg_runtime::objects(self.sanitizer)).into_iter().flatten();
        runtime
            .chain(self.profile.then_some(sdfg_runtime::profile(self.sanitizer)))
            .chain(self.processor.then_some(sdfg_runtime::PROCESSOR))
    }
}

/// Requirements of compiled code beyond the C and mathematics libraries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The code has parallel regions, which an OpenMP runtime runs.
    pub openmp: bool,
    /// The code calls functions of `sdfg-runtime`.
    pub runtime: bool,
    /// The code has timers, which are functions of `sdfg-runtime`.
    pub profile: bool,
    /// The code has several versions, among which a function of `sdfg-runtime` chooses.
    pub processor: bool,
    /// The code may call glibc's functions of vectors, `libmvec`.
    pub vector_mathematics: bool,
    /// The code calls the runtime of a sanitizer, which the process that loads it has to bring.
    pub sanitizer: Option<Sanitizer>,
    /// Sources of the functions of external tasklets, in order.
    ///
    /// Loading or linking the object compiles their sources and loads their libraries: it is for the caller to have the user's
    /// consent.
    pub externals: Vec<ExternalOrigin>,
    /// Optimisation level of these sources: the number after a compiler's `-O`.
    pub source_level: u8,
    /// The folder in which those in C++ are kept once they are compiled.
    pub source_cache: Option<PathBuf>,
}
