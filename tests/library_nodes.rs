//! Library nodes in native code: expanded and compiled, they give what the interpreter computes.

use std::num::NonZeroU32;

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_codegen::llvm::{self, CompileOptions};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::lower;
use sdfg_library::{BuiltIn, expand};

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

fn native(sdfg: &Sdfg, case: &Case) -> Vec<f64> {
    let expanded = expand(sdfg, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
    let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options = CompileOptions { parallel_threshold: 0, ..CompileOptions::default() };
    let plan = lower(&expanded, &options.target()).unwrap_or_else(|error| panic!("{error}"));
    let object = llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
    let library = Library::load(&object).unwrap_or_else(|error| panic!("{error}"));
    let mut results = arguments(case);
    library.run(&mut results, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
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

const PRODUCTS: [Product; 9] = [
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

    /// What the array of a name holds: numbers that add up without rounding.
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

/// Sizes of which blocks and panels leave something over, or nothing, or are not filled.
#[test]
fn blocked_products_of_any_size() {
    const SIZES: [[i64; 5]; 9] = [
        [0, 5, 3, 2, 1],
        [4, 4, 0, 1, 2],
        [1, 1, 1, 1, 1],
        [3, 2, 5, 1, 2],
        [4, 8, 4, 2, 1],
        [13, 17, 10, 3, 2],
        [8, 16, 260, 1, 1],
        [6, 1030, 131, 1, 1],
        [129, 35, 7, 2, 1],
    ];
    for case in &PRODUCTS {
        let text = case.text();
        let sdfg =
            sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"));
        let expanded = expand(&sdfg, &BuiltIn).unwrap_or_else(|error| panic!("{error}"));
        assert!(sdfg::text::print(&expanded).contains("map __blocks"), "no blocks in\n{text}");
        let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
        let options = CompileOptions::default();
        let plan = lower(&expanded, &options.target()).unwrap_or_else(|error| panic!("{error}"));
        let object = llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
        let library = Library::load(&object).unwrap_or_else(|error| panic!("{error}"));
        for sizes in SIZES {
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
            library.run(&mut arguments, NonZeroU32::new(2)).unwrap_or_else(|error| panic!("{error}"));
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
