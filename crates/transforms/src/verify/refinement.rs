//! Refinement of inputs that trap: single values change while the program runs further.
//!
//! Programs of Fortran pass the bounds of each array, and index arrays that must fit together. No recipe that treats all
//! symbols alike fits them. The refinement is a coordinate search. It changes one symbol, scalar or index array at a time, those
//! first that the values at the trap come from, and keeps the change if the interpreter comes further before its trap.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::interpret::{Interpreter, Options, RunError, Trap, TrapKind};
use sdfg::path::ElementPath;

use super::inputs::{
    Draft, Fitting, INDICES, NUMBERS, Signature, depends_on_inputs, holds_integers, is_scalar,
};
use super::origins::{Origins, constant_ends};
use super::repair::repair;

/// The most runs of the interpreter.
const RUNS: usize = 4000;
/// The most steps of all runs, where each element of an argument counts as one, too.
const WORK: u64 = 200_000_000;

/// The most sizes that have grown and are tried for other symbols.
const GROWN: usize = 6;
/// Repairs and growths after one change.
const REPAIRS: usize = 8;
/// Those of a draft that nothing else changes.
const REPAIRS_ALONE: usize = 200;

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
    let seen = BTreeSet::from([trap.path.clone()]);
    let mut search = Search {
        signature,
        origins: &origins,
        interpreter,
        options,
        best: draft,
        furthest: trap,
        seen,
        runs: 0,
        work: 0,
    };
    'search: loop {
        let mut repaired = search.best.clone();
        if repair(signature, &origins, &search.furthest, false, &mut repaired) {
            match search.attempt(repaired, REPAIRS_ALONE) {
                Attempt::Fits(found) => return Ok(found),
                Attempt::Further => continue 'search,
                Attempt::Spent => return Err(search.furthest),
                Attempt::NoFurther => {}
            }
        }
        let ends = constant_ends(signature.sdfg, &search.furthest);
        for variable in by_distance(&variables, &origins.distances(signature.sdfg, &search.furthest)) {
            for draft in changes(&search.best, variable, &ends) {
                match search.attempt(draft, REPAIRS) {
                    Attempt::Fits(found) => return Ok(found),
                    Attempt::Further => continue 'search,
                    Attempt::Spent => return Err(search.furthest),
                    Attempt::NoFurther => {}
                }
            }
        }
        return Err(search.furthest);
    }
}

/// A search from one draft.
struct Search<'s, 'o> {
    signature: &'s Signature<'s>,
    origins: &'s Origins,
    interpreter: &'s mut Interpreter,
    options: &'s Options<'o>,
    best: Draft,
    /// The trap of the best draft.
    furthest: Box<Trap>,
    /// Places of traps after the same number of blocks.
    seen: BTreeSet<ElementPath>,
    runs: usize,
    work: u64,
}

/// The result of an attempt with a draft.
enum Attempt {
    /// The program runs to its end.
    Fits(Fitting),
    /// It comes further, and the draft is the best one now.
    Further,
    NoFurther,
    /// The search has taken as many runs as it may.
    Spent,
}

impl Search<'_, '_> {
    /// Runs a draft, and repairs it so many times after traps that come no further.
    fn attempt(&mut self, mut draft: Draft, repairs: usize) -> Attempt {
        let mut last: Option<ElementPath> = None;
        for _ in 0..=repairs {
            if self.runs == RUNS || self.work > WORK {
                return Attempt::Spent;
            }
            let Some(before) = self.signature.arguments(&draft) else { return Attempt::NoFurther };
            let elements = before.tensors().map(|(_, tensor)| tensor.len() as u64);
            self.work += elements.sum::<u64>();
            self.runs += 1;
            let mut after = before.clone();
            let trap = match self.interpreter.run(&mut after, self.options) {
                Ok(report) => return Attempt::Fits(Fitting { before, after, steps: report.steps }),
                Err(RunError::Trap(trap)) => trap,
                Err(RunError::Arguments(_)) => return Attempt::NoFurther,
            };
            self.work += trap.progress.steps;
            // A loop that a wrong bound makes long is no progress.
            if matches!(trap.kind, TrapKind::StepLimit { .. }) {
                return Attempt::NoFurther;
            }
            // Larger sizes take more steps to the same place.
            let is_further = if draft.grown == self.best.grown {
                trap.progress > self.furthest.progress
            } else {
                trap.progress.blocks > self.furthest.progress.blocks
            };
            // Several accesses of a block need other values, one after the other.
            let is_beside = trap.progress.blocks == self.furthest.progress.blocks
                && !self.seen.contains(&trap.path)
                && depends_on_inputs(&trap.kind);
            if is_further || is_beside {
                if trap.progress.blocks > self.furthest.progress.blocks {
                    self.seen.clear();
                }
                self.seen.insert(trap.path.clone());
                (self.best, self.furthest) = (draft, trap);
                return Attempt::Further;
            }
            let by_offset = last.as_ref() == Some(&trap.path);
            last = Some(trap.path.clone());
            if !repair(self.signature, self.origins, &trap, by_offset, &mut draft)
                && !self.signature.grow(&trap.kind, &mut draft)
            {
                return Attempt::NoFurther;
            }
        }
        Attempt::NoFurther
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
