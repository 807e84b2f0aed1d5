//! Comparison of results.

use std::collections::BTreeMap;

use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::interpret::Arguments;
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::value::Value;

use super::Difference;
use crate::Soundness;

/// Whether two tensors have the same elements, bit by bit. One NaN is as good as another.
pub fn same(one: &Tensor, other: &Tensor) -> bool {
    one.element() == other.element()
        && one.shape() == other.shape()
        && one.values().zip(other.values()).all(|(one, other)| near(one, other, 0.0))
}

/// Compares every argument after two runs. The spreads are those of the two programs over orders of execution, where they are known.
pub(super) fn compare(
    expected: &Arguments,
    found: &Arguments,
    soundness: Soundness,
    order: &'static str,
    spreads: &[Spread],
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
        let unit = unit(before.element().lane());
        // Elements that no order changes may still be sums in another order, whose summands cancel out.
        let depends_on_order = spreads.iter().any(|spread| spread.is_wide(name));
        let of_all = if spreads.is_empty() || depends_on_order { 0.0 } else { largest(before.values()) };
        for (position, (one, other)) in before.values().zip(after.values()).enumerate() {
            let bound = || {
                let spread: f64 = spreads.iter().map(|spread| spread.of(name, position)).sum();
                unit * (OF_ELEMENT * largest_part(one) + OF_LARGEST * of_all) + OF_SPREAD * spread
            };
            if !near(one, other, if exact { 0.0 } else { bound() }) {
                return Err(differs(position, one.to_string(), other.to_string()));
            }
        }
    }
    Ok(())
}

/// Units in the last place of an element by which sums in another order may differ.
const OF_ELEMENT: f64 = 1024.0;

/// The same for the largest element of an argument that does not depend on the order of execution.
const OF_LARGEST: f64 = 16.0;

/// How much further apart two results may be than those of some orders of execution.
const OF_SPREAD: f64 = 16.0;

/// The least and the largest value of each element over several runs.
#[derive(Default)]
pub(super) struct Spread(BTreeMap<String, Vec<[(f64, f64); 2]>>);

impl Spread {
    /// Adds the results of a run.
    pub(super) fn add(&mut self, after: &Arguments) {
        for (name, tensor) in after.tensors() {
            let none = [(f64::INFINITY, f64::NEG_INFINITY); 2];
            let known = self.0.entry(name.to_owned()).or_insert_with(|| vec![none; tensor.values().count()]);
            for (ranges, value) in known.iter_mut().zip(tensor.values()) {
                for (range, part) in ranges.iter_mut().zip(parts(value)) {
                    *range = (range.0.min(part), range.1.max(part));
                }
            }
        }
    }

    /// Whether the values of some element of an argument differ.
    fn is_wide(&self, name: &str) -> bool {
        let count = self.0.get(name).map_or(0, Vec::len);
        (0..count).any(|position| self.of(name, position) > 0.0)
    }

    /// How far apart the values of an element are.
    fn of(&self, name: &str, position: usize) -> f64 {
        let ranges = self.0.get(name).and_then(|all| all.get(position));
        let widths = ranges.into_iter().flatten().map(|(least, largest)| largest - least);
        widths.filter(|width| width.is_finite()).fold(0.0, f64::max)
    }
}

/// The unit in the last place of 1; 0 for numbers without rounding.
fn unit(ty: ScalarType) -> f64 {
    match ty {
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
    }
}

fn largest(values: impl Iterator<Item = Value>) -> f64 {
    values.map(largest_part).fold(0.0, f64::max)
}

/// The larger one of the two parts, if it is finite.
fn largest_part(value: Value) -> f64 {
    parts(value)
        .into_iter()
        .filter(|part| part.is_finite())
        .fold(0.0, |largest, part| largest.max(part.abs()))
}

/// The real and the imaginary part of a number as a double.
fn parts(value: Value) -> [f64; 2] {
    match cast(value, ScalarType::Complex128) {
        Value::Complex128(number) => [number.re, number.im],
        _ => [0.0, 0.0],
    }
}

/// Whether two numbers are the same or both are no numbers, or are floats that differ by less than a bound.
fn near(one: Value, other: Value, bound: f64) -> bool {
    if one.same_bits(other) {
        return true;
    }
    let is_float = |value: Value| matches!(value.ty().kind(), ScalarKind::Float | ScalarKind::Complex);
    if !is_float(one) || !is_float(other) {
        return false;
    }
    parts(one).into_iter().zip(parts(other)).all(|(one, other)| {
        (one.is_nan() && other.is_nan()) || one.to_bits() == other.to_bits() || (one - other).abs() < bound
    })
}
