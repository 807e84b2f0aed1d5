//! Tests of library nodes in native code: expanded and compiled nodes give the results of the interpreter.

use std::num::NonZeroU32;

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg::value::{Complex, Value};
use sdfg_codegen::llvm::{self, CompileOptions};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::lower;
use sdfg_library::{BuiltIn, expand};
use sdfg_programs::trusted;

/// The extent of every dimension.
const N: i64 = 9;

/// A node, the arrays at its inputs and at its output with their ranks.
type Case = (&'static str, &'static [(&'static str, usize)], (&'static str, usize));

const CASES: [Case; 14] = [
    ("MatMul (_a, _b) -> (_c) { alpha = 2 }", &[("_a", 2), ("_b", 2)], ("_c", 2)),
    ("MatMul (_a, _b) -> (_c) {}", &[("_a", 3), ("_b", 2)], ("_c", 3)),
    ("Gemm (_a, _b) -> (_c) { transA = True; beta = 3 }", &[("_a", 2), ("_b", 2)], ("_c", 2)),
    ("Gemm (_a, _b) -> (_c) { transB = True; beta = 1 }", &[("_a", 2), ("_b", 2)], ("_c", 2)),
    ("Gemv (_A, _x) -> (_y) { transA = True; beta = 2 }", &[("_A", 2), ("_x", 1)], ("_y", 1)),
    ("Ger (_x, _y, _A) -> (_res) {}", &[("_x", 1), ("_y", 1), ("_A", 2)], ("_res", 2)),
    ("Dot (_x, _y) -> (_result) {}", &[("_x", 1), ("_y", 1)], ("_result", 0)),
    ("Einsum (p, q) -> (r) { einsum_str = aij_kj_to_ka }", &[("p", 3), ("q", 2)], ("r", 2)),
    (
        "TensorTranspose (_inp_tensor) -> (_out_tensor) { axes_0 = 2; axes_1 = 0; axes_2 = 1 }",
        &[("_inp_tensor", 3)],
        ("_out_tensor", 3),
    ),
    ("Axpy (_x, _y) -> (_res) { a = 0.5 }", &[("_x", 2), ("_y", 2)], ("_res", 2)),
    ("Fill () -> (_fill_out) { value = N / 2 }", &[], ("_fill_out", 2)),
    ("Solve (_ain, _bin) -> (_bout) {}", &[("_ain", 2), ("_bin", 2)], ("_bout", 2)),
    ("Inv (_ain) -> (_aout) {}", &[("_ain", 2)], ("_aout", 2)),
    ("Cholesky (_a) -> (_b) {}", &[("_a", 2)], ("_b", 2)),
];

fn program((node, inputs, output): &Case) -> String {
    let mut header = String::from("sdfg p {\nsymbol N: i64\n");
    let mut state = format!("library node: {node}\n");
    for (name, rank) in inputs.iter().chain([output]) {
        match rank {
            0 => header.push_str(&format!("scalar {name}: f64\n")),
            rank => header.push_str(&format!("array {name}: f64[{}]\n", vec!["N"; *rank].join(", "))),
        }
        state.push_str(&format!("access {name}\n"));
    }
    for (name, _) in *inputs {
        state.push_str(&format!("{name} -> node.{name}\n"));
    }
    format!("{header}state main {{\n{state}node.{0} -> {0}\n}}\n}}\n", output.0)
}

/// Numbers between -1 and 1, and a large diagonal, so that matrices have inverses and roots.
fn arguments(case: &Case) -> Arguments {
    let mut arguments = Arguments::new();
    for (name, rank) in case.1.iter().chain([&case.2]) {
        let n = N as usize;
        let number = |k: usize| {
            let (i, j) = (k / n, k % n);
            let diagonal = if i == j { 20.0 } else { 0.0 };
            diagonal + ((i.max(j) * 7 + i.min(j) * 13) % 11) as f64 / 5.0 - 1.0
        };
        let numbers: Vec<f64> = (0..n.pow(*rank as u32)).map(number).collect();
        arguments.set(*name, Tensor::new(&vec![N; *rank], &numbers).expect("as many numbers as elements"));
    }
    arguments.set_symbol("N", N);
    arguments
}

fn interpreted(sdfg: Sdfg, case: &Case) -> Vec<f64> {
    let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
    let mut results = arguments(case);
    let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
    let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
    interpreter.run(&mut results, &options).unwrap_or_else(|error| panic!("{error}"));
    results.get(case.2.0).expect("the output").to_vec().expect("numbers")
}

fn compiled(sdfg: &Sdfg) -> Library {
    let expanded = expand(sdfg, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
    let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options = CompileOptions { parallel_threshold: 0, ..CompileOptions::default() };
    let plan =
        lower(&expanded, &options.target(), &options.lowering()).unwrap_or_else(|error| panic!("{error}"));
    let object = llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
    Library::load(&object).unwrap_or_else(|error| panic!("{error}"))
}

fn native(sdfg: &Sdfg, case: &Case) -> Vec<f64> {
    let library = compiled(sdfg);
    let mut results = arguments(case);
    trusted::run(&library, &mut results, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
    results.get(case.2.0).expect("the output").to_vec().expect("numbers")
}

#[test]
fn native_code_gives_what_the_interpreter_computes() {
    for case in &CASES {
        let text = program(case);
        let sdfg =
            sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
        let (found, expected) = (native(&sdfg, case), interpreted(sdfg, case));
        assert_eq!(found.len(), expected.len(), "{text}");
        for (found, expected) in found.iter().zip(&expected) {
            let error = (found - expected).abs() / expected.abs().max(1.0);
            assert!(error < 1e-12, "{found} instead of {expected} in\n{text}");
        }
    }
}

/// LAPACK's operations, which have several outputs, some of them in the memory of inputs.
const FACTORED: &str = "sdfg p {
  symbol N: i64
  array A: f64[N, N]
  array S: f64[N, N]
  array b: f64[N]
  array pivots: i32[N]
  array results: i32[4]
  state factor {
    access A
    access factors = A
    access S
    access half = S
    access pivots
    access results
    library lu: Getrf (_xin) -> (_ipiv, _xout, _res) {}
    A -> lu._xin
    lu._xout -> factors
    lu._ipiv -> pivots
    lu._res -> results: results[0]
    library root: Potrf (_xin) -> (_xout, _res) { lower = False }
    S -> root._xin
    root._xout -> half
    root._res -> results: results[1]
  }
  state use {
    access A
    access inverse = A
    access b
    access solved = b
    access pivots
    access results
    library solve: Getrs (_a, _rhs_in, _ipiv) -> (_rhs_out, _res) {}
    A -> solve._a
    b -> solve._rhs_in
    pivots -> solve._ipiv
    solve._rhs_out -> solved
    solve._res -> results: results[2]
    library invert: Getri (_xin, _ipiv) -> (_xout, _res) {}
    A -> invert._xin
    pivots -> invert._ipiv
    invert._xout -> inverse
    invert._res -> results: results[3]
    order solved -> invert
  }
}";

#[test]
fn native_code_factors_as_the_interpreter_does() {
    let sdfg = sdfg::text::parse("p.sdft", FACTORED).unwrap_or_else(|errors| panic!("{errors:?}"));
    let library = compiled(&sdfg);
    for n in [0_usize, 1, 2, 11, 70] {
        let numbers = |seed: usize| (0..n * n).map(move |k| (3 * k * k + k + seed) as f64).map(f64::sin);
        // One without a pattern, which has its pivots anywhere, and one that is positive definite but for its last row.
        let general: Vec<f64> = numbers(1).collect();
        let mut definite: Vec<f64> = (0..n * n).map(|k| ((k / n + k % n) % 5) as f64).collect();
        (0..n).for_each(|k| {
            definite[k * n + k] = if k > 4 && k + 1 == n { -1.0 } else { 30.0 + 3.0 * n as f64 }
        });
        let arguments = || {
            let mut arguments = Arguments::new();
            let square = [n as i64, n as i64];
            arguments.set("A", Tensor::new(&square, &general).expect("a matrix"));
            arguments.set("S", Tensor::new(&square, &definite).expect("a matrix"));
            arguments.set("b", Tensor::vector(&numbers(5).take(n).collect::<Vec<f64>>()));
            arguments.set("pivots", Tensor::vector(&vec![7_i32; n]));
            arguments.set("results", Tensor::vector(&[7_i32; 4]));
            arguments.with_symbol("N", n as i64)
        };
        let program = validate(sdfg.clone()).unwrap_or_else(|rejected| panic!("{rejected}"));
        let mut expected = arguments();
        let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
        let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
        interpreter.run(&mut expected, &options).unwrap_or_else(|error| panic!("{error}"));
        let mut found = arguments();
        trusted::run(&library, &mut found, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
        for name in ["pivots", "results"] {
            assert_eq!(found.get(name), expected.get(name), "{name} of {n} rows");
        }
        for name in ["A", "S", "b"] {
            let [found, expected]: [Vec<f64>; 2] =
                [&found, &expected].map(|all| all.get(name).expect("it is there").to_vec().expect("numbers"));
            for (found, expected) in found.iter().zip(&expected) {
                let is_near = (found - expected).abs() <= 1e-10 * expected.abs().max(1.0);
                assert!(
                    is_near || found.is_nan() && expected.is_nan(),
                    "{name}: {found} instead of {expected}"
                );
            }
        }
    }
}

/// Factors and solutions of matrices with several panels of columns, the last one not full, or with one.
#[test]
fn factors_by_panels() {
    let cases: [Case; 5] = [
        ("Solve (_ain, _bin) -> (_bout) {}", &[("_ain", 2), ("_bin", 2)], ("_bout", 2)),
        ("Solve (_ain, _bin) -> (_bout) {}", &[("_ain", 2), ("_bin", 1)], ("_bout", 1)),
        ("Inv (_ain) -> (_aout) {}", &[("_ain", 2)], ("_aout", 2)),
        ("Cholesky (_a) -> (_b) {}", &[("_a", 2)], ("_b", 2)),
        ("Cholesky (_a) -> (_b) { lower = False }", &[("_a", 2)], ("_b", 2)),
    ];
    for case in &cases {
        let text = program(case);
        let sdfg =
            sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
        let expanded = expand(&sdfg, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
        assert!(sdfg::text::print(&expanded).contains("map __blocks"), "no product in\n{text}");
        let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
        // Loops that have little to do start no threads, as users' have not.
        let options = CompileOptions::default();
        let plan = lower(&expanded, &options.target(), &options.lowering())
            .unwrap_or_else(|error| panic!("{error}"));
        let object = llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
        let library = Library::load(&object).unwrap_or_else(|error| panic!("{error}"));
        let checked = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        for n in [0_i64, 1, 64, 150] {
            let arguments = || {
                let mut arguments = Arguments::new().with_symbol("N", n);
                for (name, rank) in case.1.iter().chain([&case.2]) {
                    let number = |k: i64| {
                        let (i, j) = (k / n, k % n);
                        let diagonal = if i == j { 3.0 * n as f64 } else { 0.0 };
                        diagonal + ((i.max(j) * 7 + i.min(j) * 13) % 11) as f64 / 5.0 - 1.0
                    };
                    let numbers: Vec<f64> = (0..n.pow(*rank as u32)).map(number).collect();
                    let tensor = Tensor::new(&vec![n; *rank], &numbers);
                    arguments.set(*name, tensor.expect("as many numbers as elements"));
                }
                arguments
            };
            let (mut expected, mut found) = (arguments(), arguments());
            let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
            let mut interpreter = Interpreter::new(&checked).expect("the interpreter runs it");
            interpreter.run(&mut expected, &options).unwrap_or_else(|error| panic!("{error}"));
            trusted::run(&library, &mut found, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
            let [found, expected]: [Vec<f64>; 2] = [&found, &expected]
                .map(|all| all.get(case.2.0).expect("the output").to_vec().expect("numbers"));
            for (found, expected) in found.iter().zip(&expected) {
                let error = (found - expected).abs() / expected.abs().max(1.0);
                assert!(error < 1e-11, "{found} instead of {expected} for {n} in\n{text}");
            }
        }
    }
}

#[test]
fn native_code_transforms_as_the_interpreter_does() {
    for node in ["FFT", "IFFT"] {
        let text = "sdfg p {
  symbol N: i64
  array x: complex128[N]
  array y: complex128[N]
  state s {
    access x
    access y
    library node: FFT (_inp) -> (_out) { factor = 0.5 }
    x -> node._inp
    node._out -> y
  }
}";
        let text = text.replace("FFT", node);
        let sdfg = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let library = compiled(&sdfg);
        let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        for n in [0_usize, 1, 7, 32, 60, 128, 3 * 5 * 11, 2 * 7 * 13, 17 * 9, 4 * 49, 509] {
            let numbers: Vec<Complex<f64>> =
                (0..n).map(|k| Complex::new((k as f64 * 1.7).sin(), (k as f64 * k as f64).cos())).collect();
            let arguments = || {
                let mut arguments = Arguments::new();
                arguments.set("x", Tensor::vector(&numbers));
                arguments.set("y", Tensor::vector(&vec![Complex::<f64>::default(); n]));
                arguments.with_symbol("N", n as i64)
            };
            let (mut expected, mut found) = (arguments(), arguments());
            let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
            let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
            interpreter.run(&mut expected, &options).unwrap_or_else(|error| panic!("{error}"));
            trusted::run(&library, &mut found, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
            let [found, expected]: [Vec<Complex<f64>>; 2] =
                [&found, &expected].map(|all| all.get("y").expect("it is there").to_vec().expect("numbers"));
            for (found, expected) in found.iter().zip(&expected) {
                let distance = (found.re - expected.re).hypot(found.im - expected.im);
                assert!(distance < 1e-11, "{found:?} instead of {expected:?} of {n}");
            }
        }
    }
}

fn file(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/dace/tests/programs");
    std::fs::read(folder.join(name)).expect("it is committed")
}

fn import(bytes: &[u8]) -> Sdfg {
    let import = sdfg_dace::read(bytes, &sdfg_dace::Options::default());
    import.unwrap_or_else(|refused| panic!("{}", refused.report)).sdfg
}

/// Stencils in a graph that DaCe made, as it is, written and read again, and with a symbol that is no integer, which becomes an input.
#[test]
fn graphs_of_dace_with_stencils_compute_what_numpy_computes() {
    for name in ["offsets", "swept"] {
        let graph = import(&file(&format!("{name}.sdfg")));
        dace_computes(name, &graph);
        let written = sdfg_dace::write(&graph, sdfg_dace::Form::Plain);
        dace_computes(name, &import(&written.unwrap_or_else(|error| panic!("{error}"))));
    }
    let text = String::from_utf8(file("offsets.sdfg")).expect("it is text");
    let float = text.replace(r#""K":"int64""#, r#""K":"float64""#);
    assert_ne!(float, text, "the symbol is declared in another way");
    dace_computes("offsets", &import(float.as_bytes()));
}

/// LAPACK's nodes in a graph that DaCe made, some of them as the calls that it expands them to.
#[test]
fn graphs_of_dace_with_lapack_compute_what_numpy_computes() {
    dace_computes("lapack", &import(&file("lapack.sdfg")));
}

/// Flags, hints for other devices and properties that are at their defaults, as DaCe 0.14 writes them.
#[test]
fn graphs_of_dace_with_every_property_compute_what_numpy_computes() {
    let graph = import(&file("spelled.sdfg"));
    dace_computes("spelled", &graph);
    let written = sdfg_dace::write(&graph, sdfg_dace::Form::Plain);
    dace_computes("spelled", &import(&written.unwrap_or_else(|error| panic!("{error}"))));
}

/// The graph that DaCe 2 generates for `numpy.where` and `numpy.roll`.
#[test]
fn graphs_of_dace_with_merges_and_shifts_compute_what_numpy_computes() {
    dace_computes("rolled", &import(&file("rolled.version2.sdfg")));
}

/// The interpreter and native code compute from a graph what stands beside it.
fn dace_computes(name: &str, graph: &Sdfg) {
    let data: serde_json::Value = serde_json::from_slice(&file(&format!("{name}.json"))).expect("it is JSON");
    let library = compiled(graph);
    let program = validate(graph.clone()).unwrap_or_else(|rejected| panic!("{rejected}"));
    let mut arguments = Arguments::new();
    for (name, value) in data["inputs"].as_object().expect("arrays by name") {
        let list = |key: &str| value[key].as_array().expect("a list").iter();
        let shape: Vec<i64> = list("shape").filter_map(serde_json::Value::as_i64).collect();
        let numbers: Vec<f64> = list("values").filter_map(serde_json::Value::as_f64).collect();
        if shape.is_empty() && graph.find_container(name).is_none() {
            arguments.set_symbol(name, numbers[0] as i64);
            continue;
        }
        let tensor = if value["dtype"] == "int32" {
            Tensor::new(&shape, &numbers.iter().map(|number| *number as i32).collect::<Vec<_>>())
        } else {
            Tensor::new(&shape, &numbers)
        };
        arguments.set(name, tensor.expect("as many numbers as elements"));
    }
    let mut native = arguments.clone();
    let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
    let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
    interpreter.run(&mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    trusted::run(&library, &mut native, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
    for (name, expected) in data["outputs"].as_object().expect("arrays by name") {
        let expected = expected["values"].as_array().expect("a list");
        for found in [&arguments, &native] {
            let found = found.get(name).expect("an argument");
            let numbers = found.values().map(|value| sdfg::tasklet::arith::cast(value, ScalarType::F64));
            let near = |(a, b): (Value, &serde_json::Value)| matches!(a, Value::F64(a) if (a - b.as_f64().unwrap_or(f64::NAN)).abs() < 1e-12);
            let values: Vec<Value> = found.values().collect();
            assert!(numbers.zip(expected).all(near), "{name} is {values:?} and not {expected:?}");
        }
    }
}

/// A product of matrices: a node, a label for each dimension of its inputs and its output, and the resolution of the edge out of it.
struct Product {
    node: &'static str,
    inputs: [(&'static str, &'static str); 2],
    output: (&'static str, &'static str),
    factors: (f64, f64),
    resolution: &'static str,
    element: &'static str,
}

const fn product(
    node: &'static str,
    inputs: [(&'static str, &'static str); 2],
    output: (&'static str, &'static str),
) -> Product {
    Product { node, inputs, output, factors: (1.0, 0.0), resolution: "", element: "f64" }
}

const GEMM: [&str; 2] = ["_a", "_b"];

const PRODUCTS: [Product; 12] = [
    product("MatMul (_a, _b) -> (_c) {}", [(GEMM[0], "MK"), (GEMM[1], "KN")], ("_c", "MN")),
    Product {
        factors: (2.0, -3.0),
        ..product(
            "Gemm (_a, _b) -> (_c) { transA = True; alpha = 2; beta = -3 }",
            [(GEMM[0], "KM"), (GEMM[1], "KN")],
            ("_c", "MN"),
        )
    },
    Product {
        resolution: " wcr(sum)",
        factors: (1.0, 1.0),
        ..product("Gemm (_a, _b) -> (_c) { transB = True }", [("_a", "MK"), ("_b", "NK")], ("_c", "MN"))
    },
    Product {
        element: "f32",
        ..product(
            "Gemm (_a, _b) -> (_c) { transA = True; transB = True }",
            [("_a", "KM"), ("_b", "NK")],
            ("_c", "MN"),
        )
    },
    product("BatchedMatMul (_a, _b) -> (_c) {}", [("_a", "BMK"), ("_b", "BKN")], ("_c", "BMN")),
    product("MatMul (_a, _b) -> (_c) {}", [("_a", "BMK"), ("_b", "KN")], ("_c", "BMN")),
    product(
        "Einsum (_a, _b) -> (_c) { einsum_str = kibx_bxjk_to_bij }",
        [("_a", "KMBX"), ("_b", "BXNK")],
        ("_c", "BMN"),
    ),
    product(
        "Einsum (_a, _b) -> (_c) { einsum_str = bki_jkb_to_bij }",
        [("_a", "BKM"), ("_b", "NKB")],
        ("_c", "BMN"),
    ),
    product(
        "TensorDot (_left_tensor, _right_tensor) -> (_out_tensor) { left_axes_0 = 0; left_axes_1 = 2; right_axes_0 = 1; right_axes_1 = 0; permutation_0 = 2; permutation_1 = 1; permutation_2 = 0 }",
        [("_left_tensor", "KMXB"), ("_right_tensor", "XKN")],
        ("_out_tensor", "NBM"),
    ),
    Product {
        factors: (1.0, 2.0),
        ..product("Gemv (_A, _x) -> (_y) { beta = 2 }", [("_A", "NK"), ("_x", "K")], ("_y", "N"))
    },
    product("Gemv (_A, _x) -> (_y) { transA = True }", [("_A", "KN"), ("_x", "K")], ("_y", "N")),
    product(
        "Einsum (_a, _b) -> (_c) { einsum_str = bkj_bk_to_bj }",
        [("_a", "BKN"), ("_b", "BK")],
        ("_c", "BN"),
    ),
];

impl Product {
    fn text(&self) -> String {
        let mut header = String::from("sdfg p {\n");
        for symbol in "MNKBX".chars() {
            header.push_str(&format!("symbol {symbol}: i64\n"));
        }
        let mut state = format!("library node: {}\n", self.node);
        for (name, labels) in self.inputs.iter().chain([&self.output]) {
            let shape: Vec<String> = labels.chars().map(String::from).collect();
            header.push_str(&format!("array {name}: {}[{}]\n", self.element, shape.join(", ")));
            state.push_str(&format!("access {name}\n"));
        }
        for (name, _) in self.inputs {
            state.push_str(&format!("{name} -> node.{name}\n"));
        }
        format!(
            "{header}state main {{\n{state}node.{0} -> {0}: {0}[{1}]{2}\n}}\n}}\n",
            self.output.0,
            vec![":"; self.output.1.len()].join(", "),
            self.resolution
        )
    }

    /// The elements of the array of a name: numbers whose sums are exact.
    fn numbers(name: &str, count: usize) -> Vec<f64> {
        let seed = name.bytes().map(usize::from).sum::<usize>();
        (0..count).map(|k| ((k * 7 + k / 5 + seed) % 9) as f64 - 4.0).collect()
    }

    fn tensor(&self, shape: &[i64], numbers: &[f64]) -> Tensor {
        if self.element == "f32" {
            let numbers: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
            return Tensor::new(shape, &numbers).expect("as many numbers as elements");
        }
        Tensor::new(shape, numbers).expect("as many numbers as elements")
    }

    /// Goes through all values of all labels.
    fn reference(&self, extent: &dyn Fn(char) -> i64) -> Vec<f64> {
        let strides = |labels: &str| -> Vec<usize> {
            let stride = |label: char| match labels.find(label) {
                Some(at) => labels[at + 1..].chars().map(|other| extent(other) as usize).product(),
                None => 0,
            };
            "BXMNK".chars().map(stride).collect()
        };
        let used = |label: &char| self.inputs.iter().any(|(_, labels)| labels.contains(*label));
        let extents: Vec<usize> =
            "BXMNK".chars().map(|label| if used(&label) { extent(label) as usize } else { 1 }).collect();
        let count = |labels: &str| labels.chars().map(|label| extent(label) as usize).product::<usize>();
        let [a, b] = self.inputs.map(|(name, labels)| (Self::numbers(name, count(labels)), strides(labels)));
        let mut sums: Vec<f64> =
            Self::numbers(self.output.0, count(self.output.1)).iter().map(|x| x * self.factors.1).collect();
        let to = strides(self.output.1);
        for point in 0..extents.iter().product::<usize>() {
            let (mut rest, mut places) = (point, [0; 3]);
            for (d, extent) in extents.iter().enumerate().rev() {
                let at = rest % extent;
                rest /= extent;
                places = [places[0] + at * a.1[d], places[1] + at * b.1[d], places[2] + at * to[d]];
            }
            sums[places[2]] += self.factors.0 * a.0[places[0]] * b.0[places[1]];
        }
        sums
    }
}

/// Small sizes, each of rows, columns and products from 0 to 40, with one or two batches.
fn small_sizes(count: usize) -> impl Iterator<Item = [i64; 5]> {
    let mut state = 1_u64;
    let mut below = move |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % most) as i64
    };
    (0..count).map(move |_| [below(41), below(41), below(41), 1 + below(2), 1 + below(2)])
}

#[test]
fn products_of_two_matrices_of_any_size() {
    products_of_any_size(&PRODUCTS[..4]);
}

#[test]
fn products_in_batches_of_any_size() {
    products_of_any_size(&PRODUCTS[4..8]);
}

#[test]
fn products_of_tensors_and_vectors_of_any_size() {
    products_of_any_size(&PRODUCTS[8..]);
}

/// Sizes of which blocks and panels leave something over, or nothing, or are not filled.
fn products_of_any_size(cases: &[Product]) {
    const SIZES: [[i64; 5]; 23] = [
        [0, 5, 3, 2, 1],
        [4, 4, 0, 1, 2],
        [1, 1, 1, 1, 1],
        [3, 2, 5, 1, 2],
        [4, 8, 4, 2, 1],
        [13, 17, 10, 3, 2],
        [8, 16, 260, 1, 1],
        [6, 1030, 131, 1, 1],
        [129, 35, 7, 2, 1],
        [24, 48, 512, 1, 2],
        [33, 509, 17, 2, 2],
        [4, 1, 2100, 1, 1],
        // Thin matrices on either side, with products that fill no vector, and several panels.
        [50, 5, 40, 1, 2],
        [2, 60, 70, 1, 1],
        [41, 2, 75, 2, 1],
        [70, 23, 33, 1, 1],
        [43, 53, 600, 1, 1],
        // One row, and rows that need copies of a long matrix.
        [1, 530, 37, 2, 1],
        [18, 60, 515, 1, 1],
        // Three and four columns or rows with long sums.
        [37, 3, 70, 2, 1],
        [9, 4, 131, 1, 2],
        [4, 50, 90, 1, 1],
        // Products of few terms, with several blocks of rows and several panels of columns.
        [70, 530, 3, 1, 1],
    ];
    for case in cases {
        let text = case.text();
        let sdfg =
            sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
        let expanded = expand(&sdfg, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
        let printed = sdfg::text::print(&expanded);
        let forms = ["map __blocks", "state __low_dots_multiply", "map __chunks"];
        assert!(forms.iter().any(|form| printed.contains(form)), "no blocks in\n{text}");
        let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
        let options = CompileOptions::default();
        let plan = lower(&expanded, &options.target(), &options.lowering())
            .unwrap_or_else(|error| panic!("{error}"));
        let object = llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
        let library = Library::load(&object).unwrap_or_else(|error| panic!("{error}"));
        // Few rows beside a matrix whose rows are far apart.
        let large = [[2, 1800, 1750, 1, 1]].into_iter().filter(|_| case.node == PRODUCTS[0].node);
        for sizes in SIZES.into_iter().chain(small_sizes(60)).chain(large) {
            let extent = |label: char| sizes["MNKBX".find(label).expect("a label")];
            let mut arguments = Arguments::new();
            for label in "MNKBX".chars() {
                arguments.set_symbol(label.to_string(), extent(label));
            }
            for (name, labels) in case.inputs.iter().chain([&case.output]) {
                let shape: Vec<i64> = labels.chars().map(extent).collect();
                let count = shape.iter().product::<i64>() as usize;
                arguments.set(*name, case.tensor(&shape, &Product::numbers(name, count)));
            }
            trusted::run(&library, &mut arguments, NonZeroU32::new(2))
                .unwrap_or_else(|error| panic!("{error}"));
            let found = arguments.get(case.output.0).expect("the output");
            let found: Vec<f64> = if case.element == "f32" {
                found.to_vec::<f32>().expect("numbers").into_iter().map(f64::from).collect()
            } else {
                found.to_vec().expect("numbers")
            };
            assert!(found == case.reference(&extent), "{sizes:?} of\n{text}");
        }
    }
}

/// Complex products of small matrices in batches, of both precisions, with a real factor, and added to what was there.
#[test]
fn complex_products_of_any_size() {
    const CASES: [(&str, [&str; 3], &str); 4] = [
        (
            "BatchedMatMul (_a, _b) -> (_c) {}",
            ["complex128[P, M, K]", "complex128[P, K, N]", "complex128[P, M, N]"],
            "",
        ),
        (
            "Gemm (_a, _b) -> (_c) { transA = True; alpha = 2; beta = -1 }",
            ["complex64[K, M]", "complex64[K, N]", "complex64[M, N]"],
            "",
        ),
        ("MatMul (_a, _b) -> (_c) {}", ["f64[M, K]", "complex128[K, N]", "complex128[M, N]"], " wcr(sum)"),
        // Columns that are no neighbours.
        (
            "Gemm (_a, _b) -> (_c) { transB = True }",
            ["complex128[M, K]", "complex128[N, K]", "complex128[M, N]"],
            "",
        ),
    ];
    for (node, arrays, resolution) in CASES {
        let [a, b, c] = arrays;
        let subset = vec![":"; c.matches(',').count() + 1].join(", ");
        let text = format!(
            "sdfg p {{
symbol P: i64
symbol M: i64
symbol N: i64
symbol K: i64
array _a: {a}
array _b: {b}
array _c: {c}
state main {{
access _a
access _b
access _c
library node: {node}
_a -> node._a
_b -> node._b
node._c -> _c: _c[{subset}]{resolution}
}}
}}
"
        );
        let sdfg = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        let library = compiled(&sdfg);
        let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        for [m, n, k, p, _] in small_sizes(25).chain([[10, 10, 10, 7, 1], [4, 8, 4, 1, 1], [1, 1, 1, 1, 1]]) {
            let mut arguments = Arguments::new();
            for (name, extent) in [("P", p), ("M", m), ("N", n), ("K", k)] {
                arguments.set_symbol(name, extent);
            }
            for (name, array) in ["_a", "_b", "_c"].into_iter().zip(arrays) {
                let (ty, shape) = array.split_once('[').expect("a type and extents");
                let extent = |letter| match letter {
                    'P' => Some(p),
                    'M' => Some(m),
                    'N' => Some(n),
                    'K' => Some(k),
                    _ => None,
                };
                let shape: Vec<i64> = shape.chars().filter_map(extent).collect();
                let count = shape.iter().product::<i64>() as usize;
                let numbers = Product::numbers(name, 2 * count);
                let number = |at: usize| Complex::new(numbers[2 * at], numbers[2 * at + 1]);
                let tensor = match ty {
                    "f64" => Tensor::new(&shape, &numbers[..count]),
                    "complex64" => {
                        let single = |at| Complex::new(number(at).re as f32, number(at).im as f32);
                        Tensor::new(&shape, &(0..count).map(single).collect::<Vec<Complex<f32>>>())
                    }
                    _ => Tensor::new(&shape, &(0..count).map(number).collect::<Vec<Complex<f64>>>()),
                };
                arguments.set(name, tensor.expect("as many numbers as elements"));
            }
            let mut expected = arguments.clone();
            trusted::run(&library, &mut arguments, NonZeroU32::new(2))
                .unwrap_or_else(|error| panic!("{error}"));
            let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
            let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
            interpreter.run(&mut expected, &options).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(arguments.get("_c"), expected.get("_c"), "{m} by {n} by {k}, {p} of {node}");
        }
    }
}

/// Transposes whose tiles leave something over, or nothing, or of which there is not even one.
#[test]
fn transposes_in_tiles_of_any_size() {
    let cases = [
        ("Transpose (_inp) -> (_out) {}", "_inp", "MN", "_out", "NM", ""),
        (
            "TensorTranspose (_inp_tensor) -> (_out_tensor) { axes_0 = 2; axes_1 = 0; axes_2 = 1; alpha = 2; beta = 3 }",
            "_inp_tensor",
            "MNK",
            "_out_tensor",
            "KMN",
            "",
        ),
        (
            "TensorTranspose (_inp_tensor) -> (_out_tensor) { axes_0 = 0; axes_1 = 2; axes_2 = 1 }",
            "_inp_tensor",
            "MNK",
            "_out_tensor",
            "MKN",
            " wcr(sum)",
        ),
    ];
    for (node, from, labels, to, out_labels, resolution) in cases {
        let shape = |labels: &str| labels.chars().map(String::from).collect::<Vec<_>>().join(", ");
        let text = format!(
            "sdfg p {{\nsymbol K: i64\nsymbol M: i64\nsymbol N: i64\narray {from}: f64[{}]\narray {to}: f64[{}]\nstate s {{\naccess {from}\naccess {to}\nlibrary node: {node}\n{from} -> node.{from}\nnode.{to} -> {to}: {to}[{}]{resolution}\n}}\n}}\n",
            shape(labels),
            shape(out_labels),
            vec![":"; labels.len()].join(", "),
        );
        let sdfg =
            sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
        let expanded = expand(&sdfg, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
        assert!(sdfg::text::print(&expanded).contains("map __tiles"), "no tiles in\n{text}");
        let library = compiled(&sdfg);
        let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        for sizes in [[3, 8, 16], [1, 1, 1], [0, 9, 2], [5, 17, 24], [9, 23, 31]] {
            let size = |label: char| sizes["KMN".find(label).expect("a label")];
            let arguments = || {
                let mut arguments = Arguments::new();
                for label in "KMN".chars() {
                    arguments.set_symbol(label.to_string(), size(label));
                }
                for (name, labels) in [(from, labels), (to, out_labels)] {
                    let shape: Vec<i64> = labels.chars().map(size).collect();
                    let numbers: Vec<f64> = (0..shape.iter().product::<i64>()).map(|k| k as f64).collect();
                    arguments.set(name, Tensor::new(&shape, &numbers).expect("as many numbers as elements"));
                }
                arguments
            };
            let (mut expected, mut found) = (arguments(), arguments());
            let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
            let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
            interpreter.run(&mut expected, &options).unwrap_or_else(|error| panic!("{error}"));
            trusted::run(&library, &mut found, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(found.get(to), expected.get(to), "{sizes:?} of\n{text}");
        }
    }
}
