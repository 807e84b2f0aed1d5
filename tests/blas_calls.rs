//! Tests of library nodes as calls of BLAS and LAPACK: results equal the interpreter's for any layout that
//! BLAS accepts. Without a BLAS on the machine, the tests report that they call nothing.
#![expect(clippy::print_stderr, reason = "a test that has nothing to call says so")]

use std::num::NonZeroU32;

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_codegen::link::BlasLibraries;
use sdfg_codegen::llvm::{self, CompileOptions};
use sdfg_codegen::lower::lower;
use sdfg_library::{Blas, BuiltIn, expand};
use sdfg_programs::trusted;

/// A node with the arrays at its connectors, of which the last is written: name, extents, strides, memlet; and the function that is called.
struct Case {
    node: &'static str,
    arrays: &'static [(&'static str, &'static str, &'static str, &'static str)],
    resolution: &'static str,
    element: &'static str,
    function: &'static str,
}

const fn case(
    node: &'static str,
    arrays: &'static [(&'static str, &'static str, &'static str, &'static str)],
    function: &'static str,
) -> Case {
    Case { node, arrays, resolution: "", element: "f64", function }
}

const CASES: [Case; 17] = [
    case(
        "Gemm (_a, _b) -> (_c) { alpha = 2; beta = 3 }",
        &[("_a", "M, K", "", ":, :"), ("_b", "K, N", "", ":, :"), ("_c", "M, N", "", ":, :")],
        "cblas_dgemm",
    ),
    case(
        "Gemm (_a, _b) -> (_c) { transA = True; transB = True }",
        &[("_a", "K, M", "", ":, :"), ("_b", "N, K", "", ":, :"), ("_c", "M, N", "", ":, :")],
        "cblas_dgemm",
    ),
    // Columns that lie beside each other, rows of a wider array, and every second row of one.
    case(
        "MatMul (_a, _b) -> (_c) {}",
        &[
            ("_a", "M, K", " strides(1, M)", ":, :"),
            ("_b", "K, N + 3", "", "0:K, 2:N + 2"),
            ("_c", "2 * M, N", "", "0:2 * M:2, :"),
        ],
        "cblas_dgemm",
    ),
    case(
        "MatMul (_a, _b) -> (_c) {}",
        &[("_a", "M, K", "", ":, :"), ("_b", "K, N", "", ":, :"), ("_c", "M, N", " strides(1, M)", ":, :")],
        "cblas_dgemm",
    ),
    Case {
        element: "f32",
        ..case(
            "BatchedMatMul (_a, _b) -> (_c) {}",
            &[
                ("_a", "B, M, K", "", ":, :, :"),
                ("_b", "B, K, N", "", ":, :, :"),
                ("_c", "B, M, N", "", ":, :, :"),
            ],
            "cblas_sgemm",
        )
    },
    case(
        "Einsum (_a, _b) -> (_c) { einsum_str = ibk_bkj_to_bij }",
        &[
            ("_a", "M, B, K", "", ":, :, :"),
            ("_b", "B, K, N", "", ":, :, :"),
            ("_c", "B, M, N", "", ":, :, :"),
        ],
        "cblas_dgemm",
    ),
    Case {
        resolution: " wcr(sum)",
        ..case(
            "MatMul (_a, _b) -> (_c) {}",
            &[("_a", "M, K", "", ":, :"), ("_b", "K, N", "", ":, :"), ("_c", "M, N", "", ":, :")],
            "cblas_dgemm",
        )
    },
    case(
        "Gemv (_A, _x) -> (_y) { alpha = 2; beta = -1; transA = True }",
        &[("_A", "K, M", "", ":, :"), ("_x", "K, 2", "", ":, 1"), ("_y", "M", "", ":")],
        "cblas_dgemv",
    ),
    case(
        "MatMul (_a, _b) -> (_c) {}",
        &[("_a", "K", "", ":"), ("_b", "K, N", "", ":, :"), ("_c", "3 * N", "", "0:3 * N:3")],
        "cblas_dgemv",
    ),
    case(
        "Ger (_x, _y, _A) -> (_res) { alpha = 3 }",
        &[
            ("_x", "M", "", ":"),
            ("_y", "2 * N", "", "0:2 * N:2"),
            ("_A", "M, N", "", ":, :"),
            ("_res", "M, N", "", ":, :"),
        ],
        "cblas_dger",
    ),
    case(
        "Dot (_x, _y) -> (_result) {}",
        &[("_x", "K", "", ":"), ("_y", "K, 2", "", ":, 0"), ("_result", "1", "", "0")],
        "cblas_ddot",
    ),
    Case {
        element: "f32",
        resolution: " wcr(sum)",
        ..case(
            "Dot (_x, _y) -> (_result) {}",
            &[("_x", "K", "", ":"), ("_y", "K", "", ":"), ("_result", "1", "", "0")],
            "cblas_sdot",
        )
    },
    case(
        "Axpy (_x, _y) -> (_res) { a = 3 }",
        &[("_x", "M, N", "", ":, :"), ("_y", "M, N", "", ":, :"), ("_res", "M, N", " strides(1, M)", ":, :")],
        "cblas_daxpy",
    ),
    case(
        "Cholesky (_a) -> (_b) {}",
        &[("_a", "M, M", "", ":, :"), ("_b", "M, M", "", ":, :")],
        "LAPACKE_dpotrf",
    ),
    case(
        "Cholesky (_a) -> (_b) { lower = False }",
        &[("_a", "M, M", "", ":, :"), ("_b", "M, M", " strides(1, M)", ":, :")],
        "LAPACKE_dpotrf",
    ),
    case(
        "Solve (_ain, _bin) -> (_bout) {}",
        &[("_ain", "M, M", "", ":, :"), ("_bin", "M, N", "", ":, :"), ("_bout", "M, N", "", ":, :")],
        "LAPACKE_dgetrs",
    ),
    case(
        "Solve (_ain, _bin) -> (_bout) {}",
        &[("_ain", "M, M", "", ":, :"), ("_bin", "M", "", ":"), ("_bout", "2, M", "", "1, :")],
        "LAPACKE_dgetrs",
    ),
];

