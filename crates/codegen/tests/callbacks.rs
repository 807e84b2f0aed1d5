//! Tests of callbacks: native code calls functions of its caller as the interpreter calls closures.

use std::cell::RefCell;
use std::ffi::c_void;
use std::num::NonZeroU32;

use sdfg::interpret::{Arguments, Callbacks, ExternalArgument, ExternalMemory, Interpreter, Options};
use sdfg::symbolic::Expr;
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg::value::Value;
use sdfg_codegen::interface::CallbackParameter;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::load::{CallError, Library};
use sdfg_codegen::lower::{LowerError, LowerOptions, Target, lower, refusals};
use sdfg_codegen::source::{CCompiler, SourceOptions};

/// Numbers by value and by address, a result, memory that is read and written, calls in a map, in a loop and in a called program.
const CALLS: &str = "\
sdfg calls {
  symbol N: i64
  array A: f64[N]
  array B: f64[2, N]
  scalar flag: bool

  state before {
    access A
    access B
    access flag
    tasklet first (a, b, f) -> (out) external note(a, b, i8(-3), f, out) from callback
    A -> first.a
    B -> first.b: B[1, 0]
    flag -> first.f
    access b2 = B
    first.out -> b2: B[0, 0:N]
  }
  for twice: k = 0:2 {
    state each {
      access A
      access a2 = A
      map all [i = 0:N] {
        nested call (x) -> (y) with (i = i, k = k) sdfg inner {
          symbol i: i64
          symbol k: i64
          scalar x: f64
          scalar y: f64
          state s {
            access x
            access y
            tasklet t (x) -> (y) external y = twice(x, i + 10 * k) from callback
            x -> t.x
            t.y -> y
          }
        }
        all.A -> call.x: A[i]
        call.y -> all.A: A[i]
      }
      A -> all.A
      all.A -> a2
    }
  }
}
";

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn log(entry: String) {
    LOG.with(|log| log.borrow_mut().push(entry));
}

fn taken() -> Vec<String> {
    LOG.with(|log| std::mem::take(&mut *log.borrow_mut()))
}

unsafe extern "C" fn note(a: *const f64, b: f64, number: i8, flag: bool, out: *mut f64) {
    // SAFETY: the program passes three elements each.
    let (a, out) = unsafe { (std::slice::from_raw_parts(a, 3), std::slice::from_raw_parts_mut(out, 3)) };
    log(format!("note {a:?} {b} {number} {flag} {out:?}"));
    out.copy_from_slice(&[a[2], a[1], a[0]]);
}

unsafe extern "C" fn twice(x: f64, at: i64) -> f64 {
    log(format!("twice {x} {at}"));
    2.0 * x + at as f64
}

fn program(text: &str) -> Validated {
    validate(sdfg::text::parse("calls.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}")))
        .unwrap_or_else(|rejected| panic!("{rejected}"))
}

fn library(program: &Validated, options: &CompileOptions) -> Library {
    let plan =
        lower(program, &options.target(), &options.lowering()).unwrap_or_else(|error| panic!("{error}"));
    let object = llvm::compile(&plan, options).unwrap_or_else(|error| panic!("{error}"));
    Library::load(&object).unwrap_or_else(|error| panic!("{error}"))
}

fn arguments() -> Arguments {
    Arguments::new()
        .with("A", Tensor::vector(&[1.0, 2.0, 3.0]))
        .with("B", Tensor::new(&[2, 3], &[0.5, 1.5, 2.5, 7.0, 8.0, 9.0]).expect("six elements"))
        .with("flag", Tensor::scalar(true))
}

fn numbers(memory: &ExternalMemory) -> Vec<f64> {
    memory.data.chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight bytes"))).collect()
}

fn memory(argument: &ExternalArgument) -> usize {
    let ExternalArgument::Memory(index) = argument else { panic!("{argument:?} is no memory") };
    *index
}

