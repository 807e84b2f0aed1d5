//! Refinement of inputs that trap: single values change while the program runs further.
//!
//! Programs of Fortran pass the bounds of each array, and index arrays that must fit together. No recipe that treats all
//! symbols alike fits them. The refinement is a coordinate search. It changes one symbol, scalar or index array at a time, those
//! first that the values at the trap come from, and keeps the change if the interpreter comes further before its trap.
//!
//! Each change that is kept closes other ways, and no order of changes suits all programs. [`Way`] has two of them.

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
fn changes(way: Way, draft: &Draft, variable: &Variable, ends: &BTreeSet<i64>) -> Vec<Draft> {
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
                draft.kept = (way == Way::Careful).then(|| name.clone());
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

/// The choice among changes and repairs that come further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The nearest change comes first, and a repair may change every value: a loop may have to end before its trap.
    Direct,
    /// Changes that take elements from arrays come last, and repairs leave the value that is tried and undo what did not help: what
    /// a loop needs is found, rather than avoided.
    Careful,
}

impl Way {
    /// All ways, in the order of their trial.
    pub(super) const ALL: [Way; 2] = [Way::Direct, Way::Careful];

    /// The losses of the changes that are tried together, one group after the other; `None` stands for any loss.
    fn groups(self) -> &'static [Option<Loss>] {
        match self {
            Way::Direct => &[None],
            Way::Careful => &[Some(Loss::None), Some(Loss::Part), Some(Loss::All)],
        }
    }
}

/// Changes values of a draft, which trapped, until the program runs to its end.
///
/// # Errors
/// The trap of the run that came furthest.
pub(super) fn refine(
    signature: &Signature<'_>,
    way: Way,
    draft: Draft,
    trap: Box<Trap>,
    interpreter: &mut Interpreter,
    options: &Options<'_>,
) -> Result<Fitting, Box<Trap>> {
    let (variables, origins) = (variables(signature), Origins::of(signature.sdfg));
    let seen = BTreeSet::from([trap.path.clone()]);
    let mut search = Search {
        signature,
        way,
        variables: &variables,
        origins: &origins,
        interpreter,
        options,
        best: draft,
        furthest: trap,
        seen,
        runs: 0,
        work: 0,
    };
    loop {
        match search.advance() {
            Attempt::Fits(found) => return Ok(found),
            Attempt::Further => {}
            Attempt::Spent | Attempt::NoFurther => return Err(search.furthest),
        }
    }
}

/// The elements that a change takes from an array. The program comes further without them, because loops over the array end before
/// the trap. What they need is then not found, although a later access may need the elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    None,
    /// An extent is smaller.
    Part,
    /// An extent is zero, or less.
    All,
}

impl Loss {
    /// The loss from the extents before to those after.
    fn between(before: &[i64], after: &[i64]) -> Self {
        let smaller = || before.iter().zip(after).filter(|(before, after)| after < before);
        match smaller().map(|(_, after)| *after).min() {
            None => Loss::None,
            Some(extent) if extent <= 0 => Loss::All,
            Some(_) => Loss::Part,
        }
    }
}

/// The extents of all arguments; zero for those without a value.
fn extents(signature: &Signature<'_>, draft: &Draft) -> Vec<i64> {
    let values = signature.symbols(draft);
    let extents = signature.sdfg.arguments().flat_map(|(_, container)| container.shape());
    extents.map(|extent| extent.eval(&|name| values.get(name).copied()).unwrap_or(0)).collect()
}

