//! The chain of the paper's section 6.2 applies step by step, and keeps the matrix product after each.

use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{CompileOptions, OptLevel};
use sdfg_codegen::load::Library;
use sdfg_programs::chains::{Recorded, large_matrix_products, matrix_products};
use sdfg_programs::trusted;
use sdfg_transforms::{Pipeline, Registry};

/// Rows of `A`, columns of `B`, and columns of `A`.
type Sizes = [usize; 3];

/// Small integers, so that every order of summands gives the same sums.
fn matrix(rows: usize, columns: usize, seed: usize) -> Vec<f64> {
    (0..rows * columns).map(|at| ((at * 7 + at / columns + seed) % 9) as f64 - 4.0).collect()
}

fn product([m, n, k]: Sizes, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for l in 0..k {
            for j in 0..n {
                c[i * n + j] += a[i * k + l] * b[l * n + j];
            }
        }
    }
    c
}

/// Calls `check` with the program before the first step and after each, and the number of steps.
fn after_each_step(recorded: &Recorded, check: impl Fn(usize, Validated)) {
    let registry = Registry::standard();
    let mut pipeline = Pipeline::on(recorded.program.clone());
    let valid = |program: &Sdfg| validate(program.clone()).unwrap_or_else(|rejected| panic!("{rejected}"));
    check(0, valid(pipeline.program()));
    for count in 1..=recorded.chain.len() {
        let cut = recorded.chain.cut(count);
        pipeline = cut.replay(recorded.program.clone(), &registry).unwrap_or_else(|error| panic!("{error}"));
        check(count, valid(pipeline.program()));
    }
}

fn interpreted(program: &Validated, sizes: Sizes, order: Order) -> Vec<f64> {
    let [m, n, k] = sizes;
    let mut interpreter = Interpreter::new(program).unwrap_or_else(|error| panic!("{error}"));
    let mut arguments = Arguments::new();
    for (symbol, value) in ["M", "N", "K"].into_iter().zip(sizes) {
        arguments.set_symbol(symbol, value as i64);
    }
    let tensor = |values: Vec<f64>, rows: usize, columns: usize| {
        let bytes = values.into_iter().flat_map(f64::to_ne_bytes).collect();
        let shape = vec![rows as i64, columns as i64];
        Tensor::from_bytes(sdfg::dtype::ElementType::scalar(sdfg::dtype::ScalarType::F64), shape, bytes)
            .expect("a tensor")
    };
    arguments.set("A", tensor(matrix(m, k, 0), m, k));
    arguments.set("B", tensor(matrix(k, n, 5), k, n));
    arguments.set("C", tensor(matrix(m, n, 2), m, n));
    let options = Options { order, ..Options::default() };
    interpreter.run(&mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    let result = arguments.get("C").expect("a result").bytes().to_vec();
    result.chunks_exact(8).map(|bytes| f64::from_ne_bytes(bytes.try_into().expect("eight"))).collect()
}

fn native(program: &Validated, sizes: Sizes, has_symbols: bool) -> Vec<f64> {
    let [m, n, k] = sizes;
    let expanded = sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn).expect("expansions");
    let program = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options =
        CompileOptions { level: OptLevel::Quick, parallel_threshold: 0, ..CompileOptions::default() };
    let library =
        Library::load(&sdfg_codegen::compile(&program, &options).expect("code")).expect("a library");
    let (a, b, mut c) = (matrix(m, k, 0), matrix(k, n, 5), matrix(m, n, 2));
    let mut call = library.call();
    if has_symbols {
        for (symbol, value) in ["M", "N", "K"].into_iter().zip(sizes) {
            call = call.symbol(symbol, value as i64);
        }
    }
    let call = call.array("A", &a, &[m, k]).array("B", &b, &[k, n]).array_mut("C", &mut c, &[m, n]);
    trusted::call(call).unwrap_or_else(|error| panic!("{error}"));
    c
}

