//! Tests of the sparse matrix-vector product on Matrix Market files against the dense product.

use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;
use sdfg_programs::matrix_market::CoordinateMatrix;

use crate::execute::{elements, everywhere, filled, scattered};

/// A matrix of `tests/data`.
fn matrix(name: &str) -> CoordinateMatrix {
    let path = format!("{}/tests/data/{name}.mtx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn spmv() {
    let empty = CoordinateMatrix { rows: 0, columns: 0, entries: Vec::new() };
    let zero = CoordinateMatrix { rows: 3, columns: 2, entries: Vec::new() };
    for matrix in [matrix("springs"), matrix("incidence"), matrix("links"), zero, empty] {
        let rows = matrix.compressed_rows();
        let arguments = Arguments::new()
            .with("A_row", Tensor::vector(&rows.row_starts))
            .with("A_col", Tensor::vector(&rows.column_indices))
            .with("A_val", Tensor::vector(&rows.values))
            .with("x", filled(&[i64::from(matrix.columns)], |p| scattered(p, 20)))
            .with("b", filled(&[i64::from(matrix.rows)], |_| f64::NAN))
            .with_symbol("H", i64::from(matrix.rows));
        everywhere("spmv", &[arguments], |before, after| {
            assert_eq!(elements::<f64>(after, "b"), dense_product(&matrix, &elements(before, "x")));
        });
    }
}

/// The product as the dense matrix gives it. Values of the files are dyadic and small, so every sum is exact.
fn dense_product(matrix: &CoordinateMatrix, x: &[f64]) -> Vec<f64> {
    let columns = matrix.columns as usize;
    let mut dense = vec![0.0; matrix.rows as usize * columns];
    for entry in &matrix.entries {
        dense[entry.row as usize * columns + entry.column as usize] += entry.value;
    }
    (0..matrix.rows as usize)
        .map(|i| dense[i * columns..][..columns].iter().zip(x).map(|(a, x)| a * x).sum::<f64>() + 0.0)
        .collect()
}
