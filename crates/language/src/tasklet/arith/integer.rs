//! Arithmetic of fixed-width integers: it wraps, and no operand traps.

use num_traits::{PrimInt, WrappingAdd, WrappingMul, WrappingSub};

use super::super::function::MathFunction;
use super::super::typed::{BinaryOperation, UnaryOperation};
use crate::value::Value;

/// The integer types.
pub(super) trait Integer: PrimInt + WrappingAdd + WrappingSub + WrappingMul {}

impl<T: PrimInt + WrappingAdd + WrappingSub + WrappingMul> Integer for T {}

pub(super) fn binary<T: Integer>(op: BinaryOperation, a: T, b: T) -> T {
    match op {
        BinaryOperation::Add => a.wrapping_add(&b),
        BinaryOperation::Subtract => a.wrapping_sub(&b),
        BinaryOperation::Multiply => a.wrapping_mul(&b),
        BinaryOperation::FloorDivide => floor_divide(a, b),
        BinaryOperation::FloorModulo => floor_modulo(a, b),
        BinaryOperation::TruncateDivide => truncate_divide(a, b),
        BinaryOperation::TruncateModulo => truncate_modulo(a, b),
        BinaryOperation::Power => power(a, b),
        BinaryOperation::BitAnd => a & b,
        BinaryOperation::BitOr => a | b,
        BinaryOperation::BitXor => a ^ b,
        BinaryOperation::Minimum => a.min(b),
        BinaryOperation::Maximum => a.max(b),
        BinaryOperation::Divide | BinaryOperation::ShiftLeft | BinaryOperation::ShiftRight => a,
    }
}

fn truncate_divide<T: Integer>(a: T, b: T) -> T {
    if b.is_zero() {
        return T::zero();
    }
    // The quotient of the least integer and -1 does not fit and wraps to the dividend.
    a.checked_div(&b).unwrap_or(a)
}

fn truncate_modulo<T: Integer>(a: T, b: T) -> T {
    if b.is_zero() {
        return T::zero();
    }
    a.wrapping_sub(&truncate_divide(a, b).wrapping_mul(&b))
}

fn floor_divide<T: Integer>(a: T, b: T) -> T {
    let quotient = truncate_divide(a, b);
    if rounds_up(truncate_modulo(a, b), b) { quotient - T::one() } else { quotient }
}

fn floor_modulo<T: Integer>(a: T, b: T) -> T {
    let remainder = truncate_modulo(a, b);
    if rounds_up(remainder, b) { remainder + b } else { remainder }
}

/// Whether the quotient that belongs to this remainder was rounded up by rounding it towards zero.
fn rounds_up<T: Integer>(remainder: T, divisor: T) -> bool {
    !remainder.is_zero() && (remainder < T::zero()) != (divisor < T::zero())
}

fn ceil_divide<T: Integer>(a: T, b: T) -> T {
    let remainder = truncate_modulo(a, b);
    let quotient = truncate_divide(a, b);
    let rounds_down = !remainder.is_zero() && !rounds_up(remainder, b);
    if rounds_down { quotient + T::one() } else { quotient }
}

fn power<T: Integer>(base: T, exponent: T) -> T {
    if exponent < T::zero() {
        let minus_one = T::zero().wrapping_sub(&T::one());
        let even = (exponent & T::one()).is_zero();
        return if base == T::one() || (base == minus_one && even) {
            T::one()
        } else if base == minus_one {
            minus_one
        } else {
            T::zero()
        };
    }
    let (mut product, mut square, mut bits) = (T::one(), base, exponent);
    while !bits.is_zero() {
        if !(bits & T::one()).is_zero() {
            product = product.wrapping_mul(&square);
        }
        square = square.wrapping_mul(&square);
        bits = bits >> 1;
    }
    product
}

/// A shift; amounts below 0 or at least the width shift every bit out.
pub(super) fn shift<T: Integer>(left: bool, value: T, amount: i64) -> T {
    // All bits of zero are leading zeros.
    let width = i64::from(T::zero().leading_zeros());
    match ((0..width).contains(&amount), left) {
        (true, true) => value << amount as usize,
        (true, false) => value >> amount as usize,
        (false, true) => T::zero(),
        (false, false) => value >> (width - 1) as usize >> 1,
    }
}

/// The functions that keep integers; `b` has the type of `a`.
pub(super) fn call(function: MathFunction, a: Value, b: Value) -> Value {
    match function {
        MathFunction::Abs if a.to_i64().is_some_and(|v| v < 0) => super::unary(UnaryOperation::Negate, a),
        // Only a `u64` beyond the range of `i64` has no value there.
        MathFunction::Sign => super::cast(Value::I64(a.to_i64().map_or(1, i64::signum)), a.ty()),
        MathFunction::CeilDivide => match (a, b) {
            (Value::I8(a), Value::I8(b)) => Value::I8(ceil_divide(a, b)),
            (Value::I16(a), Value::I16(b)) => Value::I16(ceil_divide(a, b)),
            (Value::I32(a), Value::I32(b)) => Value::I32(ceil_divide(a, b)),
            (Value::I64(a), Value::I64(b)) => Value::I64(ceil_divide(a, b)),
            (Value::U8(a), Value::U8(b)) => Value::U8(ceil_divide(a, b)),
            (Value::U16(a), Value::U16(b)) => Value::U16(ceil_divide(a, b)),
            (Value::U32(a), Value::U32(b)) => Value::U32(ceil_divide(a, b)),
            (Value::U64(a), Value::U64(b)) => Value::U64(ceil_divide(a, b)),
            _ => a,
        },
        // Rounding an integer changes nothing, and the checker converts for all others.
        _ => a,
    }
}
