//! Assumptions about symbols: bounds and further facts.

use std::collections::BTreeMap;

use super::examples::Examples;
use super::proof_cache::Name;
use super::{Expr, Symbol};

/// Restrictions on the values of symbols under which a statement is to be decided.
///
/// Bounds may mention other symbols, as in `0 <= j <= i - 1` for a triangular loop. Without assumptions, a symbol
/// is any integer. That bounds leave room for a value (`N >= 1` for `0 <= i <= N - 1`) is used in statements that
/// mention the symbol, and not in others, so that a table may hold parameters of scopes that never run.
/// Contradictory assumptions make every statement provable, as they admit no values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Assumptions {
    bounds: BTreeMap<Symbol, SymbolBounds>,
    facts: Vec<Expr>,
    pub(super) name: Name,
    pub(super) examples: Examples,
}

/// Inclusive bounds of one symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SymbolBounds {
    pub(super) lower: Option<Expr>,
    pub(super) upper: Option<Expr>,
}

impl Assumptions {
    /// No assumptions.
    #[must_use]
    pub fn new() -> Assumptions {
        Assumptions::default()
    }

    /// Assumes `symbol >= 0`, as of every symbol that occurs in a shape.
    pub fn nonnegative(&mut self, symbol: Symbol) -> &mut Assumptions {
        self.at_least(symbol, 0)
    }

    /// Assumes `symbol >= 1`.
    pub fn positive(&mut self, symbol: Symbol) -> &mut Assumptions {
        self.at_least(symbol, 1)
    }

    fn at_least(&mut self, symbol: Symbol, least: i64) -> &mut Assumptions {
        self.changed();
        let bounds = self.bounds.entry(symbol.clone()).or_default();
        match &bounds.lower {
            None => bounds.lower = Some(Expr::int(least)),
            Some(known) => match known.as_int() {
                Some(known) => bounds.lower = Some(Expr::int(known.max(least))),
                None => self.facts.push(Expr::symbol(symbol) - least),
            },
        }
        self
    }

    /// Sets the inclusive bounds of a symbol, in place of any that it had; `None` leaves that side open.
    pub fn set_range(
        &mut self,
        symbol: Symbol,
        lower: Option<Expr>,
        upper: Option<Expr>,
    ) -> &mut Assumptions {
        self.changed();
        self.bounds.insert(symbol, SymbolBounds { lower, upper });
        self
    }

    /// Assumes `expression >= 0`.
    pub fn assume_nonnegative(&mut self, expression: Expr) -> &mut Assumptions {
        self.changed();
        self.facts.push(expression);
        self
    }

    /// The inclusive bounds of a symbol.
    #[must_use]
    pub fn range_of(&self, symbol: &Symbol) -> (Option<&Expr>, Option<&Expr>) {
        match self.bounds.get(symbol) {
            Some(bounds) => (bounds.lower.as_ref(), bounds.upper.as_ref()),
            None => (None, None),
        }
    }

    /// Expressions that are at least 0.
    #[must_use]
    pub fn facts(&self) -> &[Expr] {
        &self.facts
    }

    /// Gives every symbol that something is known of or that what is known mentions, as often as it does.
    pub fn visit_symbols(&self, visit: &mut dyn FnMut(&Symbol)) {
        for (symbol, bounds) in &self.bounds {
            visit(symbol);
            bounds.lower.iter().chain(&bounds.upper).for_each(|bound| bound.visit_symbols(visit));
        }
        self.facts.iter().for_each(|fact| fact.visit_symbols(visit));
    }

    /// Says that of these assumptions little will be asked before they are gone, so that answers are not worth keeping.
    pub fn keep_no_answers(&mut self) {
        self.name.refuse();
    }

    fn changed(&mut self) {
        self.name.forget();
        self.examples.forget();
    }

    pub(super) fn bounds(&self) -> &BTreeMap<Symbol, SymbolBounds> {
        &self.bounds
    }
}
