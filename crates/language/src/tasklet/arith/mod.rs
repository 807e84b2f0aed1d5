//! The arithmetic of the tasklet language, defined once (`docs/semantics-arithmetic.md`).
//!
//! The evaluator calls these functions. Every back end agrees with them bit by bit in the `strict`
//! floating-point mode, except for the mathematical functions, which are those of each platform's library.
//! All functions are total: no value traps. `f16` is computed in `f32` and rounded after every operation.
mod cast;
mod complex;
mod float;
mod integer;
mod math;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

pub use cast::cast;
use half::f16;

use super::function::MathFunction;
use super::typed::{BinaryOperation, UnaryOperation};
use crate::dtype::{ScalarKind, ScalarType};
use crate::syntax::CompareOp;
use crate::value::{Complex, Value};

impl BinaryOperation {
    /// Whether the operation has a meaning for operands of this type.
    pub fn is_defined_for(self, ty: ScalarType) -> bool {
        let kind = ty.kind();
        match self {
            BinaryOperation::Add
            | BinaryOperation::Subtract
            | BinaryOperation::Multiply
            | BinaryOperation::Power => kind != ScalarKind::Bool,
            BinaryOperation::Divide => ty.is_float() || ty.is_complex(),
            BinaryOperation::FloorDivide | BinaryOperation::FloorModulo | BinaryOperation::TruncateModulo => {
                ty.is_integer() || ty.is_float()
            }
            BinaryOperation::TruncateDivide | BinaryOperation::ShiftLeft | BinaryOperation::ShiftRight => {
                ty.is_integer()
            }
            BinaryOperation::BitAnd | BinaryOperation::BitOr | BinaryOperation::BitXor => {
                ty.is_integer() || kind == ScalarKind::Bool
            }
            BinaryOperation::Minimum | BinaryOperation::Maximum => kind != ScalarKind::Complex,
        }
    }
}

/// `a op b`.
///
/// The operands have one type for which the operation [is defined](BinaryOperation::is_defined_for), except that `b`
/// of a shift is `i64`; checked code holds to it. Otherwise `b` is converted to the type of `a`, and an operation
/// without meaning gives `a`.
///
/// - Integers wrap. Division by zero gives 0, quotient and remainder alike; the least integer divided by -1 is itself,
///   with remainder 0.
/// - [`BinaryOperation::FloorDivide`] and [`BinaryOperation::FloorModulo`] of floats are Python's: the remainder is
///   exact up to the final addition of the divisor, has the sign of the divisor, and the quotient belongs to it.
/// - [`BinaryOperation::TruncateModulo`] of floats is C's `fmod`.
/// - A shift by a negative amount, or by the width or more, shifts every bit out: 0, or -1 for a negative number shifted
///   right.
/// - An integer to a negative power is the integer part of the quotient: 0 unless the base is 1 or -1.
/// - [`BinaryOperation::Minimum`] and [`BinaryOperation::Maximum`] of floats are NaN if an operand is, and order -0 below 0.
/// - Complex products are `(ac - bd, ad + bc)`, quotients are Smith's, powers are `exp(b log a)`.
pub fn binary(op: BinaryOperation, a: Value, b: Value) -> Value {
    if matches!(op, BinaryOperation::ShiftLeft | BinaryOperation::ShiftRight) {
        return shift(op, a, b.to_i64().unwrap_or(-1));
    }
    match (a, b) {
        (Value::F64(a), Value::F64(b)) => Value::F64(float::binary(op, a, b)),
        (Value::F32(a), Value::F32(b)) => Value::F32(float::binary(op, a, b)),
        (Value::I64(a), Value::I64(b)) => Value::I64(integer::binary(op, a, b)),
        (Value::I32(a), Value::I32(b)) => Value::I32(integer::binary(op, a, b)),
        (Value::I16(a), Value::I16(b)) => Value::I16(integer::binary(op, a, b)),
        (Value::I8(a), Value::I8(b)) => Value::I8(integer::binary(op, a, b)),
        (Value::U64(a), Value::U64(b)) => Value::U64(integer::binary(op, a, b)),
        (Value::U32(a), Value::U32(b)) => Value::U32(integer::binary(op, a, b)),
        (Value::U16(a), Value::U16(b)) => Value::U16(integer::binary(op, a, b)),
        (Value::U8(a), Value::U8(b)) => Value::U8(integer::binary(op, a, b)),
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(bool_binary(op, a, b)),
        (Value::F16(a), Value::F16(b)) => {
            Value::F16(f16::from_f32(float::binary(op, a.to_f32(), b.to_f32())))
        }
        (Value::Complex128(a), Value::Complex128(b)) => Value::Complex128(complex::binary(op, a, b)),
        (Value::Complex64(a), Value::Complex64(b)) => Value::Complex64(complex::binary(op, a, b)),
        // A cast to the type of `a` gives that type, so this goes one step down at most.
        (a, b) => binary(op, a, cast(b, a.ty())),
    }
}

