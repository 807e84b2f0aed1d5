//! Arguments of a run: tensors and symbols by name, checked against the declarations of the program.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use sdfg_graph::ir::{Container, ContainerKind, Sdfg};
use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::symbolic::{EvalError, Expr, Symbol};
use thiserror::Error;

use crate::tensor::Tensor;

/// Tensors and values of symbols by name.
///
/// A call takes the tensors that it needs, runs on them, and puts them back with their new contents. The tensor of a
/// stream has one dimension. An array of streams has a tensor for each queue, with the names of [`queue_names`].
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
    /// A value that the type of a symbol does not hold.
    #[error("symbol `{name}` = {value} does not fit in {}", .ty.name())]
    SymbolRange {
        /// The symbol.
        name: String,
        /// The given value.
        value: i64,
        /// Its type.
        ty: ScalarType,
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
    /// A distribution that does not give each element one owner.
    #[error("`{name}` is not distributed: {what}")]
    BadDistribution {
        /// The container.
        name: String,
        /// The reason.
        what: String,
    },
    /// A tensor for a queue that an array of streams does not have.
    #[error("`{name}` is no queue of `{stream}`, which has the extents {extents:?}")]
    NoQueue {
        /// The given name.
        name: String,
        /// The container.
        stream: String,
        /// The extents of the array.
        extents: Vec<i64>,
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
        for (symbol, ty) in sdfg.symbols() {
            if let Some(value) = self.symbols.get(symbol.as_str()) {
                if !ty.holds(*value) {
                    return Err(ArgumentError::SymbolRange { name: symbol.to_string(), value: *value, ty });
                }
                values.insert(symbol.clone(), *value);
            }
        }
        for (_, container) in sdfg.arguments() {
            let (name, shape) = (&container.name, container.shape());
            match &container.kind {
                ContainerKind::View(_) | ContainerKind::Reference(_) => {
                    let what = "a view or reference";
                    return Err(ArgumentError::Unsupported { name: name.clone(), what });
                }
                // Its extents tell how many tensors it has.
                ContainerKind::Stream { .. } => continue,
                ContainerKind::Scalar | ContainerKind::Array(_) => {}
            }
            let expected = || format!("{}{}", container.element, show(shape));
            let tensor = self.tensor_of(name, container.element, shape.len(), expected)?;
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

    /// The tensor of this name, if it has this element type and rank.
    fn tensor_of(
        &self,
        name: &str,
        element: ElementType,
        rank: usize,
        expected: impl Fn() -> String,
    ) -> Result<&Tensor, ArgumentError> {
        let Some(tensor) = self.tensors.get(name) else {
            return Err(ArgumentError::Missing { name: name.to_owned(), expected: expected() });
        };
        let (name, found) = (name.to_owned(), tensor.element());
        if element != found {
            return Err(ArgumentError::WrongElement { name, expected: element, found });
        }
        // One element is as good as a scalar.
        let is_scalar = rank == 0 && tensor.shape() == [1];
        if tensor.shape().len() != rank && !is_scalar {
            return Err(ArgumentError::WrongRank { name, expected: rank, found: tensor.shape().len() });
        }
        Ok(tensor)
    }

    /// Checks the tensors of the queues of a stream.
    fn check_queues(&self, container: &Container, extents: &[i64]) -> Result<(), ArgumentError> {
        let mut n_queues = 0;
        for name in queue_names(&container.name, extents) {
            self.tensor_of(&name, container.element, 1, || {
                format!("the elements of type {}", container.element)
            })?;
            n_queues += 1;
        }
        let given = || self.tensors.keys().filter(|name| stream_of(name) == Some(&container.name));
        if extents.is_empty() || given().count() == n_queues {
            return Ok(());
        }
        let names: BTreeSet<String> = queue_names(&container.name, extents).collect();
        let Some(name) = given().find(|name| !names.contains(*name)).cloned() else { return Ok(()) };
        Err(ArgumentError::NoQueue { name, stream: container.name.clone(), extents: extents.to_vec() })
    }

    fn check_names(&self, sdfg: &Sdfg) -> Result<(), ArgumentError> {
        let containers = || sdfg.arguments().map(|(_, container)| container.name.clone());
        let has_queues = |stream: &str| {
            let mut streams = sdfg.arguments().filter(|(_, container)| is_array_of_streams(container));
            streams.any(|(_, container)| container.name == stream)
        };
        let is_known = |name: &str| match stream_of(name) {
            Some(stream) => has_queues(stream),
            None => containers().any(|known| known == name) && !has_queues(name),
        };
        let symbols = || sdfg.symbols().map(|(symbol, _)| symbol.to_string());
        let unknown = |name: &String| {
            let known = containers().chain(symbols()).map(|name| format!("`{name}`")).collect();
            Err(ArgumentError::Unknown { name: name.clone(), known })
        };
        if let Some(name) = self.tensors.keys().find(|name| !is_known(name)) {
            return unknown(name);
        }
        if let Some(name) = self.symbols.keys().find(|name| !symbols().any(|known| known == **name)) {
            return unknown(name);
        }
        Ok(())
    }

    fn check_shapes(&self, sdfg: &Sdfg, values: &BTreeMap<Symbol, i64>) -> Result<(), ArgumentError> {
        for (_, container) in sdfg.arguments() {
            for symbol in container.size_symbols() {
                match values.get(&symbol) {
                    Some(value) if *value < 0 => {
                        let (name, value) = (symbol.to_string(), *value);
                        return Err(ArgumentError::NegativeSymbol { name, value });
                    }
                    Some(_) | None => {}
                }
            }
            let name = container.name.clone();
            let extents =
                container.shape().iter().map(|extent| extent.eval(&|symbol| values.get(symbol).copied()));
            let extents = extents
                .collect::<Result<Vec<i64>, _>>()
                .map_err(|error| ArgumentError::BadShape { name: name.clone(), error })?;
            if container.is_stream() {
                self.check_queues(container, &extents)?;
                continue;
            }
            let Some(tensor) = self.tensors.get(&name) else { continue };
            for (dimension, (expected, found)) in extents.into_iter().zip(tensor.shape()).enumerate() {
                if expected != *found {
                    let (expression, found) = (container.shape()[dimension].to_string(), *found);
                    return Err(ArgumentError::WrongExtent { name, dimension, expression, expected, found });
                }
            }
        }
        Ok(())
    }
}

fn is_array_of_streams(container: &Container) -> bool {
    container.is_stream() && !container.shape().is_empty()
}

/// The names of the queues of a stream in row-major order, as the text form has them: `S[0, 0]`, `S[0, 1]`, ... A stream
/// without extents is one queue, with the name of the stream.
pub fn queue_names(stream: &str, extents: &[i64]) -> impl Iterator<Item = String> + use<> {
    let (stream, extents) = (stream.to_owned(), extents.to_vec());
    let first = extents.iter().all(|extent| *extent > 0).then(|| vec![0; extents.len()]);
    let indices = std::iter::successors(first, move |indices: &Vec<i64>| {
        let mut next = indices.clone();
        for (index, extent) in next.iter_mut().zip(&extents).rev() {
            *index += 1;
            if *index < *extent {
                return Some(next);
            }
            *index = 0;
        }
        None
    });
    indices.map(move |indices| queue_name(&stream, &indices))
}

/// Names and shapes of the tensors of an argument with these extents: one, or one for each queue of a stream, which begins
/// with so many elements.
pub fn tensors_of(
    container: &Container,
    extents: Vec<i64>,
    mut in_queue: impl FnMut() -> i64,
) -> Vec<(String, Vec<i64>)> {
    if container.is_stream() {
        queue_names(&container.name, &extents).map(|name| (name, vec![in_queue()])).collect()
    } else {
        vec![(container.name.clone(), extents)]
    }
}

/// The name of a queue of a stream.
fn queue_name(stream: &str, indices: &[i64]) -> String {
    if indices.is_empty() {
        return stream.to_owned();
    }
    let indices: Vec<String> = indices.iter().map(ToString::to_string).collect();
    format!("{stream}[{}]", indices.join(", "))
}

/// The stream of a queue of an array of streams; `None` if the name is another one.
pub fn stream_of(queue: &str) -> Option<&str> {
    Some(queue.split_once('[')?.0)
}

fn show(shape: &[Expr]) -> String {
    if shape.is_empty() {
        return String::new();
    }
    let extents: Vec<String> = shape.iter().map(Expr::to_string).collect();
    format!("[{}]", extents.join(", "))
}
