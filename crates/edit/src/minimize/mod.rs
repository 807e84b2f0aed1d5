//! Test-case reduction: finds the smallest program that still shows a failure.
//!
//! [`minimize`] simplifies a program step by step (blocks, nodes, scopes, edges, containers, dimensions,
//! symbols, code). It keeps a step if the result is valid, smaller, and still fails. The order is that of
//! delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): many
//! steps of a kind at once, then halves of them, then one by one, until no single step applies. Steps need
//! not preserve the meaning of the program: only the failure counts.
//!
//! ```text
//! size      what smaller means
//! step      one simplification, made anywhere in the nested SDFGs
//! passes    the kinds of steps: control, dataflow, scopes, containers, code, attributes
//! search    the order in which they are tried
//! ```

mod attributes;
mod code;
mod containers;
mod control;
mod dataflow;
mod passes;
mod repair;
mod scopes;
mod search;
mod size;
mod step;

#[cfg(test)]
mod tests;

use sdfg_graph::ir::Sdfg;
use sdfg_validate::Validated;
pub use size::Size;

/// A program to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The program; it is valid.
    pub sdfg: &'a Sdfg,
    /// Its text form, which reads back to the same program.
    pub text: &'a str,
    /// Description of the simplification, for people.
    pub step: &'a str,
    /// Its size.
    pub size: Size,
}

/// Result of a reduction.
#[derive(Clone, Debug)]
pub struct Minimized {
    /// The smallest program that was found to fail; the given one if there is no smaller.
    pub program: Validated,
    /// The size of the given program.
    pub before: Size,
    /// The size of the smallest one.
    pub after: Size,
    /// Number of judged programs.
    pub tries: usize,
    /// Whether no single step is left that was not tried; otherwise the limit ended the search.
    pub complete: bool,
}

/// Simplifies a program while it fails. `still_fails` judges at most `limit` candidates; it is not asked about the program
/// itself, which is taken to fail.
///
/// The result depends on nothing but the program and the answers. The search ends because each step that is kept makes the
/// [`Size`] smaller. A caller that has no more time answers `false` from then on.
///
/// # Errors
/// The first error of `still_fails`.
pub fn minimize<E>(
    program: &Validated,
    limit: Option<usize>,
    still_fails: impl FnMut(&Candidate<'_>) -> Result<bool, E>,
) -> Result<Minimized, E> {
    search::Search::new(program, limit, still_fails).run()
}

/// Every program that one step makes of a program: valid, smaller, and read back from its text as it is. Larger steps come
/// first.
pub fn candidates(program: &Validated) -> impl Iterator<Item = Validated> {
    let (sdfg, size) = (program.sdfg().clone(), Size::of(program.sdfg()));
    let passes = passes::PASSES.iter();
    passes.flat_map(move |pass| {
        let sdfg = sdfg.clone();
        step::steps(&sdfg, pass.changes).into_iter().filter_map(move |step| {
            let trial = search::Trial::of(&sdfg, std::slice::from_ref(&step), size)?;
            Some(trial.validate()?.program)
        })
    })
}
