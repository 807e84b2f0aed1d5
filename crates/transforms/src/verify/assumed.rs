//! Inputs that meet the assumptions of rewrites: where an assumption does not hold, a rewrite promises nothing.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::assigned_symbols;
use sdfg::ir::{NodeKind, Sdfg};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::CompareOp;

use crate::Conditions;
use crate::engine::stated;

/// Values on both sides of the present one that are tried for a symbol.
const REACH: i64 = 1024;

/// The comparisons that the conditions of some steps take for granted.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    comparisons: Vec<Comparison>,
    /// The first text that the inputs of the program do not decide.
    undecided: Option<String>,
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
        Assumed { comparisons: Vec::new(), undecided: None }
    }

    /// The assumptions of steps for a program. Guards test theirs, so these hold where it matters.
    pub fn of<'c>(program: &Sdfg, conditions: impl IntoIterator<Item = &'c Conditions>) -> Self {
        let mut assumed = Assumed::none();
        let mut other: BTreeSet<Symbol> = assigned_symbols(program).into_iter().collect();
        other_meanings(program, &mut other);
        for given in conditions.into_iter().filter(|given| !given.guard) {
            for text in &given.assume {
                let parts = stated(program, &Conditions::assuming([text.as_str()]));
                let parts = parts.into_iter().flatten().flat_map(|(_, parts)| parts);
                let named = |(left, op, right)| Comparison { text: text.clone(), left, op, right };
                let parts: Vec<Comparison> = parts.map(named).collect();
                // A text of which nothing is known here may be about symbols of a nested SDFG, or of an earlier step.
                let is_decided =
                    !parts.is_empty() && parts.iter().all(|part| part.symbols().is_disjoint(&other));
                if is_decided {
                    assumed.comparisons.extend(parts);
                } else {
                    assumed.undecided.get_or_insert_with(|| text.clone());
                }
            }
        }
        assumed
    }

    /// Changes values of symbols that are not given, so that the comparisons hold, as far as single changes lead there.
    pub(super) fn adjust(&self, values: &mut BTreeMap<Symbol, i64>, given: &BTreeMap<Symbol, i64>) {
        let mut changed = BTreeSet::new();
        for comparison in &self.comparisons {
            if comparison.holds(values) != Some(false) {
                continue;
            }
            let symbols = comparison.symbols();
            let free = symbols.iter().filter(|own| values.contains_key(*own) && !given.contains_key(*own));
            // What an earlier comparison asked for stays, if it can.
            let (kept, others): (Vec<&Symbol>, Vec<&Symbol>) = free.partition(|own| changed.contains(*own));
            // The larger of two values: nothing is verified on arrays without elements.
            let largest = |among: Vec<&Symbol>| {
                let found = among
                    .into_iter()
                    .filter_map(|own| Some((comparison.value_for(own, values)?, own.clone())));
                found.max()
            };
            let found = largest(others).or_else(|| largest(kept));
            if let Some((value, symbol)) = found {
                changed.insert(symbol.clone());
                values.insert(symbol, value);
            }
        }
    }

    /// The first assumption that does not hold for some values.
    pub(super) fn contradicted(&self, values: &BTreeMap<Symbol, i64>) -> Option<&str> {
        let wrong = self.comparisons.iter().find(|comparison| comparison.holds(values) == Some(false));
        wrong.map(|comparison| comparison.text.as_str())
    }

    /// The first assumption that inputs do not decide: the program sets its symbols, or they have several meanings.
    pub fn undecided(&self) -> Option<&str> {
        self.undecided.as_deref()
    }
}

impl Comparison {
    fn symbols(&self) -> BTreeSet<Symbol> {
        &self.left.free_symbols() | &self.right.free_symbols()
    }

    /// Whether it holds; `None` if a side has no value.
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

    /// A value of a symbol with which it holds: the bound of a comparison with the symbol alone, or one near the present value.
    fn value_for(&self, symbol: &Symbol, values: &BTreeMap<Symbol, i64>) -> Option<i64> {
        let mut changed = values.clone();
        let mut holds = |value: i64| {
            changed.insert(symbol.clone(), value);
            self.holds(&changed) == Some(true)
        };
        let at = |expr: &Expr| expr.eval(&|name| values.get(name).copied()).ok();
        let bounds = [&self.left, &self.right].into_iter().filter_map(at);
        let near = bounds.flat_map(|bound| [Some(bound), bound.checked_add(1), bound.checked_sub(1)]);
        if let Some(value) = near.flatten().find(|value| holds(*value)) {
            return Some(value);
        }
        let now = *values.get(symbol)?;
        let steps = (1..=REACH).flat_map(|step| [now.checked_add(step), now.checked_sub(step)]);
        steps.flatten().find(|value| holds(*value))
    }
}

/// Adds the symbols that have another value in some nested SDFG than outside.
fn other_meanings(sdfg: &Sdfg, found: &mut BTreeSet<Symbol>) {
    for (_, node) in sdfg.states().flat_map(|(_, state)| state.nodes()) {
        if let NodeKind::Nested(nested) = &node.kind {
            let same = |(own, value): &&(Symbol, Expr)| value.as_symbol() == Some(own);
            found.extend(nested.symbol_mapping.iter().filter(|pair| !same(pair)).map(|(own, _)| own.clone()));
            found.extend(assigned_symbols(&nested.sdfg));
            other_meanings(&nested.sdfg, found);
        }
    }
}
