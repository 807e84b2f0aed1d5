//! Extents inside an expansion: constants are kept, and each other size becomes a symbol.

use sdfg::dtype::ScalarType;
use sdfg::ir::Sdfg;
use sdfg::ir::draft::DraftSdfg;
use sdfg::symbolic::{Expr, Symbol};

/// Symbols that stand for sizes.
///
/// A symbol instead of the expression, because the expression may use symbols that the nested SDFG does not have.
#[derive(Debug)]
pub(crate) struct Extents {
    prefix: &'static str,
    named: Vec<(Symbol, Expr)>,
}

impl Extents {
    /// No symbols yet; each will be called by this prefix and a number.
    pub(crate) fn new(prefix: &'static str) -> Self {
        Extents { prefix, named: Vec::new() }
    }

    /// Symbol or constant of a size.
    pub(crate) fn name(&mut self, size: Expr) -> Expr {
        if size.is_constant() {
            return size;
        }
        if let Some((symbol, _)) = self.named.iter().find(|(_, known)| *known == size) {
            return Expr::symbol(symbol.clone());
        }
        let symbol = Symbol::of(&format!("{}{}", self.prefix, self.named.len()));
        self.named.push((symbol.clone(), size));
        Expr::symbol(symbol)
    }

    /// Declares the symbols.
    pub(crate) fn declare(&self, inner: &mut Sdfg) {
        for symbol in self.symbols() {
            inner.declare_symbol(symbol.clone(), ScalarType::I64);
        }
    }

    /// The symbols, in order of declaration.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.named.iter().map(|(symbol, _)| symbol)
    }

    /// The values of the symbols outside.
    pub(crate) fn into_mapping(self) -> Vec<(Symbol, Expr)> {
        self.named
    }
}
