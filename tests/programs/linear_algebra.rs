//! Tests of dense linear algebra, with and without BLAS, and of a histogram.

use std::io::Write;

use sdfg::dtype::ElementType;
use sdfg::interpret::{
    Arguments, ExternalArgument, ExternalMemory, Externals, Interpreter, Options, RunError,
};
use sdfg::tasklet::{ExternalCall, ExternalOrigin};
use sdfg::value::{Complex, Value};
use sdfg_codegen::llvm::OptLevel;

use sdfg_programs::trusted;

use crate::execute::{compiled, elements, everywhere, filled, forms, interpret, native, scattered};

/// Matrices `A` and `B` of small integers, and a `C` that has to be overwritten.
fn matrices(m: i64, n: i64, k: i64) -> Arguments {
    Arguments::new()
        .with("A", filled(&[m, k], |p| scattered(p, 9)))
        .with("B", filled(&[k, n], |p| scattered(3 * p + 1, 9)))
        .with("C", filled(&[m, n], |_| 77.0_f64))
}

/// `C` is the matrix product: every element is the sum over `k`. Sums of products of small integers are exact.
fn assert_product(before: &Arguments, after: &Arguments) {
    let (a, b): (Vec<f64>, Vec<f64>) = (elements(before, "A"), elements(before, "B"));
    let [m, k] = before.get("A").map_or([0; 2], |tensor| [tensor.shape()[0], tensor.shape()[1]]);
    let n = before.get("B").map_or(0, |tensor| tensor.shape()[1]);
    for i in 0..m as usize {
        for j in 0..n as usize {
            let expected: f64 = (0..k as usize).map(|l| a[i * k as usize + l] * b[l * n as usize + j]).sum();
            let found = elements::<f64>(after, "C")[i * n as usize + j];
            assert_eq!(found, expected, "C[{i}, {j}]");
        }
    }
}

#[test]
fn matmul() {
    let cases = [matrices(5, 7, 6), matrices(1, 1, 1), matrices(3, 2, 0), matrices(0, 2, 3)];
    everywhere("matmul", &cases, assert_product);
}

/// `cblas_dgemm` in Rust, for the interpreter.
struct Gemm;

impl Externals for Gemm {
    fn call(
        &self,
        call: &ExternalCall,
        arguments: &[ExternalArgument],
        memory: &mut [ExternalMemory],
        result: Option<ElementType>,
    ) -> Result<Option<Value>, String> {
        let wrong = |what: &str| format!("{what} in {arguments:?}");
        let [order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc] = arguments else {
            return Err(wrong("not fourteen arguments"));
        };
        let integer = |argument: &ExternalArgument| match argument {
            ExternalArgument::Value(value) => value.to_i64().ok_or_else(|| wrong("no integer")),
            ExternalArgument::Memory(_) => Err(wrong("memory for an integer")),
        };
        let address = |argument: &ExternalArgument| match argument {
            ExternalArgument::Memory(index) => Ok(*index),
            ExternalArgument::Value(_) => Err(wrong("a value for memory")),
        };
        if call.symbol != "cblas_dgemm" || result.is_some() {
            return Err(wrong("another function"));
        }
        if [integer(order)?, integer(trans_a)?, integer(trans_b)?] != [101, 111, 111]
            || *alpha != ExternalArgument::Value(Value::F64(1.0))
            || *beta != ExternalArgument::Value(Value::F64(0.0))
        {
            return Err(wrong("another operation"));
        }
        let element = |memory: &[ExternalMemory], of: usize, place: i64| {
            let bytes = &memory[of].data[place as usize * 8..][..8];
            f64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
        };
        let (a, b, c) = (address(a)?, address(b)?, address(c)?);
        let (lda, ldb, ldc) = (integer(lda)?, integer(ldb)?, integer(ldc)?);
        for i in 0..integer(m)? {
            for j in 0..integer(n)? {
                let products = (0..integer(k)?)
                    .map(|l| element(memory, a, i * lda + l) * element(memory, b, l * ldb + j));
                let sum: f64 = products.sum();
                memory[c].data[(i * ldc + j) as usize * 8..][..8].copy_from_slice(&sum.to_ne_bytes());
            }
        }
        Ok(None)
    }
}

/// The same in C, for native code on machines without BLAS: it shows that the call passes what the text says.
const GEMM_IN_C: &str = "\
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc) {
    if (order != 101 || transa != 111 || transb != 111) return;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += a[i * lda + l] * b[l * ldb + j];
            c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
        }
}
";

