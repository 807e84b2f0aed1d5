//! Tests of operations with rounded results: the interpreter and the expansion satisfy the defining equation
//! within a tolerance.

use std::collections::BTreeMap;

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::tasklet::arith::cast;
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
    let mut result = vec![Complex::default(); a.len().checked_div(n).unwrap_or(0) * width];
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
    let count = output.1.iter().product::<i64>() as usize;
    let given: Vec<_> =
        inputs.iter().cloned().chain([(output.0, output.1, vec![Complex::default(); count])]).collect();
    both(&text, &given, output.1[0]).map(|mut found| found.remove(output.0).expect("the output"))
}

/// The containers after a run by the interpreter and after one of what it is expanded to.
fn both(text: &str, given: &[Argument<'_>], n: i64) -> [BTreeMap<String, Numbers>; 2] {
    let parsed = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
    let expanded = expand(&parsed, &BuiltIn).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    [run(&parsed, given, n), run(&expanded, given, n)]
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

fn run(sdfg: &Sdfg, given: &[Argument<'_>], n: i64) -> BTreeMap<String, Numbers> {
    let printed = || sdfg::text::print(sdfg);
    let validated = validate(sdfg.clone()).unwrap_or_else(|rejected| panic!("{rejected} in\n{}", printed()));
    let mut arguments = Arguments::new();
    for (name, shape, elements) in given {
        let element = sdfg.container(sdfg.find_container(name).expect("a container")).element;
        let mut data = vec![0; elements.len() * element.size()];
        for (number, place) in elements.iter().zip(data.chunks_mut(element.size())) {
            cast(Value::Complex128(*number), element.lane()).write(place);
        }
        let tensor = Tensor::from_bytes(element, shape.to_vec(), data);
        arguments.set(*name, tensor.expect("as many numbers as elements"));
    }
    arguments.set_symbol("N", n);
    let options = Options { order: Order::Random(3), libraries: Some(&BuiltIn), ..Options::default() };
    let mut interpreter = Interpreter::new(&validated).expect("the interpreter runs it");
    if let Err(error) = interpreter.run(&mut arguments, &options) {
        panic!("{error} in\n{}", printed());
    }
    let number = |value| match cast(value, ScalarType::Complex128) {
        Value::Complex128(value) => value,
        other => panic!("{other:?}"),
    };
    let found = given.iter().map(|(name, _, _)| (name, arguments.get(name).expect("an argument")));
    found.map(|(name, tensor)| ((*name).to_owned(), tensor.values().map(number).collect())).collect()
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
        for (n, columns) in
            [(2, None), (4, Some(3)), (5, None), (3, Some(3)), (1, None), (1, Some(4)), (0, None)]
        {
            let mut a = numbers(n as u64, n * n, complex);
            if n > 1 {
                // Nothing to divide by: rows must be exchanged.
                a[0] = Complex::default();
            }
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
        let sizes: &[usize] = if element == "f64" { &[0, 1, 2, 5] } else { &[3] };
        for n in sizes.iter().copied() {
            let mut a = numbers(n as u64, n * n, element == "complex128");
            if n > 1 {
                a[n + 1] = Complex::default();
            }
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
        for (n, lower) in [(2, true), (4, true), (3, false), (5, false), (1, true), (0, false)] {
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
    // Of every kind of factor: fours, a two, odd ones, several; larger primes and a multiple, of which 11, 17, 22 and
    // 29 have convolutions of every kind of length; that of 22 is too short with a little less.
    let lengths = [0_usize, 1, 2, 11, 17, 29, 30, 64];
    let cases = lengths.map(|n| (n, "complex128", "", 1e-9)).into_iter();
    let others = [
        (24, "complex64", "", 1e-2),
        (22, "complex64", "", 1e-2),
        (10, "complex128", " expansion(pure)", 1e-9),
    ];
    for (n, element, expansion, tolerance) in cases.chain(others) {
        let shape = [n as i64];
        let x = numbers(n as u64, n, true);
        let root = |power: usize| {
            let angle = -std::f64::consts::TAU * (power % n) as f64 / n as f64;
            Complex::new(angle.cos(), angle.sin())
        };
        let matrix: Numbers = (0..n * n).map(|k| root(k / n * (k % n))).collect();
        let expected = product(&matrix, &x, n, 1);
        let node = format!("FFT (_inp) -> (_out) {{}}{expansion}");
        for y in results(&node, element, &[("_inp", &shape, x.clone())], ("_out", &shape)) {
            close(&y, &expected, tolerance, &format!("{node} of {n}"));
            let node = format!("IFFT (_inp) -> (_out) {{ factor = 1 / N }}{expansion}");
            for back in results(&node, element, &[("_inp", &shape, y)], ("_out", &shape)) {
                close(&back, &x, tolerance, &format!("{node} of {n}"));
            }
        }
    }
}

/// Vectors that are shorter than some factor of a pass, which would leave them.
#[test]
fn transforms_of_as_many_elements_as_the_text_says() {
    for n in 0..9_usize {
        let shape = [n as i64];
        let x = numbers(n as u64, n, true);
        let text = program(
            "FFT (_inp) -> (_out) {}",
            "complex128",
            &[("_inp", &shape, x.clone())],
            ("_out", &shape),
        );
        let text = text.replace("[N]", &format!("[{n}]"));
        let given = [("_inp", &shape[..], x.clone()), ("_out", &shape[..], x)];
        let [interpreted, expanded] = both(&text, &given, 0);
        close(&expanded["_out"], &interpreted["_out"], 1e-9, &text);
    }
}

/// Lines along each axis, one after the other, are what a transform of several dimensions is (`numpy.fft.fftn`).
#[test]
fn transforms_of_several_dimensions() {
    let root = |power: usize, n: usize| {
        let angle = -std::f64::consts::TAU * (power % n) as f64 / n as f64;
        Complex::new(angle.cos(), angle.sin())
    };
    let cases: [(&[i64], Option<i64>); 7] = [
        (&[3, 4], None),
        (&[8, 11], None),
        (&[2, 3, 5], None),
        (&[2, 3, 5], Some(1)),
        (&[4, 3], Some(0)),
        (&[4, 3], Some(-1)),
        (&[6], Some(0)),
    ];
    for (shape, axis) in cases {
        for expansion in ["", " expansion(pure)"] {
            let count = shape.iter().product::<i64>() as usize;
            let x = numbers(count as u64, count, true);
            let rank = shape.len() as i64;
            let is_of = |at: usize| axis.is_none_or(|axis| axis.rem_euclid(rank) == at as i64);
            let indices = |mut place: usize| -> Vec<usize> {
                let mut found = vec![0; shape.len()];
                for (index, size) in found.iter_mut().zip(shape).rev() {
                    (*index, place) = (place % *size as usize, place / *size as usize);
                }
                found
            };
            // By the definition, without an order of axes.
            let expected = (0..count).map(|to| {
                (0..count).fold(Complex::default(), |sum: Complex<f64>, from| {
                    let mut term = x[from];
                    for (at, (to, from)) in indices(to).into_iter().zip(indices(from)).enumerate() {
                        let unit = Complex::new(f64::from(u8::from(to == from)), 0.0);
                        let factor = if is_of(at) { root(to * from, shape[at] as usize) } else { unit };
                        term = times(term, factor);
                    }
                    Complex::new(sum.re + term.re, sum.im + term.im)
                })
            });
            let expected: Numbers = expected.collect();
            let along = axis.map(|axis| format!("axis = {axis}")).unwrap_or_default();
            let node = format!("FFT (_inp) -> (_out) {{ {along} }}{expansion}");
            let n: usize = (0..shape.len()).filter(|at| is_of(*at)).map(|at| shape[at] as usize).product();
            let back = format!("IFFT (_inp) -> (_out) {{ factor = 1 / {n}; {along} }}{expansion}");
            for y in results(&node, "complex128", &[("_inp", shape, x.clone())], ("_out", shape)) {
                close(&y, &expected, 1e-9, &format!("{node} of {shape:?}"));
                for again in results(&back, "complex128", &[("_inp", shape, y)], ("_out", shape)) {
                    close(&again, &x, 1e-9, &format!("{back} of {shape:?}"));
                }
            }
        }
    }
}

/// A transform of a matrix in its place, and one that is added to what is there.
#[test]
fn transforms_of_several_dimensions_in_place() {
    for resolution in ["", " wcr(sum)"] {
        let text = format!(
            "sdfg p {{
  symbol N: i64
  array A: complex128[N, 3]
  state s {{
    access A
    access B = A
    library node: FFT (_inp) -> (_out) {{ factor = N }}
    A -> node._inp: A[:, :]
    node._out -> B: A[:, :]{resolution}
  }}
}}"
        );
        let a = vec![Complex::new(1.0, 0.0); 12];
        for found in both(&text, &[("A", &[4, 3], a.clone())], 4) {
            let mut expected = vec![Complex::default(); 12];
            expected[0].re = 48.0;
            if !resolution.is_empty() {
                expected.iter_mut().for_each(|number| number.re += 1.0);
            }
            close(&found["A"], &expected, 1e-9, &text);
        }
    }
}

/// Only the last of several axes adds to the output. Four of them use both memories between, the first one twice.
#[test]
fn the_last_axis_adds_to_what_is_there() {
    let (shape, count) = (&[4, 3, 2, 2][..], 48);
    let program = |resolution: &str| {
        format!(
            "sdfg p {{
  symbol N: i64
  array A: complex128[N, 3, 2, 2]
  array B: complex128[N, 3, 2, 2]
  state s {{
    access A
    access B
    library node: FFT (_inp) -> (_out) {{ factor = 3 }}
    A -> node._inp: A[:, :, :, :]
    node._out -> B: B[:, :, :, :]{resolution}
  }}
}}"
        )
    };
    let before = numbers(2, count, true);
    let given = [("A", shape, numbers(1, count, true)), ("B", shape, before.clone())];
    let results = |resolution: &str| both(&program(resolution), &given, 4).map(|mut found| found.remove("B"));
    for (replaced, added) in results("").into_iter().zip(results(" wcr(sum)")) {
        let sums = before.iter().zip(replaced.expect("the output"));
        let expected: Numbers = sums.map(|(a, b)| Complex::new(a.re + b.re, a.im + b.im)).collect();
        close(&added.expect("the output"), &expected, 1e-9, "a transform that is added");
    }
}

/// Previous contents of a transform's output, and a part of a matrix that is transformed.
#[test]
fn transforms_are_added_to_what_is_there() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N, 3]
  array B: complex128[2, N]
  state s {
    access A
    access B
    library node: FFT (_inp) -> (_out) { factor = 2 }
    A -> node._inp: A[:, 1]
    node._out -> B: B[1, :] wcr(sum)
  }
}";
    let (n, a) = (6, numbers(3, 18, false));
    let given: [Argument<'_>; 2] =
        [("A", &[n, 3], a.clone()), ("B", &[2, n], vec![Complex::new(1.0, 0.0); 12])];
    for found in both(text, &given, n) {
        let sum: f64 = a.iter().skip(1).step_by(3).map(|number| number.re).sum();
        close(
            &found["B"][..7],
            &[vec![Complex::new(1.0, 0.0); 6], vec![Complex::new(2.0 * sum + 1.0, 0.0)]].concat(),
            1e-9,
            text,
        );
    }
}

