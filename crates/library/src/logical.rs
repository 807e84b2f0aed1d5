//! `All` and `Any`: whether all elements of a mask are true, or one of them is, over one dimension or all. Fortran's intrinsics
//! become these nodes since DaCe 2.0.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{ExtentComparison, Operand, Signature, agreement, misfit};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::template::{Element, Elementwise, Template, converted};
use crate::values::{Values, count};

/// The number of elements that decide a result.
const DECIDING: &str = "__deciding";

/// The question about the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    /// Whether all are true.
    All,
    /// Whether one is true.
    Any,
}

/// A node that asks for the elements of a mask.
pub(crate) struct Logical {
    mask: Operand,
    output: Operand,
    quantifier: Quantifier,
    /// Each dimension of the mask that remains, with that of the output; the others are reduced.
    kept: Vec<(usize, usize)>,
}

impl Logical {
    pub(crate) fn of(
        node: &LibraryNode,
        signature: &Signature,
        quantifier: Quantifier,
    ) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["dim"])?;
        signature.check(&["_mask"], &[], "_out")?;
        let (mask, output) = (signature.input("_mask")?.clone(), signature.output.clone());
        let rank = mask.dimensions.len();
        let is_whole = properties.get("dim").is_none_or(|dim| dim.to_string() == "-1");
        let kept = if is_whole {
            if !output.long().is_empty() {
                let (connector, shape) = (output.connector.clone(), output.shape());
                return Err(ExpandErrorKind::Rank { connector, shape, rank: 0 });
            }
            Vec::new()
        } else {
            let reduced = properties.dimension("dim", rank)?;
            let from = (0..rank).filter(|position| *position != reduced);
            // A result of no dimensions is one element.
            let to = if rank == 1 { Vec::new() } else { output.fit(rank - 1)? };
            from.zip(to).collect::<Vec<_>>()
        };
        let differs = |(from, to): &(usize, usize)| {
            agreement(mask.size(*from), output.size(*to)) == ExtentComparison::Different
        };
        if kept.iter().any(differs) || (kept.is_empty() && !output.long().is_empty()) {
            let reason = "the result has an element for each of the mask's along the other dimensions";
            return Err(misfit(signature, reason.to_owned()));
        }
        Ok(Logical { mask, output, quantifier, kept })
    }
}

impl Meaning for Logical {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let mask = values.of(&self.mask.connector, ScalarType::Bool)?;
        let sizes = |operand: &Operand| -> Result<Vec<usize>, String> {
            (0..operand.dimensions.len()).map(|position| count(operand.size(position))).collect()
        };
        let (of_mask, of_output) = (sizes(&self.mask)?, sizes(&self.output)?);
        let is_all = self.quantifier == Quantifier::All;
        let mut results = vec![is_all; of_output.iter().product()];
        for (place, value) in mask.into_iter().enumerate() {
            let mut place = place;
            let mut indices = vec![0; of_mask.len()];
            for (index, size) in indices.iter_mut().zip(&of_mask).rev() {
                (*index, place) = (place % size, place / size);
            }
            let mut at = vec![0; of_output.len()];
            for (from, to) in &self.kept {
                at[*to] = indices[*from];
            }
            let at = at.iter().zip(&of_output).fold(0, |at, (index, size)| at * size + index);
            if (value == Value::Bool(true)) != is_all
                && let Some(result) = results.get_mut(at)
            {
                *result = !is_all;
            }
        }
        Ok(vec![results.into_iter().map(Value::Bool).collect()])
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let over = template.over(&self.output);
        let shape = template.shape(&self.output);
        template.transient(DECIDING, ScalarType::I64, &shape);
        template.elementwise(Elementwise {
            label: "clear",
            dimensions: over.dimensions.clone(),
            reads: Vec::new(),
            value: "i64(0)".to_owned(),
            write: Element::new(DECIDING, over.params.clone()),
            adds: false,
        });
        let mask = template.over(&self.mask);
        let mut result = vec!["0".to_owned(); self.output.dimensions.len()];
        for (from, to) in &self.kept {
            result[*to].clone_from(&mask.indices[*from]);
        }
        let result = self.output.seen().into_iter().map(|position| result[position].clone()).collect();
        let (decides, value) = match self.quantifier {
            Quantifier::All => ("==", "__x == 0"),
            Quantifier::Any => ("!=", "__x != 0"),
        };
        let zero = format!("{}(0)", self.mask.element);
        template.elementwise(Elementwise {
            label: "count",
            dimensions: mask.dimensions,
            reads: vec![("__x".to_owned(), Element::new(&self.mask.connector, mask.params))],
            value: format!("i64(1) if __x {decides} {zero} else i64(0)"),
            write: Element::new(DECIDING, result),
            adds: true,
        });
        template.elementwise(Elementwise {
            label: "decide",
            dimensions: over.dimensions,
            reads: vec![("__x".to_owned(), Element::new(DECIDING, over.params.clone()))],
            value: converted(&format!("({value})"), ScalarType::Bool, self.output.element),
            write: Element::new(target.container(), over.params),
            adds: false,
        });
        Ok(())
    }
}