/// A search from one draft.
struct Search<'s, 'o> {
    signature: &'s Signature<'s>,
    way: Way,
    variables: &'s [Variable],
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

/// What a run of a draft ended with.
enum Ended {
    Well(Fitting),
    Trapped(Box<Trap>),
    /// No repair follows: the arguments are refused, or the run was too long.
    Useless,
}

impl Search<'_, '_> {
    /// Repairs the best draft, or changes one value of it, until the program comes further.
    fn advance(&mut self) -> Attempt {
        let mut repaired = self.best.clone();
        if repair(self.signature, self.origins, &self.furthest, false, &mut repaired) {
            let attempt = self.attempt(repaired, REPAIRS_ALONE);
            if !matches!(attempt, Attempt::NoFurther) {
                return attempt;
            }
        }
        let (signature, best) = (self.signature, self.best.clone());
        let ends = constant_ends(signature.sdfg, &self.furthest);
        let sorted = by_distance(self.variables, &self.origins.distances(signature.sdfg, &self.furthest));
        let before = extents(signature, &best);
        let lost = |draft: &Draft| Loss::between(&before, &extents(signature, draft));
        let way = self.way;
        let all = || sorted.iter().flat_map(|variable| changes(way, &best, variable, &ends));
        let with =
            |loss: Option<Loss>| all().filter(move |draft| loss.is_none_or(|loss| lost(draft) == loss));
        for draft in way.groups().iter().flat_map(|loss| with(*loss)) {
            let attempt = self.attempt(draft, REPAIRS);
            if !matches!(attempt, Attempt::NoFurther) {
                return attempt;
            }
        }
        Attempt::NoFurther
    }

    /// Runs a draft, and repairs it after traps that come no further: so many times, and on the careful way more as long as each
    /// repair comes further than the one before.
    fn attempt(&mut self, mut draft: Draft, repairs: usize) -> Attempt {
        let mut last: Option<Box<Trap>> = None;
        // The draft before its last repair moved a lower bound.
        let mut unmoved: Option<Draft> = None;
        // Places where a lower bound moved and the trap stayed the same.
        let mut rigid = BTreeSet::new();
        let mut count = 0;
        while count <= repairs {
            if self.runs == RUNS || self.work > WORK {
                return Attempt::Spent;
            }
            let trap = match self.run(&draft) {
                Ended::Well(found) => return Attempt::Fits(found),
                Ended::Trapped(trap) => trap,
                Ended::Useless => return Attempt::NoFurther,
            };
            if self.is_further(&draft, &trap) {
                self.keep(draft, trap);
                return Attempt::Further;
            }
            let is_same = last.as_ref().is_some_and(|last| last.path == trap.path);
            if let Some(before) = unmoved.take()
                && last.as_ref().is_some_and(|last| is_same && last.kind == trap.kind)
            {
                rigid.insert(trap.path.clone());
                draft = before;
            }
            let is_careful = self.way == Way::Careful;
            // A repair that comes further than the one before is no repetition.
            let is_repetition = last.is_none_or(|last| trap.progress <= last.progress);
            count += usize::from(is_repetition || !is_careful);
            let by_offset = is_same && !rigid.contains(&trap.path);
            unmoved = (by_offset && is_careful).then(|| draft.clone());
            let is_repaired = repair(self.signature, self.origins, &trap, by_offset, &mut draft);
            if !is_repaired && !self.signature.grow(&trap.kind, &mut draft) {
                return Attempt::NoFurther;
            }
            last = Some(trap);
        }
        Attempt::NoFurther
    }

    /// Runs a draft once, and counts its work.
    fn run(&mut self, draft: &Draft) -> Ended {
        let Some(before) = self.signature.arguments(draft) else { return Ended::Useless };
        self.work += before.tensors().map(|(_, tensor)| tensor.len() as u64).sum::<u64>();
        self.runs += 1;
        let mut after = before.clone();
        let trap = match self.interpreter.run(&mut after, self.options) {
            Ok(report) => return Ended::Well(Fitting { before, after, steps: report.steps }),
            Err(RunError::Trap(trap)) => trap,
            Err(RunError::Arguments(_)) => return Ended::Useless,
        };
        self.work += trap.progress.steps;
        // A loop that a wrong bound makes long is no progress.
        if matches!(trap.kind, TrapKind::StepLimit { .. }) { Ended::Useless } else { Ended::Trapped(trap) }
    }

    /// Whether a draft comes further than the best one.
    fn is_further(&self, draft: &Draft, trap: &Trap) -> bool {
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
        is_further || is_beside
    }

    /// Makes a draft, which comes further, the best one.
    fn keep(&mut self, mut draft: Draft, trap: Box<Trap>) {
        if trap.progress.blocks > self.furthest.progress.blocks {
            self.seen.clear();
        }
        self.seen.insert(trap.path.clone());
        draft.kept = None;
        (self.best, self.furthest) = (draft, trap);
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