fn shift(op: BinaryOperation, value: Value, amount: i64) -> Value {
    let left = op == BinaryOperation::ShiftLeft;
    match value {
        Value::I8(v) => Value::I8(integer::shift(left, v, amount)),
        Value::I16(v) => Value::I16(integer::shift(left, v, amount)),
        Value::I32(v) => Value::I32(integer::shift(left, v, amount)),
        Value::I64(v) => Value::I64(integer::shift(left, v, amount)),
        Value::U8(v) => Value::U8(integer::shift(left, v, amount)),
        Value::U16(v) => Value::U16(integer::shift(left, v, amount)),
        Value::U32(v) => Value::U32(integer::shift(left, v, amount)),
        Value::U64(v) => Value::U64(integer::shift(left, v, amount)),
        Value::Bool(_)
        | Value::F16(_)
        | Value::F32(_)
        | Value::F64(_)
        | Value::Complex64(_)
        | Value::Complex128(_) => value,
    }
}

/// Operations on truth values; false is below true.
fn bool_binary(op: BinaryOperation, a: bool, b: bool) -> bool {
    match op {
        BinaryOperation::BitAnd | BinaryOperation::Minimum => a & b,
        BinaryOperation::BitOr | BinaryOperation::Maximum => a | b,
        BinaryOperation::BitXor => a ^ b,
        BinaryOperation::Add
        | BinaryOperation::Subtract
        | BinaryOperation::Multiply
        | BinaryOperation::Divide
        | BinaryOperation::FloorDivide
        | BinaryOperation::FloorModulo
        | BinaryOperation::TruncateDivide
        | BinaryOperation::TruncateModulo
        | BinaryOperation::Power
        | BinaryOperation::ShiftLeft
        | BinaryOperation::ShiftRight => a,
    }
}

/// `op value`: negation wraps, `not` is that of `bool`, inversion flips the bits of an integer. An operation without
/// meaning for the type gives the value.
pub fn unary(op: UnaryOperation, value: Value) -> Value {
    match op {
        UnaryOperation::Negate => match value {
            Value::Bool(_) => value,
            Value::I8(v) => Value::I8(v.wrapping_neg()),
            Value::I16(v) => Value::I16(v.wrapping_neg()),
            Value::I32(v) => Value::I32(v.wrapping_neg()),
            Value::I64(v) => Value::I64(v.wrapping_neg()),
            Value::U8(v) => Value::U8(v.wrapping_neg()),
            Value::U16(v) => Value::U16(v.wrapping_neg()),
            Value::U32(v) => Value::U32(v.wrapping_neg()),
            Value::U64(v) => Value::U64(v.wrapping_neg()),
            Value::F16(v) => Value::F16(-v),
            Value::F32(v) => Value::F32(-v),
            Value::F64(v) => Value::F64(-v),
            Value::Complex64(v) => Value::Complex64(Complex::new(-v.re, -v.im)),
            Value::Complex128(v) => Value::Complex128(Complex::new(-v.re, -v.im)),
        },
        UnaryOperation::Not => Value::Bool(!is_true(value)),
        UnaryOperation::Invert => match value {
            Value::Bool(v) => Value::Bool(!v),
            Value::I8(v) => Value::I8(!v),
            Value::I16(v) => Value::I16(!v),
            Value::I32(v) => Value::I32(!v),
            Value::I64(v) => Value::I64(!v),
            Value::U8(v) => Value::U8(!v),
            Value::U16(v) => Value::U16(!v),
            Value::U32(v) => Value::U32(!v),
            Value::U64(v) => Value::U64(!v),
            Value::F16(_) | Value::F32(_) | Value::F64(_) | Value::Complex64(_) | Value::Complex128(_) => {
                value
            }
        },
    }
}

/// `base ** exponent` with a constant exponent, as a chain of products.
///
/// With `n = |exponent|`, the powers `base**1, base**2, base**4, ...` are made by squaring; those at the set bits of `n`
/// are multiplied together from the lowest bit up, and a negative exponent takes the reciprocal of the product at the
/// end (of integers: the integer part of it, as [`binary`] says). Every number to the power 0 is 1.
pub fn power(base: Value, exponent: i32) -> Value {
    let one = cast(Value::Bool(true), base.ty());
    let mut bits = exponent.unsigned_abs();
    let mut square = base;
    let mut product = None;
    while bits != 0 {
        if bits & 1 == 1 {
            product = Some(product.map_or(square, |p| binary(BinaryOperation::Multiply, p, square)));
        }
        bits >>= 1;
        if bits != 0 {
            square = binary(BinaryOperation::Multiply, square, square);
        }
    }
    let product = product.unwrap_or(one);
    if exponent >= 0 {
        product
    } else if base.ty().is_integer() {
        // Only of -1, 0 and 1 does a wrapped product tell the integer part of its reciprocal.
        let within_one = base.to_i64().is_some_and(|v| (-1..=1).contains(&v));
        let divisor = if within_one { product } else { Value::zero(base.ty()) };
        binary(BinaryOperation::TruncateDivide, one, divisor)
    } else {
        binary(BinaryOperation::Divide, one, product)
    }
}

