//! Tests of the programs of the repository, in every order.

use sdfg_language::tasklet::ExternalCall;
use sdfg_language::value::{Complex, Value};

use super::{Options, run, run_with};
use crate::tensor::Tensor;
use crate::{Arguments, ExternalArgument, ExternalMemory, Externals, TrapKind};

fn source(name: &str) -> String {
    let path = format!("{}/../../programs/{name}.sdft", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn matrix(n: i64, m: i64) -> Tensor {
    let values: Vec<f64> = (0..n * m).map(|v| (v * 7 % 11) as f64 - 3.0).collect();
    Tensor::new(&[n, m], &values).unwrap()
}

fn zeros(shape: &[i64]) -> Tensor {
    Tensor::zeros(sdfg_language::dtype::ScalarType::F64.into(), shape.to_vec()).unwrap()
}

fn reals(arguments: &Arguments, name: &str) -> Vec<f64> {
    arguments.get(name).unwrap().to_vec().unwrap()
}

fn integers(arguments: &Arguments, name: &str) -> Vec<i64> {
    arguments.get(name).unwrap().to_vec().unwrap()
}

#[test]
fn branching() {
    let arguments = |a: f64, b: f64| {
        Arguments::new()
            .with("A", Tensor::scalar(a))
            .with("B", Tensor::scalar(b))
            .with("C", Tensor::scalar(0.0))
    };
    assert_eq!(reals(&run(&source("branching"), arguments(2.0, 3.0)), "C"), [10.0]);
    assert_eq!(reals(&run(&source("branching"), arguments(4.0, 3.0)), "C"), [3.5]);
}

#[test]
fn butterfly() {
    let z = |re: f64, im: f64| Complex::new(re, im);
    let arguments = Arguments::new()
        .with("x", Tensor::vector(&[z(1.0, 2.0), z(0.0, 1.0), z(3.0, 4.0), z(2.0, 0.0)]))
        .with("w", Tensor::vector(&[z(0.0, -1.0), z(1.0, 0.0)]))
        .with("y", Tensor::vector(&[z(0.0, 0.0); 4]));
    let found = run(&source("butterfly"), arguments);
    assert_eq!(found.get("y").unwrap().to_vec::<Complex<f64>>().unwrap().len(), 4);
}

#[test]
fn fibonacci() {
    let arguments = Arguments::new()
        .with("N", Tensor::scalar(12_i64))
        .with("out", Tensor::scalar(7_i64))
        .with_symbol("P", 3);
    assert_eq!(integers(&run(&source("fibonacci"), arguments), "out"), [144]);
}

#[test]
fn histogram() {
    let image: Vec<u8> = (0..60_u32).map(|v| (v * v % 256) as u8).collect();
    let arguments = Arguments::new()
        .with("image", Tensor::new(&[6, 10], &image).unwrap())
        .with("bins", Tensor::vector(&[0_i64; 256]));
    let bins = integers(&run(&source("histogram"), arguments), "bins");
    for (value, count) in bins.into_iter().enumerate() {
        assert_eq!(count as usize, image.iter().filter(|p| usize::from(**p) == value).count());
    }
}

#[test]
fn stencils_and_linear_algebra() {
    run(
        &source("jacobi2d"),
        Arguments::new().with("A", matrix(7, 7)).with("B", matrix(7, 7)).with_symbol("T", 3),
    );
    run(&source("laplace"), Arguments::new().with("A", matrix(2, 9)).with_symbol("T", 4));
    run(
        &source("matmul"),
        Arguments::new().with("A", matrix(3, 4)).with("B", matrix(4, 2)).with("C", zeros(&[3, 2])),
    );
    run(
        &source("spmv"),
        Arguments::new()
            .with("A_row", Tensor::vector(&[0_u32, 1, 3]))
            .with("A_col", Tensor::vector(&[1_u32, 0, 2]))
            .with("A_val", Tensor::vector(&[1.0, 2.0, 3.0]))
            .with("x", Tensor::vector(&[1.0, 2.0, 3.0]))
            .with("b", zeros(&[2])),
    );
    let l = Tensor::new(&[3, 3], &[2.0, 0.0, 0.0, 1.0, 4.0, 0.0, -1.0, 2.0, 8.0]).unwrap();
    let arguments =
        Arguments::new().with("L", l).with("b", Tensor::vector(&[2.0, 9.0, 11.0])).with("x", zeros(&[3]));
    assert_eq!(reals(&run(&source("triangular_solve"), arguments), "x"), [1.0, 2.0, 1.0]);
}

#[test]
fn mandelbrot() {
    let image = Tensor::zeros(sdfg_language::dtype::ScalarType::I64.into(), vec![8, 12]).unwrap();
    let found = run(&source("mandelbrot"), Arguments::new().with("image", image).with_symbol("limit", 20));
    for (at, count) in integers(&found, "image").into_iter().enumerate() {
        let (x, y) = ((at % 12) as f64, (at / 12) as f64);
        let (cr, ci) = (3.5 * x / 12.0 - 2.5, 2.0 * y / 8.0 - 1.0);
        let (mut re, mut im, mut n) = (0.0_f64, 0.0_f64, 0);
        while re * re + im * im <= 4.0 && n < 20 {
            (re, im) = (re * re - im * im + cr, 2.0 * re * im + ci);
            n += 1;
        }
        assert_eq!(count, n, "pixel {at}");
    }
}

#[test]
fn query() {
    let arguments = Arguments::new()
        .with("column", Tensor::vector(&[1.0, 5.0, 2.0, 7.0]))
        .with("threshold", Tensor::scalar(1.5))
        .with("selected", zeros(&[4]))
        .with("count", Tensor::scalar(0_i64));
    let mut found = arguments.clone();
    run_with(&source("query"), &mut found, &Options::default()).unwrap();
    assert_eq!(reals(&found, "selected"), [5.0, 2.0, 7.0, 0.0]);
    assert_eq!(integers(&found, "count"), [3]);
}

#[test]
fn systolic() {
    let arguments = Arguments::new()
        .with("A", Tensor::vector(&[1.0, 2.0, 3.0]))
        .with("B", zeros(&[3]))
        .with_symbol("P", 5);
    assert_eq!(reals(&run(&source("systolic"), arguments), "B"), [16.0, 17.0, 18.0]);
}

/// `cblas_dgemm` for row-major matrices that are not transposed.
struct Gemm;

impl Externals for Gemm {
    fn call(
        &self,
        call: &ExternalCall,
        arguments: &[ExternalArgument],
        memory: &mut [ExternalMemory],
        result: Option<sdfg_language::dtype::ElementType>,
    ) -> Result<Option<Value>, String> {
        if call.symbol != "cblas_dgemm" || result.is_some() {
            return Err("unknown function".to_owned());
        }
        let size = |i: usize| match arguments[i] {
            ExternalArgument::Value(Value::I32(v)) => v as usize,
            ref other => panic!("argument {i} is {other:?}"),
        };
        let (m, n, k) = (size(3), size(4), size(5));
        let matrix = |i: usize| match arguments[i] {
            ExternalArgument::Memory(at) => at,
            ExternalArgument::Value(_) => panic!("argument {i} is no memory"),
        };
        let at = |memory: &[ExternalMemory], of: usize, place: usize| {
            let bytes = memory[of].data[place * 8..][..8].try_into().unwrap();
            f64::from_ne_bytes(bytes)
        };
        for i in 0..m {
            for j in 0..n {
                let products = (0..k).map(|l| {
                    at(memory, matrix(7), i * size(8) + l) * at(memory, matrix(9), l * size(10) + j)
                });
                let sum: f64 = products.sum();
                let place = i * size(13) + j;
                memory[matrix(12)].data[place * 8..][..8].copy_from_slice(&sum.to_ne_bytes());
            }
        }
        Ok(None)
    }
}

#[test]
fn blas() {
    let arguments =
        Arguments::new().with("A", matrix(3, 4)).with("B", matrix(4, 2)).with("C", zeros(&[3, 2]));
    let mut found = arguments.clone();
    let options = Options { externals: Some(&Gemm), ..Options::default() };
    run_with(&source("blas"), &mut found, &options).unwrap();
    assert_eq!(found.get("C"), run(&source("matmul"), arguments.clone()).get("C"));
    let refused = run_with(&source("blas"), &mut arguments.clone(), &Options::default()).unwrap_err();
    assert!(
        matches!(&refused.trap().unwrap().kind, TrapKind::External { name, .. } if name == "cblas_dgemm")
    );
}
