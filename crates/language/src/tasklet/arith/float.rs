//! Arithmetic of `f32` and `f64`, and their shared parts.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::super::function::MathFunction;
use super::super::typed::BinaryOperation;
use super::cast::Number;
use super::math;
use crate::value::{Complex, Value};

/// The two float types that are computed in.
pub(super) trait Float:
    Number
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Into<Value>
{
    const ZERO: Self;
    const ONE: Self;
    const HALF: Self;

    /// A function with one float result; the arguments that it does not have are ignored.
    fn function(function: MathFunction, a: Self, b: Self, c: Self) -> Self;

    /// `self ** exponent` as C's `pow`.
    fn pow(self, exponent: Self) -> Self;

    fn is_nan(self) -> bool;

    fn is_infinite(self) -> bool;

    fn is_sign_negative(self) -> bool;

    fn complex(value: Complex<Self>) -> Value;
}

impl Float for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const HALF: Self = 0.5;

    fn function(function: MathFunction, a: Self, b: Self, c: Self) -> Self {
        math::single(function, a, b, c)
    }

    fn pow(self, exponent: Self) -> Self {
        libm::pow(self.into(), exponent.into()) as f32
    }

    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }

    fn is_sign_negative(self) -> bool {
        self.is_sign_negative()
    }

    fn complex(value: Complex<Self>) -> Value {
        Value::Complex64(value)
    }
}

impl Float for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const HALF: Self = 0.5;

    fn function(function: MathFunction, a: Self, b: Self, c: Self) -> Self {
        math::double(function, a, b, c)
    }

    fn pow(self, exponent: Self) -> Self {
        libm::pow(self, exponent)
    }

    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }

    fn is_sign_negative(self) -> bool {
        self.is_sign_negative()
    }

    fn complex(value: Complex<Self>) -> Value {
        Value::Complex128(value)
    }
}

/// A function of one argument.
pub(super) fn apply<T: Float>(function: MathFunction, a: T) -> T {
    T::function(function, a, T::ZERO, T::ZERO)
}

/// A function of two arguments.
pub(super) fn apply2<T: Float>(function: MathFunction, a: T, b: T) -> T {
    T::function(function, a, b, T::ZERO)
}

pub(super) fn binary<T: Float>(op: BinaryOperation, a: T, b: T) -> T {
    match op {
        BinaryOperation::Add => a + b,
        BinaryOperation::Subtract => a - b,
        BinaryOperation::Multiply => a * b,
        BinaryOperation::Divide => a / b,
        BinaryOperation::FloorDivide => floor_divide_modulo(a, b).0,
        BinaryOperation::FloorModulo => floor_divide_modulo(a, b).1,
        BinaryOperation::TruncateModulo => apply2(MathFunction::Fmod, a, b),
        BinaryOperation::Power => a.pow(b),
        BinaryOperation::Minimum => extreme(a, b, a < b, true),
        BinaryOperation::Maximum => extreme(a, b, a > b, false),
        BinaryOperation::TruncateDivide
        | BinaryOperation::ShiftLeft
        | BinaryOperation::ShiftRight
        | BinaryOperation::BitAnd
        | BinaryOperation::BitOr
        | BinaryOperation::BitXor => a,
    }
}

/// `min` or `max`, but a NaN loses.
pub(super) fn number<T: Float>(op: BinaryOperation, a: T, b: T) -> T {
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else {
        binary(op, a, b)
    }
}

/// The smaller or larger of two; `a_wins` tells whether `a` is strictly so, `negative_zero` which zero wins a tie.
fn extreme<T: Float>(a: T, b: T, a_wins: bool, negative_zero: bool) -> T {
    if a.is_nan() {
        a
    } else if b.is_nan() {
        b
    } else if a_wins || (a == b && a.is_sign_negative() == negative_zero) {
        a
    } else {
        b
    }
}

/// Python's `divmod` of floats (as in CPython's `float_divmod` and NumPy's `divmod`).
fn floor_divide_modulo<T: Float>(a: T, b: T) -> (T, T) {
    let mut remainder = apply2(MathFunction::Fmod, a, b);
    if b == T::ZERO {
        return (a / b, remainder);
    }
    let mut quotient = (a - remainder) / b;
    if remainder == T::ZERO {
        remainder = apply2(MathFunction::Copysign, T::ZERO, b);
    } else if (b < T::ZERO) != (remainder < T::ZERO) {
        remainder = remainder + b;
        quotient = quotient - T::ONE;
    }
    if quotient == T::ZERO {
        return (apply2(MathFunction::Copysign, T::ZERO, a / b), remainder);
    }
    // The division above may round to just beside an integer.
    let floor = apply(MathFunction::Floor, quotient);
    (if quotient - floor > T::HALF { floor + T::ONE } else { floor }, remainder)
}
