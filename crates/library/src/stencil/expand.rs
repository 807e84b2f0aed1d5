//! Expansion of a stencil: one map for the interior, and one map for each part of the boundary. Reads of
//! boundary maps stay inside the inputs; missing elements are replaced by the boundary condition.

use sdfg::tasklet::Dialect;
use sdfg::value::Value;

use super::regions::{Margin, Region, back};
use super::{Boundary, Field, Read, Stencil, read_name, value_name};
use crate::error::ExpandErrorKind;
use crate::operation::{Expansion, Meaning, Target};
use crate::template::{Element, Template};
use crate::values::Values;

impl Meaning for Stencil {
    fn compute(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        self.elements(values)
    }

    fn margins_of(&self, output: &str) -> Vec<Margin> {
        let Some(output) = self.outputs.iter().find(|known| known.operand.connector == output) else {
            return Vec::new();
        };
        let mut margins = vec![Margin::default(); output.operand.dimensions.len()];
        for (position, margin) in output.positions.iter().zip(self.margins().written) {
            margins[*position] = margin;
        }
        margins
    }

    fn expand(
        &self,
        template: &mut Template,
        target: &Target,
        _expansion: Expansion,
    ) -> Result<(), ExpandErrorKind> {
        let extents: Vec<String> = self.extents.iter().map(|extent| template.extent(extent)).collect();
        for region in self.margins().regions(&extents) {
            let text = self.state(&region, &extents, target)?;
            template.blocks(&text);
        }
        Ok(())
    }
}

fn iterator(number: usize) -> String {
    format!("__i{number}")
}

/// Text for connectors and memlets of the tasklet.
#[derive(Default)]
struct Ends {
    connectors: Vec<String>,
    accesses: Vec<String>,
    outer: String,
    leaves: String,
}

impl Ends {
    fn read(&mut self, connector: String, element: &Element) {
        let from = &element.container;
        if !self.accesses.contains(from) {
            self.accesses.push(from.clone());
            self.outer.push_str(&format!("{from} -> __points.{from}\n"));
        }
        self.leaves.push_str(&format!("__points.{from} -> __stencil.{connector}: {}\n", element.text()));
        self.connectors.push(connector);
    }
}

impl Stencil {
    /// The state for a part of the outputs.
    fn state(&self, region: &Region, extents: &[String], target: &Target) -> Result<String, ExpandErrorKind> {
        let mut inputs = Ends::default();
        let mut code = String::new();
        for (number, read) in self.reads.iter().enumerate() {
            let name = read_name(number);
            if !region.is_boundary || read.offsets.iter().all(|offset| *offset == 0) {
                inputs.read(name, &self.element(read, None));
                continue;
            }
            let inside = format!("__r{number}");
            inputs.read(inside.clone(), &self.element(read, Some(extents)));
            let outside = self.outside(read, number, &mut inputs)?;
            // Where outputs are not written there is no iteration.
            match outside {
                Some(value) => {
                    let condition = self.condition(read, extents);
                    code.push_str(&format!("{name} = {value} if {condition} else {inside}\n"));
                }
                None => code.push_str(&format!("{name} = {inside}\n")),
            }
        }
        for assignment in &self.assignments {
            code.push_str(&format!("{} = {}\n", value_name(&assignment.name), assignment.value));
        }
        let (mut connectors, mut outputs, mut outer) = (Vec::new(), String::new(), String::new());
        for (number, output) in self.outputs.iter().enumerate() {
            let (name, container) = (&output.operand.connector, target.of(&output.operand.connector));
            let seen = output.operand.seen();
            let along = |position: &usize| output.positions.iter().position(|own| own == position);
            let indices = seen.iter().map(|at| along(at).map_or_else(|| "0".to_owned(), iterator));
            let element = Element::new(container, indices.collect());
            code.push_str(&format!("__y{number} = {}\n", value_name(name)));
            connectors.push(format!("__y{number}"));
            outputs.push_str(&format!("access __out{number} = {container}\n"));
            inputs
                .leaves
                .push_str(&format!("__stencil.__y{number} -> __points.__out{number}: {}\n", element.text()));
            outer.push_str(&format!("__points.__out{number} -> __out{number}\n"));
        }
        let ranges = region.ranges.iter().enumerate();
        let mut ranges: Vec<String> =
            ranges.map(|(at, range)| format!("{} = {range}", iterator(at))).collect();
        if ranges.is_empty() {
            ranges.push("__once = 0:1".to_owned());
        }
        let dialect = if self.dialect == Dialect::C { " dialect(c)" } else { "" };
        let accesses: String = inputs.accesses.iter().map(|name| format!("access {name}\n")).collect();
        Ok(format!(
            "state {} {{\n{accesses}{outputs}map __points [{}] {{
tasklet __stencil ({}) -> ({}){dialect} {{
{code}}}
{}}}
{}{outer}}}\n",
            region.label,
            ranges.join(", "),
            inputs.connectors.join(", "),
            connectors.join(", "),
            inputs.leaves,
            inputs.outer,
        ))
    }

    /// The element of a read; with extents the nearest one to it that there is.
    fn element(&self, read: &Read, extents: Option<&[String]>) -> Element {
        let field = &self.fields[read.field];
        let index = |position: usize| {
            let Some(at) = field.positions.iter().position(|own| *own == position) else {
                return "0".to_owned();
            };
            let (own, offset) = (iterator(field.iterators[at]), read.offsets[at]);
            match (offset.signum(), extents) {
                (0, _) => own,
                (-1, None) => format!("{own} - {}", -offset),
                (-1, Some(_)) => format!("max({own} - {}, 0)", -offset),
                (_, None) => format!("{own} + {offset}"),
                (_, Some(extents)) => {
                    format!("min({own} + {offset}, {} - 1)", extents[field.iterators[at]])
                }
            }
        };
        let seen = field.operand.seen().into_iter();
        Element::new(&field.operand.connector, seen.map(index).collect())
    }

    /// Replacement of a read where there is no element; `None` if nothing is written then.
    fn outside(
        &self,
        read: &Read,
        number: usize,
        inputs: &mut Ends,
    ) -> Result<Option<String>, ExpandErrorKind> {
        let field: &Field = &self.fields[read.field];
        Ok(match &field.boundary {
            Boundary::Shrink => None,
            Boundary::Copy => {
                let center = Read { field: read.field, offsets: vec![0; read.offsets.len()] };
                let name = format!("__c{number}");
                inputs.read(name.clone(), &self.element(&center, None));
                Some(name)
            }
            Boundary::Constant(factor) => Some(factor.code(field.operand.element)?),
        })
    }

    /// Whether a read has no element.
    fn condition(&self, read: &Read, extents: &[String]) -> String {
        let iterators = &self.fields[read.field].iterators;
        let tests = iterators.iter().zip(&read.offsets).filter(|(_, offset)| **offset != 0);
        let tests = tests.map(|(number, offset)| {
            let own = iterator(*number);
            if *offset < 0 {
                format!("{own} < {}", -offset)
            } else {
                format!("{own} >= {}", back(&extents[*number], *offset))
            }
        });
        tests.collect::<Vec<_>>().join(" or ")
    }
}
