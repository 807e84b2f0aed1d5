//! User options of native compilation: optimisation level, processor, floating-point mode and threads.
//!
//! They are independent of the emitter because the command line and the benchmarks use them too.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use sdfg::ir::FloatMode;
pub use sdfg_runtime::Sanitizer;

use super::level::Level;
use crate::plan::Plan;

/// Optimisation levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptLevel {
    /// No optimisation: the shortest way to code that runs, for looking at what was generated.
    O0,
    /// A short pass list of our own (promotion to registers, simplification, loop-invariant code motion,
    /// vectorisation of loops), and machine code instruction by instruction, with registers allocated as at the other levels: for
    /// interactive use.
    Quick,
    /// The passes of LLVM's `default<O1>`.
    O1,
    /// The passes of LLVM's `default<O2>`.
    O2,
    /// The passes of LLVM's `default<O3>`.
    #[default]
    O3,
}

impl OptLevel {
    /// Every level, from least to most work.
    pub const ALL: [OptLevel; 5] = [OptLevel::O0, OptLevel::Quick, OptLevel::O1, OptLevel::O2, OptLevel::O3];

    /// Optimisation level for sources of external tasklets, the number after `-O`.
    pub(crate) const fn of_sources(self) -> u8 {
        match self {
            OptLevel::O0 => 0,
            OptLevel::Quick | OptLevel::O1 => 1,
            OptLevel::O2 => 2,
            OptLevel::O3 => 3,
        }
    }

    /// The name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            OptLevel::O0 => "0",
            OptLevel::Quick => "quick",
            OptLevel::O1 => "1",
            OptLevel::O2 => "2",
            OptLevel::O3 => "3",
        }
    }
}

impl fmt::Display for OptLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The processor that code is generated for; its architecture is always that of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cpu {
    /// The processor of this machine with all its features.
    #[default]
    Host,
    /// A processor by LLVM's name for it (`x86-64-v3`, `znver4`, `neoverse-n1`, `generic`).
    Named {
        /// The name.
        name: String,
        /// Features to add or remove, as in `+avx2,-fma`; empty for what the name implies.
        features: String,
    },
    /// Several levels of x86-64, ascending: the code of the program is there for each, and a handle has that of the best that the
    /// processor it is made on supports. [`Cpu::levels`] makes it.
    Levels(Vec<Level>),
}

impl Cpu {
    /// The processor with LLVM's name `name`, with the features that the name implies; `host` is this machine.
    pub fn named(name: &str) -> Self {
        if name == "host" { Cpu::Host } else { Cpu::Named { name: name.to_owned(), features: String::new() } }
    }

    /// Several levels, in any order.
    pub fn levels(levels: impl IntoIterator<Item = Level>) -> Self {
        let ascending: BTreeSet<Level> = levels.into_iter().collect();
        Cpu::Levels(ascending.into_iter().collect())
    }
}

/// Choices of one native compilation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompileOptions {
    /// The optimisation level.
    pub level: OptLevel,
    /// The processor.
    pub cpu: Cpu,
    /// The freedom in floating-point rounding; `None` is what the program says.
    pub floats: Option<FloatMode>,
    /// Threads of parallel regions when the caller's configuration names no number; `None` leaves it to the OpenMP
    /// runtime (`OMP_NUM_THREADS`, else one a core).
    pub threads: Option<NonZeroU32>,
    /// Parallel loops with fewer innermost iterations than this are run by the calling thread alone: starting a team
    /// takes a few microseconds. Inner loops over ranges that depend on data count as 64 iterations; a loop whose work
    /// cannot be estimated, as with an inner loop until convergence, is always run by a team.
    pub parallel_threshold: u64,
    /// Give the same bits with every number of threads: parts of sums are combined in a fixed order, and loops whose threads
    /// would combine values in any order are run by one. Processors and options that differ may still round differently. A choice of
    /// lowering, as [`parallel_threshold`](Self::parallel_threshold) is.
    pub reproducible: bool,
    /// Look at every access while the program runs: what is out of bounds, was never written or has an index without a value ends
    /// the run with a status and a message. This is a choice of lowering ([`CompileOptions::lowering`]): of a plan that is
    /// there already it changes nothing.
    pub checked: bool,
    /// Run independent components of a state one after the other. Otherwise each may get a thread of its own, where together they have
    /// [`parallel_threshold`](Self::parallel_threshold) steps to do besides those of the longest one. A choice of lowering, too.
    pub serial_components: bool,
    /// Most threads of a team that a thread of another team starts. With this, each map of schedule `cpu_multicore` inside of another
    /// parallel map has such a team; 1 turns them off. Without, only maps that ask for one have it. A choice of lowering, too.
    pub nested_threads: Option<NonZeroU32>,
    /// Instrument the code for a sanitizer. Such code runs only in a process with the sanitizer's runtime, is several times slower,
    /// and not vectorised for [`Sanitizer::Thread`], which sees no wide accesses.
    pub sanitizer: Option<Sanitizer>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            level: OptLevel::default(),
            cpu: Cpu::default(),
            floats: None,
            threads: None,
            parallel_threshold: Plan::DEFAULT_THRESHOLD,
            reproducible: false,
            checked: false,
            serial_components: false,
            nested_threads: None,
            sanitizer: None,
        }
    }
}

/// A text that names no optimisation level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an optimisation level: expected one of 0, quick, 1, 2, 3")]
pub struct ParseOptLevelError {
    /// The text that was read.
    pub text: String,
}

impl FromStr for OptLevel {
    type Err = ParseOptLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        OptLevel::ALL
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| ParseOptLevelError { text: text.to_owned() })
    }
}
