//! The `pure` expansion of a contraction: a state that scales or clears the output, and a map over all
//! indices that adds each product to its element.
//!
//! The innermost dimension of the map is the index that is last in most tensors, so that memory is accessed
//! in order. Of the other dimensions, those of the output enclose those that are summed.

use super::{Addend, Contraction, Label};
use crate::error::ExpandErrorKind;
use crate::operation::Target;
use crate::template::{Element, Elementwise, Template, converted};

impl Contraction {
    /// Appends the states.
    pub(super) fn states(&self, template: &mut Template, target: &Target) -> Result<(), ExpandErrorKind> {
        let adds = self.start(template, target)?;
        let dimensions = self.dimensions(template, &self.order());
        template.elementwise(self.products("multiply", dimensions, target, adds)?);
        Ok(())
    }

    /// Appends the state that sets the target to what products are added to, where there is one. Returns whether they are added.
    pub(crate) fn start(&self, template: &mut Template, target: &Target) -> Result<bool, ExpandErrorKind> {
        self.start_in(template, target, "scale")
    }

    /// [`Self::start`], in a state of this label.
    pub(super) fn start_in(
        &self,
        template: &mut Template,
        target: &Target,
        label: &str,
    ) -> Result<bool, ExpandErrorKind> {
        let output = &self.signature.output;
        let sums = !self.reduced().is_empty();
        let keeps = self.beta.is_one() && self.addend == Addend::Output && !target.is_transient();
        let starts = !target.adds && !keeps && (sums || !self.beta.is_zero());
        if starts {
            let (reads, value) = if self.beta.is_zero() {
                (Vec::new(), format!("{}(0)", output.element))
            } else {
                let (element, from) = match &self.addend {
                    Addend::Output => (self.element(output, &output.connector, &self.output), output.element),
                    Addend::Term(term) => {
                        let operand = &self.signature.inputs[term.input];
                        (self.element(operand, &operand.connector, &term.labels), operand.element)
                    }
                };
                let before = converted("__before", from, output.element);
                let scaled = if self.beta.is_one() {
                    before
                } else {
                    format!("{} * {before}", self.beta.code(output.element)?)
                };
                (vec![("__before".to_owned(), element)], scaled)
            };
            let dimensions = self.dimensions(template, &self.kept());
            template.elementwise(Elementwise {
                label,
                dimensions,
                reads,
                value,
                write: self.element(output, target.container(), &self.output),
                adds: false,
            });
        }
        Ok(target.adds || keeps || starts)
    }

    /// Whether the result is the sum of products and nothing else, so that [`Self::start`] would set it to zero.
    pub(super) fn is_fresh(&self, target: &Target) -> bool {
        self.beta.is_zero() && !target.adds && !self.reduced().is_empty()
    }

    /// A state that writes, or adds, one product at each point.
    pub(super) fn products<'a>(
        &self,
        label: &'a str,
        dimensions: Vec<(String, String)>,
        target: &Target,
        adds: bool,
    ) -> Result<Elementwise<'a>, ExpandErrorKind> {
        let output = &self.signature.output;
        let mut factors = Vec::new();
        if !self.alpha.is_one() {
            factors.push(self.alpha.code(output.element)?);
        }
        let mut reads = Vec::new();
        for (number, term) in self.terms.iter().enumerate() {
            let operand = &self.signature.inputs[term.input];
            let connector = format!("__x{number}");
            let factor = converted(&connector, operand.element, output.element);
            factors.push(if term.conjugated { format!("conj({factor})") } else { factor });
            reads.push((connector, self.element(operand, &operand.connector, &term.labels)));
        }
        let write = self.element(output, target.container(), &self.output);
        Ok(Elementwise { label, dimensions, reads, value: factors.join(" * "), write, adds })
    }

    /// The labels from the outermost dimension to the innermost.
    pub(super) fn order(&self) -> Vec<Label> {
        let (kept, reduced) = (self.kept(), self.reduced());
        let last = |labels: &[Option<Label>]| labels.last().copied().flatten();
        let lasts: Vec<Label> =
            self.terms.iter().filter_map(|term| last(&term.labels)).chain(last(&self.output)).collect();
        let count = |label: &Label| lasts.iter().filter(|other| *other == label).count();
        let outside_in: Vec<Label> = kept.iter().chain(&reduced).copied().collect();
        // Of those with the same count, one of the output: its elements are independent of each other.
        let innermost =
            outside_in.iter().copied().max_by_key(|label| (count(label), kept.contains(label), *label));
        let others = outside_in.iter().copied().filter(|label| Some(*label) != innermost);
        others.chain(innermost).collect()
    }

    pub(crate) fn dimensions(&self, template: &mut Template, labels: &[Label]) -> Vec<(String, String)> {
        labels
            .iter()
            .map(|label| (param(*label), format!("0:{}", template.extent(&self.extents[*label]))))
            .collect()
    }

    /// The element of an operand at the labels' present values.
    pub(crate) fn element(
        &self,
        operand: &crate::operand::Operand,
        container: &str,
        labels: &[Option<Label>],
    ) -> Element {
        let index = |position: usize| match labels[position] {
            Some(label) if !self.extents[label].is_one() => param(label),
            Some(_) | None => "0".to_owned(),
        };
        Element::new(container, operand.seen().into_iter().map(index).collect())
    }
}

/// The parameter that a label's values are bound to.
pub(super) fn param(label: Label) -> String {
    format!("__i{label}")
}