impl Case {
    fn text(&self) -> String {
        let mut header = "sdfg p {\n".to_owned();
        "BKMN".chars().for_each(|symbol| header.push_str(&format!("symbol {symbol}: i64\n")));
        let mut state = format!("library node: {}\n", self.node);
        for (at, (name, shape, strides, memlet)) in self.arrays.iter().enumerate() {
            header.push_str(&format!("array {name}: {}[{shape}]{strides}\n", self.element));
            state.push_str(&format!("access {name}\n"));
            state.push_str(&if at + 1 < self.arrays.len() {
                format!("{name} -> node.{name}: {name}[{memlet}]\n")
            } else {
                format!("node.{name} -> {name}: {name}[{memlet}]{}\n", self.resolution)
            });
        }
        format!("{header}state main {{\n{state}}}\n}}\n")
    }

    fn arguments(&self, sizes: [i64; 4]) -> Arguments {
        let mut arguments = Arguments::new();
        let size = |name: char| sizes["BKMN".find(name).expect("a symbol")];
        for name in "BKMN".chars() {
            arguments.set_symbol(name.to_string(), size(name));
        }
        for (name, shape, ..) in self.arrays {
            let extent = |text: &str| {
                let parts = text.split(' ').collect::<Vec<_>>();
                let value = |part: &str| {
                    part.parse::<i64>().unwrap_or_else(|_| size(part.chars().next().expect("a symbol")))
                };
                match parts[..] {
                    [one] => value(one),
                    [a, "*", b] => value(a) * value(b),
                    [a, "+", b] => value(a) + value(b),
                    _ => panic!("{text}"),
                }
            };
            let shape: Vec<i64> = shape.split(", ").map(extent).collect();
            let (rows, count) = (shape.last().copied().unwrap_or(1).max(1), shape.iter().product::<i64>());
            // Symmetric, and large on the diagonal where there is one.
            let number = |k: i64| {
                let (i, j) = (k / rows, k % rows);
                let diagonal = if i == j && name.contains('a') { 30 } else { 0 };
                (diagonal + (i.max(j) * 7 + i.min(j) * 13) % 9 - 4) as f64
            };
            let numbers: Vec<f64> = (0..count).map(number).collect();
            let tensor = match self.element {
                "f32" => Tensor::new(&shape, &numbers.iter().map(|n| *n as f32).collect::<Vec<_>>()),
                _ => Tensor::new(&shape, &numbers),
            };
            arguments.set(*name, tensor.expect("as many numbers as elements"));
        }
        arguments
    }

    fn result(&self, arguments: &Arguments) -> Vec<f64> {
        let name = self.arrays.last().expect("an output").0;
        let found = arguments.get(name).expect("the output");
        match self.element {
            "f32" => found.to_vec::<f32>().expect("numbers").into_iter().map(f64::from).collect(),
            _ => found.to_vec().expect("numbers"),
        }
    }
}

fn parsed(text: &str) -> Sdfg {
    sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?} in\n{text}"))
}

