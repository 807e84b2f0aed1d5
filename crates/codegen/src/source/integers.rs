//! C functions that compute integers from the values of symbols, for code around a program.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use sdfg::ir::FloatMode;
use sdfg::symbolic::{Expr, Symbol};

use super::dialect::Dialect;
use super::error::{Print, SourceError, defect};
use super::needed;
use super::program::Program;
use crate::plan::Plan;

/// A function `void NAME(const int64_t *symbols, int64_t *values)`.
pub(crate) struct IntegerFunction {
    /// The name in C.
    pub(crate) name: String,
    /// The results in order. One with a symbol may occur in those behind it.
    pub(crate) values: Vec<(Option<Symbol>, Expr)>,
}

/// The definitions of functions over symbols, which are variables of a plan, with the helpers that they need.
///
/// # Errors
/// [`SourceError`] if an expression has no C.
pub(crate) fn integer_functions(
    plan: &Plan,
    symbols: &[Symbol],
    functions: &[IntegerFunction],
) -> Result<String, SourceError> {
    let program = Program::new(plan, FloatMode::Strict, Dialect::C);
    let definitions = functions
        .iter()
        .map(|function| definition(&program, symbols, function))
        .collect::<Print<Vec<_>>>()?;
    let helpers = program.finish().helpers;
    let parts = needed(helpers, definitions.iter());
    Ok(parts.into_iter().chain(definitions).collect::<Vec<_>>().join("\n"))
}

fn definition(program: &Program<'_>, symbols: &[Symbol], function: &IntegerFunction) -> Print<String> {
    let used = RefCell::new(BTreeSet::new());
    let note = |symbol: &Symbol| {
        used.borrow_mut().insert(symbol.clone());
    };
    let variable = |symbol: &Symbol| {
        let name = program.names.variable(symbol);
        name.ok_or_else(|| defect(format!("variable `{symbol}` has no type")))
    };
    let mut body = String::new();
    let mut own = BTreeSet::new();
    // Writing to a string cannot fail, here and below.
    for (at, (symbol, value)) in function.values.iter().enumerate() {
        let value = program.index(value, &note)?;
        let mut name = String::new();
        if let Some(symbol) = symbol {
            own.insert(symbol.clone());
            name = format!("const int64_t {} = ", variable(symbol)?);
        }
        let _ = writeln!(body, "    {name}sdfg_values[{at}] = {};", value.text);
    }
    let mut text = format!(
        "static void {}(const int64_t *sdfg_symbols, int64_t *sdfg_values) {{\n    (void)sdfg_symbols;\n",
        function.name
    );
    for (at, symbol) in symbols.iter().enumerate() {
        if used.borrow().contains(symbol) && !own.contains(symbol) {
            let _ = writeln!(text, "    const int64_t {} = sdfg_symbols[{at}];", variable(symbol)?);
        }
    }
    for symbol in &own {
        if !used.borrow().contains(symbol) {
            let _ = writeln!(body, "    (void){};", variable(symbol)?);
        }
    }
    Ok(text + &body + "}\n")
}
