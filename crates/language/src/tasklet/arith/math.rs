//! Mathematical functions of real arguments: one table for each width over the `libm` crate, whose results
//! are the same on every machine.

use super::super::function::MathFunction;
use super::super::typed::BinaryOperation;
use super::float::{Float, number};
use crate::value::Value;

/// A function of floats; tests of floats give a `bool`.
pub(super) fn real<T: Float>(function: MathFunction, a: T, b: T, c: T) -> Value {
    match function {
        MathFunction::IsNan => Value::Bool(a.is_nan()),
        MathFunction::IsInf => Value::Bool(a.is_infinite()),
        MathFunction::IsFinite => Value::Bool(!a.is_nan() && !a.is_infinite()),
        MathFunction::SignBit => Value::Bool(a.is_sign_negative()),
        MathFunction::Sign if a > T::ZERO => T::ONE.into(),
        MathFunction::Sign if a < T::ZERO => (-T::ONE).into(),
        // Zero keeps its sign, and NaN stays.
        MathFunction::Sign => a.into(),
        MathFunction::Heaviside if a < T::ZERO => T::ZERO.into(),
        MathFunction::Heaviside if a > T::ZERO => T::ONE.into(),
        MathFunction::Heaviside => if a == T::ZERO { b } else { a }.into(),
        other => T::function(other, a, b, c).into(),
    }
}

/// The functions of `f64` with a float result; all others give the first argument.
pub(super) fn double(function: MathFunction, a: f64, b: f64, c: f64) -> f64 {
    match function {
        MathFunction::Sqrt => libm::sqrt(a),
        MathFunction::Cbrt => libm::cbrt(a),
        MathFunction::Exp => libm::exp(a),
        MathFunction::Exp2 => libm::exp2(a),
        MathFunction::Expm1 => libm::expm1(a),
        MathFunction::Log => libm::log(a),
        MathFunction::Log2 => libm::log2(a),
        MathFunction::Log10 => libm::log10(a),
        MathFunction::Log1p => libm::log1p(a),
        MathFunction::Sin => libm::sin(a),
        MathFunction::Cos => libm::cos(a),
        MathFunction::Tan => libm::tan(a),
        MathFunction::Asin => libm::asin(a),
        MathFunction::Acos => libm::acos(a),
        MathFunction::Atan => libm::atan(a),
        MathFunction::Sinh => libm::sinh(a),
        MathFunction::Cosh => libm::cosh(a),
        MathFunction::Tanh => libm::tanh(a),
        MathFunction::Asinh => libm::asinh(a),
        MathFunction::Acosh => libm::acosh(a),
        MathFunction::Atanh => libm::atanh(a),
        MathFunction::Erf => libm::erf(a),
        MathFunction::Erfc => libm::erfc(a),
        MathFunction::Tgamma => libm::tgamma(a),
        MathFunction::Lgamma => libm::lgamma(a),
        MathFunction::Floor => libm::floor(a),
        MathFunction::Ceil => libm::ceil(a),
        MathFunction::Round => libm::rint(a),
        MathFunction::Trunc => libm::trunc(a),
        MathFunction::Abs => libm::fabs(a),
        MathFunction::Atan2 => libm::atan2(a, b),
        MathFunction::Hypot => libm::hypot(a, b),
        MathFunction::Copysign => libm::copysign(a, b),
        MathFunction::Fmod => libm::fmod(a, b),
        MathFunction::Remainder => libm::remainder(a, b),
        MathFunction::Nextafter => libm::nextafter(a, b),
        MathFunction::Fmin => number(BinaryOperation::Minimum, a, b),
        MathFunction::Fmax => number(BinaryOperation::Maximum, a, b),
        MathFunction::Fma => libm::fma(a, b, c),
        MathFunction::Sign
        | MathFunction::Heaviside
        | MathFunction::CeilDivide
        | MathFunction::IsNan
        | MathFunction::IsInf
        | MathFunction::IsFinite
        | MathFunction::SignBit
        | MathFunction::MakeComplex
        | MathFunction::Real
        | MathFunction::Imag
        | MathFunction::Conj
        | MathFunction::Angle => a,
    }
}

/// The functions of `f32` with a float result; all others give the first argument.
///
/// Where those of the crate are not as near to the exact value as those of C libraries are (a tenth of the results of `expf`
/// and `logf` are the second nearest `f32`), they are those of `f64`, rounded.
pub(super) fn single(function: MathFunction, a: f32, b: f32, c: f32) -> f32 {
    match function {
        MathFunction::Exp
        | MathFunction::Exp2
        | MathFunction::Log
        | MathFunction::Log2
        | MathFunction::Tan
        | MathFunction::Asin => double(function, a.into(), b.into(), c.into()) as f32,
        MathFunction::Sqrt => libm::sqrtf(a),
        MathFunction::Cbrt => libm::cbrtf(a),
        MathFunction::Expm1 => libm::expm1f(a),
        MathFunction::Log10 => libm::log10f(a),
        MathFunction::Log1p => libm::log1pf(a),
        MathFunction::Sin => libm::sinf(a),
        MathFunction::Cos => libm::cosf(a),
        MathFunction::Acos => libm::acosf(a),
        MathFunction::Atan => libm::atanf(a),
        MathFunction::Sinh => libm::sinhf(a),
        MathFunction::Cosh => libm::coshf(a),
        MathFunction::Tanh => libm::tanhf(a),
        MathFunction::Asinh => libm::asinhf(a),
        MathFunction::Acosh => libm::acoshf(a),
        MathFunction::Atanh => libm::atanhf(a),
        MathFunction::Erf => libm::erff(a),
        MathFunction::Erfc => libm::erfcf(a),
        MathFunction::Tgamma => libm::tgammaf(a),
        MathFunction::Lgamma => libm::lgammaf(a),
        MathFunction::Floor => libm::floorf(a),
        MathFunction::Ceil => libm::ceilf(a),
        MathFunction::Round => libm::rintf(a),
        MathFunction::Trunc => libm::truncf(a),
        MathFunction::Abs => libm::fabsf(a),
        MathFunction::Atan2 => libm::atan2f(a, b),
        MathFunction::Hypot => libm::hypotf(a, b),
        MathFunction::Copysign => libm::copysignf(a, b),
        MathFunction::Fmod => libm::fmodf(a, b),
        MathFunction::Remainder => libm::remainderf(a, b),
        MathFunction::Nextafter => libm::nextafterf(a, b),
        MathFunction::Fmin => number(BinaryOperation::Minimum, a, b),
        MathFunction::Fmax => number(BinaryOperation::Maximum, a, b),
        MathFunction::Fma => libm::fmaf(a, b, c),
        MathFunction::Sign
        | MathFunction::Heaviside
        | MathFunction::CeilDivide
        | MathFunction::IsNan
        | MathFunction::IsInf
        | MathFunction::IsFinite
        | MathFunction::SignBit
        | MathFunction::MakeComplex
        | MathFunction::Real
        | MathFunction::Imag
        | MathFunction::Conj
        | MathFunction::Angle => a,
    }
}
