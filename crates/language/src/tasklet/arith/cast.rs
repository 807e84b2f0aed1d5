//! Conversions between scalar types.

use half::f16;
use num_traits::AsPrimitive;

use crate::dtype::ScalarType;
use crate::value::{Complex, Value};

/// The value converted to another type.
///
/// - Between integers: the low bits, sign-extended or zero-extended as the source type is (wraps).
/// - Integer to float and between floats: the nearest, ties to even; too large becomes infinite.
/// - Float to integer: rounded towards zero; beyond the range the nearest end of it; NaN is 0.
/// - To `bool`: whether it is not zero (NaN is not). From `bool`: 0 or 1.
/// - To complex: as the real part. From complex to real: the real part (checked code does not do so).
pub fn cast(value: Value, to: ScalarType) -> Value {
    match value {
        Value::Bool(v) => real(u8::from(v), v, to),
        Value::I8(v) => real(v, v != 0, to),
        Value::I16(v) => real(v, v != 0, to),
        Value::I32(v) => real(v, v != 0, to),
        Value::I64(v) => real(v, v != 0, to),
        Value::U8(v) => real(v, v != 0, to),
        Value::U16(v) => real(v, v != 0, to),
        Value::U32(v) => real(v, v != 0, to),
        Value::U64(v) => real(v, v != 0, to),
        Value::F16(_) if to == ScalarType::F16 => value,
        // Every f16 is an f32, so one rounding happens at most.
        Value::F16(v) => real(v.to_f32(), v != f16::ZERO, to),
        Value::F32(v) => real(v, v != 0.0, to),
        Value::F64(v) => real(v, v != 0.0, to),
        Value::Complex64(v) => complex(v, v.re != 0.0 || v.im != 0.0, to),
        Value::Complex128(v) => complex(v, v.re != 0.0 || v.im != 0.0, to),
    }
}

/// The numeric conversions of Rust's `as`, which are those that [`cast`] documents.
pub(super) trait Number:
    AsPrimitive<i8>
    + AsPrimitive<i16>
    + AsPrimitive<i32>
    + AsPrimitive<i64>
    + AsPrimitive<u8>
    + AsPrimitive<u16>
    + AsPrimitive<u32>
    + AsPrimitive<u64>
    + AsPrimitive<f32>
    + AsPrimitive<f64>
{
}

impl<T> Number for T where
    T: AsPrimitive<i8>
        + AsPrimitive<i16>
        + AsPrimitive<i32>
        + AsPrimitive<i64>
        + AsPrimitive<u8>
        + AsPrimitive<u16>
        + AsPrimitive<u32>
        + AsPrimitive<u64>
        + AsPrimitive<f32>
        + AsPrimitive<f64>
{
}

fn real<T: Number>(value: T, truth: bool, to: ScalarType) -> Value {
    match to {
        ScalarType::Bool => Value::Bool(truth),
        ScalarType::I8 => Value::I8(value.as_()),
        ScalarType::I16 => Value::I16(value.as_()),
        ScalarType::I32 => Value::I32(value.as_()),
        ScalarType::I64 => Value::I64(value.as_()),
        ScalarType::U8 => Value::U8(value.as_()),
        ScalarType::U16 => Value::U16(value.as_()),
        ScalarType::U32 => Value::U32(value.as_()),
        ScalarType::U64 => Value::U64(value.as_()),
        // Integers beyond 2^53 are far beyond the range of f16, so the step over f64 rounds only once.
        ScalarType::F16 => Value::F16(half(value.as_())),
        ScalarType::F32 => Value::F32(value.as_()),
        ScalarType::F64 => Value::F64(value.as_()),
        ScalarType::Complex64 => Value::Complex64(Complex::new(value.as_(), 0.0)),
        ScalarType::Complex128 => Value::Complex128(Complex::new(value.as_(), 0.0)),
    }
}

/// The nearest `f16`. The `half` crate rounds twice, over `f32` or after dropping the low half of the bits.
fn half(value: f64) -> f16 {
    let nearest = value as f32;
    let (back, bits) = (f64::from(nearest), nearest.to_bits());
    let exact = back == value || value.is_nan();
    // An inexact f32 with its last bit set lies on the same side as the value of everything that an f16 rounds at.
    let odd = match (exact || bits & 1 == 1, back.abs() < value.abs()) {
        (true, _) => bits,
        (false, true) => bits + 1,
        (false, false) => bits - 1,
    };
    f16::from_f32(f32::from_bits(odd))
}

fn complex<T: Number>(value: Complex<T>, truth: bool, to: ScalarType) -> Value {
    match to {
        ScalarType::Complex64 => Value::Complex64(Complex::new(value.re.as_(), value.im.as_())),
        ScalarType::Complex128 => Value::Complex128(Complex::new(value.re.as_(), value.im.as_())),
        other => real(value.re, truth, other),
    }
}