fn by_closures() -> (Arguments, Vec<String>) {
    let callbacks = Callbacks::new()
        .with("note", |arguments, parts| {
            let [
                a,
                ExternalArgument::Value(Value::F64(b)),
                ExternalArgument::Value(Value::I8(number)),
                ExternalArgument::Value(Value::Bool(flag)),
                out,
            ] = arguments
            else {
                return Err(format!("{arguments:?}"));
            };
            let (a, out) = (numbers(&parts[memory(a)]), &mut parts[memory(out)]);
            log(format!("note {a:?} {b} {number} {flag} {:?}", numbers(out)));
            out.data = a.iter().rev().flat_map(|x| x.to_le_bytes()).collect();
            Ok(None)
        })
        .with("twice", |arguments, _| match arguments {
            [ExternalArgument::Value(Value::F64(x)), ExternalArgument::Value(Value::I64(at))] => {
                log(format!("twice {x} {at}"));
                Ok(Some(Value::F64(2.0 * x + *at as f64)))
            }
            _ => Err(format!("{arguments:?}")),
        });
    let mut results = arguments();
    let options = Options { externals: Some(&callbacks), ..Options::default() };
    let program = program(CALLS);
    Interpreter::new(&program).expect("it resolves").run(&mut results, &options).expect("it runs");
    (results, taken())
}

/// Runs a library with one thread and with three, which must call as closures in the interpreter do.
///
/// The thread that runs the program calls, in the order of iterations, however many threads there are.
fn calls_what_the_interpreter_calls(library: &Library, how: &str) {
    let (expected, mut calls) = by_closures();
    assert_eq!(calls.len(), 7);
    assert_eq!(calls[0], "note [1.0, 2.0, 3.0] 7 -3 true [0.5, 1.5, 2.5]");
    calls.sort();
    // Iterations have no order in the interpreter.
    let in_order = ["twice 1 0", "twice 2 1", "twice 3 2", "twice 2 10", "twice 5 11", "twice 8 12"];
    for threads in [1, 3] {
        let (mut a, mut b) = (vec![1.0, 2.0, 3.0], vec![0.5, 1.5, 2.5, 7.0, 8.0, 9.0]);
        let call = library
            .call()
            .threads(NonZeroU32::new(threads).expect("some"))
            .array_mut("A", &mut a, &[3])
            .array_mut("B", &mut b, &[2, 3])
            .scalar("flag", true)
            .callback("note", note as *const c_void)
            .callback("twice", twice as *const c_void);
        // SAFETY: the functions have the types of the program's callbacks, and stay in their memory.
        unsafe { call.run() }.expect("it runs");
        assert_eq!(Tensor::vector(&a), *expected.get("A").expect("a result"));
        assert_eq!(b, [3.0, 2.0, 1.0, 7.0, 8.0, 9.0]);
        let mut found = taken();
        assert_eq!(found[1..], in_order, "{how}, {threads} threads");
        found.sort();
        assert_eq!(found, calls);
    }
}

#[test]
fn native_code_calls_what_the_interpreter_calls() {
    let program = program(CALLS);
    for level in OptLevel::ALL {
        for checked in [false, true] {
            let options =
                CompileOptions { level, checked, parallel_threshold: 0, ..CompileOptions::default() };
            calls_what_the_interpreter_calls(&library(&program, &options), &format!("{level:?}"));
        }
    }
}

#[test]
fn c_source_calls_what_the_interpreter_calls() {
    let options = LowerOptions { threshold: 0, ..LowerOptions::default() };
    let plan = lower(&program(CALLS), &Target::cpu(), &options).expect("it is lowered");
    let warnings = ["-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror"];
    // SAFETY: the program has no C code of its own.
    let library = unsafe { CCompiler::new("gcc", &warnings).load(&plan, &SourceOptions::default()) };
    calls_what_the_interpreter_calls(&library.unwrap_or_else(|error| panic!("{error}")), "C source");
}

