//! `Merge`: each element is taken from one of two operands, as a mask says: `_mrg_out = _mrg_t if _mrg_mask else _mrg_f`.
//!
//! Every operand is broadcast against the result by NumPy's rule. Earlier versions of DaCe have no such node; from 2.0 on its
//! front end makes one of `numpy.where`.

use sdfg::ir::LibraryNode;
use sdfg::tasklet::arith;
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{Agreement, Operand, Signature, agreement, misfit};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::template::{Element, Elementwise, Template, converted};
use crate::values::{Values, count};

/// A node that selects elements.
pub(crate) struct Merge {
    output: Operand,
    mask: Broadcast,
    taken: Broadcast,
    otherwise: Broadcast,
}

/// An operand that is as large as the result when its elements are repeated.
struct Broadcast {
    operand: Operand,
    /// For each dimension the one of the result whose index it has; `None` for one element, which is taken again and again.
    along: Vec<Option<usize>>,
}

impl Merge {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        Properties(node).check(&[])?;
        signature.check(&["_mrg_t", "_mrg_f", "_mrg_mask"], &[], "_mrg_out")?;
        let operand = |name: &str| Broadcast::of(signature, signature.input(name)?);
        let (mask, taken, otherwise) = (operand("_mrg_mask")?, operand("_mrg_t")?, operand("_mrg_f")?);
        if mask.operand.element.is_complex() {
            let reason = format!("{} is neither true nor false", mask.operand.element);
            return Err(ExpandErrorKind::Element { connector: "_mrg_mask".to_owned(), reason });
        }
        Ok(Merge { output: signature.output.clone(), mask, taken, otherwise })
    }
}

impl Broadcast {
    /// The dimensions are aligned at the last one; surplus ones have one element.
    fn of(signature: &Signature, operand: &Operand) -> Result<Self, ExpandErrorKind> {
        let (rank, of) = (operand.dimensions.len(), signature.output.dimensions.len());
        let along = (0..rank).map(|position| {
            let size = operand.size(position);
            if size.is_one() {
                return Ok(None);
            }
            let to = (position + of).checked_sub(rank);
            let to = to.filter(|to| agreement(size, signature.output.size(*to)) != Agreement::Different);
            let reason = || format!("`{}` cannot be broadcast to the result", operand.connector);
            to.map(Some).ok_or_else(|| misfit(signature, reason()))
        });
        Ok(Broadcast { operand: operand.clone(), along: along.collect::<Result<_, _>>()? })
    }

    /// The element for the result with these indices.
    fn element(&self, indices: &[String]) -> Element {
        let index = |position: usize| match self.along[position] {
            Some(along) => indices[along].clone(),
            None => "0".to_owned(),
        };
        Element::new(&self.operand.connector, self.operand.seen().into_iter().map(index).collect())
    }

    /// Where the element for the result with these indices is in the list of them.
    fn place(&self, indices: &[usize]) -> Result<usize, String> {
        self.along.iter().enumerate().try_fold(0, |place, (position, along)| {
            let index = along.map_or(0, |along| indices[along]);
            Ok(place * count(self.operand.size(position))? + index)
        })
    }
}

impl Meaning for Merge {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = self.output.element;
        let of = |from: &Broadcast, ty| values.of(&from.operand.connector, ty);
        let mask = of(&self.mask, self.mask.operand.element)?;
        let (taken, otherwise) = (of(&self.taken, ty)?, of(&self.otherwise, ty)?);
        let rank = self.output.dimensions.len();
        let shape: Vec<usize> =
            (0..rank).map(|position| count(self.output.size(position))).collect::<Result<_, _>>()?;
        let mut indices = vec![0; rank];
        let mut selected = Vec::new();
        for _ in 0..shape.iter().product() {
            let pick = |from: &Broadcast, values: &[Value]| {
                let found = values.get(from.place(&indices)?).copied();
                found.ok_or_else(|| format!("`{}` is smaller than the result", from.operand.connector))
            };
            let is_taken = arith::is_true(pick(&self.mask, &mask)?);
            selected.push(if is_taken {
                pick(&self.taken, &taken)?
            } else {
                pick(&self.otherwise, &otherwise)?
            });
            for (index, size) in indices.iter_mut().zip(&shape).rev() {
                *index += 1;
                if *index < *size {
                    break;
                }
                *index = 0;
            }
        }
        Ok(vec![selected])
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let shape = template.shape(&self.output);
        let params: Vec<String> = (0..shape.len()).map(|position| format!("__i{position}")).collect();
        // What the expansion does not see of the result has one element.
        let mut indices = vec!["0".to_owned(); self.output.dimensions.len()];
        for (position, param) in self.output.seen().into_iter().zip(&params) {
            indices[position].clone_from(param);
        }
        let value = |name: &str, from: &Broadcast| converted(name, from.operand.element, self.output.element);
        template.elementwise(Elementwise {
            label: "merge",
            dimensions: params.iter().cloned().zip(shape.iter().map(|size| format!("0:{size}"))).collect(),
            reads: [("__m", &self.mask), ("__t", &self.taken), ("__f", &self.otherwise)]
                .map(|(name, from)| (name.to_owned(), from.element(&indices)))
                .into(),
            value: format!("{} if __m else {}", value("__t", &self.taken), value("__f", &self.otherwise)),
            write: Element::new(target.container(), params),
            adds: false,
        });
        Ok(())
    }
}
