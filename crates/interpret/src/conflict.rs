//! Write-conflict resolution: combination of an old and a new value (`docs/semantics.md`).

use sdfg_graph::ir::ConflictResolution;
use sdfg_language::dtype::ElementType;
use sdfg_language::syntax::CompareOp;
use sdfg_language::tasklet::{BinaryOperation, CodeFrame, NoAccess, arith};
use sdfg_language::value::Value;

use super::evaluate;
use super::program::{Program, ResolutionCode};

/// Whether the old value does not matter.
pub(super) fn replaces(resolution: &ResolutionCode) -> bool {
    matches!(resolution.resolution, ConflictResolution::Replace)
}

/// Puts the resolution of an old and a new element in the place of the old one.
pub(super) fn combine(
    program: &Program,
    frames: &mut [Option<Box<CodeFrame>>],
    resolution: usize,
    old: &mut [u8],
    new: &[u8],
) {
    let code = &program.resolutions[resolution];
    let (ty, size) = (code.element.lane(), code.element.lane().size());
    let element = |bytes: &[u8], lane: usize| {
        bytes.get(lane * size..).and_then(|bytes| Value::read(ty, bytes)).unwrap_or(Value::zero(ty))
    };
    let operation = match &code.resolution {
        ConflictResolution::Replace => {
            old.copy_from_slice(new);
            return;
        }
        ConflictResolution::MinLocation | ConflictResolution::MaxLocation => {
            let better = if code.resolution == ConflictResolution::MinLocation {
                CompareOp::Less
            } else {
                CompareOp::Greater
            };
            let is_better = arith::compare(better, element(new, 0), element(old, 0));
            let is_equal = arith::compare(CompareOp::Equal, element(new, 0), element(old, 0));
            if is_better || is_equal && arith::compare(CompareOp::Less, element(new, 1), element(old, 1)) {
                old.copy_from_slice(new);
            }
            return;
        }
        ConflictResolution::Custom(_) => {
            if let Some((number, first, second)) = code.code
                && let Some(frame) = &mut frames[number]
            {
                let lanes = |bytes: &[u8]| evaluate::decode(code.element, bytes);
                frame.set_input(first, &lanes(old));
                frame.set_input(second, &lanes(new));
                // Without loops and accesses nothing can fail.
                let _ = program.codes[number].run(frame, &mut NoAccess, 0);
                evaluate::encode_as(code.element, frame.result(), old);
            }
            return;
        }
        ConflictResolution::Sum => Operation::Arithmetic(BinaryOperation::Add),
        ConflictResolution::Product => Operation::Arithmetic(BinaryOperation::Multiply),
        ConflictResolution::Min => Operation::Arithmetic(BinaryOperation::Minimum),
        ConflictResolution::Max => Operation::Arithmetic(BinaryOperation::Maximum),
        ConflictResolution::BitAnd => Operation::Arithmetic(BinaryOperation::BitAnd),
        ConflictResolution::BitOr => Operation::Arithmetic(BinaryOperation::BitOr),
        ConflictResolution::BitXor => Operation::Arithmetic(BinaryOperation::BitXor),
        ConflictResolution::And => Operation::Logical(|a, b| a && b),
        ConflictResolution::Or => Operation::Logical(|a, b| a || b),
        ConflictResolution::Xor => Operation::Logical(|a, b| a != b),
    };
    for lane in 0..usize::from(code.element.lanes()) {
        let (a, b) = (element(old, lane), element(new, lane));
        let value = match operation {
            Operation::Arithmetic(op) => arith::binary(op, a, b),
            Operation::Logical(function) => {
                let truth = function(arith::is_true(a), arith::is_true(b));
                arith::cast(Value::Bool(truth), ty)
            }
        };
        value.write(&mut old[lane * size..]);
    }
}

/// Operation that combines two lanes.
enum Operation {
    Arithmetic(BinaryOperation),
    Logical(fn(bool, bool) -> bool),
}

/// The element types that a resolution is defined for, as a check before anything runs.
pub(super) fn is_defined_for(resolution: &ConflictResolution, element: ElementType) -> bool {
    let ty = element.lane();
    let arithmetic = |op: BinaryOperation| op.is_defined_for(ty);
    match resolution {
        ConflictResolution::Sum => arithmetic(BinaryOperation::Add),
        ConflictResolution::Product => arithmetic(BinaryOperation::Multiply),
        ConflictResolution::Min => arithmetic(BinaryOperation::Minimum),
        ConflictResolution::Max => arithmetic(BinaryOperation::Maximum),
        ConflictResolution::BitAnd => arithmetic(BinaryOperation::BitAnd),
        ConflictResolution::BitOr => arithmetic(BinaryOperation::BitOr),
        ConflictResolution::BitXor => arithmetic(BinaryOperation::BitXor),
        ConflictResolution::And | ConflictResolution::Or | ConflictResolution::Xor => !ty.is_complex(),
        ConflictResolution::MinLocation | ConflictResolution::MaxLocation => {
            element.lanes() == 2 && !ty.is_complex()
        }
        ConflictResolution::Replace | ConflictResolution::Custom(_) => true,
    }
}
