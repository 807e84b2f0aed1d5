//! Library nodes that fill their outputs: every element gets a value, and none of the old ones is read.

use sdfg_language::syntax::{Expression, ExpressionKind};

use crate::ir::LibraryNode;

/// Operations that compute every element of their outputs from their inputs, if they have no property `beta` other than zero.
///
/// `docs/library.md` defines them. The crate of library nodes tests that each one that it knows is here, or leaves elements as they
/// are.
pub const FILLING: [&str; 31] = [
    "All",
    "Any",
    "Axpy",
    "BatchedMatMul",
    "Broadcast",
    "CSRMM",
    "CSRMV",
    "CShift",
    "Cholesky",
    "Copy",
    "Dot",
    "Einsum",
    "FFT",
    "Fill",
    "Gemm",
    "Gemv",
    "Ger",
    "Getrf",
    "Getri",
    "Getrs",
    "IFFT",
    "Inv",
    "MatMul",
    "Memset",
    "Merge",
    "Potrf",
    "Solve",
    "Sum",
    "TensorDot",
    "TensorTranspose",
    "Transpose",
];

/// The factor of the previous contents of the output.
const PREVIOUS: &str = "beta";

/// Whether a library node writes all that the memlet at an output names, and reads nothing of it there. An output that is an
/// input, too, does not count: it has one memory with the input.
pub fn fills_output(node: &LibraryNode, connector: Option<&str>) -> bool {
    let is_named = |name: &str| connector == Some(name);
    let is_zero = |value: &Expression| match &value.kind {
        ExpressionKind::Integer(value) => *value == 0,
        ExpressionKind::Float(literal) => literal.value() == 0.0,
        _ => false,
    };
    FILLING.contains(&node.operation.as_str())
        && node.outputs.iter().any(|output| is_named(&output.name))
        && !node.inputs.iter().any(|input| is_named(&input.name))
        && node.properties.iter().all(|(name, value)| name != PREVIOUS || is_zero(value))
}
