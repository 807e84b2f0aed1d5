//! `Merge` selects each element from one of two operands by a mask:
//! `_mrg_out = _mrg_t if _mrg_mask else _mrg_f`. `Broadcast` has one operand and no mask.
//!
//! Operands are broadcast to the shape of the result by NumPy's rule, or along one dimension as Fortran's
//! `SPREAD` does. DaCe has these nodes since version 2.0, where its front end creates them for `numpy.where`
//! and `numpy.broadcast_to`.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::tasklet::arith;
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{ExtentComparison, Operand, Signature, agreement, misfit};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::Properties;
use crate::template::{Element, Elementwise, Over, Template, converted};
use crate::values::{Values, count};

/// A node that selects elements.
pub(crate) struct Selection {
    output: Operand,
    taken: Spread,
    /// Operand for elements where the mask is false.
    otherwise: Option<(Spread, Mask)>,
}

struct Mask(Spread);

/// An operand that is as large as the result when its elements are repeated.
pub(crate) struct Spread {
    pub(crate) operand: Operand,
    /// For each dimension the one of the result whose index it has; `None` for one element, which is taken again and again.
    along: Vec<Option<usize>>,
}

impl Selection {
    pub(crate) fn merge(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        Properties(node).check(&[])?;
        signature.check(&["_mrg_t", "_mrg_f", "_mrg_mask"], &[], "_mrg_out")?;
        let operand = |name: &str| Spread::of(signature, signature.input(name)?, None);
        let (mask, taken, otherwise) = (operand("_mrg_mask")?, operand("_mrg_t")?, operand("_mrg_f")?);
        if mask.operand.element.is_complex() {
            let reason = format!("{} is neither true nor false", mask.operand.element);
            return Err(ExpandErrorKind::Element { connector: "_mrg_mask".to_owned(), reason });
        }
        Ok(Selection { output: signature.output.clone(), taken, otherwise: Some((otherwise, Mask(mask))) })
    }

    pub(crate) fn broadcast(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["dim"])?;
        signature.check(&["_src"], &[], "_dst")?;
        let rank = signature.output.dimensions.len();
        let new = properties.get("dim").map(|_| properties.dimension("dim", rank)).transpose()?;
        let taken = Spread::of(signature, signature.input("_src")?, new)?;
        Ok(Selection { output: signature.output.clone(), taken, otherwise: None })
    }
}

impl Spread {
    /// The dimensions are those of the result without `new`, or, without that, aligned at the last one; surplus ones have
    /// one element.
    pub(crate) fn of(
        signature: &Signature,
        operand: &Operand,
        new: Option<usize>,
    ) -> Result<Self, ExpandErrorKind> {
        let (rank, of) = (operand.dimensions.len(), signature.output.dimensions.len());
        let along = (0..rank).map(|position| {
            let size = operand.size(position);
            if size.is_one() {
                return Ok(None);
            }
            let to = match new {
                None => (position + of).checked_sub(rank),
                Some(new) => (rank + 1 == of).then_some(position + usize::from(position >= new)),
            };
            let to =
                to.filter(|to| agreement(size, signature.output.size(*to)) != ExtentComparison::Different);
            let reason = || format!("`{}` cannot be broadcast to the result", operand.connector);
            to.map(Some).ok_or_else(|| misfit(signature, reason()))
        });
        Ok(Spread { operand: operand.clone(), along: along.collect::<Result<_, _>>()? })
    }

    /// The element for the result with these indices. Where it is open whether a dimension is as long as that of the result,
    /// or has one element, its last index is not exceeded.
    pub(crate) fn element(&self, indices: &[String], output: &Operand, template: &mut Template) -> Element {
        let mut index = |position: usize| match self.along[position] {
            Some(along) => {
                let (own, whole) = (self.operand.size(position), output.size(along));
                if agreement(own, whole) == ExtentComparison::Same {
                    return indices[along].clone();
                }
                format!("min({}, {} - 1)", indices[along], template.extent(own))
            }
            None => "0".to_owned(),
        };
        let indices = self.operand.seen().into_iter().map(&mut index).collect();
        Element::new(&self.operand.connector, indices)
    }

    /// The values of the operand as elements of type `ty`, repeated to the shape of the result.
    pub(crate) fn values(
        &self,
        output: &Operand,
        values: Values<'_>,
        ty: ScalarType,
    ) -> Result<Vec<Value>, String> {
        let found = values.of(&self.operand.connector, ty)?;
        let rank = output.dimensions.len();
        let shape: Vec<usize> =
            (0..rank).map(|position| count(output.size(position))).collect::<Result<_, _>>()?;
        let mut indices = vec![0; rank];
        let mut repeated = Vec::new();
        for _ in 0..shape.iter().product() {
            let value = found.get(self.place(&indices)?).copied();
            repeated.push(
                value.ok_or_else(|| format!("`{}` is smaller than the result", self.operand.connector))?,
            );
            for (index, size) in indices.iter_mut().zip(&shape).rev() {
                *index += 1;
                if *index < *size {
                    break;
                }
                *index = 0;
            }
        }
        Ok(repeated)
    }

    /// Position in the list of the element for the result with these indices.
    fn place(&self, indices: &[usize]) -> Result<usize, String> {
        self.along.iter().enumerate().try_fold(0, |place, (position, along)| {
            let size = count(self.operand.size(position))?;
            Ok(place * size + along.map_or(0, |along| indices[along]).min(size.saturating_sub(1)))
        })
    }
}

impl Meaning for Selection {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let ty = self.output.element;
        let taken = self.taken.values(&self.output, values, ty)?;
        let Some((otherwise, Mask(mask))) = &self.otherwise else { return Ok(vec![taken]) };
        let otherwise = otherwise.values(&self.output, values, ty)?;
        let bits = mask.values(&self.output, values, mask.operand.element)?;
        let pick = |((taken, otherwise), bit)| if arith::is_true(bit) { taken } else { otherwise };
        Ok(vec![taken.into_iter().zip(otherwise).zip(bits).map(pick).collect()])
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let Over { params, dimensions, indices } = template.over(&self.output);
        let converted =
            |name: &str, from: &Spread| converted(name, from.operand.element, self.output.element);
        let mut reads = vec![("__t".to_owned(), self.taken.element(&indices, &self.output, template))];
        let mut value = converted("__t", &self.taken);
        if let Some((otherwise, Mask(mask))) = &self.otherwise {
            reads.push(("__f".to_owned(), otherwise.element(&indices, &self.output, template)));
            reads.push(("__m".to_owned(), mask.element(&indices, &self.output, template)));
            value = format!("{value} if __m else {}", converted("__f", otherwise));
        }
        template.elementwise(Elementwise {
            label: "select",
            dimensions,
            reads,
            value,
            write: Element::new(target.container(), params),
            adds: false,
        });
        Ok(())
    }
}
