//! Arguments of a run: tensors and symbols by name, checked against the declarations of the program.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use sdfg_graph::ir::{ContainerKind, Sdfg};
use sdfg_language::dtype::ElementType;
use sdfg_language::symbolic::{EvalError, Expr, Symbol};
use thiserror::Error;

use crate::tensor::Tensor;

/// Tensors and values of symbols by name.
///
/// A call takes the tensors that it needs, runs on them, and puts them back with their new contents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments {
    tensors: IndexMap<String, Tensor>,
    symbols: BTreeMap<String, i64>,
}

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// A container without a tensor.
    #[error("argument `{name}` is missing: pass {expected}")]
    Missing {
        /// The container.
        name: String,
        /// Its element type and shape as text.
        expected: String,
    },
    /// A tensor or symbol that the program does not have.
    #[error("the program has no argument `{name}`; it takes {}", .known.join(", "))]
    Unknown {
        /// The given value.
        name: String,
        /// The required value.
        known: Vec<String>,
    },
    /// A tensor of another element type.
    #[error("argument `{name}` must hold {expected}, not {found}")]
    WrongElement {
        /// The container.
        name: String,
        /// Its element type.
        expected: ElementType,
        /// The tensor's.
        found: ElementType,
    },
    /// A tensor with another number of dimensions.
    #[error("argument `{name}` must have {expected} dimensions, not {found}")]
    WrongRank {
        /// The container.
        name: String,
        /// Its rank.
        expected: usize,
        /// The tensor's.
        found: usize,
    },
    /// A tensor with another extent.
    #[error("dimension {dimension} of argument `{name}` must be `{expression}` = {expected}, not {found}")]
    WrongExtent {
        /// The container.
        name: String,
        /// The dimension, from 0.
        dimension: usize,
        /// The extent as declared.
        expression: String,
        /// Its value.
        expected: i64,
        /// The tensor's.
        found: i64,
    },
    /// A symbol that is not given and cannot be read off a shape.
    #[error("symbol `{name}` has no value: set it, as no argument has it as an extent")]
    MissingSymbol {
        /// The symbol.
        name: String,
    },
    /// A symbol in the shape of an argument that is below zero.
    #[error("symbol `{name}` = {value} is a size and must not be negative")]
    NegativeSymbol {
        /// The symbol.
        name: String,
        /// Its value.
        value: i64,
    },
    /// A shape without a value.
    #[error("the shape of `{name}` has no value: {error}")]
    BadShape {
        /// The container.
        name: String,
        /// Why.
        error: EvalError,
    },
    /// A kind of argument that cannot be passed.
    #[error("argument `{name}` is {what}, which cannot be passed to the interpreter")]
    Unsupported {
        /// The container.
        name: String,
        /// Its value.
        what: &'static str,
    },
}

impl Arguments {
    /// No arguments.
    pub fn new() -> Self {
        Arguments::default()
    }

    /// Adds or replaces a tensor.
    pub fn set(&mut self, name: impl Into<String>, tensor: Tensor) -> &mut Self {
        self.tensors.insert(name.into(), tensor);
        self
    }

    /// Gives a symbol a value.
    pub fn set_symbol(&mut self, name: impl Into<String>, value: i64) -> &mut Self {
        self.symbols.insert(name.into(), value);
        self
    }

