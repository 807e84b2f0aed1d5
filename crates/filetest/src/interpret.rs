//! `#! test interpret [fixed] [unchecked] [steps(N)] NAME=VALUE ... -> NAME=VALUE ...`: a run on small
//! arguments.
//!
//! Omitted arguments are undefined, and omitted streams empty. Every argument that changes is a result and
//! must be expected. The run is repeated in random orders, which must give the same results; elements of
//! streams may then come in another order. `fixed` omits the random orders, for programs with several
//! meanings.

use std::collections::BTreeMap;

use sdfg::interpret::{Arguments, Interpreter, Options, Order, RunError, stream_of, tensors_of};
use sdfg::ir::{Container, Sdfg};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tensor::Tensor;
use sdfg::validate::Validated;

use crate::expectation::one_line;
use crate::tensor_text::{canonical, print, split_outside, tensor};

/// Random orders that are tried besides the fixed one.
const SEEDS: u64 = 4;

/// Steps after which a program is taken to have no end, unless the command says otherwise.
const STEPS: u64 = 1_000_000;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// Text before the arrow.
    pub(crate) given: String,
    fixed: bool,
    unchecked: bool,
    steps: u64,
    arguments: Vec<(String, String)>,
    /// Text after the arrow; empty if there is none yet.
    expected: String,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// With the arguments that changed, by name, each with its new value.
    Results(Vec<(String, String)>),
    /// With a trap.
    Trap(String),
    /// It did not begin.
    Refused(String),
}

