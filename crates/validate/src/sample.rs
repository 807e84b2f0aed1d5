//! Sample runs: small values of symbols for which a place of a program runs.
//!
//! Rules prove that something is wrong in every iteration that runs. Where none does, such a proof holds for any
//! claim, and it is not always provable that none does. An error therefore needs a sample: values of the symbols,
//! and an iteration of every scope around, in which the conditions around hold. Samples are few, so a place may run
//! for values that are not among them; then the interpreter and checked builds detect what is wrong.

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
    let given = frame.call.iter().flat_map(|call| &call.given);
    let parameters: Vec<&Parameter> = frame.loops.iter().chain(&frame.parameters).collect();
    let ends = || parameters.iter().filter_map(|parameter| parameter.ends.as_ref());
    let texts =
        || ends().flat_map(|(first, last)| [first, last]).chain(frame.conditions.iter()).chain([steps]);
    let mut free: BTreeSet<Symbol> =
        texts().chain(given.clone().map(|(_, value)| value)).flat_map(Expr::free_symbols).collect();
    for symbol in
        parameters.iter().map(|parameter| &parameter.symbol).chain(given.clone().map(|(symbol, _)| symbol))
    {
        free.remove(symbol);
    }
    let mut bases = VALUES.to_vec();
    let numbers: BTreeSet<i64> =
        texts().filter_map(number_in).flat_map(|number| [number, number.saturating_add(1)]).collect();
    bases.extend(numbers.into_iter().filter(|number| !VALUES.contains(number)).take(MOST_NUMBERS));
    let patterns = if free.len() > 1 { &Pattern::ALL[..] } else { &Pattern::ALL[..1] };
    bases.iter().any(|base| {
        patterns.iter().any(|pattern| {
            let values = free
                .iter()
                .enumerate()
                .map(|(place, symbol)| (symbol.clone(), pattern.value(*base, place, free.len())));
            let mut sample =
                Sample { frame, steps, other: *base, values: values.collect(), left: MOST_ITERATIONS };
            for (symbol, value) in given.clone() {
                let Some(value) = sample.value(value) else { return false };
                sample.values.insert(symbol.clone(), value);
            }
            sample.is_known() && sample.runs(&parameters)
        })
    })
}

/// The magnitude of an expression where all symbols are 0.
fn number_in(expression: &Expr) -> Option<i64> {
    expression.eval(&|_| Some(0)).ok().filter(|number| *number != 0).map(i64::saturating_abs)
}

/// One choice of values.
struct Sample<'f> {
    frame: &'f ScopeContext,
    steps: &'f Expr,
    /// The value of symbols that are not listed.
    other: i64,
    values: BTreeMap<Symbol, i64>,
    /// Iterations that may still be tried.
    left: usize,
}

impl Sample<'_> {
    fn value(&self, expression: &Expr) -> Option<i64> {
        expression.eval(&|symbol| Some(self.values.get(symbol).copied().unwrap_or(self.other))).ok()
    }

    /// Whether the values are among those that the symbols may have.
    fn is_known(&self) -> bool {
        self.values.iter().all(|(symbol, value)| {
            let lower = self.frame.assumptions.range_of(symbol).0.and_then(|lower| lower.as_int());
            lower.is_none_or(|lower| lower <= *value)
        })
    }

    /// Whether some iteration of scopes, the outermost first, runs: of each scope the first, the last and one between
    /// are tried.
    fn runs(&mut self, scopes: &[&Parameter]) -> bool {
        let Some((scope, inner)) = scopes.split_first() else {
            let holds = |condition: &Expr| self.value(condition).is_none_or(|value| value >= 0);
            return self.frame.conditions.iter().all(holds)
                && self.value(self.steps).is_some_and(|steps| steps > 0);
        };
        let Some((first, last)) = &scope.ends else { return self.runs(inner) };
        let (Some(first), Some(last)) = (self.value(first), self.value(last)) else { return false };
        if first > last {
            return false;
        }
        let tried = BTreeSet::from([first, last, first.midpoint(last)]);
        tried.into_iter().any(|value| {
            let Some(left) = self.left.checked_sub(1) else { return false };
            self.left = left;
            self.values.insert(scope.symbol.clone(), value);
            self.runs(inner)
        })
    }
}