/// `a op b` of two operands of one type; both are ordered as numbers, and `false` is below `true`.
///
/// A comparison with NaN is false, except for `!=`, which is true. Complex numbers are equal or not; they have no order,
/// so that every other comparison of different ones is false.
pub fn compare(op: CompareOp, a: Value, b: Value) -> bool {
    let ordering = match (a, b) {
        (Value::F64(a), Value::F64(b)) => a.partial_cmp(&b),
        (Value::F32(a), Value::F32(b)) => a.partial_cmp(&b),
        (Value::I64(a), Value::I64(b)) => Some(a.cmp(&b)),
        (Value::I32(a), Value::I32(b)) => Some(a.cmp(&b)),
        (Value::I16(a), Value::I16(b)) => Some(a.cmp(&b)),
        (Value::I8(a), Value::I8(b)) => Some(a.cmp(&b)),
        (Value::U64(a), Value::U64(b)) => Some(a.cmp(&b)),
        (Value::U32(a), Value::U32(b)) => Some(a.cmp(&b)),
        (Value::U16(a), Value::U16(b)) => Some(a.cmp(&b)),
        (Value::U8(a), Value::U8(b)) => Some(a.cmp(&b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(&b)),
        (Value::F16(a), Value::F16(b)) => a.partial_cmp(&b),
        (Value::Complex64(a), Value::Complex64(b)) => (a == b).then_some(Ordering::Equal),
        (Value::Complex128(a), Value::Complex128(b)) => (a == b).then_some(Ordering::Equal),
        (a, b) => return compare(op, a, cast(b, a.ty())),
    };
    op.holds(ordering)
}

/// Whether a condition with this value holds: it is not zero. NaN is not zero.
pub fn is_true(value: Value) -> bool {
    match value {
        Value::Bool(v) => v,
        other => compare(CompareOp::NotEqual, other, Value::zero(other.ty())),
    }
}

/// A mathematical function of arguments with the types that [`MathFunction`] tells; of `f32` and `f64` it is the
/// function of the `libm` crate for that type, of `f16` that of `f32`, rounded.
///
/// A missing argument counts as the last one that is given (checked code gives all); a type that the function is not
/// defined for gives the first argument.
pub fn call(function: MathFunction, arguments: &[Value]) -> Value {
    let argument = |i: usize| arguments.get(i).or(arguments.last()).copied().unwrap_or(Value::Bool(false));
    let (a, b, c) = (argument(0), argument(1), argument(2));
    if function == MathFunction::MakeComplex {
        return complex::make(a, b);
    }
    match (a, b, c) {
        (Value::F64(a), Value::F64(b), Value::F64(c)) => math::real(function, a, b, c),
        (Value::F32(a), Value::F32(b), Value::F32(c)) => math::real(function, a, b, c),
        (Value::F16(a), Value::F16(b), Value::F16(c)) => half_call(function, a, b, c),
        (Value::Complex64(a), ..) => complex::call(function, a),
        (Value::Complex128(a), ..) => complex::call(function, a),
        (a, b, _) => integer::call(function, a, cast(b, a.ty())),
    }
}

/// A function of `f16`: that of `f32`, rounded, except that the neighbours of a number are those in `f16`.
fn half_call(function: MathFunction, a: f16, b: f16, c: f16) -> Value {
    if function == MathFunction::Nextafter {
        return Value::F16(half_neighbour(a, b));
    }
    match math::real(function, a.to_f32(), b.to_f32(), c.to_f32()) {
        Value::F32(result) => Value::F16(f16::from_f32(result)),
        other => other,
    }
}

/// The `f16` after `from` in the direction of `to`.
fn half_neighbour(from: f16, to: f16) -> f16 {
    match from.partial_cmp(&to) {
        None => f16::NAN,
        Some(Ordering::Equal) => to,
        Some(ordering) => {
            let up = ordering == Ordering::Less;
            if from == f16::ZERO {
                return if up { f16::from_bits(1) } else { f16::from_bits(0x8001) };
            }
            // The bits of a float order its magnitude.
            let grows = up != from.is_sign_negative();
            f16::from_bits(if grows { from.to_bits() + 1 } else { from.to_bits() - 1 })
        }
    }
}
