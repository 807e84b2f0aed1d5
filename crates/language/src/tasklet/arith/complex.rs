//! Complex arithmetic by plain formulas, the same on every back end. It omits C99's recovery of infinities
//! from NaN parts, which costs a branch in every product and does not exist on GPUs.

use super::super::function::MathFunction;
use super::super::typed::BinaryOperation;
use super::cast::cast;
use super::float::{Float, apply, apply2};
use crate::dtype::ScalarType;
use crate::value::{Complex, Value};

pub(super) fn binary<T: Float>(op: BinaryOperation, a: Complex<T>, b: Complex<T>) -> Complex<T> {
    match op {
        BinaryOperation::Add => Complex::new(a.re + b.re, a.im + b.im),
        BinaryOperation::Subtract => Complex::new(a.re - b.re, a.im - b.im),
        BinaryOperation::Multiply => multiply(a, b),
        BinaryOperation::Divide => divide(a, b),
        BinaryOperation::Power => power(a, b),
        BinaryOperation::FloorDivide
        | BinaryOperation::FloorModulo
        | BinaryOperation::TruncateDivide
        | BinaryOperation::TruncateModulo
        | BinaryOperation::ShiftLeft
        | BinaryOperation::ShiftRight
        | BinaryOperation::BitAnd
        | BinaryOperation::BitOr
        | BinaryOperation::BitXor
        | BinaryOperation::Minimum
        | BinaryOperation::Maximum => a,
    }
}

fn multiply<T: Float>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// Smith's quotient (R. L. Smith, Algorithm 116, CACM 1962), which does not overflow in the squares of the divisor.
/// A divisor of zero gives NaN parts.
fn divide<T: Float>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    if apply(MathFunction::Abs, b.re) >= apply(MathFunction::Abs, b.im) {
        let ratio = b.im / b.re;
        let divisor = b.re + b.im * ratio;
        Complex::new((a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor)
    } else {
        let ratio = b.re / b.im;
        let divisor = b.re * ratio + b.im;
        Complex::new((a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor)
    }
}

/// `exp(b log a)`; every number to the power 0 is 1, and 0 to any other power is 0.
fn power<T: Float>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    let zero = |z: Complex<T>| z.re == T::ZERO && z.im == T::ZERO;
    if zero(b) {
        return Complex::new(T::ONE, T::ZERO);
    }
    if zero(a) {
        return Complex::new(T::ZERO, T::ZERO);
    }
    exp(multiply(b, log(a)))
}

fn exp<T: Float>(z: Complex<T>) -> Complex<T> {
    let radius = apply(MathFunction::Exp, z.re);
    if z.im == T::ZERO {
        // An infinite radius times the sine of 0 would be NaN.
        return Complex::new(radius, z.im);
    }
    Complex::new(radius * apply(MathFunction::Cos, z.im), radius * apply(MathFunction::Sin, z.im))
}

fn log<T: Float>(z: Complex<T>) -> Complex<T> {
    Complex::new(apply(MathFunction::Log, modulus(z)), angle(z))
}

fn modulus<T: Float>(z: Complex<T>) -> T {
    apply2(MathFunction::Hypot, z.re, z.im)
}

fn angle<T: Float>(z: Complex<T>) -> T {
    apply2(MathFunction::Atan2, z.im, z.re)
}

/// The principal root, without cancellation in either part.
fn sqrt<T: Float>(z: Complex<T>) -> Complex<T> {
    if z.re == T::ZERO && z.im == T::ZERO {
        return Complex::new(T::ZERO, z.im);
    }
    let half = (apply(MathFunction::Abs, z.re) + modulus(z)) * T::HALF;
    let large = apply(MathFunction::Sqrt, half);
    let small = z.im / (large + large);
    if z.re >= T::ZERO {
        Complex::new(large, small)
    } else {
        Complex::new(apply(MathFunction::Abs, small), apply2(MathFunction::Copysign, large, z.im))
    }
}

fn sinh<T: Float>(z: Complex<T>) -> Complex<T> {
    Complex::new(
        apply(MathFunction::Sinh, z.re) * apply(MathFunction::Cos, z.im),
        apply(MathFunction::Cosh, z.re) * apply(MathFunction::Sin, z.im),
    )
}

fn cosh<T: Float>(z: Complex<T>) -> Complex<T> {
    Complex::new(
        apply(MathFunction::Cosh, z.re) * apply(MathFunction::Cos, z.im),
        apply(MathFunction::Sinh, z.re) * apply(MathFunction::Sin, z.im),
    )
}

fn sin<T: Float>(z: Complex<T>) -> Complex<T> {
    Complex::new(
        apply(MathFunction::Sin, z.re) * apply(MathFunction::Cosh, z.im),
        apply(MathFunction::Cos, z.re) * apply(MathFunction::Sinh, z.im),
    )
}

fn cos<T: Float>(z: Complex<T>) -> Complex<T> {
    Complex::new(
        apply(MathFunction::Cos, z.re) * apply(MathFunction::Cosh, z.im),
        -(apply(MathFunction::Sin, z.re) * apply(MathFunction::Sinh, z.im)),
    )
}

/// The complex number with these parts: `complex64` for parts of `f32`, `complex128` for all others.
pub(super) fn make(re: Value, im: Value) -> Value {
    match (re, im) {
        (Value::F32(re), Value::F32(im)) => Value::Complex64(Complex::new(re, im)),
        (re, im) => match (cast(re, ScalarType::F64), cast(im, ScalarType::F64)) {
            (Value::F64(re), Value::F64(im)) => Value::Complex128(Complex::new(re, im)),
            (other, _) => other,
        },
    }
}

/// The functions that are defined for complex numbers; all others give the number.
pub(super) fn call<T: Float>(function: MathFunction, z: Complex<T>) -> Value {
    let finite = |x: T| !x.is_nan() && !x.is_infinite();
    match function {
        MathFunction::Abs => modulus(z).into(),
        MathFunction::Angle => angle(z).into(),
        MathFunction::Real => z.re.into(),
        MathFunction::Imag => z.im.into(),
        MathFunction::Conj => T::complex(Complex::new(z.re, -z.im)),
        MathFunction::Sqrt => T::complex(sqrt(z)),
        MathFunction::Exp => T::complex(exp(z)),
        MathFunction::Log => T::complex(log(z)),
        MathFunction::Sin => T::complex(sin(z)),
        MathFunction::Cos => T::complex(cos(z)),
        MathFunction::Tan => T::complex(divide(sin(z), cos(z))),
        MathFunction::Sinh => T::complex(sinh(z)),
        MathFunction::Cosh => T::complex(cosh(z)),
        MathFunction::Tanh => T::complex(divide(sinh(z), cosh(z))),
        MathFunction::IsNan => Value::Bool(z.re.is_nan() || z.im.is_nan()),
        MathFunction::IsInf => Value::Bool(z.re.is_infinite() || z.im.is_infinite()),
        MathFunction::IsFinite => Value::Bool(finite(z.re) && finite(z.im)),
        _ => T::complex(z),
    }
}
