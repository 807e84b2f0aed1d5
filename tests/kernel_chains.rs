//! The chains of the paper's kernels other than the matrix product apply, and keep the results.

use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{CompileOptions, OptLevel};
use sdfg_codegen::load::Library;
use sdfg_programs::chains::{Recorded, kernels};
use sdfg_programs::trusted;
use sdfg_transforms::Registry;

/// The kernel of a name, and the number of its steps.
fn kernel(name: &str) -> (Recorded, usize) {
    let all = kernels().unwrap_or_else(|error| panic!("{error}"));
    let found = all.into_iter().find(|recorded| recorded.name == name);
    let recorded = found.unwrap_or_else(|| panic!("no chain {name}"));
    let steps = recorded.chain.len();
    (recorded, steps)
}

/// The program after so many steps.
fn after(recorded: &Recorded, count: usize) -> Validated {
    let cut = recorded.chain.cut(count);
    let replayed = cut.replay(recorded.program.clone(), &Registry::standard());
    let pipeline = replayed.unwrap_or_else(|error| panic!("{error}"));
    validate(pipeline.program().clone()).unwrap_or_else(|rejected| panic!("{rejected}"))
}

fn interpreted(program: &Validated, arguments: &mut Arguments, order: Order) {
    let mut interpreter = Interpreter::new(program).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { order, ..Options::default() };
    interpreter.run(arguments, &options).unwrap_or_else(|error| panic!("{error}"));
}

fn compiled(program: &Validated) -> Library {
    let expanded = sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn).expect("expansions");
    let program = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options =
        CompileOptions { level: OptLevel::Quick, parallel_threshold: 0, ..CompileOptions::default() };
    let object = sdfg_codegen::compile(&program, &options).unwrap_or_else(|error| panic!("{error}"));
    Library::load(&object).unwrap_or_else(|error| panic!("{error}"))
}

/// Sweeps from `a` to `b` and back, with the sums in the order of the tasklet.
fn jacobi(n: usize, steps: usize, a: &mut [f64], b: &mut [f64]) {
    let sweep = |from: &[f64], to: &mut [f64]| {
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let at = i * n + j;
                to[at] = 0.2 * (from[at] + from[at - 1] + from[at + 1] + from[at + n] + from[at - n]);
            }
        }
    };
    for _ in 0..steps {
        sweep(a, b);
        sweep(b, a);
    }
}

/// Small integers: a product with 0.2 rounds, but sums are in one order.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n * n).map(|at| ((at * 7 + at / n + seed) % 9) as f64).collect()
}

#[test]
fn jacobi_in_tiles_of_time_is_jacobi() {
    let (recorded, steps) = kernel("jacobi2d");
    assert_eq!(steps, 9, "{:?}", recorded.chain.lines());
    // Tiles of time alone, and everything.
    for count in [1, 9] {
        let program = &after(&recorded, count);
        for (n, times) in [(3, 1), (11, 3)] {
            let mut expected = [numbers(n, 0), numbers(n, 5)];
            let mut arguments = Arguments::new().with_symbol("N", n as i64).with_symbol("T", times as i64);
            for (name, values) in ["A", "B"].into_iter().zip(&expected) {
                arguments.set(name, Tensor::new(&[n as i64, n as i64], values).expect("a tensor"));
            }
            let [a, b] = &mut expected;
            jacobi(n, times, a, b);
            interpreted(program, &mut arguments, Order::Random(count as u64));
            for (name, expected) in ["A", "B"].into_iter().zip(&expected) {
                let found: Vec<f64> = arguments.get(name).expect("a result").to_vec().expect("numbers");
                assert!(found == *expected, "{name} after step {count}, interpreted, n = {n}");
            }
        }
        let library = compiled(program);
        // Tiles of time and space are cut off, and there are several of them.
        for (n, times) in [(3, 1), (75, 19), (1100, 9)] {
            let (mut a, mut b) = (numbers(n, 0), numbers(n, 5));
            let (mut found_a, mut found_b) = (a.clone(), b.clone());
            jacobi(n, times, &mut a, &mut b);
            let call = library.call().symbol("N", n as i64).symbol("T", times as i64);
            let call = call.array_mut("A", &mut found_a, &[n, n]).array_mut("B", &mut found_b, &[n, n]);
            trusted::call(call).unwrap_or_else(|error| panic!("{error}"));
            assert!(found_a == a && found_b == b, "after step {count}, n = {n}");
        }
    }
}

/// Rows of every length up to some vectors, and empty ones.
#[test]
fn a_sparse_product_by_vectors_is_the_product() {
    let (recorded, steps) = kernel("spmv");
    assert_eq!(steps, 1, "{:?}", recorded.chain.lines());
    let program = after(&recorded, steps);
    let plan = sdfg_codegen::lower::lower(
        &program,
        &CompileOptions::default().target(),
        &CompileOptions::default().lowering(),
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert!(plan.to_string().contains("lanes gather"), "{plan}");
    let (height, width) = (60, 37);
    let mut starts = vec![0_u32];
    for row in 0..height as u32 {
        starts.push(starts[row as usize] + if row % 7 == 3 { 0 } else { row });
    }
    let count = starts[height] as usize;
    let columns: Vec<u32> = (0..count as u32).map(|at| (at * 11 + at / 5) % width as u32).collect();
    // Small integers: their sums are exact in every order.
    let values: Vec<f64> = (0..count).map(|at| ((at * 7 + at / 3) % 9) as f64 - 4.0).collect();
    let x: Vec<f64> = (0..width).map(|at| ((at * 5) % 11) as f64 - 5.0).collect();
    let row = |row: usize| {
        let of = |at: usize| values[at] * x[columns[at] as usize];
        (starts[row] as usize..starts[row + 1] as usize).map(of).sum::<f64>()
    };
    let expected: Vec<f64> = (0..height).map(row).collect();

    let mut arguments = Arguments::new();
    for (symbol, value) in [("H", height), ("W", width), ("nnz", count)] {
        arguments.set_symbol(symbol, value as i64);
    }
    arguments.set("A_row", Tensor::new(&[height as i64 + 1], &starts).expect("a tensor"));
    arguments.set("A_col", Tensor::new(&[count as i64], &columns).expect("a tensor"));
    arguments.set("A_val", Tensor::new(&[count as i64], &values).expect("a tensor"));
    arguments.set("x", Tensor::new(&[width as i64], &x).expect("a tensor"));
    arguments.set("b", Tensor::new(&[height as i64], &vec![0.0; height]).expect("a tensor"));
    let mut by_native = arguments.clone();
    interpreted(&program, &mut arguments, Order::Random(3));
    trusted::run(&compiled(&program), &mut by_native, std::num::NonZeroU32::new(2))
        .unwrap_or_else(|error| panic!("{error}"));
    for found in [&arguments, &by_native] {
        let found: Vec<f64> = found.get("b").expect("a result").to_vec().expect("numbers");
        assert!(found == expected, "{found:?} and not {expected:?}");
    }
}
