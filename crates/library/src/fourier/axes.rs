//! Transforms of several dimensions, or along one of them: the lines along a dimension are transformed one by one, and those along
//! the next one after that (`numpy.fft.fftn`).

use sdfg::tasklet::arith;
use sdfg::value::Value;

use super::{Direction, Fourier};
use crate::error::ExpandErrorKind;
use crate::operand::{ExtentComparison, Operand, Signature, agreement, misfit};
use crate::operation::Target;
use crate::properties::Properties;
use crate::template::{Element, Template};
use crate::values::{Values, count};

/// The axes of a transform that is not that of a single vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axes {
    /// The dimensions of the input with those of the output.
    dimensions: Vec<(usize, usize)>,
    /// The positions in the list that are transformed.
    transformed: Vec<usize>,
}

impl Axes {
    /// The axes of a node; `None` if a vector is transformed.
    pub(super) fn of(
        properties: Properties<'_>,
        signature: &Signature,
        (input, output): (&Operand, &Operand),
    ) -> Result<Option<Self>, ExpandErrorKind> {
        let axis = properties.axis("axis", input.dimensions.len())?;
        if axis.is_none() && input.fit(1).is_ok() && output.fit(1).is_ok() {
            return Ok(None);
        }
        let reason = || "a transform has as many elements as what is transformed".to_owned();
        // A dimension of one element is its own transform.
        let (from, to) = match axis {
            None => (input.long(), output.long()),
            Some(_) => ((0..input.dimensions.len()).collect(), (0..output.dimensions.len()).collect()),
        };
        if from.is_empty() {
            let (connector, shape) = (input.connector.clone(), input.shape());
            return Err(ExpandErrorKind::Rank { connector, shape, rank: 1 });
        }
        if from.len() != to.len() {
            return Err(misfit(signature, reason()));
        }
        let dimensions: Vec<(usize, usize)> = from.into_iter().zip(to).collect();
        let differs = |(from, to): &(usize, usize)| {
            agreement(input.size(*from), output.size(*to)) == ExtentComparison::Different
        };
        if dimensions.iter().any(differs) {
            return Err(misfit(signature, reason()));
        }
        let transformed = axis.map_or_else(|| (0..dimensions.len()).collect(), |axis| vec![axis]);
        Ok(Some(Axes { dimensions, transformed }))
    }
}

impl Fourier {
    /// The transform of elements in row-major order.
    pub(super) fn compute_axes(
        &self,
        axes: &Axes,
        values: Values<'_>,
        factor: Value,
    ) -> Result<Vec<Value>, String> {
        let ty = factor.ty();
        let mut elements = values.of(&self.input.connector, ty)?;
        let one = arith::cast(Value::I64(1), ty);
        let sizes: Vec<usize> = (0..self.input.dimensions.len())
            .map(|position| count(self.input.size(position)))
            .collect::<Result<_, _>>()?;
        let mut positions = axes.transformed.iter().map(|at| axes.dimensions[*at].0).peekable();
        while let Some(position) = positions.next() {
            let factor = if positions.peek().is_none() { factor } else { one };
            let (size, stride) = (sizes[position], sizes[position + 1..].iter().product::<usize>());
            for first in (0..elements.len()).filter(|place| place / stride % size == 0) {
                let line: Vec<Value> = (0..size).map(|k| elements[first + k * stride]).collect();
                for (k, value) in self.transformed(&line, factor).into_iter().enumerate() {
                    elements[first + k * stride] = value;
                }
            }
        }
        Ok(elements)
    }

    /// Appends a state for each axis, whose lines are transformed by nodes of their own.
    pub(super) fn expand_axes(
        &self,
        axes: &Axes,
        template: &mut Template,
        target: &Target,
    ) -> Result<(), ExpandErrorKind> {
        let ty = self.output.element;
        let sizes: Vec<String> =
            axes.dimensions.iter().map(|(from, _)| template.extent(self.input.size(*from))).collect();
        let works = ["__lines0", "__lines1"];
        let steps = axes.transformed.len();
        for name in works.iter().take(steps.saturating_sub(1)) {
            template.transient(name, ty, &sizes);
        }
        // The indices of a container's element, of those in the list of dimensions.
        let placed = |operand: &Operand, indices: &[String], of: fn(&(usize, usize)) -> usize| {
            let mut all = vec!["0".to_owned(); operand.dimensions.len()];
            for (dimension, index) in axes.dimensions.iter().zip(indices) {
                all[of(dimension)].clone_from(index);
            }
            operand.seen().into_iter().map(|position| all[position].clone()).collect::<Vec<String>>()
        };
        // The factor is refused where it is no number.
        self.factor.code(ty)?;
        let factor = self.factor.text();
        let operation = if self.direction == Direction::Forward { "FFT" } else { "IFFT" };
        for (step, axis) in axes.transformed.iter().enumerate() {
            let (is_first, is_last) = (step == 0, step + 1 == steps);
            let mut indices: Vec<String> = (0..sizes.len()).map(|at| format!("__i{at}")).collect();
            let others = (0..sizes.len()).filter(|at| at != axis);
            let dimensions: Vec<String> = others.map(|at| format!("__i{at} = 0:{}", sizes[at])).collect();
            let dimensions =
                if dimensions.is_empty() { "__once = 0:1".to_owned() } else { dimensions.join(", ") };
            indices[*axis] = format!("0:{}", sizes[*axis]);
            let work = |step: usize| Element::new(works[step % 2], indices.clone());
            let from = if is_first {
                Element::new(&self.input.connector, placed(&self.input, &indices, |(from, _)| *from))
            } else {
                work(step - 1)
            };
            let to = if is_last {
                Element::new(target.container(), placed(&self.output, &indices, |(_, to)| *to))
            } else {
                work(step)
            };
            let properties = if is_last { format!("factor = {factor}") } else { String::new() };
            let adds = if is_last && target.adds { " wcr(sum)" } else { "" };
            template.blocks(&format!(
                "state along{axis} {{
access __from = {}
access __to = {}
map __lines [{dimensions}] {{
library __line: {operation} (_inp) -> (_out) {{ {properties} }}
__lines.__from -> __line._inp: {}
__line._out -> __lines.__to: {}{adds}
}}
__from -> __lines.__from
__lines.__to -> __to
}}
",
                from.container(),
                to.container(),
                from.text(),
                to.text(),
            ));
        }
        Ok(())
    }
}
