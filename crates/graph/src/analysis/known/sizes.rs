//! Symbols in the sizes of containers.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::symbolic::{Assumptions, Expr, Symbol};

use crate::analysis::symbols::assigned_symbols;
use crate::ir::Sdfg;
use crate::ir::container::size_symbols;

/// Symbols that control flow assigns, and symbols in sizes that it does not assign: these are non-negative at
/// every place. Two are equal if the symbols are.
#[derive(Clone, Debug)]
pub struct Sizes {
    assigned: BTreeSet<Symbol>,
    /// In how many extents each symbol is.
    of_shapes: BTreeMap<Symbol, usize>,
}

impl PartialEq for Sizes {
    fn eq(&self, other: &Self) -> bool {
        self.assigned == other.assigned && self.of_shapes.keys().eq(other.of_shapes.keys())
    }
}

impl Eq for Sizes {}

impl Sizes {
    /// Those of an SDFG.
    pub fn of(sdfg: &Sdfg) -> Self {
        let assigned = assigned_symbols(sdfg).into_iter().collect();
        let mut sizes = Sizes { of_shapes: BTreeMap::new(), assigned };
        for (_, container) in sdfg.containers() {
            sizes.add(container.shape());
        }
        sizes
    }

    /// Follows a new container of this shape. False, and nothing is changed, if a symbol of it was in no size before.
    pub fn followed_new(&mut self, shape: &[Expr]) -> bool {
        let is_known = |symbol: &Symbol| self.assigned.contains(symbol) || self.has(symbol);
        let follows = size_symbols(shape).into_iter().all(|symbol| is_known(&symbol));
        if follows {
            self.add(shape);
        }
        follows
    }

    /// Follows the removal of a container of this shape. False, and nothing is changed, if a symbol of it is in no other size.
    pub fn followed_removed(&mut self, shape: &[Expr]) -> bool {
        let mut left = self.of_shapes.clone();
        for symbol in size_symbols(shape) {
            if let Some(count) = left.get_mut(&symbol) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    return false;
                }
            }
        }
        self.of_shapes = left;
        true
    }

    fn add(&mut self, shape: &[Expr]) {
        for symbol in size_symbols(shape) {
            if !self.assigned.contains(&symbol) {
                *self.of_shapes.entry(symbol).or_insert(0) += 1;
            }
        }
    }

    /// Whether a symbol is not negative, as a size.
    pub fn has(&self, symbol: &Symbol) -> bool {
        self.of_shapes.contains_key(symbol)
    }

    /// None of the symbols is negative.
    pub fn assumptions(&self) -> Assumptions {
        let mut known = Assumptions::new();
        for symbol in self.of_shapes.keys() {
            known.nonnegative(symbol.clone());
        }
        known
    }
}
