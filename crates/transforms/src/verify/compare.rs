//! Comparison of results.

use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::interpret::Arguments;
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::value::Value;

use super::Difference;
use crate::Soundness;

/// Compares every argument after two runs.
pub(super) fn compare(
    expected: &Arguments,
    found: &Arguments,
    soundness: Soundness,
    order: &'static str,
) -> Result<(), Difference> {
    let exact = match soundness {
        Soundness::Always => true,
        Soundness::ChangesRounding => false,
        // Any of the results that the program permits may come out.
        Soundness::ChangesDeclaredNondeterminism => return Ok(()),
    };
    for (name, before) in expected.tensors() {
        let differs = |position, expected: String, found: String| Difference::Result {
            container: name.to_owned(),
            order,
            position,
            expected,
            found,
        };
        let Some(after) = found.get(name) else {
            return Err(differs(0, "there".to_owned(), "not there".to_owned()));
        };
        if before.shape() != after.shape() {
            return Err(differs(
                0,
                format!("of shape {:?}", before.shape()),
                format!("of {:?}", after.shape()),
            ));
        }
        let bound = if exact { 0.0 } else { bound(before) };
        for (position, (one, other)) in before.values().zip(after.values()).enumerate() {
            if !one.same_bits(other) && !near(one, other, bound) {
                return Err(differs(position, one.to_string(), other.to_string()));
            }
        }
    }
    Ok(())
}

/// The largest difference that sums in another order make: some units in the last place of the largest element.
fn bound(tensor: &Tensor) -> f64 {
    let unit = match tensor.element().lane() {
        ScalarType::F64 | ScalarType::Complex128 => f64::EPSILON,
        ScalarType::F32 | ScalarType::Complex64 => f64::from(f32::EPSILON),
        ScalarType::F16 => 0.001,
        ScalarType::Bool
        | ScalarType::I8
        | ScalarType::I16
        | ScalarType::I32
        | ScalarType::I64
        | ScalarType::U8
        | ScalarType::U16
        | ScalarType::U32
        | ScalarType::U64 => 0.0,
    };
    let largest = tensor.values().flat_map(parts).filter(|part| part.is_finite());
    4096.0 * unit * largest.fold(1.0, |largest: f64, part| largest.max(part.abs()))
}

/// The real and the imaginary part of a number as a double.
fn parts(value: Value) -> [f64; 2] {
    match cast(value, ScalarType::Complex128) {
        Value::Complex128(number) => [number.re, number.im],
        _ => [0.0, 0.0],
    }
}

/// Whether two numbers are equal up to a bound, or both are no numbers. Without a bound, only two NaNs are.
fn near(one: Value, other: Value, bound: f64) -> bool {
    let is_float = |value: Value| matches!(value.ty().kind(), ScalarKind::Float | ScalarKind::Complex);
    if !is_float(one) || !is_float(other) {
        return false;
    }
    parts(one).into_iter().zip(parts(other)).all(|(one, other)| {
        (one.is_nan() && other.is_nan()) || one.to_bits() == other.to_bits() || (one - other).abs() < bound
    })
}