    /// As [`Arguments::set`], for building in one expression.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, tensor: Tensor) -> Self {
        self.set(name, tensor);
        self
    }

    /// As [`Arguments::set_symbol`], for building in one expression.
    #[must_use]
    pub fn with_symbol(mut self, name: impl Into<String>, value: i64) -> Self {
        self.set_symbol(name, value);
        self
    }

    /// The tensor of this name.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// The tensor of this name, for change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Tensor> {
        self.tensors.get_mut(name)
    }

    /// Takes the tensor of this name out.
    pub fn take(&mut self, name: &str) -> Option<Tensor> {
        self.tensors.shift_remove(name)
    }

    /// All tensors, in the order in which they were added.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// All symbols that were given a value.
    pub fn symbols(&self) -> impl Iterator<Item = (&str, i64)> {
        self.symbols.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// Checks the arguments against what a program declares. The answer is the value of every symbol: those that were
    /// given, and those that are an extent of a tensor.
    ///
    /// # Errors
    /// The first [`ArgumentError`], in order of declaration.
    pub fn check(&self, sdfg: &Sdfg) -> Result<BTreeMap<Symbol, i64>, ArgumentError> {
        self.check_names(sdfg)?;
        let mut values: BTreeMap<Symbol, i64> = BTreeMap::new();
        for (symbol, _) in sdfg.symbols() {
            if let Some(value) = self.symbols.get(symbol.as_str()) {
                values.insert(symbol.clone(), *value);
            }
        }
        for (_, container) in sdfg.arguments() {
            let (name, shape) = (&container.name, container.shape());
            let Some(tensor) = self.tensors.get(name) else {
                let expected = format!("{}{}", container.element, show(shape));
                return Err(ArgumentError::Missing { name: name.clone(), expected });
            };
            let (expected, found) = (container.element, tensor.element());
            if expected != found {
                return Err(ArgumentError::WrongElement { name: name.clone(), expected, found });
            }
            match &container.kind {
                ContainerKind::Stream { shape, .. } if !shape.is_empty() => {
                    let what = "an array of streams";
                    return Err(ArgumentError::Unsupported { name: name.clone(), what });
                }
                ContainerKind::View(_) | ContainerKind::Reference(_) => {
                    let what = "a view or reference";
                    return Err(ArgumentError::Unsupported { name: name.clone(), what });
                }
                ContainerKind::Stream { .. } | ContainerKind::Scalar | ContainerKind::Array(_) => {}
            }
            let expected = if container.is_stream() { 1 } else { shape.len() };
            // One element is as good as a scalar.
            let is_scalar = shape.is_empty() && !container.is_stream() && tensor.shape() == [1];
            if tensor.shape().len() != expected && !is_scalar {
                let found = tensor.shape().len();
                return Err(ArgumentError::WrongRank { name: name.clone(), expected, found });
            }
            for (extent, value) in shape.iter().zip(tensor.shape()) {
                if let Some(symbol) = extent.as_symbol() {
                    values.entry(symbol.clone()).or_insert(*value);
                }
            }
        }
        for (symbol, _) in sdfg.symbols() {
            if !values.contains_key(symbol) {
                return Err(ArgumentError::MissingSymbol { name: symbol.to_string() });
            }
        }
        self.check_shapes(sdfg, &values)?;
        Ok(values)
    }

    fn check_names(&self, sdfg: &Sdfg) -> Result<(), ArgumentError> {
        let containers = || sdfg.arguments().map(|(_, container)| container.name.clone());
        let symbols = || sdfg.symbols().map(|(symbol, _)| symbol.to_string());
        let unknown = |name: &String| {
            let known = containers().chain(symbols()).map(|name| format!("`{name}`")).collect();
            Err(ArgumentError::Unknown { name: name.clone(), known })
        };
        if let Some(name) = self.tensors.keys().find(|name| !containers().any(|known| known == **name)) {
            return unknown(name);
        }
        if let Some(name) = self.symbols.keys().find(|name| !symbols().any(|known| known == **name)) {
            return unknown(name);
        }
        Ok(())
    }

    fn check_shapes(&self, sdfg: &Sdfg, values: &BTreeMap<Symbol, i64>) -> Result<(), ArgumentError> {
        for (_, container) in sdfg.arguments() {
            let Some(tensor) = self.tensors.get(&container.name) else { continue };
            if container.is_stream() {
                continue;
            }
            for symbol in container.size_symbols() {
                match values.get(&symbol) {
                    Some(value) if *value < 0 => {
                        let (name, value) = (symbol.to_string(), *value);
                        return Err(ArgumentError::NegativeSymbol { name, value });
                    }
                    Some(_) | None => {}
                }
            }
            for (dimension, (extent, found)) in container.shape().iter().zip(tensor.shape()).enumerate() {
                let name = container.name.clone();
                let expected = extent
                    .eval(&|symbol| values.get(symbol).copied())
                    .map_err(|error| ArgumentError::BadShape { name: name.clone(), error })?;
                if expected != *found {
                    let (expression, found) = (extent.to_string(), *found);
                    return Err(ArgumentError::WrongExtent { name, dimension, expression, expected, found });
                }
            }
        }
        Ok(())
    }
}

fn show(shape: &[Expr]) -> String {
    if shape.is_empty() {
        return String::new();
    }
    let extents: Vec<String> = shape.iter().map(Expr::to_string).collect();
    format!("[{}]", extents.join(", "))
}
