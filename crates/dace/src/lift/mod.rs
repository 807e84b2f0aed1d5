//! Lifts our graph to DaCe's model: the inverse of lowering.
//!
//! Each SDFG has one [`SdfgLifting`]. Control flow is lowered to states beforehand, because DaCe 1.0.2 cannot read
//! its own conditional blocks back. A program that DaCe cannot express is an error with a path. The writer
//! never omits or changes a construct silently.

mod alias;
mod code;
mod constants;
mod container;
mod control;
mod edge;
mod functions;
mod names;
mod nested;
mod node;
mod order;
mod signs;
mod state;
mod stencil;
mod typed;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use indexmap::IndexMap;
use sdfg::analysis::symbols::assigned_symbols;
use sdfg::dtype::ScalarType;
use sdfg::ir::{ContainerId, Sdfg};
use sdfg::symbolic::{Assumptions, Symbol};

use crate::model::{Dtype, Program, Structures};
use crate::report::{Code, Failed, Log};

/// Maximum depth of calls between SDFGs: a file has about seven levels of JSON for each, and is read with
/// 128.
const MOST_NESTED: usize = 16;

/// One SDFG on its way from the one form to the other.
struct SdfgLifting<'a> {
    sdfg: &'a Sdfg,
    log: &'a Log,
    /// Path of its call, for messages.
    place: String,
    /// Number of SDFGs around it.
    depth: usize,
    /// Scalar arguments that are written, which DaCe can pass by reference only.
    by_reference: BTreeSet<ContainerId>,
    /// Types of symbols that are always assigned values of a narrower type.
    narrow: BTreeMap<Symbol, ScalarType>,
    /// Constants that not only tasklets read: they are containers, too.
    kept: BTreeSet<ContainerId>,
    /// Facts about the signs of symbols.
    known: Assumptions,
}

/// Makes a model of a program whose control flow are states.
pub(crate) fn lift(sdfg: &Sdfg, log: &Log) -> Result<Program, Failed> {
    program(sdfg, log, sdfg.name.clone(), 0, signs::known_signs(sdfg, None))
}

fn program(
    sdfg: &Sdfg,
    log: &Log,
    place: String,
    depth: usize,
    known: Assumptions,
) -> Result<Program, Failed> {
    let kept = constants::kept(sdfg);
    let (by_reference, narrow) = (BTreeSet::new(), BTreeMap::new());
    let mut lifting = SdfgLifting { sdfg, log, place, depth, by_reference, narrow, kept, known };
    lifting.narrow = lifting.narrow_symbols();
    if depth > MOST_NESTED {
        let message = format!("SDFGs call each other more than {MOST_NESTED} deep; inline some of them");
        return Err(lifting.refuse(Code::UnwritableNode, "", message));
    }
    if depth == 0 {
        lifting.by_reference = container::written_scalars(sdfg);
    }
    let (containers, constants) = lifting.containers()?;
    let symbols = lifting.symbols();
    let body = lifting.body()?;
    let arg_names = sdfg.arguments().map(|(_, container)| container.name.clone()).collect();
    let name = names::program_name(&sdfg.name);
    let float_mode = sdfg.float_mode;
    Ok(Program {
        name,
        float_mode,
        arg_names,
        constants,
        containers,
        structures: Structures::default(),
        symbols: symbols?,
        callbacks: BTreeSet::new(),
        initial: Vec::new(),
        body,
        globals: Vec::new(),
        known: lifting.known,
    })
}

impl SdfgLifting<'_> {
    /// Reports what cannot be written.
    fn refuse(&self, code: Code, part: &str, message: impl Into<String>) -> Failed {
        self.log.error(code, &self.at(part), message)
    }

    /// A place within this SDFG.
    fn at(&self, part: &str) -> String {
        if part.is_empty() { self.place.clone() } else { format!("{}/{part}", self.place) }
    }

    /// All symbols, those that the caller gives and those that are assigned inside.
    fn symbols(&self) -> Result<IndexMap<String, Dtype>, Failed> {
        let integer = || Dtype::of(ScalarType::I64);
        let mut symbols = IndexMap::new();
        for (symbol, ty) in self.sdfg.symbols() {
            self.check_name(symbol, "symbol")?;
            if ty != ScalarType::I64 {
                let message =
                    format!("the symbol `{symbol}` is an {ty}; symbols must be i64 to be read back");
                return Err(self.refuse(Code::UnwritableSymbol, "", message));
            }
            symbols.insert(symbol.to_string(), integer());
        }
        for symbol in assigned_symbols(self.sdfg) {
            self.check_name(&symbol, "symbol")?;
            let narrow = self.narrow.get(&symbol).map(|ty| Dtype::of(*ty));
            symbols.entry(symbol.to_string()).or_insert_with(|| narrow.unwrap_or_else(integer));
        }
        Ok(symbols)
    }

    /// Whether a name can be one in Python and C++.
    fn check_name(&self, name: &dyn fmt::Display, noun: &str) -> Result<(), Failed> {
        let name = name.to_string();
        if names::is_reserved(&name) {
            let message =
                format!("the {noun} `{name}` has the name of a word of Python or C++; give it another name");
            return Err(self.refuse(Code::UnwritableName, "", message));
        }
        Ok(())
    }
}

/// Results of which all are wanted, or the last failure after all were tried, so that everything is reported.
fn all<T>(results: impl IntoIterator<Item = Result<T, Failed>>) -> Result<Vec<T>, Failed> {
    let (mut found, mut failed) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(value) => found.push(value),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(found), Err)
}
