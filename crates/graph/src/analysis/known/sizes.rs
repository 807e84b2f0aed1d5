//! Symbols in the sizes of containers.

use std::collections::BTreeSet;

use sdfg_language::symbolic::{Assumptions, Expr, Symbol};

use crate::analysis::symbols::assigned_symbols;
use crate::ir::Sdfg;

/// Symbols that control flow assigns, and symbols in sizes that it does not assign: these are non-negative at
/// every place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    assigned: BTreeSet<Symbol>,
    of_shapes: BTreeSet<Symbol>,
}

impl Sizes {
    /// Those of an SDFG.
    pub fn of(sdfg: &Sdfg) -> Self {
        let assigned: BTreeSet<Symbol> = assigned_symbols(sdfg).into_iter().collect();
        let extents = sdfg.containers().flat_map(|(_, container)| container.shape());
        let of_shapes = extents.flat_map(Expr::free_symbols).filter(|symbol| !assigned.contains(symbol));
        Sizes { of_shapes: of_shapes.collect(), assigned }
    }

    /// Whether a symbol is not negative, as a size.
    pub fn has(&self, symbol: &Symbol) -> bool {
        self.of_shapes.contains(symbol)
    }

    /// None of the symbols is negative.
    pub fn assumptions(&self) -> Assumptions {
        let mut known = Assumptions::new();
        for symbol in &self.of_shapes {
            known.nonnegative(symbol.clone());
        }
        known
    }
}