#[test]
fn blas() {
    let cases = [matrices(4, 6, 5), matrices(1, 2, 3)];
    let mut skipped = None;
    for (form, program) in &forms("blas") {
        for arguments in &cases {
            let options = Options { externals: Some(&Gemm), ..Options::default() };
            assert_product(arguments, &interpret(program, arguments, &options));
            // Without somebody who calls it, the interpreter refuses the program.
            let mut interpreter = Interpreter::new(program).expect("it resolves");
            let refused: Result<_, RunError> = interpreter.run(&mut arguments.clone(), &Options::default());
            assert!(refused.is_err(), "a call without externals must be refused");
        }
        for level in [OptLevel::Quick, OptLevel::O3] {
            let object = compiled(program, level);
            assert_eq!(object.requirements().externals, [ExternalOrigin::Library("blas".to_owned())]);
            match trusted::load(&object) {
                Ok(library) => {
                    println!("blas from the {form} at level {level}: with the BLAS of this machine");
                    cases.iter().for_each(|case| native(&library, case, |after| assert_product(case, after)));
                }
                Err(error) => skipped = Some(error),
            }
            let object = object.with_externals(vec![ExternalOrigin::Source(GEMM_IN_C.to_owned())]);
            let library = trusted::load(&object).unwrap_or_else(|error| panic!("{error}"));
            cases.iter().for_each(|case| native(&library, case, |after| assert_product(case, after)));
        }
    }
    if let Some(error) = skipped {
        // Written past the capture of the test harness: a check that did not happen must be seen.
        let message =
            format!("blas: not checked against a BLAS library, only against one function in C: {error}\n");
        std::io::stderr().write_all(message.as_bytes()).expect("standard error is open");
    }
}

#[test]
fn histogram() {
    let case = |h: i64, w: i64| {
        Arguments::new()
            .with("image", filled(&[h, w], |p| (scattered(p, 127) + 128.0) as u8))
            .with("bins", filled(&[256], |p| p))
    };
    let white =
        Arguments::new().with("image", filled(&[9, 4], |_| 255_u8)).with("bins", filled(&[256], |_| -1_i64));
    everywhere("histogram", &[case(31, 17), case(1, 1), case(0, 5), white], |before, after| {
        let image: Vec<u8> = elements(before, "image");
        let expected: Vec<i64> =
            (0..=255).map(|grey| image.iter().filter(|value| **value == grey).count() as i64).collect();
        assert_eq!(elements::<i64>(after, "bins"), expected);
    });
}

/// The right side is made from a known solution. Small integers, and powers of two on the diagonal, keep everything exact.
#[test]
fn triangular_solve() {
    let solution = |i: i64| scattered(5 * i + 2, 7);
    let case = |n: i64| {
        let lower = move |p: i64| match (p / n.max(1), p % n.max(1)) {
            (i, j) if i > j => scattered(p, 5),
            (i, j) if i == j => [1.0, -2.0, 0.5, 4.0][(i % 4) as usize],
            // The program must not read elements above the diagonal.
            _ => f64::NAN,
        };
        let right = move |i: i64| (0..=i).map(|j| lower(i * n + j) * solution(j)).sum::<f64>();
        Arguments::new()
            .with("L", filled(&[n, n], lower))
            .with("b", filled(&[n], right))
            .with("x", filled(&[n], |_| f64::INFINITY))
    };
    everywhere("triangular_solve", &[case(12), case(2), case(1), case(0)], |before, after| {
        let expected: Vec<f64> = (0..elements::<f64>(before, "b").len() as i64).map(solution).collect();
        assert_eq!(elements::<f64>(after, "x"), expected);
    });
}

/// One butterfly stage with dyadic twiddle factors: all products and sums are exact.
#[test]
fn butterfly() {
    let turns =
        [(1.0, 0.0), (0.0, -1.0), (-1.0, 0.0), (0.0, 1.0), (0.5, -2.0)].map(|(re, im)| Complex::new(re, im));
    let case = |h: i64| {
        Arguments::new()
            .with("x", filled(&[2 * h], |p| Complex::new(scattered(2 * p, 30), scattered(2 * p + 1, 30))))
            .with("w", filled(&[h], |p| turns[p as usize % 5]))
            .with("y", filled(&[2 * h], |_| Complex::new(f64::NAN, f64::NAN)))
            .with_symbol("H", h)
    };
    everywhere("butterfly", &[case(11), case(1), case(0)], |before, after| {
        let (x, w): (Vec<Complex<f64>>, Vec<Complex<f64>>) = (elements(before, "x"), elements(before, "w"));
        let y: Vec<Complex<f64>> = elements(after, "y");
        let h = w.len();
        for k in 0..h {
            let (a, b, t) = (x[k], x[k + h], w[k]);
            let (re, im) = (t.re * b.re - t.im * b.im, t.re * b.im + t.im * b.re);
            assert_eq!((y[k].re, y[k].im), (a.re + re, a.im + im), "y[{k}]");
            assert_eq!((y[k + h].re, y[k + h].im), (a.re - re, a.im - im), "y[{}]", k + h);
        }
    });
}
