//! `Fill`: sets all elements of a container to one value, from a property or an input. `Memset`: sets them to zero.

use sdfg::ir::LibraryNode;
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{Operand, Signature};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::{Factor, Properties};
use crate::template::{Element, Elementwise, Over, Template, converted};
use crate::values::Values;

/// A node that fills its output.
pub(crate) struct Fill {
    output: Operand,
    from: From,
}

/// Source of the value.
enum From {
    Property(Factor),
    Input(Operand),
}

impl Fill {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["value"])?;
        signature.check(&[], &["_fill_val"], "_fill_out")?;
        let from = match signature.find("_fill_val") {
            Some(input) => From::Input(signature.inputs[input].clone()),
            None => From::Property(properties.factor("value", 0)),
        };
        if let From::Input(operand) = &from
            && !operand.long().is_empty()
        {
            let (connector, shape) = (operand.connector.clone(), operand.shape());
            return Err(ExpandErrorKind::Rank { connector, shape, rank: 0 });
        }
        Ok(Fill { output: signature.output.clone(), from })
    }
}

impl Fill {
    pub(crate) fn with_zeros(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&[])?;
        signature.check(&[], &[], "_mset_out")?;
        Ok(Fill { output: signature.output.clone(), from: From::Property(properties.factor("value", 0)) })
    }
}

impl Meaning for Fill {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = self.output.element;
        let count = values.before(ty)?.len();
        let value = match &self.from {
            From::Property(factor) => factor.value(ty).map_err(|error| error.to_string())?,
            From::Input(operand) => {
                let value = values.of(&operand.connector, ty)?.first().copied();
                value.ok_or_else(|| "there is no value to fill with".to_owned())?
            }
        };
        Ok(vec![vec![value; count]])
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let Over { params, dimensions, .. } = template.over(&self.output);
        let (reads, value) = match &self.from {
            From::Property(factor) => (Vec::new(), factor.code(self.output.element)?),
            From::Input(operand) => {
                let first = Element::new(&operand.connector, vec!["0".to_owned(); operand.seen().len()]);
                let value = converted("__x", operand.element, self.output.element);
                (vec![("__x".to_owned(), first)], value)
            }
        };
        template.elementwise(Elementwise {
            label: "fill",
            dimensions,
            reads,
            value,
            write: Element::new(target.container(), params),
            adds: false,
        });
        Ok(())
    }
}