#[test]
fn every_step_keeps_the_product_in_the_interpreter_and_as_native_code() {
    let [any, _] = matrix_products().expect("chains");
    assert!(any.chain.len() >= 9, "{:?}", any.chain.lines());
    let (small, large) = ([11, 35, 5], [270, 150, 260]);
    let of = |sizes: Sizes| product(sizes, &matrix(sizes[0], sizes[2], 0), &matrix(sizes[2], sizes[1], 5));
    let (for_small, for_large) = (of(small), of(large));
    after_each_step(&any, |count, program| {
        for order in [Order::Fixed, Order::Random(count as u64)] {
            assert!(interpreted(&program, small, order) == for_small, "step {count}");
        }
        assert!(native(&program, small, true) == for_small, "step {count}, native code");
        // Tiles of every level are cut off.
        assert!(native(&program, large, true) == for_large, "step {count}, native code, large");
    });
}

/// The tensor of the first program has 1 GiB, so that it and the next one are left to the chain for any size.
#[test]
fn every_step_for_one_size_keeps_the_product() {
    let [_, even] = matrix_products().expect("chains");
    let sizes = [512; 3];
    let expected = product(sizes, &matrix(512, 512, 0), &matrix(512, 512, 5));
    after_each_step(&even, |count, program| {
        if count > 1 {
            assert!(native(&program, sizes, false) == expected, "step {count}");
        }
    });
}

#[test]
fn the_last_program_has_a_tile_of_the_result_in_registers() {
    let [_, even] = matrix_products().expect("chains");
    let pipeline = even.chain.replay(even.program, &Registry::standard()).expect("a chain");
    let text = sdfg::text::print(pipeline.program());
    for part in
        ["transient array B_local0: f64[256, 128]", "transient array C_sum0: f64[8, 16]", "schedule(simd)"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("min(") && !text.contains("pairs.local0.neutral0"), "{text}");
}

/// Elements of some rows, of which each is in another tile, panel or part of the columns.
#[test]
fn large_products_are_right() {
    const N: usize = 2048;
    const ROWS: [usize; 5] = [0, 7, 8, 1021, N - 1];
    const COLUMNS: [usize; 9] = [0, 23, 24, 479, 480, 1919, 1920, 1999, N - 1];
    let [double, single] = large_matrix_products().expect("chains");
    let (a, b) = (matrix(N, N, 0), matrix(N, N, 5));
    for recorded in [double, single] {
        let pipeline = recorded.chain.replay(recorded.program, &Registry::standard()).expect("a chain");
        let program = pipeline.finish().unwrap_or_else(|error| panic!("{error}"));
        let object = sdfg_codegen::compile(&program, &CompileOptions::default()).expect("code");
        let library = Library::load(&object).expect("a library");
        let is_single = recorded.name.ends_with("f32");
        let c: Vec<f64> = if is_single {
            let [a, b] = [&a, &b].map(|of| of.iter().map(|number| *number as f32).collect::<Vec<_>>());
            let mut c = vec![0.0_f32; N * N];
            let call = library.call().array("A", &a, &[N; 2]).array("B", &b, &[N; 2]);
            trusted::call(call.array_mut("C", &mut c, &[N; 2])).unwrap_or_else(|error| panic!("{error}"));
            c.into_iter().map(f64::from).collect()
        } else {
            let mut c = vec![0.0; N * N];
            let call = library.call().array("A", &a, &[N; 2]).array("B", &b, &[N; 2]);
            trusted::call(call.array_mut("C", &mut c, &[N; 2])).unwrap_or_else(|error| panic!("{error}"));
            c
        };
        for (i, j) in ROWS.into_iter().flat_map(|i| COLUMNS.map(|j| (i, j))) {
            let expected: f64 = (0..N).map(|k| a[i * N + k] * b[k * N + j]).sum();
            assert!(c[i * N + j] == expected, "{}: element {i}, {j}", recorded.name);
        }
    }
}
