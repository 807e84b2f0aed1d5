//! Operations whose results are rounded: interpreter and expansion against what defines the result, within a tolerance.

use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg::value::{Complex, Value};
use sdfg_library::{BuiltIn, expand};

/// Complex numbers in row-major order.
type Numbers = Vec<Complex<f64>>;

/// Small numbers without a pattern.
fn numbers(seed: u64, count: usize, complex: bool) -> Numbers {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f64 / 1e6 - 8.0
    };
    (0..count).map(|_| Complex::new(next(), if complex { next() } else { 0.0 })).collect()
}

fn times(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

/// `a @ b` of matrices with `n` columns on the left and `width` columns on the right.
fn product(a: &[Complex<f64>], b: &[Complex<f64>], n: usize, width: usize) -> Numbers {
    let mut result = vec![Complex::default(); a.len() / n * width];
    for (place, result) in result.iter_mut().enumerate() {
        for k in 0..n {
            let part = times(a[place / width * n + k], b[k * width + place % width]);
            *result = Complex::new(result.re + part.re, result.im + part.im);
        }
    }
    result
}

fn adjoint(a: &[Complex<f64>], n: usize) -> Numbers {
    (0..a.len()).map(|k| a[k % n * n + k / n]).map(|x| Complex::new(x.re, -x.im)).collect()
}

fn unit(n: usize) -> Numbers {
    (0..n * n).map(|k| Complex::new(f64::from(u8::from(k / n == k % n)), 0.0)).collect()
}

/// An argument: name, shape, elements.
type Argument<'a> = (&'a str, &'a [i64], Numbers);

/// The output of a node, by the interpreter and after expansion.
fn results(node: &str, element: &str, inputs: &[Argument<'_>], output: (&str, &[i64])) -> [Numbers; 2] {
    let text = program(node, element, inputs, output);
    let parsed = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
    let expanded = expand(&parsed, &BuiltIn).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    [run(&parsed, element, inputs, output), run(&expanded, element, inputs, output)]
}

fn program(node: &str, element: &str, inputs: &[Argument<'_>], output: (&str, &[i64])) -> String {
    let mut text = String::from("sdfg p {\nsymbol N: i64\n");
    let mut edges = String::new();
    for (name, shape) in inputs.iter().map(|(name, shape, _)| (name, shape)).chain([(&output.0, &output.1)]) {
        // The first extent is a symbol, as the shapes of programs are.
        let sizes: Vec<String> = shape
            .iter()
            .map(|size| if *size == shape[0] { "N".to_owned() } else { size.to_string() })
            .collect();
        text.push_str(&format!("array {name}: {element}[{}]\n", sizes.join(", ")));
        edges.push_str(&format!("access {name}\n"));
    }
    for (name, _, _) in inputs {
        edges.push_str(&format!("{name} -> node.{name}\n"));
    }
    edges.push_str(&format!("node.{0} -> {0}\n", output.0));
    text.push_str(&format!("state main {{\nlibrary node: {node}\n{edges}}}\n}}\n"));
    text
}

fn run(sdfg: &Sdfg, element: &str, inputs: &[Argument<'_>], output: (&str, &[i64])) -> Numbers {
    let printed = || sdfg::text::print(sdfg);
    let validated = validate(sdfg.clone()).unwrap_or_else(|rejected| panic!("{rejected} in\n{}", printed()));
    let tensor = |shape: &[i64], numbers: &[Complex<f64>]| {
        let tensor = match element {
            "f32" => Tensor::new(shape, &numbers.iter().map(|x| x.re as f32).collect::<Vec<_>>()),
            "f64" => Tensor::new(shape, &numbers.iter().map(|x| x.re).collect::<Vec<_>>()),
            _ => Tensor::new(shape, numbers),
        };
        tensor.expect("as many numbers as elements")
    };
    let mut arguments = Arguments::new();
    for (name, shape, elements) in inputs {
        arguments.set(*name, tensor(shape, elements));
    }
    let count = output.1.iter().product::<i64>() as usize;
    arguments.set(output.0, tensor(output.1, &vec![Complex::default(); count]));
    arguments.set_symbol("N", output.1[0]);
    let options = Options { order: Order::Random(3), libraries: Some(&BuiltIn), ..Options::default() };
    let mut interpreter = Interpreter::new(&validated).expect("the interpreter runs it");
    if let Err(error) = interpreter.run(&mut arguments, &options) {
        panic!("{error} in\n{}", printed());
    }
    let found = arguments.get(output.0).expect("the output").values();
    let complex =
        found.map(|value| match sdfg::tasklet::arith::cast(value, sdfg::dtype::ScalarType::Complex128) {
            Value::Complex128(value) => value,
            other => panic!("{other:?}"),
        });
    complex.collect()
}

fn close(found: &[Complex<f64>], expected: &[Complex<f64>], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        let distance = (found.re - expected.re).hypot(found.im - expected.im);
        assert!(distance <= tolerance, "{what}: {found:?} instead of {expected:?}");
    }
}

const ELEMENTS: [(&str, f64); 3] = [("f64", 1e-9), ("f32", 2e-2), ("complex128", 1e-9)];

#[test]
fn solutions_solve_their_equations() {
    for (element, tolerance) in ELEMENTS {
        let complex = element == "complex128";
        for (n, columns) in [(2, None), (4, Some(3)), (5, None), (3, Some(3))] {
            let mut a = numbers(n as u64, n * n, complex);
            // Nothing to divide by: rows must be exchanged.
            a[0] = Complex::default();
            let size = n as i64;
            let shape: Vec<i64> = [size].into_iter().chain(columns).collect();
            let width = columns.map_or(1, |columns| columns as usize);
            let b = numbers(9 + n as u64, n * width, complex);
            let square = [size, size];
            let inputs = [("_ain", square.as_slice(), a.clone()), ("_bin", &shape, b.clone())];
            let found = results("Solve (_ain, _bin) -> (_bout) {}", element, &inputs, ("_bout", &shape));
            for x in found {
                close(&product(&a, &x, n, width), &b, tolerance * 10.0, element);
            }
        }
    }
}

#[test]
fn inverses_give_the_unit_matrix() {
    for (element, tolerance) in ELEMENTS {
        for n in [2, 3, 5] {
            let mut a = numbers(n as u64, n * n, element == "complex128");
            a[n + 1] = Complex::default();
            let shape = [n as i64, n as i64];
            let found = results(
                "Inv (_ain) -> (_aout) {}",
                element,
                &[("_ain", &shape, a.clone())],
                ("_aout", &shape),
            );
            for inverse in found {
                close(&product(&a, &inverse, n, n), &unit(n), tolerance, element);
            }
        }
    }
}

#[test]
fn factors_of_positive_definite_matrices() {
    for (element, tolerance) in ELEMENTS {
        for (n, lower) in [(2, true), (4, true), (3, false), (5, false)] {
            let root = numbers(n as u64, n * n, element == "complex128");
            let mut a = product(&root, &adjoint(&root, n), n, n);
            (0..n).for_each(|k| a[k * n + k].re += 1.0);
            let shape = [n as i64, n as i64];
            let node =
                format!("Cholesky (_a) -> (_b) {{ lower = {} }}", if lower { "True" } else { "False" });
            for factor in results(&node, element, &[("_a", &shape, a.clone())], ("_b", &shape)) {
                let beside = (0..n * n).filter(|k| if lower { k % n > k / n } else { k % n < k / n });
                beside.for_each(|k| assert_eq!(factor[k], Complex::default(), "{node}"));
                let other = adjoint(&factor, n);
                let (left, right) = if lower { (&factor, &other) } else { (&other, &factor) };
                close(&product(left, right, n, n), &a, tolerance * 100.0, &node);
            }
        }
    }
}

#[test]
fn transforms_and_their_inverses() {
    for n in [2_usize, 3, 8, 13] {
        let shape = [n as i64];
        let x = numbers(n as u64, n, true);
        let root = |power: usize| {
            let angle = -std::f64::consts::TAU * power as f64 / n as f64;
            Complex::new(angle.cos(), angle.sin())
        };
        let matrix: Numbers = (0..n * n).map(|k| root(k / n * (k % n))).collect();
        let expected = product(&matrix, &x, n, 1);
        for y in
            results("FFT (_inp) -> (_out) {}", "complex128", &[("_inp", &shape, x.clone())], ("_out", &shape))
        {
            close(&y, &expected, 1e-9, "FFT");
            let node = "IFFT (_inp) -> (_out) { factor = 1 / N }";
            for back in results(node, "complex128", &[("_inp", &shape, y)], ("_out", &shape)) {
                close(&back, &x, 1e-9, "IFFT");
            }
        }
    }
}