impl Call {
    /// Reads what stands behind `interpret`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (given, expected) = text.split_once("->").unwrap_or((text, ""));
        let mut call = Call {
            given: given.trim().to_owned(),
            fixed: false,
            unchecked: false,
            steps: STEPS,
            arguments: Vec::new(),
            expected: expected.trim().to_owned(),
        };
        for word in words(given) {
            if let Some((name, value)) = word.split_once('=') {
                call.arguments.push((name.to_owned(), value.to_owned()));
            } else if let Some(steps) = word.strip_prefix("steps(").and_then(|rest| rest.strip_suffix(')')) {
                call.steps = steps.parse().map_err(|_| format!("`{steps}` is no number of steps"))?;
            } else {
                match word {
                    "fixed" => call.fixed = true,
                    "unchecked" => call.unchecked = true,
                    _ => {
                        return Err(format!(
                            "`{word}` is neither NAME=VALUE, `fixed`, `unchecked` nor `steps(N)`"
                        ));
                    }
                }
            }
        }
        Ok(call)
    }

    /// Runs the program in its fixed order, and in random ones, which must end the same.
    pub(crate) fn run(&self, validated: &Validated) -> Result<Found, String> {
        let arguments = self.bind(validated.sdfg())?;
        let found = self.run_once(validated, &arguments, Order::Fixed);
        for seed in 1..=if self.fixed { 0 } else { SEEDS } {
            let other = self.run_once(validated, &arguments, Order::Random(seed));
            let same = match (&found, &other) {
                (Found::Results(found), Found::Results(other)) => {
                    unordered(validated.sdfg(), found) == unordered(validated.sdfg(), other)
                }
                // The kind stands in front of the colon; which element it is about may depend on the order.
                (Found::Trap(found), Found::Trap(other)) => {
                    found.split(':').next() == other.split(':').next()
                }
                (Found::Results(_) | Found::Trap(_) | Found::Refused(_), _) => found == other,
            };
            if !same {
                return Err(format!("in its fixed order: {found}\nin the random order {seed}: {other}"));
            }
        }
        Ok(found)
    }

    fn run_once(&self, validated: &Validated, arguments: &Arguments, order: Order) -> Found {
        let mut after = arguments.clone();
        let options = Options {
            order,
            check_conflicts: !self.unchecked,
            step_limit: Some(self.steps),
            ..Options::default()
        };
        let run = Interpreter::new(validated).map_err(|error| error.to_string());
        match run.map(|mut interpreter| interpreter.run(&mut after, &options)) {
            Err(unsupported) => Found::Refused(one_line(&unsupported)),
            Ok(Err(RunError::Arguments(error))) => Found::Refused(one_line(&error.to_string())),
            Ok(Err(RunError::Trap(trap))) => Found::Trap(one_line(&trap.to_string())),
            Ok(Ok(_)) => {
                let changed = after.tensors().filter(|(name, tensor)| {
                    arguments.get(name).is_none_or(|before| print(before) != print(tensor))
                });
                Found::Results(changed.map(|(name, tensor)| (name.to_owned(), print(tensor))).collect())
            }
        }
    }

    /// The arguments, with undefined ones for those that the command leaves out.
    fn bind(&self, sdfg: &Sdfg) -> Result<Arguments, String> {
        let mut arguments = Arguments::new();
        let mut symbols: BTreeMap<Symbol, i64> = BTreeMap::new();
        let mut given: BTreeMap<&str, Tensor> = BTreeMap::new();
        for (name, value) in &self.arguments {
            if let Some((symbol, _)) = sdfg.symbols().find(|(symbol, _)| symbol.as_str() == name) {
                let value = value.parse().map_err(|_| format!("`{value}` is no value of symbol `{name}`"))?;
                arguments.set_symbol(name, value);
                symbols.insert(symbol.clone(), value);
            } else {
                let container = argument(sdfg, name)?;
                let tensor = tensor(value, container.element)?;
                for (extent, found) in container.shape().iter().zip(tensor.shape()) {
                    if let Some(symbol) = extent.as_symbol() {
                        symbols.entry(symbol.clone()).or_insert(*found);
                    }
                }
                given.insert(name, tensor);
            }
        }
        for (_, container) in sdfg.arguments() {
            let value = |extent: &Expr| extent.eval(&|symbol| symbols.get(symbol).copied());
            let extents: Result<Vec<i64>, _> = container.shape().iter().map(value).collect();
            let is_given = given.contains_key(container.name.as_str());
            let extents = match extents {
                Ok(extents) => extents,
                Err(_) if is_given => Vec::new(),
                Err(error) => return Err(format!("the shape of `{}`: {error}", container.name)),
            };
            for (name, shape) in tensors_of(container, extents, || 0) {
                let tensor = match given.remove(name.as_str()) {
                    Some(tensor) => tensor,
                    None => Tensor::undefined(container.element, shape).map_err(|error| error.to_string())?,
                };
                arguments.set(name, tensor);
            }
        }
        for (name, tensor) in given {
            arguments.set(name, tensor);
        }
        Ok(arguments)
    }

    /// Holds how a run ended against what is expected of it.
    pub(crate) fn compare(&self, sdfg: &Sdfg, found: &Found) -> Result<(), String> {
        let differs = || {
            let expected = if self.expected.is_empty() { "nothing yet" } else { &self.expected };
            Err(format!("interpret {}\n  expected: {expected}\n  found: {found}", self.given))
        };
        match found {
            Found::Trap(text) | Found::Refused(text) => {
                let word = if matches!(found, Found::Trap(_)) { "trap" } else { "refused" };
                let (first, part) = self.expected.split_once(' ').unwrap_or((&self.expected, ""));
                if first == word && text.contains(part.trim()) { Ok(()) } else { differs() }
            }
            Found::Results(results) => {
                if self.expected == "nothing" {
                    return if results.is_empty() { Ok(()) } else { differs() };
                }
                let mut expected: BTreeMap<&str, String> = BTreeMap::new();
                for word in words(&self.expected) {
                    let Some((name, value)) = word.split_once('=') else { return differs() };
                    expected.insert(name, canonical(value, argument(sdfg, name)?.element)?);
                }
                let found: BTreeMap<&str, &String> =
                    results.iter().map(|(name, value)| (name.as_str(), value)).collect();
                if expected.is_empty() || found.iter().any(|(name, value)| expected.get(name) != Some(value))
                {
                    return differs();
                }
                // What is expected but did not change has the value it was given.
                for (name, value) in expected.iter().filter(|(name, _)| !found.contains_key(*name)) {
                    let given = self.arguments.iter().find(|(given, _)| given == name);
                    let element = argument(sdfg, name)?.element;
                    if given.is_none_or(|(_, text)| canonical(text, element).as_ref() != Ok(value)) {
                        return differs();
                    }
                }
                Ok(())
            }
        }
    }

    /// Whether anything is expected; BLESS fills in what is not.
    pub(crate) fn expected(&self) -> &str {
        &self.expected
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Found::Results(results) if results.is_empty() => f.write_str("nothing"),
            Found::Results(results) => {
                let parts: Vec<String> =
                    results.iter().map(|(name, value)| format!("{name}={value}")).collect();
                f.write_str(&parts.join(" "))
            }
            Found::Trap(text) => write!(f, "trap {text}"),
            Found::Refused(text) => write!(f, "refused {text}"),
        }
    }
}

fn words(text: &str) -> Vec<&str> {
    split_outside(text, char::is_whitespace).into_iter().filter(|word| !word.is_empty()).collect()
}

fn argument<'s>(sdfg: &'s Sdfg, name: &str) -> Result<&'s Container, String> {
    let mut arguments = sdfg.arguments().map(|(_, container)| container);
    let of = stream_of(name).unwrap_or(name);
    arguments.find(|container| container.name == of).ok_or_else(|| format!("there is no argument `{name}`"))
}

/// Results with the elements of streams sorted.
fn unordered(sdfg: &Sdfg, results: &[(String, String)]) -> Vec<(String, String)> {
    let mut results = results.to_vec();
    for (name, value) in &mut results {
        if argument(sdfg, name).is_ok_and(Container::is_stream) {
            let inner = value.trim_start_matches('[').trim_end_matches(']');
            let mut parts: Vec<&str> =
                split_outside(inner, |c| c == ',').into_iter().map(str::trim).collect();
            parts.sort_unstable();
            *value = parts.join(", ");
        }
    }
    results
}
