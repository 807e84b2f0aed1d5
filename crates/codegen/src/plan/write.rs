//! Treatment of the old value by a write.

use sdfg::dtype::{ElementType, ScalarKind, ScalarType};
use sdfg::ir::ConflictResolution;
use sdfg::tasklet::UnaryOperation;
use sdfg::tasklet::arith::{cast, unary};
use sdfg::tasklet::{BinaryOperation, TypedExpressionCode};
use sdfg::value::Value;

use super::buffer::BufferId;
use super::parts::Part;

/// Treatment of the old value by a write.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// Replaces it.
    Store,
    /// Combines it with the new value.
    Combine {
        /// The resolution.
        resolution: ConflictResolution,
        /// The function of a custom resolution, typed: a tree over two value inputs, the old value (connector 0) and the new one (connector 1).
        custom: Option<Box<TypedExpressionCode>>,
        /// Against whom it must be safe.
        realisation: Realisation,
    },
}

/// Implementation of the combination of an old and a new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Realisation {
    /// Load, combine, store: no other thread writes the element meanwhile.
    Plain,
    /// One atomic step, or one for each lane or part that is combined on its own; other threads combine into the same element.
    Atomic,
    /// As `Plain`, under a lock that all such writes of the process take: no atomic step is large enough.
    Locked,
}

impl Resolved {
    /// A custom resolution is a function of its two values alone: it uses nothing.
    pub(super) fn parts<'a>(&'a self, buffer: BufferId, visit: &mut dyn FnMut(Part<'a>)) {
        match self {
            Resolved::Combine { realisation: Realisation::Atomic | Realisation::Locked, .. } => {
                visit(Part::Contests(buffer));
            }
            Resolved::Store | Resolved::Combine { realisation: Realisation::Plain, .. } => {}
        }
    }
}

/// The operation that a resolution is, if it is one.
pub fn operation(resolution: &ConflictResolution) -> Option<BinaryOperation> {
    match resolution {
        ConflictResolution::Sum => Some(BinaryOperation::Add),
        ConflictResolution::Product => Some(BinaryOperation::Multiply),
        ConflictResolution::Min => Some(BinaryOperation::Minimum),
        ConflictResolution::Max => Some(BinaryOperation::Maximum),
        ConflictResolution::BitAnd => Some(BinaryOperation::BitAnd),
        ConflictResolution::BitOr => Some(BinaryOperation::BitOr),
        ConflictResolution::BitXor => Some(BinaryOperation::BitXor),
        ConflictResolution::And
        | ConflictResolution::Or
        | ConflictResolution::Xor
        | ConflictResolution::MinLocation
        | ConflictResolution::MaxLocation
        | ConflictResolution::Replace
        | ConflictResolution::Custom(_) => None,
    }
}

/// The value that a resolution leaves every other value unchanged with, in one lane of an element; `None` if there is none.
///
/// The sum of floating-point numbers has -0.0: adding 0.0 would turn -0.0 into 0.0. Products of complex numbers have
/// none, as `1 * inf` has a NaN part, and `and`, `or` and `xor` only have one for `bool`: other values become 0 or 1.
pub fn identity(resolution: &ConflictResolution, element: ElementType) -> Option<Value> {
    let ty = element.lane();
    let of = |value: f64| cast(Value::F64(value), ty);
    match resolution {
        ConflictResolution::Sum => match ty.kind() {
            ScalarKind::Bool => None,
            ScalarKind::Signed | ScalarKind::Unsigned => Some(of(0.0)),
            ScalarKind::Float | ScalarKind::Complex => Some(unary(UnaryOperation::Negate, Value::zero(ty))),
        },
        ConflictResolution::Product => {
            Some(of(1.0)).filter(|_| !matches!(ty.kind(), ScalarKind::Bool | ScalarKind::Complex))
        }
        ConflictResolution::Min => extreme(ty, true),
        ConflictResolution::Max => extreme(ty, false),
        ConflictResolution::And => Some(Value::Bool(true)).filter(|_| ty == ScalarType::Bool),
        ConflictResolution::Or | ConflictResolution::Xor => {
            Some(Value::Bool(false)).filter(|_| ty == ScalarType::Bool)
        }
        ConflictResolution::BitAnd => match ty.kind() {
            ScalarKind::Bool => Some(Value::Bool(true)),
            ScalarKind::Signed => Some(cast(Value::I64(-1), ty)),
            ScalarKind::Unsigned => Some(cast(Value::U64(u64::MAX), ty)),
            ScalarKind::Float | ScalarKind::Complex => None,
        },
        ConflictResolution::BitOr | ConflictResolution::BitXor => Some(of(0.0))
            .filter(|_| matches!(ty.kind(), ScalarKind::Bool | ScalarKind::Signed | ScalarKind::Unsigned)),
        ConflictResolution::MinLocation
        | ConflictResolution::MaxLocation
        | ConflictResolution::Replace
        | ConflictResolution::Custom(_) => None,
    }
}

/// The largest value of a type, or the smallest.
fn extreme(ty: ScalarType, largest: bool) -> Option<Value> {
    match ty.kind() {
        ScalarKind::Bool => Some(Value::Bool(largest)),
        // Conversions from floating-point numbers saturate.
        ScalarKind::Signed | ScalarKind::Unsigned | ScalarKind::Float => {
            Some(cast(Value::F64(if largest { f64::INFINITY } else { f64::NEG_INFINITY }), ty))
        }
        ScalarKind::Complex => None,
    }
}