/// LAPACK's operations in a row, where DaCe wants them: outputs in the containers of the inputs.
const FACTORED: &str = "sdfg p {
  symbol N: i64
  array A: T[N, N]
  array b: T[N, 2]
  array inverse: T[N, N]
  array pivots: i32[N]
  array results: i32[3]
  state factor {
    access A
    access factors = A
    access pivots
    access results
    library lu: Getrf (_xin) -> (_ipiv, _xout, _res) { n = N }
    A -> lu._xin
    lu._xout -> factors
    lu._ipiv -> pivots
    lu._res -> results: results[0]
  }
  state use {
    access A
    access b
    access solved = b
    access inverse
    access pivots
    access results
    library solve: Getrs (_a, _rhs_in, _ipiv) -> (_rhs_out, _res) {}
    A -> solve._a
    b -> solve._rhs_in
    pivots -> solve._ipiv
    solve._rhs_out -> solved
    solve._res -> results: results[1]
    library invert: Getri (_xin, _ipiv) -> (_xout, _res) {}
    A -> invert._xin
    pivots -> invert._ipiv
    invert._xout -> inverse
    invert._res -> results: results[2]
  }
}";

#[test]
fn factors_with_exchanged_rows_solve_and_invert() {
    for (element, tolerance) in ELEMENTS {
        let text = FACTORED.replace("T[", &format!("{element}["));
        let sizes: &[usize] = if element == "f64" { &[0, 1, 2, 7] } else { &[5] };
        for n in sizes.iter().copied() {
            let size = n as i64;
            let mut a = numbers(n as u64, n * n, element == "complex128");
            if n > 1 {
                a[0] = Complex::default();
            }
            let b = numbers(77, 2 * n, element == "complex128");
            let zeros = |count| vec![Complex::default(); count];
            let given: [Argument<'_>; 5] = [
                ("A", &[size, size], a.clone()),
                ("b", &[size, 2], b.clone()),
                ("inverse", &[size, size], zeros(n * n)),
                ("pivots", &[size], zeros(n)),
                ("results", &[3], numbers(5, 3, false)),
            ];
            for found in both(&text, &given, size) {
                assert_eq!(found["results"], zeros(3), "{element} {n}");
                let (mut lower, mut upper) = (found["A"].clone(), found["A"].clone());
                for k in 0..n * n {
                    let (row, column) = (k / n, k % n);
                    let beside = if row > column { &mut upper[k] } else { &mut lower[k] };
                    *beside = Complex::default();
                    // Pivots are the largest, by the sum of the parts of complex numbers.
                    assert!(lower[k].re.hypot(lower[k].im) <= 2_f64.sqrt() + 1e-6, "{element} {n}");
                    lower[k].re += f64::from(u8::from(row == column));
                }
                let mut exchanged = a.clone();
                for (row, with) in found["pivots"].iter().enumerate() {
                    (0..n).for_each(|j| exchanged.swap(row * n + j, (with.re as usize - 1) * n + j));
                }
                close(&product(&lower, &upper, n, n), &exchanged, tolerance, element);
                close(&product(&a, &found["b"], n, 2), &b, tolerance * 10.0, element);
                close(&product(&a, &found["inverse"], n, n), &unit(n), tolerance * 10.0, element);
            }
        }
    }
}

