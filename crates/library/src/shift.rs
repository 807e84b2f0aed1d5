//! `CShift`: rotates the elements along one dimension. `_out[i] = _x[(i + shift) mod n]` in Fortran's
//! direction, `_out[i] = _x[(i - shift) mod n]` in NumPy's (`numpy.roll`). DaCe has this node since version
//! 2.0.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::symbolic::Expr;
use sdfg::value::Value;

use crate::error::ExpandErrorKind;
use crate::operand::{ExtentComparison, Operand, Signature, agreement, misfit};
use crate::operation::{Expansion, Meaning, Target};
use crate::properties::{Factor, Properties};
use crate::template::{Element, Elementwise, Template, converted};
use crate::values::{Values, count};

/// A node that shifts its input.
pub(crate) struct CircularShift {
    input: Operand,
    output: Operand,
    /// The dimension, from 0.
    dimension: usize,
    /// By how many elements an element moves to higher indices.
    up: Expr,
    /// The same as a number, where it is one, times the sign.
    shift: Factor,
    sign: i64,
}

impl CircularShift {
    pub(crate) fn of(node: &LibraryNode, signature: &Signature) -> Result<Self, ExpandErrorKind> {
        let properties = Properties(node);
        properties.check(&["dim", "shift", "direction"])?;
        signature.check(&["_x"], &[], "_out")?;
        let sign = match properties.get("direction").map(|_| properties.word("direction")).transpose()? {
            None | Some("FORTRAN") => -1,
            Some("NUMPY") => 1,
            Some(_) => return Err(properties.wrong("direction", "must be `FORTRAN` or `NUMPY`")),
        };
        let (input, output) = (signature.input("_x")?, &signature.output);
        let rank = output.dimensions.len();
        let differs = |position: usize| {
            agreement(input.size(position), output.size(position)) == ExtentComparison::Different
        };
        if input.dimensions.len() != rank || (0..rank).any(differs) {
            return Err(misfit(signature, "what is shifted is as large as the result".to_owned()));
        }
        let dimension = properties.dimension("dim", rank)?;
        let must = "must be a number of elements";
        let shift = properties.get("shift").ok_or_else(|| properties.wrong("shift", must))?;
        let up = shift.to_string().parse::<Expr>().map_err(|_| properties.wrong("shift", must))?;
        Ok(CircularShift {
            input: input.clone(),
            output: output.clone(),
            dimension,
            up: up * sign,
            shift: properties.factor("shift", 0),
            sign,
        })
    }
}

impl Meaning for CircularShift {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let elements = values.of(&self.input.connector, self.output.element)?;
        let Value::I64(shift) = self.shift.value(ScalarType::I64).map_err(|error| error.to_string())? else {
            return Err("the shift is no number".to_owned());
        };
        let size = count(self.output.size(self.dimension))?;
        let behind = (self.dimension + 1..self.output.dimensions.len())
            .map(|position| count(self.output.size(position)))
            .product::<Result<usize, String>>()?;
        let up = i128::from(shift) * i128::from(self.sign);
        let shifted = (0..elements.len()).map(|place| {
            let at = place / behind % size;
            let from = (at as i128 - up).rem_euclid(size as i128) as usize;
            elements[place - at * behind + from * behind]
        });
        Ok(vec![shifted.collect()])
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let over = template.over(&self.output);
        let parts = match self.output.seen().iter().position(|position| *position == self.dimension) {
            // It has one element, which stays where it is.
            None => vec![("shift", None)],
            Some(along) => {
                let (size, param) = (template.extent(self.output.size(self.dimension)), &over.params[along]);
                let up = format!("({}) % max({size}, 1)", self.up);
                vec![
                    ("shift", Some((along, format!("{up}:{size}"), format!("{param} - {up}")))),
                    ("wrap", Some((along, format!("0:{up}"), format!("{param} + {size} - {up}")))),
                ]
            }
        };
        for (label, part) in parts {
            let (mut dimensions, mut from) = (over.dimensions.clone(), over.indices.clone());
            if let Some((along, range, index)) = part {
                dimensions[along].1 = range;
                from[self.dimension] = index;
            }
            let from = self.input.seen().into_iter().map(|position| from[position].clone()).collect();
            template.elementwise(Elementwise {
                label,
                dimensions,
                reads: vec![("__x".to_owned(), Element::new(&self.input.connector, from))],
                value: converted("__x", self.input.element, self.output.element),
                write: Element::new(target.container(), over.params.clone()),
                adds: false,
            });
        }
        Ok(())
    }
}
