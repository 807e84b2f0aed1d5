//! `FFT` and `IFFT`: the discrete Fourier transform of a vector,
//! `factor * sum(_inp[n] * exp(-+ 2 pi i k n / N))`, and of arrays along all dimensions or one.

mod axes;
mod chirp;
mod passes;

use axes::Axes;
use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::value::{Complex, Value};

use crate::error::ExpandErrorKind;
use crate::operand::{ExtentComparison, Operand, Signature, agreement, misfit};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::{Factor, Properties};
use crate::template::{Element, Elementwise, Template, converted};
use crate::values::{Values, add, multiply};

/// The largest factor of a pass.
const LARGEST_FACTOR: i64 = passes::ODD[passes::ODD.len() - 1] as i64;

/// The sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Minus.
    Forward,
    /// Plus.
    Inverse,
}

/// A transform.
pub(crate) struct Fourier {
    input: Operand,
    output: Operand,
    factor: Factor,
    direction: Direction,
    /// `None` for a vector.
    axes: Option<Axes>,
}

impl Fourier {
    pub(crate) fn of(
        node: &LibraryNode,
        signature: &Signature,
        direction: Direction,
    ) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["factor", "axis"])?;
        signature.check(&["_inp"], &[], "_out")?;
        let (input, output) = (signature.input("_inp")?.clone(), signature.output.clone());
        let axes = Axes::of(properties, signature, (&input, &output))?;
        if !output.element.is_complex() {
            let (connector, ty) = (output.connector, output.element);
            let reason = format!("the result is complex, but the elements have the type {ty}");
            return Err(ExpandErrorKind::Element { connector, reason });
        }
        if axes.is_none() {
            let (from, to) = (input.fit(1)?, output.fit(1)?);
            if agreement(input.size(from[0]), output.size(to[0])) == ExtentComparison::Different {
                let reason = "a transform has as many elements as what is transformed".to_owned();
                return Err(misfit(signature, reason));
            }
        }
        Ok(Fourier { input, output, factor: properties.factor("factor", 1), direction, axes })
    }

    /// The code for a power of the root of unity of this order.
    fn root(&self, power: &str, order: &str) -> String {
        let sign = if self.direction == Direction::Forward { "-" } else { "" };
        let angle = format!("{sign}2 * math.pi * ({power} % {order}) / {order}");
        format!("{}(complex(cos({angle}), sin({angle})))", self.output.element)
    }

    /// The code for the factor in front of a term.
    fn scale(&self) -> Result<String, ExpandErrorKind> {
        let factor = self.factor.code(self.output.element)?;
        Ok(if self.factor.is_one() { String::new() } else { format!("{factor} * ") })
    }

    /// The transform of a vector, times a factor.
    fn transformed(&self, input: &[Value], factor: Value) -> Vec<Value> {
        let ty = ScalarType::Complex128;
        let count = input.len();
        let root = |power: usize| {
            let angle = self.sign() * std::f64::consts::TAU * (power % count) as f64 / count as f64;
            Value::Complex128(Complex::new(angle.cos(), angle.sin()))
        };
        let roots: Vec<Value> = (0..count).map(root).collect();
        let term = |k: usize, n: usize| multiply(input[n], roots[k * n % count]);
        let sum = |k: usize| (0..count).fold(Value::zero(ty), |sum, n| add(sum, term(k, n)));
        (0..count).map(|k| multiply(factor, sum(k))).collect()
    }

    fn sign(&self) -> f64 {
        match self.direction {
            Direction::Forward => -1.0,
            Direction::Inverse => 1.0,
        }
    }
}

/// An element of an operand; the dimension is seen unless it is a single index.
fn element(operand: &Operand, container: &str, index: &str) -> Element {
    Element::new(container, operand.seen().iter().map(|_| index.to_owned()).collect())
}

impl Meaning for Fourier {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = ScalarType::Complex128;
        let factor = self.factor.value(ty).map_err(|error| error.to_string())?;
        Ok(vec![match &self.axes {
            None => self.transformed(&values.of(&self.input.connector, ty)?, factor),
            Some(axes) => self.compute_axes(axes, values, factor)?,
        }])
    }

    fn adds(&self) -> bool {
        true
    }

    fn expansions(&self) -> &'static [Expansion] {
        &[Expansion::Fast, Expansion::Pure]
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        if let Some(axes) = &self.axes {
            return self.expand_axes(axes, template, target);
        }
        let count = self.input.size(self.input.fit(1)?[0]).as_int();
        // A pass of a factor above the length would name elements that are not there, although it never runs.
        if expansion == Expansion::Fast && count.is_none_or(|count| count >= LARGEST_FACTOR) {
            return if count.is_some_and(chirp::has_passes) {
                self.expand_in_passes(template, target)
            } else {
                self.expand_as_chirp(template, target)
            };
        }
        let ty = self.output.element;
        let position = self.input.fit(1)?[0];
        let count = template.extent(self.input.size(position));
        let range = format!("0:{count}");
        let write = element(&self.output, target.container(), "__k");
        if !target.adds {
            template.elementwise(Elementwise {
                label: "clear",
                dimensions: vec![("__k".to_owned(), range.clone())],
                reads: Vec::new(),
                value: format!("{ty}(0)"),
                write: write.clone(),
                adds: false,
            });
        }
        let root = self.root("__k * __n", &count);
        let scale = self.scale()?;
        let input = converted("__x", self.input.element, ty);
        template.elementwise(Elementwise {
            label: "transform",
            dimensions: vec![("__k".to_owned(), range.clone()), ("__n".to_owned(), range)],
            reads: vec![("__x".to_owned(), element(&self.input, &self.input.connector, "__n"))],
            value: format!("{scale}{input} * {root}"),
            write,
            adds: true,
        });
        Ok(())
    }
}