#[test]
fn factors_of_matrices_that_are_not_square_or_have_none() {
    let text = "sdfg p {
  symbol N: i64
  array A: f64[N, 3]
  array factors: f64[N, 3]
  array pivots: i64[min(N, 3)]
  scalar result: i32
  state s {
    access A
    access factors
    access pivots
    access result
    library lu: Getrf (_xin) -> (_xout, _ipiv, _res) {}
    A -> lu._xin
    lu._xout -> factors
    lu._ipiv -> pivots
    lu._res -> result
  }
}";
    let real = |numbers: &[f64]| -> Numbers { numbers.iter().map(|re| Complex::new(*re, 0.0)).collect() };
    for (n, a, factors, pivots, result) in [
        (2, vec![1.0, 2.0, 3.0, 2.0, 6.0, 4.0], vec![2.0, 6.0, 4.0, 0.5, -1.0, 1.0], vec![2.0, 2.0], 0.0),
        (
            4,
            vec![0.0, 1.0, 2.0, 0.0, 2.0, 8.0, 0.0, 1.0, 4.0, 0.0, -1.0, 4.0],
            vec![0.0, 1.0, 2.0, 0.0, 2.0, 8.0, 0.0, -0.5, 8.0, 0.0, 0.5, 0.0],
            vec![1.0, 2.0, 4.0],
            1.0,
        ),
    ] {
        let columns = pivots.len() as i64;
        let given: [Argument<'_>; 4] = [
            ("A", &[n, 3], real(&a)),
            ("factors", &[n, 3], real(&vec![9.0; a.len()])),
            ("pivots", &[columns], real(&vec![9.0; pivots.len()])),
            ("result", &[], real(&[9.0])),
        ];
        for found in both(text, &given, n) {
            assert_eq!(found["factors"], real(&factors));
            assert_eq!(found["pivots"], real(&pivots));
            assert_eq!(found["result"], real(&[result]));
        }
    }
}

