//! Tests of whole searches: against exhaustive search on random graphs, and against the reference's optima.

mod agreement;
mod documents;
mod given;

use super::*;

/// One thread, and no memory to speak of.
fn small() -> Options {
    Options { n_threads: 1, ..Options::default() }
}

fn accepted(problem: &dyn Problem, solution: &Solution) -> Checked {
    let Solution { strategy, cost, certificate, .. } = solution;
    certificate.check(problem, strategy, *cost, &Limits::from(&small())).expect("a proof")
}