/// An array of one element keeps its dimensions, as it does in DaCe; one element of several, and a scalar, have none.
#[test]
fn arrays_of_one_element_keep_their_dimensions() {
    let text = "\
sdfg shapes {
  array A: f64[1, 1]
  array B: f64[4]
  scalar s: f64
  state s {
    access A
    access B
    access s
    tasklet t () -> (a, b, c) external note(a, b, c) from callback
    t.a -> A
    t.b -> B: B[2]
    t.c -> s
  }
}
";
    let plan = lower(&program(text), &Target::cpu(), &LowerOptions::default()).expect("it is lowered");
    let layouts = plan.callbacks[0].parameters.iter().map(|parameter| match parameter {
        CallbackParameter::Memory { layout: Some((extents, strides)), .. } => {
            assert!(extents == strides && extents.iter().all(Expr::is_one), "{parameter:?}");
            extents.len()
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(layouts.collect::<Vec<_>>(), [2, 0, 0]);
}

#[test]
fn callbacks_that_nobody_passes_are_named() {
    let program = program(CALLS);
    let run = |options: &Options<'_>| {
        Interpreter::new(&program).expect("it resolves").run(&mut arguments(), options).map(|_| ())
    };
    let message = run(&Options::default()).expect_err("a trap").to_string();
    assert!(message.contains("the caller does not pass the callback `note`"), "{message}");
    let one = Callbacks::new().with("note", |_, _| Ok(None));
    let message =
        run(&Options { externals: Some(&one), ..Options::default() }).expect_err("a trap").to_string();
    assert!(message.contains("the caller does not pass the callback `twice`"), "{message}");
    let wrong = Callbacks::new().with("note", |_, _| Ok(None)).with("twice", |_, _| Ok(Some(Value::I64(1))));
    let message =
        run(&Options { externals: Some(&wrong), ..Options::default() }).expect_err("a trap").to_string();
    assert!(message.contains("the callback returned a value of type i64, not f64"), "{message}");
    let failing = Callbacks::new().with("note", |_, _| Err("enough".to_owned()));
    let message =
        run(&Options { externals: Some(&failing), ..Options::default() }).expect_err("a trap").to_string();
    assert!(message.contains("enough"), "{message}");
    taken();

    let library = library(&program, &CompileOptions::default());
    let (mut a, mut b) = (vec![1.0; 3], vec![0.0; 6]);
    let call =
        library.call().array_mut("A", &mut a, &[3]).array_mut("B", &mut b, &[2, 3]).scalar("flag", true);
    let error = call.callback("note", note as *const c_void).prepare().expect_err("one is missing");
    assert!(matches!(&error, CallError::Missing { argument } if argument == "twice"), "{error}");
    let call =
        library.call().array_mut("A", &mut a, &[3]).array_mut("B", &mut b, &[2, 3]).scalar("flag", true);
    let call = call.callback("note", note as *const c_void).callback("twice", twice as *const c_void);
    let error = call.callback("thrice", twice as *const c_void).prepare().expect_err("one is too many");
    assert!(error.to_string().contains("thrice"), "{error}");
    let call =
        library.call().array_mut("A", &mut a, &[3]).array_mut("B", &mut b, &[2, 3]).scalar("flag", true);
    let call = call.callback("note", std::ptr::null()).callback("twice", twice as *const c_void);
    // SAFETY: the program refuses the address before it does anything.
    let error = unsafe { call.run() }.expect_err("it is refused").to_string();
    assert!(error.contains("the callback `note` is NULL"), "{error}");
    // Safe Rust may not run what calls any address.
    let call =
        library.call().array_mut("A", &mut a, &[3]).array_mut("B", &mut b, &[2, 3]).scalar("flag", true);
    let call = call.callback("note", note as *const c_void).callback("twice", twice as *const c_void);
    assert!(matches!(call.run_checked(), Err(CallError::Hazard { .. })));
}

fn refusal(text: &str) -> String {
    let program = program(text);
    let found = refusals(&program, &Target::cpu());
    let error = lower(&program, &Target::cpu(), &LowerOptions::default()).expect_err("it is refused");
    assert!(matches!(error, LowerError::Unsupported { .. }), "{error}");
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn calls_without_one_signature_are_refused() {
    let other = CALLS.replace("twice(x, i + 10 * k)", "note(x, i + 10 * k)");
    assert!(refusal(&other).contains("calling the callback `note` with different signatures"), "{other}");
    let named = CALLS.replace("y = twice(", "y = A(");
    assert!(refusal(&named).contains("a callback with the name of an argument, `A`,"), "{named}");
    let complex = CALLS.replace("scalar flag: bool", "scalar flag: complex64");
    assert!(refusal(&complex).contains("complex64 by value in a call of the callback `note`"), "{complex}");
}