/// LAPACK's factor of a matrix, in the place of the matrix.
const HALF: &str = "sdfg p {
  symbol N: i64
  array A: T[N, N]
  scalar result: i32
  state s {
    access A
    access after = A
    access result
    library half: Potrf (_xin) -> (_res, _xout) { lower = LOWER; n = N }
    A -> half._xin
    half._xout -> after
    half._res -> result
  }
}";

#[test]
fn factors_in_one_half_of_a_positive_definite_matrix() {
    for (element, lower, n, broken) in [
        ("f64", true, 4, None),
        ("complex128", false, 3, None),
        ("f64", false, 5, Some(3)),
        ("f32", true, 1, None),
    ] {
        let text = HALF.replace("T[", &format!("{element}["));
        let text = text.replace("LOWER", if lower { "True" } else { "False" });
        let root = numbers(n as u64, n * n, element == "complex128");
        let mut a = product(&root, &adjoint(&root, n), n, n);
        (0..n).for_each(|k| a[k * n + k].re += 1.0);
        if let Some(at) = broken {
            a[at * n + at].re = -1.0;
        }
        let size = n as i64;
        let given: [Argument<'_>; 2] =
            [("A", &[size, size], a.clone()), ("result", &[], vec![Complex::new(9.0, 0.0)])];
        for found in both(&text, &given, size) {
            let expected = broken.map_or(0.0, |at| at as f64 + 1.0);
            assert_eq!(found["result"], [Complex::new(expected, 0.0)], "{text}");
            let is_beside = |k: &usize| if lower { k % n > k / n } else { k % n < k / n };
            let mut factor = found["A"].clone();
            for k in (0..n * n).filter(is_beside) {
                close(&factor[k..=k], &a[k..=k], 1e-4, "the other half is kept");
                factor[k] = Complex::default();
            }
            if broken.is_none() {
                let other = adjoint(&factor, n);
                let (left, right) = if lower { (&factor, &other) } else { (&other, &factor) };
                close(&product(left, right, n, n), &a, 1e-3, element);
            }
        }
    }
}

/// Versions of DaCe before 0.16 drop results that nobody reads.
#[test]
fn without_results_operations_of_lapack_compute_the_same() {
    let size = 4;
    let root = numbers(4, 16, false);
    let mut a = product(&root, &adjoint(&root, 4), 4, 4);
    (0..4).for_each(|k| a[k * 5].re += 1.0);
    let given: [Argument<'_>; 4] = [
        ("A", &[size, size], a),
        ("b", &[size, 2], numbers(77, 8, false)),
        ("inverse", &[size, size], vec![Complex::default(); 16]),
        ("pivots", &[size], vec![Complex::default(); 4]),
    ];
    let results: [Argument<'_>; 2] =
        [("results", &[3], vec![Complex::default(); 3]), ("result", &[], vec![Complex::default()])];
    for (text, arguments, result) in [(FACTORED, &given[..], &results[0]), (HALF, &given[..1], &results[1])] {
        let text = text.replace("T[", "f64[").replace("LOWER", "False");
        let asked = [arguments, std::slice::from_ref(result)].concat();
        let lines = text.lines().filter(|line| !line.contains("result"));
        let bare: String =
            lines.map(|line| line.replace(", _res", "").replace("_res, ", "") + "\n").collect();
        assert!(!bare.contains("_res"), "{bare}");
        for (mut with, without) in both(&text, &asked, size).into_iter().zip(both(&bare, arguments, size)) {
            with.remove(result.0);
            assert_eq!(with, without, "{bare}");
        }
    }
}
