//! Tests of `reproducible`: results have the same bits for every number of threads.

use std::num::NonZeroU32;

use sdfg::interpret::Arguments;
use sdfg::tensor::Tensor;
use sdfg_codegen::llvm::{CompileOptions, OptLevel};
use sdfg_codegen::load::Library;
use sdfg_programs::trusted;

/// A sum into one element, sums into a small array, and sums into one that is too large for copies.
const SUMS: &str = "\
sdfg sums {
  symbol N: i64
  array A: f64[N]
  array key: i64[N]
  scalar total: f64
  array small: f32[16]
  array large: f64[100, 1000]
  state s {
    access A
    access key
    access total
    access small
    access large
    map all [i = 0:N] SHARING {
      tasklet add (a) -> (o) { o = a }
      all.A -> add.a: A[i]
      add.o -> all.total: total wcr(sum)
    }
    map bins [i = 0:N] SHARING {
      tasklet put (a, k) -> (o) { o[k % 16] = f32(a) }
      bins.A -> put.a: A[i]
      bins.key -> put.k: key[i]
      put.o -> bins.small: small[0:16] wcr(sum) dynamic
    }
    map places [i = 0:N] SHARING {
      tasklet place (a, k) -> (o) { o[k % 3, 7] = a }
      places.A -> place.a: A[i]
      places.key -> place.k: key[i]
      place.o -> places.large: large[0:100, 0:1000] wcr(sum) dynamic
    }
    A -> all.A
    A -> bins.A
    key -> bins.key
    A -> places.A
    key -> places.key
    all.total -> total
    bins.small -> small
    places.large -> large
  }
}
";

fn library(sharing: &str, reproducible: bool, level: OptLevel) -> Library {
    let sdfg = sdfg::text::parse("sums.sdft", &SUMS.replace("SHARING", sharing)).expect("it is a program");
    let program = sdfg::validate::validate(sdfg).expect("it is valid");
    let options = CompileOptions { level, reproducible, parallel_threshold: 0, ..CompileOptions::default() };
    Library::load(&sdfg_codegen::compile(&program, &options).expect("it compiles")).expect("it loads")
}

/// The results of the program, as bytes.
fn results(library: &Library, threads: u32, n: usize) -> Vec<Vec<u8>> {
    let a: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + ((i * 7919) % 1013) as f64)).collect();
    let key: Vec<i64> = (0..n).map(|i| ((i * 31) % 97) as i64).collect();
    let zeros = |count: usize| vec![0.0; count];
    let mut arguments = Arguments::new().with_symbol("N", n as i64);
    arguments.set("A", Tensor::vector(&a));
    arguments.set("key", Tensor::vector(&key));
    arguments.set("total", Tensor::scalar(0.5_f64));
    arguments.set("small", Tensor::vector(&[0.25_f32; 16]));
    arguments.set("large", Tensor::new(&[100, 1000], &zeros(100_000)).expect("a matrix"));
    trusted::run(library, &mut arguments, NonZeroU32::new(threads)).expect("it runs");
    ["total", "small", "large"].map(|name| arguments.get(name).expect("a result").bytes().to_vec()).to_vec()
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    for sharing in ["", "sharing(dynamic, 3)", "sharing(guided, 5)"] {
        let library = library(sharing, true, OptLevel::O3);
        for n in [0, 1, 63, 64, 65, 10_007] {
            let expected = results(&library, 1, n);
            for threads in [2, 3, 4, 11] {
                assert!(
                    results(&library, threads, n) == expected,
                    "{threads} threads, {n} elements, {sharing}"
                );
            }
        }
    }
}

/// Without it, they do: the numbers above are no accident.
#[test]
fn other_libraries_depend_on_it() {
    let library = library("", false, OptLevel::O3);
    let expected = results(&library, 1, 10_007);
    let [total, small] =
        [0, 1].map(|at| (2..12).any(|threads| results(&library, threads, 10_007)[at] != expected[at]));
    assert!(total && small);
}
