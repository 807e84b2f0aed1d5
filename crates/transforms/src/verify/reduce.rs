//! Reduction of programs that a rewrite makes wrong.

use std::collections::BTreeMap;
use std::convert::Infallible;

use sdfg::interpret::Options;
use sdfg::ir::Sdfg;
use sdfg::minimize::{Candidate, minimize};
use sdfg::validate::validate;

use super::{Assumed, Verifier};
use crate::Soundness;

/// The number of programs that a reduction judges.
const TRIES: usize = 300;

/// The smallest program found that a rewrite makes wrong, for reports. `rewrite` changes a program wherever it applies, and gives
/// whether it did. `assumed` gives what it takes for granted of a program. The answer is the given program if no smaller one is wrong, or none that the interpreter runs on inputs of its own.
pub fn reproducer(
    program: &Sdfg,
    assumed: &dyn Fn(&Sdfg) -> Assumed,
    soundness: Soundness,
    options: &Options<'_>,
    rewrite: &dyn Fn(&mut Sdfg) -> bool,
) -> Sdfg {
    let is_wrong = |sdfg: &Sdfg| {
        let mut rewritten = sdfg.clone();
        rewrite(&mut rewritten)
            && Verifier::under(sdfg, &BTreeMap::new(), &assumed(sdfg), options).is_ok_and(|verifier| {
                let checked = verifier.check(&rewritten, soundness);
                checked.is_err_and(|difference| !difference.is_limit())
            })
    };
    let Ok(validated) = validate(program.clone()) else { return program.clone() };
    if !is_wrong(program) {
        return program.clone();
    }
    let judge = |candidate: &Candidate<'_>| Ok::<bool, Infallible>(is_wrong(candidate.sdfg));
    let Ok(found) = minimize(&validated, Some(TRIES), judge);
    found.program.into_sdfg()
}
