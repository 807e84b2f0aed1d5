//! Meaning of a stencil: the code runs for each element.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::tasklet::{CodeFrame, CompiledCode, ConnectorId, Environment, NoAccess, typecheck_expression};
use sdfg::value::Value;

use super::{Boundary, Field, Read, Stencil, read_name, value_name};
use crate::operand::Operand;
use crate::values::{Values, count};

/// An operand in memory: elements, and for each iterator the distance of its neighbours.
struct Packed {
    elements: Vec<Value>,
    strides: Vec<usize>,
}

/// An assignment, ready to run.
struct ReadyAssignment {
    code: CompiledCode,
    frame: CodeFrame,
    /// Destinations of inputs and earlier values of the code: the input, and its number among reads and
    /// values.
    inputs: Vec<(ConnectorId, usize)>,
}

impl Stencil {
    /// The elements of each output, those that are not written as they were.
    pub(super) fn elements(&self, values: Values<'_>) -> Result<Vec<Vec<Value>>, String> {
        let extents = self.extents.iter().map(count).collect::<Result<Vec<usize>, String>>()?;
        let mut inputs = Vec::new();
        for field in &self.fields {
            let elements = values.of(&field.operand.connector, field.operand.element)?;
            let strides = strides(&field.operand, &field.positions)?;
            inputs.push(Packed { elements, strides });
        }
        let mut outputs = Vec::new();
        for output in &self.outputs {
            let elements = values.of_output(&output.operand.connector, output.operand.element)?;
            outputs.push(Packed { elements, strides: strides(&output.operand, &output.positions)? });
        }
        let mut steps = self.steps()?;
        let n_reads = self.reads.len();
        'points: for point in 0..extents.iter().product::<usize>() {
            let place = place(point, &extents);
            let mut known = Vec::with_capacity(n_reads + steps.len());
            for read in &self.reads {
                match self.read(read, &place, &extents, &inputs[read.field])? {
                    Some(value) => known.push(value),
                    // Outputs keep what they hold there.
                    None => continue 'points,
                }
            }
            for step in &mut steps {
                for (id, number) in &step.inputs {
                    step.frame.set_input(*id, &[known[*number]]);
                }
                step.code.run(&mut step.frame, &mut NoAccess, 0).map_err(|trap| format!("{trap:?}"))?;
                known.push(step.frame.result().first().copied().ok_or("the code has no value")?);
            }
            for (output, packed) in self.outputs.iter().zip(&mut outputs) {
                let is_its = |assignment: &super::Assignment| assignment.name == output.operand.connector;
                let Some(number) = self.assignments.iter().rposition(is_its) else { continue };
                let at: usize = place.iter().zip(&packed.strides).map(|(at, stride)| at * stride).sum();
                packed.elements[at] = known[n_reads + number];
            }
        }
        Ok(outputs.into_iter().map(|packed| packed.elements).collect())
    }

    /// The value of a read; `None` if there is none and nothing is to be written.
    fn read(
        &self,
        read: &Read,
        place: &[usize],
        extents: &[usize],
        packed: &Packed,
    ) -> Result<Option<Value>, String> {
        let field = &self.fields[read.field];
        let center = |iterator: usize| place[iterator] as i64;
        let shifted = field.iterators.iter().zip(&read.offsets).map(|(i, offset)| (*i, center(*i) + offset));
        let shifted: Vec<(usize, i64)> = shifted.collect();
        let element = |places: &mut dyn Iterator<Item = i64>| {
            let at: usize = places.zip(&packed.strides).map(|(at, stride)| at as usize * stride).sum();
            packed.elements.get(at).copied().ok_or_else(|| "an operand is incomplete".to_owned())
        };
        if shifted.iter().all(|(iterator, at)| (0..extents[*iterator] as i64).contains(at)) {
            return element(&mut shifted.iter().map(|(_, at)| *at)).map(Some);
        }
        match &field.boundary {
            Boundary::Shrink => Ok(None),
            Boundary::Copy => element(&mut field.iterators.iter().map(|i| center(*i))).map(Some),
            Boundary::Constant(factor) => constant(factor, field).map(Some),
        }
    }

    /// The assignments, typed: a read has the type of its input, a value that of its code.
    fn steps(&self) -> Result<Vec<ReadyAssignment>, String> {
        let reads = self.reads.iter().enumerate();
        let mut known: Vec<(String, ScalarType)> =
            reads.map(|(at, read)| (read_name(at), self.fields[read.field].operand.element)).collect();
        let mut steps = Vec::new();
        for assignment in &self.assignments {
            let mut environment = Environment::new();
            let used = assignment.value.names();
            let mut inputs = Vec::new();
            for (number, (name, ty)) in known.iter().enumerate().rev() {
                // The last of several values with one name is the one that is meant.
                if used.contains(name.as_str()) && environment.connector(name).is_none() {
                    inputs.push((environment.input(name.as_str(), *ty), number));
                }
            }
            let typed = typecheck_expression(&assignment.value, self.dialect, &environment);
            let typed = typed.map_err(|errors| {
                let why = errors.first().map_or_else(String::new, ToString::to_string);
                format!("`{}{}`: {why}", LibraryNode::CODE, assignment.name)
            })?;
            let ty = typed.expression.ty.as_scalar();
            known.push((
                value_name(&assignment.name),
                ty.ok_or_else(|| format!("the value of `{}` is no scalar", assignment.name))?,
            ));
            let code = CompiledCode::of_expression(&typed);
            let frame = code.frame();
            steps.push(ReadyAssignment { code, frame, inputs });
        }
        Ok(steps)
    }
}

fn constant(factor: &crate::properties::Factor, field: &Field) -> Result<Value, String> {
    factor.value(field.operand.element).map_err(|error| error.to_string())
}

/// The distances of neighbours along dimensions of an operand whose elements are packed.
fn strides(operand: &Operand, positions: &[usize]) -> Result<Vec<usize>, String> {
    let sizes = (0..operand.dimensions.len()).map(|at| count(operand.size(at)));
    let sizes = sizes.collect::<Result<Vec<usize>, String>>()?;
    Ok(positions.iter().map(|at| sizes[at + 1..].iter().product()).collect())
}

/// The position in each iterator of an iteration, counted in row-major order.
fn place(mut point: usize, extents: &[usize]) -> Vec<usize> {
    let mut place = vec![0; extents.len()];
    for (at, extent) in place.iter_mut().zip(extents).rev() {
        *at = point % extent;
        point /= extent;
    }
    place
}
