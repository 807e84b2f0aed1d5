//! `Sum` adds its operands element by element: `sum = data_0 + data_1 + …`, from left to right.
//!
//! Operands are broadcast to the shape of the result by NumPy's rule. DaCe's automatic differentiation creates the node as
//! ONNX's operator `Sum` where a container has several gradients.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{Operand, Signature};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::select::Spread;
use crate::template::{Element, Elementwise, Over, Template, converted};
use crate::values::{Values, add};

/// A node that adds its operands.
pub(crate) struct Sum {
    output: Operand,
    /// In the order of their connectors; at least one.
    terms: Vec<Spread>,
}

impl Sum {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        Properties(node).check(&[])?;
        let name = |operand: &Operand| operand.connector.clone();
        let names: Vec<String> = signature.inputs.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        signature.check(&[], &names, "sum")?;
        let output = signature.output.clone();
        if output.element == ScalarType::Bool {
            let reason = "truth values have no sum".to_owned();
            return Err(ExpandErrorKind::Element { connector: output.connector, reason });
        }
        if names.is_empty() {
            return Err(ExpandErrorKind::MissingConnector { connector: "data_0__0".to_owned() });
        }
        let terms = signature.inputs.iter().map(|operand| Spread::of(signature, operand, None));
        Ok(Sum { output, terms: terms.collect::<Result<_, _>>()? })
    }
}

impl Meaning for Sum {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = self.output.element;
        let terms = self.terms.iter().map(|term| term.values(&self.output, values, ty));
        let mut terms = terms.collect::<Result<Vec<_>, _>>()?.into_iter();
        let mut sums = terms.next().unwrap_or_default();
        for term in terms {
            for (sum, value) in sums.iter_mut().zip(term) {
                *sum = add(*sum, value);
            }
        }
        Ok(vec![sums])
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let Over { params, dimensions, indices } = template.over(&self.output);
        let mut reads = Vec::new();
        let mut value = Vec::new();
        for (position, term) in self.terms.iter().enumerate() {
            let name = format!("__x{position}");
            value.push(converted(&name, term.operand.element, self.output.element));
            reads.push((name, term.element(&indices, &self.output, template)));
        }
        template.elementwise(Elementwise {
            label: "sum",
            dimensions,
            reads,
            value: value.join(" + "),
            write: Element::new(target.container(), params),
            adds: false,
        });
        Ok(())
    }
}
