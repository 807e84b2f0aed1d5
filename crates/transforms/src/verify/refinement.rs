//! Refinement of inputs that trap: single values change while the program runs further.
//!
//! Programs of Fortran pass the bounds of each array, and index arrays that must fit together. No recipe that treats all
//! symbols alike fits them. The refinement is a coordinate search. It changes one symbol, scalar or index array at a time, those
//! first that the values at the trap come from, and keeps the change if the interpreter comes further before its trap.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::interpret::{Interpreter, Options, RunError, Trap, TrapKind};

use super::inputs::{
    Draft, Fitting, INDICES, NUMBERS, Signature, depends_on_inputs, holds_integers, is_scalar,
};
use super::origins::{Origins, constant_ends};

/// The most runs of the interpreter.
const RUNS: usize = 4000;
/// The most steps of all runs, where each element of an argument counts as one, too.
const WORK: u64 = 200_000_000;

/// The most sizes that have grown and are tried for other symbols.
const GROWN: usize = 6;
/// Growths of sizes after one change.
const GROWTHS: usize = 5;

/// A value that a refinement changes.
#[derive(Clone)]
enum Variable {
    /// A symbol or an integer scalar.
    Number(String),
    /// An integer array.
    Indices(String),
}

/// The values of a signature that may change, in order of declaration.
fn variables(signature: &Signature<'_>) -> Vec<Variable> {
    let sdfg = signature.sdfg;
    let symbols = sdfg.symbols().filter(|(symbol, _)| !signature.fixed.contains_key(symbol));
    let mut found: Vec<Variable> =
        symbols.map(|(symbol, _)| Variable::Number(symbol.as_str().to_owned())).collect();
    for (_, container) in sdfg.arguments().filter(|(_, container)| holds_integers(container)) {
        let name = container.name.clone();
        found.push(if is_scalar(container) { Variable::Number(name) } else { Variable::Indices(name) });
    }
    found
}

/// The drafts that differ from a draft in one value; `ends` are further values of numbers.
fn changes(draft: &Draft, variable: &Variable, ends: &BTreeSet<i64>) -> Vec<Draft> {
    let smallest = draft.recipe.smallest();
    match variable {
        Variable::Number(name) => {
            let values = NUMBERS.iter().map(|value| value.unwrap_or(smallest));
            let mut values: BTreeSet<i64> =
                values.chain([smallest - 1, 2 * smallest, 4 * smallest]).collect();
            // Extents of different arguments are often the same.
            values.extend(ends);
            values.extend(draft.grown.values().copied().collect::<BTreeSet<_>>().into_iter().take(GROWN));
            let change = |value| {
                let mut draft = draft.clone();
                draft.grown.retain(|symbol, _| symbol.as_str() != name);
                draft.numbers.insert(name.clone(), value);
                draft
            };
            values.into_iter().map(change).collect()
        }
        Variable::Indices(name) => {
            let change = |indices| {
                let mut draft = draft.clone();
                draft.indices.insert(name.clone(), indices);
                draft
            };
            INDICES.into_iter().map(change).collect()
        }
    }
}

/// Changes values of a draft, which trapped, until the program runs to its end.
///
/// # Errors
/// The trap of the run that came furthest.
pub(super) fn refine(
    signature: &Signature<'_>,
    draft: Draft,
    trap: Box<Trap>,
    interpreter: &mut Interpreter,
    options: &Options<'_>,
) -> Result<Fitting, Box<Trap>> {
    let variables = variables(signature);
    let origins = Origins::of(signature.sdfg);
    // Places of traps after the same number of blocks.
    let mut seen = BTreeSet::from([trap.path.clone()]);
    let (mut best, mut furthest, mut runs, mut work) = (draft, trap, 0, 0_u64);
    'search: loop {
        let ends = constant_ends(signature.sdfg, &furthest);
        for variable in by_distance(&variables, &origins.distances(signature.sdfg, &furthest)) {
            for mut draft in changes(&best, variable, &ends) {
                // A size that the change makes too small grows again.
                for _ in 0..=GROWTHS {
                    if runs == RUNS || work > WORK {
                        return Err(furthest);
                    }
                    let Some(before) = signature.arguments(&draft) else { break };
                    let elements = before.tensors().map(|(_, tensor)| tensor.len() as u64);
                    work += elements.sum::<u64>();
                    runs += 1;
                    let mut after = before.clone();
                    let trap = match interpreter.run(&mut after, options) {
                        Ok(report) => return Ok(Fitting { before, after, steps: report.steps }),
                        Err(RunError::Trap(trap)) => trap,
                        Err(RunError::Arguments(_)) => break,
                    };
                    work += trap.progress.steps;
                    // A loop that a wrong bound makes long is no progress.
                    if matches!(trap.kind, TrapKind::StepLimit { .. }) {
                        break;
                    }
                    // Larger sizes take more steps to the same place.
                    let is_further = if draft.grown == best.grown {
                        trap.progress > furthest.progress
                    } else {
                        trap.progress.blocks > furthest.progress.blocks
                    };
                    // Several accesses of a block need larger sizes, one after the other.
                    let is_beside = trap.progress.blocks == furthest.progress.blocks
                        && !seen.contains(&trap.path)
                        && depends_on_inputs(&trap.kind);
                    if is_further || is_beside {
                        if trap.progress.blocks > furthest.progress.blocks {
                            seen.clear();
                        }
                        seen.insert(trap.path.clone());
                        (best, furthest) = (draft, trap);
                        continue 'search;
                    }
                    if !signature.grow(&trap.kind, &mut draft) {
                        break;
                    }
                }
            }
        }
        return Err(furthest);
    }
}

/// The variables in the order of their distance from a trap, and of declaration where that is equal; unrelated ones are last.
fn by_distance<'v>(variables: &'v [Variable], distances: &BTreeMap<String, usize>) -> Vec<&'v Variable> {
    let mut sorted: Vec<&Variable> = variables.iter().collect();
    sorted.sort_by_key(|variable| {
        let (Variable::Number(name) | Variable::Indices(name)) = variable;
        distances.get(name).copied().unwrap_or(usize::MAX)
    });
    sorted
}
