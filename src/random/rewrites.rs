//! Transformations of random programs: every match, simplification, and random chains.

use sdfg::symbolic::Symbol;

use super::check::{Failure, on_text};
use super::generate::generate;
use super::halos::halos;
use super::inputs::inputs;
use super::pushes::pushing;
use super::reducible::reducible;
use super::repeated::repeated;
use super::rewritable::rewritable;
use super::rng::Rng;
use super::seldom::seldom;
use crate::applications::Applications;
use crate::distributed::Alike;
use crate::ranks::Ranks;
use crate::rewritten::{Case, Runs};

/// Applies every transformation that is wanted, by its name, at every match of the program of a seed, and compares the results
/// with those before.
///
/// # Errors
/// [`Failure`] if a rewritten program is not valid, traps or gives other results.
pub fn check_every_match(
    seed: u64,
    wanted: &dyn Fn(&str) -> bool,
    runs: Runs,
) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, _| case.every_match(wanted, None, runs))
}

/// Simplifies the program of a seed and compares the results with those before.
///
/// # Errors
/// [`Failure`] if the simplified program is not valid, traps or gives other results.
pub fn check_simplify(seed: u64, runs: Runs) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, _| case.simplified(runs))
}

/// Optimises the program of a seed for random sizes and compares the results with those before.
///
/// # Errors
/// [`Failure`] if the optimised program is not valid, traps or gives other results, or if its chain gives another program.
pub fn check_optimize(seed: u64, runs: Runs) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, rng| {
        let size = [4, 100, 2000][rng.below(3)];
        let sizes = ["N", "M", "K"].map(|name| (Symbol::of(name), size));
        case.optimized(sizes.into_iter().collect(), runs)
    })
}

/// Applies a random chain of at most `length` transformations to the program of a seed, compares the results after each, and
/// replays the chain from its file on the first program.
///
/// # Errors
/// [`Failure`] if a rewritten program is not valid, traps or gives other results, or if the replay gives another program.
pub fn check_chain(seed: u64, length: usize, runs: Runs) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, rng| case.chain(length, rng, runs))
}

/// Distributes the program of a seed over ranks by a random strategy, and compares the results on virtual ranks.
///
/// # Errors
/// [`Failure`] if the distributed program is not valid, traps or gives other results.
pub fn check_distributed(seed: u64) -> Result<Applications, Box<Failure>> {
    let (text, alike) = divided(seed);
    on_case(seed, text, |case, rng| case.distributed(alike, rng))
}

/// Distributes the program of a seed over the ranks of MPI that run this process, and compares the results.
///
/// # Errors
/// [`Failure`] if the distributed program gives other results.
pub fn check_on_ranks(seed: u64, ranks: &Ranks<'_>) -> Result<Applications, Box<Failure>> {
    let (text, alike) = divided(seed);
    on_case(seed, text, |case, rng| case.on_ranks(ranks, alike, rng))
}

/// Text of the program of a seed that is transformed: programs of all kinds, and those that transformations look for.
pub fn transformed(seed: u64) -> String {
    match seed % 8 {
        4 => generate(seed),
        1 | 5 => rewritable(seed),
        3 => reducible(seed),
        7 => repeated(seed),
        _ => seldom(seed),
    }
}

/// Text of the program of a seed that is distributed, and how often alike: a quarter has stencils in loops, whose halos travel between
/// ranks.
fn divided(seed: u64) -> (String, Alike) {
    if seed % 4 == 2 { (halos(seed), Alike::Mostly) } else { (transformed(seed), Alike::Sometimes) }
}

/// Generates the program of a seed and runs it.
fn on_program<T>(
    seed: u64,
    check: impl FnOnce(&Case, &mut Rng) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    on_case(seed, transformed(seed), check)
}

/// As [`on_program`], for a device: some programs push to streams.
pub(super) fn on_program_for_device<T>(
    seed: u64,
    check: impl FnOnce(&Case, &mut Rng) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    on_case(seed, if seed % 8 == 6 { pushing(seed) } else { transformed(seed) }, check)
}

fn on_case<T>(
    seed: u64,
    text: String,
    check: impl FnOnce(&Case, &mut Rng) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    on_text(seed, text, |program, sizes, rng| {
        let arguments = inputs(program.sdfg(), sizes, rng);
        check(&Case::of(program, arguments, true, seed)?, rng)
    })
}
