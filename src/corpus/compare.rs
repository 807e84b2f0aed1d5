//! Comparison of an output with the expected output.

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, stream_of};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::value::Value;

use super::data::Tolerance;

/// Compares two tensors element by element.
///
/// # Errors
/// The first difference, or the reason that the outputs are not comparable.
pub(super) fn compare(
    name: &str,
    expected: &Tensor,
    found: &Tensor,
    tolerance: Tolerance,
    unordered: bool,
) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("`{name}` has {} elements, expected {}", found.len(), expected.len()));
    }
    let parts = |tensor: &Tensor| -> Vec<f64> { tensor.values().flat_map(parts_of).collect() };
    let (mut expected, mut found) = (parts(expected), parts(found));
    let first = difference(&expected, &found, tolerance);
    let Some(at) = first else { return Ok(()) };
    if unordered {
        expected.sort_by(f64::total_cmp);
        found.sort_by(f64::total_cmp);
        if difference(&expected, &found, tolerance).is_none() {
            return Ok(());
        }
    }
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let error = norm(&mut expected.iter().zip(&found).map(|(a, b)| a - b));
    let size = norm(&mut expected.iter().copied());
    if error <= tolerance.norm * size {
        return Ok(());
    }
    let wrong = expected.iter().zip(&found).filter(|(a, b)| !near(**a, **b, tolerance)).count();
    Err(format!(
        "`{name}` differs at {wrong} of {} places, first at {at}: {} and not {}",
        expected.len(),
        found[at],
        expected[at]
    ))
}

fn difference(expected: &[f64], found: &[f64], tolerance: Tolerance) -> Option<usize> {
    expected.iter().zip(found).position(|(a, b)| !near(*a, *b, tolerance))
}

fn near(expected: f64, found: f64, tolerance: Tolerance) -> bool {
    let is_same = expected == found || (expected.is_nan() && found.is_nan());
    is_same || (expected - found).abs() <= tolerance.absolute + tolerance.relative * expected.abs()
}

/// A number as one or two floats.
fn parts_of(value: Value) -> Vec<f64> {
    match value {
        Value::Bool(value) => vec![f64::from(u8::from(value))],
        Value::I8(value) => vec![value.into()],
        Value::I16(value) => vec![value.into()],
        Value::I32(value) => vec![value.into()],
        Value::I64(value) => vec![value as f64],
        Value::U8(value) => vec![value.into()],
        Value::U16(value) => vec![value.into()],
        Value::U32(value) => vec![value.into()],
        Value::U64(value) => vec![value as f64],
        Value::F16(value) => vec![value.to_f64()],
        Value::F32(value) => vec![value.into()],
        Value::F64(value) => vec![value],
        Value::Complex64(value) => vec![value.re.into(), value.im.into()],
        Value::Complex128(value) => vec![value.re, value.im],
    }
}

/// The first difference between the arguments of two runs of a program beyond the rounding of reordered sums. The elements
/// of streams may have any order, and with `in_any_order` those of all arguments.
pub(crate) fn first_difference(
    sdfg: &Sdfg,
    expected: &Arguments,
    found: &Arguments,
    in_any_order: bool,
) -> Option<String> {
    expected.tensors().find_map(|(name, expected)| {
        let (relative, absolute) = match expected.element().lane() {
            ScalarType::F16 => (2e-2, 1e-3),
            ScalarType::F32 | ScalarType::Complex64 => (1e-4, 1e-6),
            _ => (1e-9, 1e-12),
        };
        let tolerance = Tolerance { relative, absolute, norm: relative };
        let container = sdfg.find_container(stream_of(name).unwrap_or(name));
        let is_stream = container.is_some_and(|id| sdfg.container(id).is_stream());
        match found.get(name) {
            Some(found) => compare(name, expected, found, tolerance, is_stream || in_any_order).err(),
            None => Some(format!("`{name}` is missing")),
        }
    })
}
