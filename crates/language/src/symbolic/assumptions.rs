//! Assumptions about symbols: bounds and further facts.

use std::sync::Arc;

use super::examples::Examples;
use super::proof_cache::Name;
use super::{Expr, Symbol};

/// Restrictions on the values of symbols under which a statement is to be decided.
///
/// Bounds may mention other symbols, as in `0 <= j <= i - 1` for a triangular loop. Without assumptions, a symbol
/// is any integer. That bounds leave room for a value (`N >= 1` for `0 <= i <= N - 1`) is used in statements that
/// mention the symbol, and not in others, so that a table may hold parameters of scopes that never run.
/// Contradictory assumptions make every statement provable, as they admit no values.
///
/// A clone shares everything with its original until one of them changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Assumptions(Arc<Assumed>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Assumed {
    bounds: BoundsOfSymbols,
    facts: Vec<Expr>,
    name: Name,
    examples: Examples,
}

/// Bounds by symbol, sorted. A list of a few symbols is copied and compared faster than a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct BoundsOfSymbols(Vec<(Symbol, SymbolBounds)>);

/// Inclusive bounds of one symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct SymbolBounds {
    pub(super) lower: Option<Expr>,
    pub(super) upper: Option<Expr>,
}

impl BoundsOfSymbols {
    fn place(&self, symbol: &Symbol) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| own.cmp(symbol))
    }

    fn get(&self, symbol: &Symbol) -> Option<&SymbolBounds> {
        self.place(symbol).ok().map(|at| &self.0[at].1)
    }

    fn insert(&mut self, symbol: Symbol, bounds: SymbolBounds) {
        match self.place(&symbol) {
            Ok(at) => self.0[at].1 = bounds,
            Err(at) => self.0.insert(at, (symbol, bounds)),
        }
    }

    pub(super) fn contains(&self, symbol: &Symbol) -> bool {
        self.place(symbol).is_ok()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// In the order of symbols.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Symbol, &SymbolBounds)> {
        self.0.iter().map(|(symbol, bounds)| (symbol, bounds))
    }
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
        let (lower, upper) = self.range_of(&symbol);
        let upper = upper.cloned();
        match lower.map(Expr::as_int) {
            None => self.set_range(symbol, Some(Expr::int(least)), upper),
            Some(Some(known)) => self.set_range(symbol, Some(Expr::int(known.max(least))), upper),
            Some(None) => self.assume_nonnegative(Expr::symbol(symbol) - least),
        }
    }

    /// Sets the inclusive bounds of a symbol, in place of any that it had; `None` leaves that side open.
    pub fn set_range(
        &mut self,
        symbol: Symbol,
        lower: Option<Expr>,
        upper: Option<Expr>,
    ) -> &mut Assumptions {
        self.changed().bounds.insert(symbol, SymbolBounds { lower, upper });
        self
    }

    /// Assumes `expression >= 0`.
    pub fn assume_nonnegative(&mut self, expression: Expr) -> &mut Assumptions {
        self.changed().facts.push(expression);
        self
    }

    /// The inclusive bounds of a symbol.
    #[must_use]
    pub fn range_of(&self, symbol: &Symbol) -> (Option<&Expr>, Option<&Expr>) {
        match self.0.bounds.get(symbol) {
            Some(bounds) => (bounds.lower.as_ref(), bounds.upper.as_ref()),
            None => (None, None),
        }
    }

    /// Expressions that are at least 0.
    #[must_use]
    pub fn facts(&self) -> &[Expr] {
        &self.0.facts
    }

    /// Gives every symbol that something is known of or that what is known mentions, as often as it does.
    pub fn visit_symbols(&self, visit: &mut dyn FnMut(&Symbol)) {
        for (symbol, bounds) in self.0.bounds.iter() {
            visit(symbol);
            bounds.lower.iter().chain(&bounds.upper).for_each(|bound| bound.visit_symbols(visit));
        }
        self.0.facts.iter().for_each(|fact| fact.visit_symbols(visit));
    }

    /// Says that of these assumptions little will be asked before they are gone, so that answers are not worth keeping.
    pub fn keep_no_answers(&mut self) {
        Arc::make_mut(&mut self.0).name.refuse();
    }

    /// What is assumed, for change.
    fn changed(&mut self) -> &mut Assumed {
        let assumed = Arc::make_mut(&mut self.0);
        assumed.name.forget();
        assumed.examples.forget();
        assumed
    }

    pub(super) fn name_cell(&self) -> &Name {
        &self.0.name
    }

    pub(super) fn examples(&self) -> &Examples {
        &self.0.examples
    }

    pub(super) fn bounds(&self) -> &BoundsOfSymbols {
        &self.0.bounds
    }
}
