//! Sample runs: small values of symbols for which a place of a program runs.
//!
//! Rules prove that something is wrong in every iteration that runs. Where none does, such a proof holds for any
//! claim, and it is not always provable that none does. An error therefore needs a sample: values of the symbols,
//! and an iteration of every scope around, in which the conditions around hold. Around a call on the way there they
//! hold, too. Samples are few, so a place may run for values that are not among them; then the interpreter and checked
//! builds detect what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::symbolic::{Expr, Symbol};

use super::scope_context::{Parameter, ScopeContext};

/// Values that symbols take, besides those next to numbers in ranges and conditions.
const VALUES: [i64; 11] = [1, 2, 3, 4, 7, 16, 33, 100, 1000, 0, -3];

/// Numbers in ranges and conditions that are tried.
const MOST_NUMBERS: usize = 8;

/// Iterations that are tried for one choice of the symbols.
const MOST_ITERATIONS: usize = 64;

/// How values of several symbols differ: pairs of them are equal, or one of them is greater.
#[derive(Clone, Copy)]
enum Pattern {
    Equal,
    Ascending,
    Descending,
}

impl Pattern {
    const ALL: [Pattern; 3] = [Pattern::Equal, Pattern::Ascending, Pattern::Descending];

    /// The value of the symbol at a place among `count` ones.
    fn value(self, base: i64, place: usize, count: usize) -> i64 {
        let factor = match self {
            Pattern::Equal => 1,
            Pattern::Ascending => place + 1,
            Pattern::Descending => count - place,
        };
        base.saturating_mul(i64::try_from(factor).unwrap_or(i64::MAX))
    }
}

/// Whether a place runs for some sample.
pub(super) fn may_run(frame: &ScopeContext) -> bool {
    may_move(frame, &Expr::one())
}

/// Whether a place runs for some sample in which a range with so many steps is not empty.
pub(super) fn may_move(frame: &ScopeContext, steps: &Expr) -> bool {
    if frame.never_runs {
        return false;
    }
    let levels = levels(frame, steps);
    let texts = || levels.iter().flat_map(Level::texts);
    let mut bases = VALUES.to_vec();
    let numbers: BTreeSet<i64> =
        texts().filter_map(number_in).flat_map(|number| [number, number.saturating_add(1)]).collect();
    bases.extend(numbers.into_iter().filter(|number| !VALUES.contains(number)).take(MOST_NUMBERS));
    let is_one = levels.iter().all(|level| level.free.len() < 2);
    let patterns = if is_one { &Pattern::ALL[..1] } else { &Pattern::ALL[..] };
    bases.iter().any(|base| {
        patterns.iter().any(|pattern| {
            let left = MOST_ITERATIONS.saturating_mul(levels.len());
            let mut sample = Sample { levels: &levels, pattern: *pattern, other: *base, left };
            sample.enters(0, &BTreeMap::new())
        })
    })
}

/// A place that has to run: the place in question, or a call on the way there.
struct Level<'f> {
    frame: &'f ScopeContext,
    /// Loops and scopes around it in its SDFG, the outermost first.
    scopes: Vec<&'f Parameter>,
    /// Symbols that a sample chooses.
    free: BTreeSet<Symbol>,
    /// Values that the call of this SDFG gives to symbols, which are expressions of the level before.
    given: &'f [(Symbol, Expr)],
    /// The steps of a range in question, which has to have some.
    steps: Option<&'f Expr>,
}

impl<'f> Level<'f> {
    fn of(frame: &'f ScopeContext, steps: Option<&'f Expr>, handed_on: &'f [(Symbol, Expr)]) -> Level<'f> {
        let scopes = frame.loops.iter().chain(&frame.parameters).collect();
        let given = frame.call.as_ref().map_or(&[][..], |call| &call.meant);
        let level = Level { frame, scopes, free: BTreeSet::new(), given, steps };
        let texts = level.texts().chain(handed_on.iter().map(|(_, value)| value));
        let mut free: BTreeSet<Symbol> = texts.flat_map(Expr::free_symbols).collect();
        let set =
            level.scopes.iter().map(|scope| &scope.symbol).chain(given.iter().map(|(symbol, _)| symbol));
        for symbol in set {
            free.remove(symbol);
        }
        Level { free, ..level }
    }

    /// The expressions that decide whether the place runs.
    fn texts(&self) -> impl Iterator<Item = &'f Expr> {
        let ends = self.scopes.iter().filter_map(|scope| scope.ends.as_ref());
        let ends = ends.flat_map(|(first, last)| [first, last]);
        ends.chain(self.frame.conditions.iter()).chain(self.steps)
    }
}

