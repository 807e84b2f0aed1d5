//! Replacement tables for expressions of both kinds.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::symbols::{UNDECLARED_SYMBOL, symbol_types};
use sdfg_graph::ir::Sdfg;
use sdfg_language::dtype::ScalarType;
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{BinaryOp, Expression, ExpressionKind};
use sdfg_language::tasklet::Dialect;

use super::super::EditError;

/// Expressions for symbols, all replaced at once.
#[derive(Clone, Debug)]
pub(super) struct Replacements {
    exprs: BTreeMap<Symbol, Expr>,
    /// Types that are not the type of undeclared symbols.
    types: BTreeMap<Symbol, ScalarType>,
}

impl Replacements {
    pub(super) fn new(sdfg: &Sdfg, exprs: &BTreeMap<Symbol, Expr>) -> Self {
        let mut types: BTreeMap<Symbol, ScalarType> = symbol_types(sdfg).into_iter().collect();
        types.retain(|_, ty| *ty != UNDECLARED_SYMBOL);
        let is_change = |(symbol, value): &(&Symbol, &Expr)| value.as_symbol() != Some(*symbol);
        let exprs = exprs.iter().filter(is_change).map(|(s, e)| (s.clone(), e.clone())).collect();
        Replacements { exprs, types }
    }

    /// Says which type a symbol has.
    pub(super) fn set_type(&mut self, symbol: Symbol, ty: ScalarType) {
        if ty == UNDECLARED_SYMBOL {
            self.types.remove(&symbol);
        } else {
            self.types.insert(symbol, ty);
        }
    }

    /// Gives `to` the type of `from`: it is the same symbol under another name.
    pub(super) fn same_type(&mut self, from: &Symbol, to: &Symbol) {
        if let Some(ty) = self.types.get(from).copied() {
            self.types.insert(to.clone(), ty);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    pub(super) fn get(&self, symbol: &Symbol) -> Option<&Expr> {
        self.exprs.get(symbol)
    }

    pub(super) fn symbols(&self) -> impl Iterator<Item = &Symbol> {
        self.exprs.keys()
    }

    /// Symbols in what is inserted.
    pub(super) fn inserted(&self) -> BTreeSet<Symbol> {
        self.exprs.values().flat_map(Expr::free_symbols).collect()
    }

    /// From here on `symbol` means something else.
    pub(super) fn hide(&mut self, symbol: &Symbol) {
        self.exprs.remove(symbol);
        self.types.remove(symbol);
    }

    /// From here on `symbol` means something else and is called `to`.
    pub(super) fn rename(&mut self, symbol: Symbol, to: Symbol) {
        self.types.remove(&symbol);
        self.types.remove(&to);
        self.exprs.insert(symbol, Expr::symbol(to));
    }

    /// Takes over what `symbol` stands for outside.
    pub(super) fn reveal(&mut self, symbol: &Symbol, outside: &Replacements) {
        match outside.get(symbol) {
            Some(value) => self.exprs.insert(symbol.clone(), value.clone()),
            None => self.exprs.remove(symbol),
        };
    }

    pub(super) fn expr(&self, expr: &mut Expr) {
        *expr = expr.substitute(&self.exprs);
    }

    pub(super) fn range(&self, range: &mut Range) {
        *range = range.substitute(&self.exprs);
    }

    pub(super) fn subset(&self, subset: &mut Subset) {
        *subset = subset.substitute(&self.exprs);
    }

    /// Replaces symbols in a condition or value of the SDFG `sdfg`, whose containers hide symbols.
    pub(super) fn control(
        &self,
        sdfg: &Sdfg,
        expression: &mut Expression,
        label: &str,
    ) -> Result<(), EditError> {
        let names: Vec<Symbol> =
            expression.names().into_iter().filter_map(|name| Symbol::new(name).ok()).collect();
        // Among symbols of 64 bits, a literal has the type that it has alone: nothing needs a cast.
        let plain = names
            .iter()
            .chain(&self.inserted())
            .all(|name| sdfg.find_container(name.as_str()).is_none() && !self.types.contains_key(name));
        let used = names.into_iter().filter(|name| sdfg.find_container(name.as_str()).is_none());
        let values = self.values(used, plain, Dialect::Python, label)?;
        *expression = expression.replace_names(&values);
        Ok(())
    }

    /// Replacements of `symbols` in code: of the type of the symbol, or with `plain` unconverted.
    pub(super) fn values(
        &self,
        symbols: impl IntoIterator<Item = Symbol>,
        plain: bool,
        dialect: Dialect,
        label: &str,
    ) -> Result<BTreeMap<String, Expression>, EditError> {
        let mut values = BTreeMap::new();
        for symbol in symbols {
            let Some(value) = self.exprs.get(&symbol) else { continue };
            let expression = self.value(&symbol, value, plain, dialect, label)?;
            values.insert(symbol.as_str().to_owned(), expression);
        }
        Ok(values)
    }

    fn value(
        &self,
        symbol: &Symbol,
        value: &Expr,
        plain: bool,
        dialect: Dialect,
        label: &str,
    ) -> Result<Expression, EditError> {
        let refuse =
            |reason| EditError::NotExpressible { value: value.clone(), label: label.to_owned(), reason };
        let expression = value
            .to_expression()
            .ok_or_else(|| refuse("a constant does not fit 64 bits, or an operand may be a fraction"))?;
        let ty = self.type_of(symbol);
        if plain || value.as_symbol().is_some_and(|other| self.type_of(other) == ty) {
            return Ok(expression);
        }
        if dialect == Dialect::C && divides(&expression) {
            return Err(refuse("division rounds towards zero in the arithmetic of C, not down"));
        }
        // Narrow symbols would wrap early, and a literal would take the type of what stands beside it.
        let widened =
            value.free_symbols().into_iter().filter(|inner| self.type_of(inner) != UNDECLARED_SYMBOL);
        let widened = widened.map(|inner| {
            (inner.as_str().to_owned(), cast(UNDECLARED_SYMBOL, Expression::name(inner.as_str())))
        });
        Ok(cast(ty, expression.replace_names(&widened.collect())))
    }

    fn type_of(&self, symbol: &Symbol) -> ScalarType {
        self.types.get(symbol).copied().unwrap_or(UNDECLARED_SYMBOL)
    }
}

fn cast(ty: ScalarType, value: Expression) -> Expression {
    Expression::call(ty.name(), vec![value])
}

fn divides(expression: &Expression) -> bool {
    let mut found = false;
    expression.visit(&mut |inner| {
        if let ExpressionKind::Binary {
            op: BinaryOp::FloorDivide | BinaryOp::Modulo | BinaryOp::Divide,
            ..
        } = inner.kind
        {
            found = true;
        }
    });
    found
}
