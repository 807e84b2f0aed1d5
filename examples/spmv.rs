//! Sparse matrix-vector product on a Matrix Market file: `cargo run --example spmv -- tests/data/springs.mtx`
//!
//! The example multiplies the matrix with the vector 1, 1/2, 1/3, ..., in the interpreter and as native code,
//! and compares both with plain loops. With a second argument, it runs only native code, that many times, and
//! prints the median time.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a command")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::tensor::Tensor;
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_programs::matrix_market::CoordinateMatrix;
use sdfg_programs::programs::spmv;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let repeats = arguments.get(1).map(|text| text.parse::<usize>());
    let (Some(path), None | Some(Ok(1..))) = (arguments.first(), &repeats) else {
        eprintln!("usage: spmv MATRIX.mtx [REPEATS]");
        return ExitCode::from(2);
    };
    match multiply(Path::new(path), repeats.and_then(Result::ok)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn multiply(path: &Path, repeats: Option<usize>) -> Result<(), Box<dyn Error>> {
    let matrix: CoordinateMatrix = std::fs::read_to_string(path)?.parse()?;
    println!("{} rows, {} columns, {} entries", matrix.rows, matrix.columns, matrix.entries.len());
    let rows = matrix.compressed_rows();
    let arguments = Arguments::new()
        .with("A_row", Tensor::vector(&rows.row_starts))
        .with("A_col", Tensor::vector(&rows.column_indices))
        .with("A_val", Tensor::vector(&rows.values))
        .with("x", Tensor::vector(&(0..matrix.columns).map(factor).collect::<Vec<_>>()))
        .with("b", Tensor::vector(&vec![0.0; matrix.rows as usize]))
        .with_symbol("H", i64::from(matrix.rows));
    let (program, _) = spmv()?;
    let library = Library::load(&sdfg_codegen::compile(&program, &CompileOptions::default())?)?;

    let mut native = arguments.clone();
    let mut times = Vec::new();
    for _ in 0..repeats.unwrap_or(1) {
        let start = Instant::now();
        // SAFETY: the rows that the reader made hold indices below the extents of `A_col` and `x`.
        unsafe { library.run(&mut native, None)? };
        times.push(start.elapsed());
    }
    times.sort();
    println!("native: median {:?} of {}", times[times.len() / 2], times.len());
    compare("native code and plain loops", &product(&matrix), &elements(&native)?);
    if repeats.is_none() {
        let mut interpreted = arguments;
        Interpreter::new(&program)?.run(&mut interpreted, &Options::default())?;
        compare("interpreter and plain loops", &product(&matrix), &elements(&interpreted)?);
    }
    Ok(())
}

fn elements(arguments: &Arguments) -> Result<Vec<f64>, Box<dyn Error>> {
    Ok(arguments.get("b").ok_or("the call gives b back")?.to_vec()?)
}

/// Element `column` of the vector.
fn factor(column: u32) -> f64 {
    1.0 / (f64::from(column) + 1.0)
}

/// The product, and for each row the sum of absolute values, which scales the rounding errors.
fn product(matrix: &CoordinateMatrix) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); matrix.rows as usize];
    for entry in &matrix.entries {
        let (sum, absolute) = &mut sums[entry.row as usize];
        let product = entry.value * factor(entry.column);
        *sum += product;
        *absolute += product.abs();
    }
    sums
}

fn compare(what: &str, expected: &[(f64, f64)], found: &[f64]) {
    let error =
        |((sum, absolute), found): (&(f64, f64), &f64)| (sum - found).abs() / absolute.max(f64::MIN_POSITIVE);
    let largest = expected.iter().zip(found).map(error).fold(0.0, f64::max);
    println!("{what} differ by at most {largest:.1e}, relative to the absolute values of a row");
}