/// The calls that lead to a place, the outermost first, and the place itself.
fn levels<'f>(frame: &'f ScopeContext, steps: &'f Expr) -> Vec<Level<'f>> {
    let mut levels = vec![Level::of(frame, Some(steps), &[])];
    let mut call = frame.call.as_ref();
    while let Some(outer) = call {
        levels.push(Level::of(&outer.frame, None, &outer.meant));
        call = outer.frame.call.as_ref();
    }
    levels.reverse();
    levels
}

/// The magnitude of an expression where all symbols are 0.
fn number_in(expression: &Expr) -> Option<i64> {
    expression.eval(&|_| Some(0)).ok().filter(|number| *number != 0).map(i64::saturating_abs)
}

/// One choice of values.
struct Sample<'f> {
    levels: &'f [Level<'f>],
    pattern: Pattern,
    /// The value of symbols that are not listed.
    other: i64,
    /// Iterations that may still be tried.
    left: usize,
}

impl<'f> Sample<'f> {
    fn value(&self, expression: &Expr, values: &BTreeMap<Symbol, i64>) -> Option<i64> {
        expression.eval(&|symbol| Some(values.get(symbol).copied().unwrap_or(self.other))).ok()
    }

    /// Whether the levels from one on run, with values of the level before.
    fn enters(&mut self, level: usize, outer: &BTreeMap<Symbol, i64>) -> bool {
        let levels = self.levels;
        let Some(entered) = levels.get(level) else { return true };
        let count = entered.free.len();
        let free = entered.free.iter().enumerate();
        let mut values: BTreeMap<Symbol, i64> = free
            .map(|(place, symbol)| (symbol.clone(), self.pattern.value(self.other, place, count)))
            .collect();
        for (symbol, value) in entered.given {
            let Some(value) = self.value(value, outer) else { return false };
            values.insert(symbol.clone(), value);
        }
        is_known(entered.frame, &values) && self.runs(level, &entered.scopes, &mut values)
    }

    /// Whether some iteration of scopes of a level, the outermost first, runs: of each scope the first, the last and one
    /// between are tried.
    fn runs(&mut self, level: usize, scopes: &[&Parameter], values: &mut BTreeMap<Symbol, i64>) -> bool {
        let Some((scope, inner)) = scopes.split_first() else {
            let levels = self.levels;
            let Some(reached) = levels.get(level) else { return false };
            let holds = |condition: &Expr| self.value(condition, values).is_none_or(|value| value >= 0);
            let is_positive = |steps| self.value(steps, values).is_some_and(|steps| steps > 0);
            return reached.frame.conditions.iter().all(holds)
                && reached.steps.is_none_or(is_positive)
                && self.enters(level + 1, values);
        };
        let Some((first, last)) = &scope.ends else { return self.runs(level, inner, values) };
        let (Some(first), Some(last)) = (self.value(first, values), self.value(last, values)) else {
            return false;
        };
        if first > last {
            return false;
        }
        let tried = BTreeSet::from([first, last, first.midpoint(last)]);
        tried.into_iter().any(|value| {
            let Some(left) = self.left.checked_sub(1) else { return false };
            self.left = left;
            values.insert(scope.symbol.clone(), value);
            self.runs(level, inner, values)
        })
    }
}

/// Whether values are among those that symbols may have.
fn is_known(frame: &ScopeContext, values: &BTreeMap<Symbol, i64>) -> bool {
    values.iter().all(|(symbol, value)| {
        let lower = frame.assumptions.range_of(symbol).0.and_then(|lower| lower.as_int());
        lower.is_none_or(|lower| lower <= *value)
    })
}
