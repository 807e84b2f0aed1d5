//! Parameters of a chain that vary.

use std::fmt;

use sdfg::path::closest;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::engine::{Action, Chain, ChainError, Parameter, Registry};

/// Parameters whose numbers affect speed alone: those that vary by default. Others, such as the dimension that is split, need other steps
/// after them.
const SIZES: [(&str, &str); 7] = [
    ("BufferTiling", "tile_sizes"),
    ("DiamondTiling", "steps"),
    ("DiamondTiling", "width"),
    ("MapTiling", "parts"),
    ("MapTiling", "tile_sizes"),
    ("Relayout", "blocks"),
    ("StripMining", "size"),
];

/// By default, values are the powers of two between the present value divided by this number and multiplied with it.
const AROUND: i64 = 4;

/// A parameter with its values: `3.tile_sizes[1]=8,16,32`. That of a row of steps, `2-5.tile_sizes[1]`, has one value for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The first step, from 0.
    first: usize,
    /// The last step.
    last: usize,
    parameter: String,
    /// The element, if the parameter is a list of which one element varies.
    element: Option<usize>,
    /// The parameter as the chain has it.
    whole: Value,
    /// In the order of the search: numbers ascend.
    values: Vec<Value>,
    /// The position of the chain's own value.
    start: usize,
}

/// A position for each variable of a space: that of its value.
pub type Point = Vec<usize>;

/// Why parameters cannot vary as they should.
#[derive(Debug, Error)]
pub enum VaryError {
    /// The text names no parameter with values.
    #[error(
        "`{0}` is no parameter of a step with values: write `STEP.PARAMETER=VALUE,VALUE`, such as `3.tile_sizes[1]=8,16,32`"
    )]
    Form(String),
    /// There is no step of this number.
    #[error("there is no step {number}: the chain has {steps} steps, and the first one is 1")]
    NoStep {
        /// The number.
        number: usize,
        /// Number of steps of the chain.
        steps: usize,
    },
    /// The last step of a row stands before the first one.
    #[error("steps {first} to {last} are no row: give the smaller number first")]
    Backward {
        /// The first number.
        first: usize,
        /// The second number.
        last: usize,
    },
    /// The step has no such parameter.
    #[error(
        "step {number} ({name}) has no parameter `{parameter}`{}; {}",
        similar(parameter, known),
        listed(known)
    )]
    NoParameter {
        /// Number of the step, from 1.
        number: usize,
        /// The transformation.
        name: String,
        /// The parameter.
        parameter: String,
        /// The parameters of the transformation.
        known: Vec<String>,
    },
    /// An element of something that has no element of this number.
    #[error("step {number}: {} is {whole}, which has no element {element}", quoted(parameter))]
    NoElement {
        /// Number of the step, from 1.
        number: usize,
        /// The parameter.
        parameter: String,
        /// The element, from 0.
        element: usize,
        /// The value of the parameter.
        whole: Value,
    },
    /// Steps of a row have different values.
    #[error("steps {first} to {last} have different values of {}: vary each of them", quoted(parameter))]
    Different {
        /// Number of the first step, from 1.
        first: usize,
        /// Number of the last step.
        last: usize,
        /// The parameter, with its element.
        parameter: String,
    },
    /// There are no values.
    #[error("`{0}` has no values: write them as `=8,16,32`")]
    NoValues(String),
    /// A value is there twice.
    #[error("`{variable}` has the value {value} twice")]
    Twice {
        /// The parameter.
        variable: String,
        /// The value.
        value: Value,
    },
    /// Two variables set the same parameter.
    #[error("`{0}` and `{1}` set the same parameter")]
    Overlap(String, String),
    /// Nothing varies.
    #[error("nothing varies: no step has a tile size or another size that is a number")]
    Nothing,
    /// A value does not fit the transformation, or the chain itself is wrong.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

fn quoted(parameter: &str) -> String {
    format!("`{parameter}`")
}

fn similar(parameter: &str, known: &[String]) -> String {
    let closest = closest(parameter, known.iter().map(String::as_str));
    closest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

fn listed(known: &[String]) -> String {
    if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) }
}

/// A step of a chain with the parameters of its transformation.
struct StepView {
    name: &'static str,
    known: &'static [Parameter],
    /// All parameters with their values, including those that the chain leaves out.
    values: Value,
}

/// The steps of a chain; that of a simplification has no parameters here.
fn steps(chain: &Chain, registry: &Registry) -> Result<Vec<StepView>, ChainError> {
    let view = |action: &Action| match action {
        Action::Apply(transformation) => StepView {
            name: action.name(),
            known: transformation.metadata().parameters,
            values: transformation.parameters(),
        },
        Action::Simplify(_) => {
            StepView { name: action.name(), known: &[], values: Value::Object(Map::new()) }
        }
    };
    Ok(chain.actions(registry)?.iter().map(view).collect())
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first + 1)?;
        if self.last > self.first {
            write!(f, "-{}", self.last + 1)?;
        }
        write!(f, ".{}", self.parameter)?;
        self.element.iter().try_for_each(|element| write!(f, "[{element}]"))
    }
}