#[test]
fn calls_give_what_the_interpreter_computes() {
    let Some(found) = BlasLibraries::find() else {
        eprintln!("there is no BLAS on this machine: nothing was called");
        return;
    };
    if !found.has_lapack() {
        eprintln!("there is no LAPACKE on this machine: only BLAS was called");
    }
    let blas = Blas::new(found.blas.as_str(), found.lapack.as_str());
    for case in &CASES {
        let text = case.text();
        let sdfg = parsed(&text);
        let expanded = expand(&sdfg, &blas).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        let printed = sdfg::text::print(&expanded);
        assert!(printed.contains(&format!("{}(", case.function)), "no {} in\n{printed}", case.function);
        if case.function.starts_with("LAPACKE") && !found.has_lapack() {
            continue;
        }
        let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected} in\n{printed}"));
        let options = CompileOptions::default();
        let plan = lower(&expanded, &options.target(), &options.lowering())
            .unwrap_or_else(|error| panic!("{error}"));
        let object = llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
        let library = trusted::load(&object).unwrap_or_else(|error| panic!("{error}"));
        let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        for sizes in [[2, 3, 5, 4], [1, 1, 1, 1], [3, 17, 6, 9], [2, 0, 3, 2], [0, 2, 0, 3]] {
            let (mut expected, mut arguments) = (case.arguments(sizes), case.arguments(sizes));
            let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
            let mut interpreter = Interpreter::new(&program).expect("the interpreter runs it");
            interpreter.run(&mut expected, &options).unwrap_or_else(|error| panic!("{error}"));
            trusted::run(&library, &mut arguments, NonZeroU32::new(2))
                .unwrap_or_else(|error| panic!("{error}"));
            for (found, expected) in case.result(&arguments).iter().zip(case.result(&expected)) {
                let is_near = (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
                assert!(is_near, "{found} instead of {expected} for {sizes:?} in\n{text}");
            }
        }
    }
}

#[test]
fn calls_that_cannot_be_made_are_refused() {
    let blas = Blas::new("openblas", "openblas");
    let program = |node: &str, element: &str, a: &str| {
        parsed(&format!(
            "sdfg p {{
  symbol N: i64
  array A: {element}[2 * N, 2 * N]
  array B: {element}[N, N]
  array C: {element}[N, N]
  state s {{
    access A
    access B
    access C
    library node: {node}
    A -> node._a: A[{a}]
    B -> node._b
    node._c -> C
  }}
}}"
        ))
    };
    let product = "MatMul (_a, _b) -> (_c) {}";
    let asked = "MatMul (_a, _b) -> (_c) {} expansion(blas)";
    let strided = "0:2 * N:2, 0:2 * N:2";
    let error = expand(&program(product, "f64", strided), &blas).expect_err("no stride is 1").to_string();
    assert!(
        error.contains("`_a` cannot be passed to BLAS: its strides are 4*N, 2 along rows and columns"),
        "{error}"
    );
    let error =
        expand(&program(asked, "f64", "0:N, 0:N"), &BuiltIn).expect_err("none is allowed").to_string();
    assert!(error.contains("calls need the option --blas"), "{error}");
    let error = expand(&program(asked, "i64", "0:N, 0:N"), &blas).expect_err("integers").to_string();
    assert!(error.contains("elements of type i64 are none of BLAS's here"), "{error}");
    // Operations that BLAS lacks still expand into maps.
    for (node, element) in [(product, "i64"), ("MatMul (_a, _b) -> (_c) {} expansion(pure)", "f64")] {
        let expanded =
            expand(&program(node, element, "0:N, 0:N"), &blas).unwrap_or_else(|error| panic!("{error}"));
        assert!(!sdfg::text::print(&expanded).contains("cblas"), "{node} of {element}");
    }
}

#[test]
fn factors_that_are_not_there_are_nan() {
    let Some(found) = BlasLibraries::find().filter(BlasLibraries::has_lapack) else {
        eprintln!("there is no LAPACKE on this machine: nothing was called");
        return;
    };
    for (node, input) in [("Cholesky (_a) -> (_b) {}", "_a"), ("Solve (_ain, _bin) -> (_b) {}", "_ain")] {
        let node = node.replace("-> (_b)", if input == "_a" { "-> (_b)" } else { "-> (_bout)" });
        let output = if input == "_a" { "_b" } else { "_bout" };
        let right = if input == "_a" { "" } else { "A -> node._bin\n" };
        let sdfg = parsed(&format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  state s {{
    access A
    access B
    library node: {node}
    A -> node.{input}
    {right}node.{output} -> B
  }}
}}"
        ));
        let blas = Blas::new(found.blas.as_str(), found.lapack.as_str());
        let expanded = validate(expand(&sdfg, &blas).unwrap_or_else(|error| panic!("{error}")));
        let expanded = expanded.unwrap_or_else(|rejected| panic!("{rejected}"));
        let options = CompileOptions::default();
        let plan = lower(&expanded, &options.target(), &options.lowering())
            .unwrap_or_else(|error| panic!("{error}"));
        let object = llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("{error}"));
        let library = trusted::load(&object).unwrap_or_else(|error| panic!("{error}"));
        let mut arguments = Arguments::new().with_symbol("N", 2);
        arguments.set("A", Tensor::new(&[2, 2], &[1.0, 2.0, 2.0, 4.0]).expect("a matrix"));
        arguments.set("B", Tensor::new(&[2, 2], &[0.0; 4]).expect("a matrix"));
        trusted::run(&library, &mut arguments, None).unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<f64> = arguments.get("B").expect("the output").to_vec().expect("numbers");
        assert!(found[3].is_nan(), "{found:?} of {node}");
    }
}
