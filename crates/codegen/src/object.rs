//! Compiled code before it is loaded or linked: one object file and what it needs from its surroundings.
//!
//! It stands apart because loading in process and linking to a file both start from it, with or without LLVM.

use std::path::PathBuf;

use sdfg::tasklet::ExternalOrigin;
use sdfg_runtime::Sanitizer;

use crate::interface::Interface;

/// A relocatable object file of the host's format, with the interface of the program in it.
///
/// The bytes are a function of the program and the compile options alone.
#[derive(Clone, Debug)]
pub struct ObjectCode {
    /// How the program is called.
    pub interface: Interface,
    /// The object file.
    pub bytes: Vec<u8>,
    /// What the code calls that is not in it.
    pub requirements: Requirements,
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

/// What compiled code calls, beyond the C and mathematics libraries.
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
    /// Where the functions of external tasklets come from, in order.
    ///
    /// Loading or linking the object compiles their sources and loads their libraries: it is for the caller to have the user's
    /// consent.
    pub externals: Vec<ExternalOrigin>,
    /// How much these sources are optimised: the number behind a compiler's `-O`.
    pub source_level: u8,
    /// The folder in which those in C++ are kept once they are compiled.
    pub source_cache: Option<PathBuf>,
}
