//! Tests of calls from Rust: prepared once and run often, and from several threads.

use std::num::NonZeroU32;

use sdfg_codegen::llvm::{CompileOptions, OptLevel};
use sdfg_codegen::load::{CallError, Library, PreparedCall};
use sdfg_programs::trusted;

/// Adds `A` to `total`, of which every second element is there.
const RUNNING_SUM: &str = "\
sdfg running {
  symbol N: i64
  scalar factor: f64
  array A: f64[N]
  array total: f64[N] strides(2) size(2 * N)
  state s {
    access A
    access factor
    access old = total
    access total
    map all [i = 0:N] {
      tasklet add (a, t, f) -> (o) { o = t + f * a }
      all.A -> add.a: A[i]
      all.total -> add.t: total[i]
      all.factor -> add.f: factor
      add.o -> all.total: total[i]
    }
    A -> all.A
    old -> all.total
    factor -> all.factor
    all.total -> total
  }
}
";

fn library() -> Library {
    let sdfg = sdfg::text::parse("running.sdft", RUNNING_SUM).expect("it is a program");
    let program = sdfg::validate::validate(sdfg).expect("it is valid");
    let options =
        CompileOptions { level: OptLevel::Quick, parallel_threshold: 0, ..CompileOptions::default() };
    let object = sdfg_codegen::compile(&program, &options).expect("it compiles");
    Library::load(&object).expect("it loads")
}

fn doubles(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|bytes| f64::from_ne_bytes(bytes.try_into().expect("eight bytes"))).collect()
}

#[test]
fn a_prepared_call_runs_on_the_memory_that_it_was_given() {
    let library = library();
    let (a, mut total) = (vec![1.0, 2.0, 3.0], vec![0.0; 6]);
    let call = library.call().array("A", &a, &[3]).array_mut("total", &mut total, &[3]).scalar("factor", 2.0);
    let mut call = call.prepare().expect("it fits");
    trusted::run_prepared(&mut call).expect("it runs");
    trusted::run_prepared(&mut call).expect("it runs again");
    assert_eq!(doubles(call.bytes("total").expect("an array")), [4.0, 0.0, 8.0, 0.0, 12.0, 0.0]);
    // Between two runs the memory can be changed; what is read only cannot.
    call.bytes_mut("total").expect("it is written").fill(0);
    assert!(call.bytes_mut("A").is_none() && call.bytes("factor").is_none() && call.bytes("B").is_none());
    trusted::run_prepared(&mut call).expect("it runs");
    drop(call);
    assert_eq!(total, [2.0, 0.0, 4.0, 0.0, 6.0, 0.0]);
}

/// A tensor is dense: the program gets a copy with its strides, which is made anew for each run.
#[test]
fn copies_with_strides_follow_the_memory() {
    let library = library();
    let (a, one) = (sdfg::tensor::Tensor::vector(&[1.0, 2.0]), sdfg::tensor::Tensor::scalar(1.0_f64));
    let mut total = sdfg::tensor::Tensor::vector(&[10.0, 20.0]);
    let call = library
        .call()
        .buffer("A", sdfg_codegen::load::ArgumentBuffer::from_tensor(&a))
        .buffer("factor", sdfg_codegen::load::ArgumentBuffer::from_tensor(&one))
        .buffer("total", sdfg_codegen::load::ArgumentBuffer::from_tensor_mut(&mut total));
    let mut call = call.prepare().expect("it fits");
    trusted::run_prepared(&mut call).expect("it runs");
    assert_eq!(doubles(call.bytes("total").expect("an array")), [11.0, 22.0]);
    call.bytes_mut("total").expect("it is written").fill(0);
    trusted::run_prepared(&mut call).expect("it runs");
    assert_eq!(doubles(call.bytes("total").expect("an array")), [1.0, 2.0]);
}

#[test]
fn what_does_not_fit_is_refused_when_a_call_is_prepared() {
    let library = library();
    let mut total = vec![0.0; 6];
    let error = library.call().array_mut("total", &mut total, &[3]).scalar("factor", 1.0).prepare();
    assert!(matches!(error.expect_err("A is missing"), CallError::Missing { argument } if argument == "A"));
}

/// Each thread has calls of its own; a prepared one may go to another thread.
#[test]
fn memory_of_a_device_is_refused_without_a_device() {
    let library = library();
    let mut total = vec![0.0; 6];
    let call =
        library.call().device_memory("A", std::ptr::dangling_mut()).array_mut("total", &mut total, &[3]);
    let error = call.scalar("factor", 2.0).prepare().expect_err("there is no device");
    assert!(matches!(error, CallError::NotOnDevice { uses_device: false, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "argument `A` was given in memory of a device, but `running` takes it in memory of the host: the program uses no device; \
         lower it for CUDA or OpenCL, or copy the memory to the host"
    );
}

#[test]
fn threads_call_one_library() {
    fn sends<T: Send>() {}
    fn shares<T: Send + Sync>() {}
    shares::<Library>();
    sends::<PreparedCall<'_, '_>>();
    let library = library();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let library = &library;
            scope.spawn(move || {
                let a: Vec<f64> = (0..1000).map(|i| f64::from(i % 10 + number)).collect();
                let mut total = vec![0.0; 2000];
                let two = NonZeroU32::new(2).expect("it is not zero");
                let call = library.call().threads(two).scalar("factor", 0.5);
                let call = call.array("A", &a, &[1000]).array_mut("total", &mut total, &[1000]);
                let mut call = call.prepare().expect("it fits");
                for _ in 0..20 {
                    trusted::run_prepared(&mut call).expect("it runs");
                }
                drop(call);
                assert!(total.iter().step_by(2).zip(&a).all(|(total, a)| *total == 10.0 * a));
            });
        }
    });
}
