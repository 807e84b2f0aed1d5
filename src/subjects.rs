//! Programs of the lists with arguments, for transformations to be tested on: the example programs and PolyBench's kernels.

use std::collections::BTreeMap;

use sdfg::interpret::Options;
use sdfg::symbolic::Symbol;
use sdfg::validate::Validated;
use sdfg_transforms::verify::search;

use crate::programs::polybench::{self, KERNELS};
use crate::programs::{self, Build};
use crate::random::Operations;
use crate::rewritten::Case;
use crate::trusted;

/// A list of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subjects {
    /// The example programs.
    Programs,
    /// PolyBench's kernels at the size MINI.
    Polybench,
    /// PolyBench's kernels at sizes for tests of seconds.
    SmallPolybench,
}

/// The largest value of a symbol in [`Subjects::SmallPolybench`].
const SMALL: i64 = 5;

/// Why a program of a list cannot be tested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCase {
    /// A library that it calls is not on this machine.
    #[error("{0}")]
    Missing(String),
    /// It does not run.
    #[error("{0}")]
    Failed(String),
}

impl Subjects {
    /// The number of programs.
    pub fn count(self) -> usize {
        match self {
            Subjects::Programs => programs::ALL.len(),
            Subjects::Polybench | Subjects::SmallPolybench => KERNELS.len(),
        }
    }

    /// The name of a program, and the function that makes it. Numbers above [`count`](Subjects::count) begin anew.
    pub fn program(self, number: usize) -> (&'static str, Build) {
        let at = number % self.count();
        match self {
            Subjects::Programs => programs::ALL[at],
            Subjects::Polybench | Subjects::SmallPolybench => (KERNELS[at].name, KERNELS[at].build),
        }
    }

    /// A program with arguments and results.
    ///
    /// # Errors
    /// If the program cannot be made, no arguments are found for it, or it calls a library that this machine does not have.
    pub fn case(self, number: usize, seed: u64) -> Result<Case, NoCase> {
        let (name, build) = self.program(number);
        let failed = |what: String| {
            let what = format!("{name}: {what}");
            // The interpreter's message about a library of external functions.
            if what.contains("could not be loaded") { NoCase::Missing(what) } else { NoCase::Failed(what) }
        };
        let (program, _) = build().map_err(|rejected| failed(rejected.to_string()))?;
        let arguments = match self {
            Subjects::Programs => return searched(&program, &BTreeMap::new(), seed).map_err(failed),
            Subjects::Polybench | Subjects::SmallPolybench => {
                let kernel = &KERNELS[number % KERNELS.len()];
                let most = if self == Subjects::Polybench { i64::MAX } else { SMALL };
                let sizes: Vec<_> =
                    kernel.mini.iter().map(|(symbol, value)| (*symbol, (*value).min(most))).collect();
                polybench::arguments(kernel, &program, &sizes).map_err(|error| failed(error.to_string()))?
            }
        };
        Case::of(&program, arguments, false, seed).map_err(failed)
    }
}

/// A program with these values of symbols, and with other symbols and arguments that are searched for.
///
/// # Errors
/// If none are found, or the program fails.
pub fn searched(program: &Validated, symbols: &BTreeMap<Symbol, i64>, seed: u64) -> Result<Case, String> {
    let externals = trusted::externals();
    let options = Options { libraries: Some(&Operations), externals: Some(&externals), ..Options::default() };
    Case::of(program, search(program, symbols, &options)?.before, false, seed)
}
