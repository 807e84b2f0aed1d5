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
