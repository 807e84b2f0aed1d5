//! Meaning of a contraction: each output element is the sum over all other indices, in the element type of
//! the output.

use sdfg::tasklet::MathFunction;
use sdfg::value::Value;

use super::{Addend, Contraction, Label};
use crate::blas::{Called, Calls};
use crate::error::ExpandErrorKind;
use crate::operation::{Expansion, Meaning, Target};
use crate::template::Template;
use crate::values::{Values, add, call, count, multiply};

impl Meaning for Contraction {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = self.signature.output.element;
        let (kept, reduced) = (self.kept(), self.reduced());
        let mut factors = Vec::new();
        for term in &self.terms {
            let operand = &self.signature.inputs[term.input];
            let mut elements = values.of(&operand.connector, ty)?;
            if term.conjugated {
                elements.iter_mut().for_each(|value| *value = call(MathFunction::Conj, *value));
            }
            factors.push(Walk {
                elements,
                outer: self.positions(term.input, &term.labels, &kept)?,
                inner: self.positions(term.input, &term.labels, &reduced)?,
            });
        }
        let one = sdfg::tasklet::arith::cast(Value::Bool(true), ty);
        let (alpha, beta) = (self.factor(&self.alpha)?, self.factor(&self.beta)?);
        let before = self.addend(values, &kept)?;
        let moves = self.moves();
        let sums = factors.first().map_or(1, |factor| factor.inner.len());
        let mut results = Vec::with_capacity(before.len());
        for (place, before) in before.into_iter().enumerate() {
            let mut sum = None;
            for k in 0..sums {
                let mut product = None;
                for factor in &factors {
                    let element = factor.element(place, k)?;
                    product = Some(product.map_or(element, |product| multiply(product, element)));
                }
                let product = product.unwrap_or(one);
                sum = Some(sum.map_or(product, |sum| add(sum, product)));
            }
            let mut result = sum.unwrap_or_else(|| Value::zero(ty));
            if !moves && !self.alpha.is_one() {
                result = multiply(alpha, result);
            }
            if !self.beta.is_zero() {
                result = add(result, multiply(beta, before));
            }
            results.push(result);
        }
        Ok(vec![results])
    }

    fn call(
        &self,
        template: &mut Template,
        target: &Target,
        calls: &Calls<'_>,
    ) -> Result<Called, ExpandErrorKind> {
        self.call_blas(template, target, calls)
    }

    fn adds(&self) -> bool {
        self.beta.is_zero() && !self.moves_truth()
    }

    fn expansions(&self) -> &'static [Expansion] {
        let is_fast = self.blocks().is_some() || self.tiles().is_some();
        if is_fast { &[Expansion::Fast, Expansion::Pure] } else { &[Expansion::Pure] }
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        match (expansion, self.blocks(), self.tiles()) {
            (Expansion::Fast, Some(blocks), _) => blocks.states(template, target),
            (Expansion::Fast, None, Some(tiles)) => self.move_tiles(template, target, tiles),
            (Expansion::Fast, None, None) | (Expansion::Pure, _, _) => self.states(template, target),
        }
    }
}

/// Elements of an operand, in the order in which the output and the sum go through them.
struct Walk {
    elements: Vec<Value>,
    outer: Vec<usize>,
    inner: Vec<usize>,
}

impl Walk {
    fn element(&self, place: usize, k: usize) -> Result<Value, String> {
        let position = self.outer.get(place).zip(self.inner.get(k)).map(|(outer, inner)| outer + inner);
        let element = position.and_then(|position| self.elements.get(position));
        element.copied().ok_or_else(|| "an operand has fewer elements than the others need".to_owned())
    }
}

impl Contraction {
    fn moves_truth(&self) -> bool {
        self.signature.output.element == sdfg::dtype::ScalarType::Bool
    }

    fn factor(&self, factor: &crate::properties::Factor) -> Result<Value, String> {
        factor.value(self.signature.output.element).map_err(|error| error.to_string())
    }

    /// The summand multiplied by `beta`, for each element of the output.
    fn addend(&self, values: Values<'_>, kept: &[Label]) -> Result<Vec<Value>, String> {
        let ty = self.signature.output.element;
        match &self.addend {
            Addend::Term(term) if !self.beta.is_zero() => {
                let elements = values.of(&self.signature.inputs[term.input].connector, ty)?;
                let positions = self.positions(term.input, &term.labels, kept)?;
                let found = positions.into_iter().map(|position| elements.get(position).copied());
                found.collect::<Option<_>>().ok_or_else(|| "an operand is too small".to_owned())
            }
            Addend::Term(_) | Addend::Output => values.before(ty),
        }
    }

    /// Positions of an operand's elements while labels run through their extents, the last one fastest.
    fn positions(
        &self,
        input: usize,
        labels: &[Option<Label>],
        running: &[Label],
    ) -> Result<Vec<usize>, String> {
        let operand = &self.signature.inputs[input];
        let mut strides = vec![0usize; self.extents.len()];
        let mut stride = 1usize;
        for (position, label) in labels.iter().enumerate().rev() {
            if let Some(label) = label {
                strides[*label] += stride;
            }
            stride = stride.saturating_mul(count(operand.size(position))?);
        }
        let mut positions = vec![0usize];
        for label in running {
            let extent = count(&self.extents[*label])?;
            let step = strides[*label];
            positions = positions.iter().flat_map(|at| (0..extent).map(move |k| at + k * step)).collect();
        }
        Ok(positions)
    }
}
