//! Numerical elimination with partial pivoting, for the interpreter.

use sdfg::dtype::ScalarType;
use sdfg::tasklet::{MathFunction, arith};
use sdfg::value::Value;

use crate::values::{call, divide, multiply, subtract};

/// Factors a matrix in its place: the row that each step exchanged its own with.
pub(crate) fn factorize(matrix: &mut [Value], rows: usize, columns: usize) -> Vec<usize> {
    let mut pivots = Vec::new();
    for k in 0..rows.min(columns) {
        let size = |row: usize| magnitude(matrix[row * columns + k]);
        let pivot =
            (k..rows).reduce(|best, row| if size(row) > size(best) { row } else { best }).unwrap_or(k);
        (0..columns).for_each(|j| matrix.swap(k * columns + j, pivot * columns + j));
        pivots.push(pivot);
        let divisor = matrix[k * columns + k];
        for row in k + 1..rows {
            // Where the largest one is zero, they are all.
            let factor = if arith::is_true(divisor) {
                divide(matrix[row * columns + k], divisor)
            } else {
                matrix[row * columns + k]
            };
            matrix[row * columns + k] = factor;
            for j in k + 1..columns {
                let product = multiply(factor, matrix[k * columns + j]);
                matrix[row * columns + j] = subtract(matrix[row * columns + j], product);
            }
        }
    }
    pivots
}

/// Makes right-hand sides, row by row, the solutions for a factored matrix of `n` rows.
pub(crate) fn substitute(factors: &[Value], pivots: &[usize], right: &mut [Value], n: usize) {
    let width = right.len().checked_div(n).unwrap_or(0);
    for (k, pivot) in pivots.iter().enumerate() {
        (0..width).for_each(|j| right.swap(k * width + j, pivot * width + j));
    }
    let reduce = |right: &mut [Value], row: usize, by: usize| {
        for j in 0..width {
            let product = multiply(factors[row * n + by], right[by * width + j]);
            right[row * width + j] = subtract(right[row * width + j], product);
        }
    };
    for row in 0..n {
        (0..row).for_each(|by| reduce(right, row, by));
    }
    for row in (0..n).rev() {
        (row + 1..n).for_each(|by| reduce(right, row, by));
        let unknowns = &mut right[row * width..(row + 1) * width];
        unknowns.iter_mut().for_each(|value| *value = divide(*value, factors[row * n + row]));
    }
}

/// LAPACK's exchanges, which count rows from 1.
pub(crate) fn pivots_of(values: &[Value], rows: usize) -> Result<Vec<usize>, String> {
    let pivot = |value: &Value| match arith::cast(*value, ScalarType::I64) {
        Value::I64(row) if row >= 1 && row as usize <= rows => Ok(row as usize - 1),
        other => Err(format!("`_ipiv` exchanges with row {other}, but there are rows 1 to {rows}")),
    };
    values.iter().map(pivot).collect()
}

/// The unit matrix.
pub(crate) fn unit(n: usize, ty: ScalarType) -> Vec<Value> {
    (0..n * n).map(|k| arith::cast(Value::Bool(k / n == k % n), ty)).collect()
}

/// Magnitude for pivoting: for complex numbers LAPACK adds the absolute values of both parts.
fn magnitude(value: Value) -> f64 {
    match arith::cast(call(MathFunction::Abs, value), ScalarType::F64) {
        _ if value.ty().is_complex() => match arith::cast(value, ScalarType::Complex128) {
            Value::Complex128(both) => both.re.abs() + both.im.abs(),
            _ => 0.0,
        },
        Value::F64(size) => size,
        _ => 0.0,
    }
}
