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

/// Compares the results of native runs of a program before and after a rewrite on the same inputs. Compilers reassociate and contract, so
/// results may differ in rounding: an element by as much as [`Verifier::check`](super::Verifier::check) allows a sum that no order of
/// execution changes.
///
/// # Errors
/// [`Difference::Result`] with the first element that differs.
pub fn agree(expected: &Arguments, found: &Arguments, soundness: Soundness) -> Result<(), Difference> {
    compare(expected, found, soundness.max(Soundness::ChangesRounding), "native code", &[Spread::default()])
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

#[cfg(test)]
mod tests {
    use super::*;
    use sdfg::dtype::ElementType;

    fn arguments(values: &[f64]) -> Arguments {
        let mut all = Arguments::new();
        all.set("A", Tensor::vector(values));
        all
    }

    /// Whether results after a rewrite that changes rounding are those before it, where elements had these values in runs in
    /// several orders.
    fn passes(before: &[f64], after: &[f64], orders: &[&[f64]]) -> bool {
        let mut spread = Spread::default();
        orders.iter().for_each(|values| spread.add(&arguments(values)));
        let spreads = if orders.is_empty() { Vec::new() } else { vec![spread] };
        compare(&arguments(before), &arguments(after), Soundness::ChangesRounding, "order", &spreads).is_ok()
    }

    /// The bound is 1,024 units of the element, 16 of the largest one, and 16 times the spread.
    #[test]
    fn results_differ_by_no_more_than_rounding() {
        let unit = f64::EPSILON;
        assert!(passes(&[1.0], &[1.0 + 1000.0 * unit], &[]));
        assert!(!passes(&[1.0], &[1.0 + 1100.0 * unit], &[]));
        assert!(passes(&[-4.0], &[-4.0 - 4000.0 * unit], &[]));
        // Without known spreads, the largest element excuses no other one.
        assert!(!passes(&[1.0, 1e6], &[1.0 + 1e6 * unit, 1e6], &[]));
        // No order changes anything: sums whose summands cancel out may have the rounding of the largest element.
        let fixed: &[f64] = &[1.0, 1e6];
        assert!(passes(fixed, &[1.0 + 15e6 * unit, 1e6], &[fixed, fixed]));
        assert!(!passes(fixed, &[1.0 + 17e6 * unit, 1e6], &[fixed, fixed]));
        // Orders change the first element, and it alone may differ.
        let other: &[f64] = &[1.5, 1e6];
        assert!(passes(fixed, &[1.0 + 7.9, 1e6], &[fixed, other]));
        assert!(!passes(fixed, &[1.0 + 8.1, 1e6], &[fixed, other]));
        let wide: &[f64] = &[1.0, 1e6 + 1.0];
        assert!(!passes(fixed, &[1.0 + 1e6 * unit, 1e6], &[fixed, wide]));
        // Infinities and numbers that are none have no distance.
        assert!(passes(&[f64::NAN], &[f64::NAN], &[]));
        assert!(!passes(&[f64::NAN], &[1.0], &[]) && !passes(&[1.0], &[f64::NAN], &[]));
        assert!(!passes(&[f64::INFINITY], &[1.0], &[]));
        assert!(!passes(&[f64::INFINITY], &[f64::NEG_INFINITY], &[]));
        assert!(passes(&[f64::INFINITY, 1.0], &[f64::INFINITY, 1.0 + 15.0 * unit], &[fixed, fixed]));
        assert!(!passes(&[f64::INFINITY, 1.0], &[f64::INFINITY, 1.0 + 1100.0 * unit], &[fixed, fixed]));
    }

    #[test]
    fn sound_results_are_the_same_and_permitted_ones_are_any() {
        let compared = |soundness| {
            let (before, after) = (arguments(&[1.0]), arguments(&[1.0 + f64::EPSILON]));
            compare(&before, &after, soundness, "order", &[]).is_ok()
        };
        assert!(!compared(Soundness::Always) && compared(Soundness::ChangesRounding));
        let (before, after) = (arguments(&[1.0]), arguments(&[7.0]));
        let permitted = Soundness::ChangesDeclaredNondeterminism;
        assert_eq!(compare(&before, &after, permitted, "order", &[]), Ok(()));
        let found = compare(&arguments(&[1.0, 2.0]), &arguments(&[1.0, 3.0]), Soundness::Always, "o", &[]);
        assert!(matches!(found, Err(Difference::Result { position: 1, .. })), "{found:?}");
        let error = |after: &Arguments| compare(&before, after, Soundness::Always, "order", &[]).is_err();
        assert!(error(&Arguments::new()) && error(&arguments(&[1.0, 1.0])));
    }

    #[test]
    fn the_same_tensors_have_the_same_type_shape_and_bits() {
        let row = |values: &[f64]| Tensor::vector(values);
        let negative = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
        assert!(same(&row(&[1.0, f64::NAN]), &row(&[1.0, negative])));
        assert!(!same(&row(&[2.0, 1.0]), &row(&[2.0, 1.0 + f64::EPSILON])));
        assert!(!same(&row(&[0.0]), &row(&[-0.0])) && !same(&row(&[f64::NAN]), &row(&[1.0])));
        assert!(!same(&row(&[1.0, 2.0]), &row(&[1.0])));
        let column = Tensor::new(&[2, 1], &[1.0, 2.0]).expect("a tensor");
        assert!(!same(&row(&[1.0, 2.0]), &column));
        assert!(!same(&Tensor::vector(&[0_i64]), &row(&[0.0])));
    }

    /// The rounding is that of the element type, and integers have none.
    #[test]
    fn rounding_has_the_unit_of_the_type() {
        let tensor = |element: ElementType, bytes: &[u8]| {
            let length = (bytes.len() / element.size()) as i64;
            let mut all = Arguments::new();
            all.set("A", Tensor::from_bytes(element, vec![length], bytes.to_vec()).expect("a tensor"));
            all
        };
        let passes = |ty: ScalarType, before: &[u8], after: &[u8]| {
            let [before, after] = [before, after].map(|bytes| tensor(ElementType::from(ty), bytes));
            compare(&before, &after, Soundness::ChangesRounding, "order", &[]).is_ok()
        };
        let single = |value: f32| value.to_le_bytes();
        assert!(passes(ScalarType::F32, &single(1.0), &single(1.0 + 1000.0 * f32::EPSILON)));
        assert!(!passes(ScalarType::F32, &single(1.0), &single(1.0 + 1100.0 * f32::EPSILON)));
        let complex = |re: f64, im: f64| [re.to_le_bytes(), im.to_le_bytes()].concat();
        let near = complex(1.0, 2.0 + 2000.0 * f64::EPSILON);
        assert!(passes(ScalarType::Complex128, &complex(1.0, 2.0), &near));
        assert!(!passes(ScalarType::Complex128, &complex(1.0, 2.0), &complex(1.0, 2.1)));
        assert!(!passes(ScalarType::Complex128, &complex(1.0, 2.0), &complex(1.1, 2.0)));
        // 1.0 and its neighbour, then 1.0 and 3.0, of 16 bits.
        assert!(passes(ScalarType::F16, &[0x00, 0x3c], &[0x01, 0x3c]));
        assert!(!passes(ScalarType::F16, &[0x00, 0x3c], &[0x00, 0x42]));
        assert!(!passes(ScalarType::I64, &1_i64.to_le_bytes(), &2_i64.to_le_bytes()));
        assert!(passes(ScalarType::I64, &1_i64.to_le_bytes(), &1_i64.to_le_bytes()));
    }
}