impl Variable {
    /// Reads `STEP.PARAMETER=VALUES`: `3.tile_sizes[1]=8,16,32`, `2-5.width=32,64` or `4.schedule=unrolled,default`. Values are JSON or words.
    /// The value of the chain is one of them, whether it is listed or not.
    ///
    /// # Errors
    /// [`VaryError`].
    pub fn parse(text: &str, chain: &Chain, registry: &Registry) -> Result<Self, VaryError> {
        let wrong = || VaryError::Form(text.to_owned());
        let (place, values) = text.split_once('=').ok_or_else(wrong)?;
        let (row, parameter) = place.trim().split_once('.').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let (first, last) = match row.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(row)?, number(row)?),
        };
        let (parameter, element) = match parameter.split_once('[') {
            Some((name, rest)) => (name, Some(number(rest.strip_suffix(']').ok_or_else(wrong)?)?)),
            None => (parameter, None),
        };
        let steps = steps(chain, registry)?;
        if let Some(number) = [first, last].into_iter().find(|number| !(1..=steps.len()).contains(number)) {
            return Err(VaryError::NoStep { number, steps: steps.len() });
        }
        if last < first {
            return Err(VaryError::Backward { first, last });
        }
        let whole = present(&steps, first - 1, parameter, element)?;
        for step in first..last {
            let other = present(&steps, step, parameter, element)?;
            if chosen(&other, element) != chosen(&whole, element) {
                return Err(VaryError::Different { first, last, parameter: parameter.to_owned() });
            }
        }
        let values: Vec<Value> = pieces(values).into_iter().map(word).collect();
        if values.is_empty() {
            return Err(VaryError::NoValues(place.trim().to_owned()));
        }
        let (first, last, parameter) = (first - 1, last - 1, parameter.to_owned());
        let variable = Variable { first, last, parameter, element, whole, values: Vec::new(), start: 0 };
        variable.with_values(values, chain, registry)
    }

    /// The parameters that vary by default: numbers that are tile sizes or other sizes, over powers of two around the present value. Steps in a
    /// row that differ in their place alone vary together.
    ///
    /// # Errors
    /// [`VaryError::Chain`] if a step has no transformation.
    pub fn defaults(chain: &Chain, registry: &Registry) -> Result<Vec<Self>, VaryError> {
        let steps = steps(chain, registry)?;
        let mut found = Vec::new();
        let mut first = 0;
        while let Some(step) = steps.get(first) {
            let same = |other: &&StepView| other.name == step.name && other.values == step.values;
            let last = first + steps[first + 1..].iter().take_while(same).count();
            for (_, parameter) in SIZES.iter().filter(|(name, _)| *name == step.name) {
                let whole = step.values.get(*parameter).cloned().unwrap_or_default();
                let elements = match &whole {
                    Value::Array(list) => (0..list.len()).map(Some).collect(),
                    _ => vec![None],
                };
                for element in elements {
                    let size = chosen(&whole, element).and_then(Value::as_i64).filter(|size| *size > 0);
                    let Some(size) = size else { continue };
                    let (parameter, whole) = ((*parameter).to_owned(), whole.clone());
                    let variable =
                        Variable { first, last, parameter, element, whole, values: Vec::new(), start: 0 };
                    found.push(variable.with_values(around(size), chain, registry)?);
                }
            }
            first = last + 1;
        }
        Ok(found)
    }

    /// The variable with these values and that of the chain. Each gives a transformation.
    fn with_values(
        mut self,
        values: Vec<Value>,
        chain: &Chain,
        registry: &Registry,
    ) -> Result<Self, VaryError> {
        for value in values {
            if self.values.contains(&value) {
                return Err(VaryError::Twice { variable: self.to_string(), value });
            }
            let mut changed = chain.clone();
            self.set(&mut changed, &value);
            changed.actions(registry)?;
            self.values.push(value);
        }
        // It was found before.
        let start = chosen(&self.whole, self.element).cloned().unwrap_or_default();
        if !self.values.contains(&start) {
            self.values.insert(0, start.clone());
        }
        if self.values.iter().all(Value::is_i64) {
            self.values.sort_by_key(Value::as_i64);
        }
        self.start = self.values.iter().position(|value| *value == start).unwrap_or_default();
        Ok(self)
    }

    /// Sets the parameter of each step.
    fn set(&self, chain: &mut Chain, value: &Value) {
        for step in self.first..=self.last {
            let value = match self.element {
                None => value.clone(),
                Some(element) => {
                    // Another variable may have set another element.
                    let given = chain.parameters(step).and_then(|all| all.get(&self.parameter)).cloned();
                    let mut list = given.unwrap_or_else(|| self.whole.clone());
                    if let Some(chosen) = list.get_mut(element) {
                        *chosen = value.clone();
                    }
                    list
                }
            };
            chain.set_parameter(step, &self.parameter, value);
        }
    }

    /// The values, in the order of the search.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The position of the chain's own value.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The steps with the parameter and its element, each as text.
    fn places(&self) -> Vec<String> {
        let one = |step| Variable { first: step, last: step, ..self.clone() }.to_string();
        (self.first..=self.last).map(one).collect()
    }

    fn meets(&self, other: &Variable) -> bool {
        let is_same_element = match (self.element, other.element) {
            (Some(one), Some(other)) => one == other,
            (None, _) | (_, None) => true,
        };
        self.first <= other.last
            && other.first <= self.last
            && self.parameter == other.parameter
            && is_same_element
    }
}

