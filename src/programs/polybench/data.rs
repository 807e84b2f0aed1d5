//! Inputs of PolyBench's kernels.

use sdfg::dtype::ScalarType;
use sdfg::interpret::Arguments;
use sdfg::symbolic::Symbol;
use sdfg::tensor::{Scalar, Tensor, TensorError};
use sdfg::validate::Validated;

use super::Kernel;

/// Arguments of a kernel for values of its symbols. A formula over positions gives each element.
///
/// Elements are between 0 and 1. The matrices of solvers also have a dominant diagonal, so that no pivot is near zero and rounding errors stay small; that of
/// `cholesky` is symmetric. Weights of edges and bases are small integers.
///
/// # Errors
/// [`TensorError`] if a size is negative or too large.
pub fn arguments(
    kernel: &Kernel,
    program: &Validated,
    sizes: &[(&str, i64)],
) -> Result<Arguments, TensorError> {
    let value =
        |symbol: &Symbol| sizes.iter().find(|(name, _)| *name == symbol.as_str()).map(|(_, value)| *value);
    let mut arguments = Arguments::new();
    for (symbol, value) in sizes {
        arguments = arguments.with_symbol(*symbol, *value);
    }
    for (_, container) in program.sdfg().containers().filter(|(_, container)| container.is_argument()) {
        // Shapes of kernels are symbols of the list.
        let shape: Vec<i64> =
            container.shape().iter().map(|size| size.eval(&value).unwrap_or_default()).collect();
        let tensor = match container.element.lane() {
            ScalarType::I8 => filled(&shape, |p| ((p + 1) % 4) as i8)?,
            ScalarType::I32 => filled(&shape, |p| integer(kernel.name, &shape, p))?,
            _ => filled(&shape, |p| element(kernel.name, &container.name, &shape, p))?,
        };
        arguments = arguments.with(&container.name, tensor);
    }
    Ok(arguments)
}

fn filled<T: Scalar>(shape: &[i64], element: impl Fn(i64) -> T) -> Result<Tensor, TensorError> {
    let elements: Vec<T> = (0..shape.iter().product()).map(element).collect();
    Tensor::new(shape, &elements)
}

/// A number from 0 to 999 that looks random (Knuth's multiplicative hashing).
fn scattered(position: i64) -> i64 {
    ((position + 1).wrapping_mul(2_654_435_761) >> 12).rem_euclid(1000)
}

/// Weights of the edges of a graph, some of which are missing; an empty table otherwise.
fn integer(kernel: &str, shape: &[i64], position: i64) -> i32 {
    let is_diagonal = shape.len() == 2 && position / shape[1] == position % shape[1];
    match (kernel, scattered(position)) {
        ("floyd_warshall", _) if is_diagonal => 0,
        ("floyd_warshall", number) if number >= 300 => 9999,
        ("floyd_warshall", number) => number as i32 + 1,
        _ => 0,
    }
}

fn element(kernel: &str, container: &str, shape: &[i64], position: i64) -> f64 {
    let name: i64 = container.bytes().map(i64::from).sum();
    let fraction = |position: i64| (scattered(position + 131 * name) + 1) as f64 / 1001.0;
    let pivot = |row: i64, column: i64| if row == column { shape[0] as f64 } else { 0.0 };
    match (kernel, container, shape) {
        ("cholesky", "A", &[_, n]) => {
            let (row, column) = (position / n, position % n);
            fraction(row.max(column) * n + row.min(column)) + pivot(row, column)
        }
        ("lu" | "ludcmp" | "gramschmidt", "A", &[_, n]) | ("trisolv", "L", &[_, n]) => {
            fraction(position) + pivot(position / n, position % n)
        }
        // Correlations fall with the distance, as those of a signal do.
        ("durbin", "r", _) => 0.5 * fraction(position) / (position + 1) as f64,
        _ => fraction(position),
    }
}
