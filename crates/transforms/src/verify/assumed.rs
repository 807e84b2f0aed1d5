//! Inputs that meet the assumptions of rewrites: where an assumption does not hold, a rewrite promises nothing.

use std::collections::BTreeMap;

use sdfg::ir::Sdfg;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::CompareOp;

use crate::Conditions;
use crate::engine::stated;

/// The comparisons that the conditions of some steps take for granted.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    comparisons: Vec<Comparison>,
}

/// A comparison with the text of its condition.
#[derive(Clone, Debug)]
struct Comparison {
    text: String,
    left: Expr,
    op: CompareOp,
    right: Expr,
}

impl Assumed {
    /// No assumptions.
    pub const fn none() -> Self {
        Assumed { comparisons: Vec::new() }
    }

    /// The assumptions of steps for a program. Guards test theirs, so these hold where it matters. Texts that are no comparisons
    /// over symbols of the program are left out: the step is refused, or means the symbols of a nested SDFG.
    pub fn of<'c>(program: &Sdfg, conditions: impl IntoIterator<Item = &'c Conditions>) -> Self {
        let mut comparisons = Vec::new();
        for given in conditions.into_iter().filter(|given| !given.guard) {
            for text in &given.assume {
                let Ok(found) = stated(program, &Conditions::assuming([text.as_str()])) else { continue };
                let parts = found.into_iter().flat_map(|(_, parts)| parts);
                let named = |(left, op, right)| Comparison { text: text.clone(), left, op, right };
                comparisons.extend(parts.map(named));
            }
        }
        Assumed { comparisons }
    }

    /// Changes values of symbols that are not given, so that a comparison with the symbol alone on one side holds.
    pub(super) fn adjust(&self, values: &mut BTreeMap<Symbol, i64>, given: &BTreeMap<Symbol, i64>) {
        for comparison in &self.comparisons {
            if comparison.holds(values) != Some(false) {
                continue;
            }
            for (own, op, other) in [
                (&comparison.left, comparison.op, &comparison.right),
                (&comparison.right, mirrored(comparison.op), &comparison.left),
            ] {
                let symbol =
                    own.as_symbol().filter(|own| values.contains_key(*own) && !given.contains_key(*own));
                let bound = other.eval(&|name| values.get(name).copied());
                if let (Some(symbol), Ok(bound)) = (symbol, bound)
                    && let Some(value) = nearest(op, bound)
                {
                    values.insert(symbol.clone(), value);
                    break;
                }
            }
        }
    }

    /// The first assumption that does not hold for some values.
    pub(super) fn contradicted(&self, values: &BTreeMap<Symbol, i64>) -> Option<&str> {
        let wrong = self.comparisons.iter().find(|comparison| comparison.holds(values) == Some(false));
        wrong.map(|comparison| comparison.text.as_str())
    }

    /// The first assumption that some values do not decide: it has symbols that the program sets itself.
    pub(super) fn undecided(&self, values: &BTreeMap<Symbol, i64>) -> Option<&str> {
        let open = self.comparisons.iter().find(|comparison| comparison.holds(values).is_none());
        open.map(|comparison| comparison.text.as_str())
    }
}

impl Comparison {
    /// Whether it holds; `None` if a symbol has no value.
    fn holds(&self, values: &BTreeMap<Symbol, i64>) -> Option<bool> {
        let value = |expr: &Expr| expr.eval(&|name| values.get(name).copied()).ok();
        let (left, right) = (value(&self.left)?, value(&self.right)?);
        Some(match self.op {
            CompareOp::Equal => left == right,
            CompareOp::NotEqual => left != right,
            CompareOp::Less => left < right,
            CompareOp::LessEqual => left <= right,
            CompareOp::Greater => left > right,
            CompareOp::GreaterEqual => left >= right,
        })
    }
}

/// The comparison with its sides exchanged.
fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Equal | CompareOp::NotEqual => op,
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEqual => CompareOp::GreaterEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEqual => CompareOp::LessEqual,
    }
}

/// The value nearest to a bound that compares with it as wanted.
fn nearest(op: CompareOp, bound: i64) -> Option<i64> {
    match op {
        CompareOp::Equal | CompareOp::LessEqual | CompareOp::GreaterEqual => Some(bound),
        CompareOp::Less => bound.checked_sub(1),
        CompareOp::NotEqual | CompareOp::Greater => bound.checked_add(1),
    }
}