/// The value of a parameter of a step, from 0, which has the element.
fn present(
    steps: &[StepView],
    step: usize,
    parameter: &str,
    element: Option<usize>,
) -> Result<Value, VaryError> {
    let number = step + 1;
    let StepView { name, known, values } = &steps[step];
    if known.iter().all(|known| known.name != parameter) {
        let known = known.iter().map(|known| known.name.to_owned()).collect();
        let (name, parameter) = ((*name).to_owned(), parameter.to_owned());
        return Err(VaryError::NoParameter { number, name, parameter, known });
    }
    let whole = values.get(parameter).cloned().unwrap_or_default();
    match (element, chosen(&whole, element)) {
        (Some(element), None) => {
            Err(VaryError::NoElement { number, parameter: parameter.to_owned(), element, whole })
        }
        (None | Some(_), _) => Ok(whole),
    }
}

/// The element of a value, or all of it.
fn chosen(whole: &Value, element: Option<usize>) -> Option<&Value> {
    element.map_or(Some(whole), |element| whole.get(element))
}

/// The powers of two around a size.
fn around(size: i64) -> Vec<Value> {
    let powers = (0..62).map(|power| 1_i64 << power);
    let range = size / AROUND..=size.saturating_mul(AROUND);
    powers.filter(|power| range.contains(power)).map(Value::from).collect()
}

/// Splits at commas that stand in no brackets.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut depth, mut begin) = (0_i32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&text[begin..]);
    pieces.into_iter().map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

/// A value as JSON or as a word.
fn word(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// A chain with the parameters that vary.
#[derive(Clone, Debug)]
pub struct Space {
    chain: Chain,
    variables: Vec<Variable>,
}

impl Space {
    /// A chain with variables.
    ///
    /// # Errors
    /// [`VaryError::Overlap`] if two of them set one parameter, and [`VaryError::Nothing`] if there is no choice.
    pub fn new(chain: Chain, variables: Vec<Variable>) -> Result<Self, VaryError> {
        for (at, one) in variables.iter().enumerate() {
            if let Some(other) = variables[at + 1..].iter().find(|other| one.meets(other)) {
                return Err(VaryError::Overlap(one.to_string(), other.to_string()));
            }
        }
        if variables.iter().all(|variable| variable.values.len() < 2) {
            return Err(VaryError::Nothing);
        }
        // The record of an earlier search is no part of what is tuned now.
        Ok(Space { chain: chain.with_tuned(None), variables })
    }

    /// The variables.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The chain that is tuned, without a record of tuning.
    pub fn given(&self) -> &Chain {
        &self.chain
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.variables.iter().fold(1, |product, variable| product.saturating_mul(variable.values.len()))
    }

    /// Whether there is no point; there is always one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The point of the given chain.
    pub fn start(&self) -> Point {
        self.variables.iter().map(|variable| variable.start).collect()
    }

    /// The chain of a point. Parameters with the value that they have are not touched.
    pub fn chain(&self, point: &Point) -> Chain {
        let mut chain = self.chain.clone();
        for (variable, at) in self.variables.iter().zip(point) {
            if let Some(value) = variable.values.get(*at).filter(|_| *at != variable.start) {
                variable.set(&mut chain, value);
            }
        }
        chain
    }

    /// The parameters of a point that differ from those of the given chain, by step. It tells points apart, whichever parameters vary.
    pub fn changes(&self, point: &Point) -> Map<String, Value> {
        let mut changes = Map::new();
        for (variable, at) in self.variables.iter().zip(point) {
            for place in variable.places() {
                if let Some(value) = variable.values.get(*at).filter(|_| *at != variable.start) {
                    changes.insert(place, value.clone());
                }
            }
        }
        changes
    }

    /// A point as text: the parameters that differ from those of another one; `the given parameters` if there are none.
    pub fn shown(&self, point: &Point, from: &Point) -> String {
        let differs = self.variables.iter().zip(point.iter().zip(from)).filter(|(_, (at, from))| at != from);
        let shown: Vec<String> = differs
            .filter_map(|(variable, (at, _))| Some(format!("{variable}={}", variable.values.get(*at)?)))
            .collect();
        if shown.is_empty() { "the given parameters".to_owned() } else { shown.join(" ") }
    }
}
