//! Operands as numbers, for operations that the interpreter computes.

use sdfg::dtype::ScalarType;
use sdfg::interpret::LibraryOperand;
use sdfg::symbolic::Expr;
use sdfg::tasklet::{BinaryOperation, MathFunction, arith};
use sdfg::value::Value;

/// The operands of a node with their elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    /// Inputs.
    pub(crate) inputs: &'a [LibraryOperand],
    /// Outputs, with their previous contents.
    pub(crate) outputs: &'a [LibraryOperand],
}

impl Values<'_> {
    /// The elements of an operand, converted to a type.
    pub(crate) fn of(&self, connector: &str, ty: ScalarType) -> Result<Vec<Value>, String> {
        let mut operands = self.inputs.iter().chain(self.outputs);
        let found = operands.find(|operand| operand.connector == connector);
        elements(found.ok_or_else(|| format!("the connector `{connector}` is missing"))?, ty)
    }

    /// Previous contents of an output, converted to a type.
    pub(crate) fn of_output(&self, connector: &str, ty: ScalarType) -> Result<Vec<Value>, String> {
        let found = self.outputs.iter().find(|operand| operand.connector == connector);
        elements(found.ok_or_else(|| format!("the connector `{connector}` is missing"))?, ty)
    }

    /// Previous contents of the first output, converted to a type.
    pub(crate) fn before(&self, ty: ScalarType) -> Result<Vec<Value>, String> {
        elements(self.outputs.first().ok_or("there is no output")?, ty)
    }
}

fn elements(operand: &LibraryOperand, ty: ScalarType) -> Result<Vec<Value>, String> {
    let from = operand.element.lane();
    let values = operand.data.chunks_exact(from.size().max(1));
    let values = values.map(|bytes| Value::read(from, bytes).map(|value| arith::cast(value, ty)));
    values.collect::<Option<Vec<Value>>>().ok_or_else(|| "an operand is incomplete".to_owned())
}

/// `a + b`.
pub(crate) fn add(a: Value, b: Value) -> Value {
    arith::binary(BinaryOperation::Add, a, b)
}

/// `a * b`.
pub(crate) fn multiply(a: Value, b: Value) -> Value {
    arith::binary(BinaryOperation::Multiply, a, b)
}

/// `a - b`.
pub(crate) fn subtract(a: Value, b: Value) -> Value {
    arith::binary(BinaryOperation::Subtract, a, b)
}

/// `a / b`.
pub(crate) fn divide(a: Value, b: Value) -> Value {
    arith::binary(BinaryOperation::Divide, a, b)
}

/// A function of one value.
pub(crate) fn call(function: MathFunction, value: Value) -> Value {
    arith::call(function, &[value])
}

/// The type in which the interpreter computes what ends in this type: rounding in between is its own affair.
pub(crate) fn wide(ty: ScalarType) -> ScalarType {
    if ty.is_complex() { ScalarType::Complex128 } else { ScalarType::F64 }
}

/// An extent as a number.
pub(crate) fn count(size: &Expr) -> Result<usize, String> {
    let size = size.as_int().and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| "an extent is no number".to_owned())
}
