//! Tests of the safe interface: safe Rust runs only code that checks every access.

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::interpret::Arguments;
use sdfg::ir::FloatMode;
use sdfg::tensor::Tensor;
use sdfg::validate::Validated;
use sdfg_codegen::llvm::{self, CompileOptions, Cpu, OptLevel};
use sdfg_codegen::load::{ArgumentBuffer, CallError, Library, LoadError};
use sdfg_codegen::lower::lower;
use sdfg_codegen::object::{Hazard, ObjectCode};
use sdfg_programs::trusted;

/// Data picks the element that is read.
const GATHER: &str = "sdfg gather {
  symbol N: i64
  array I: i64[N]
  array A: f64[N]
  array B: f64[N]
  state s {
    access I
    access A
    access B
    map m [i = 0:N] {
      tasklet t (k, a) -> (b) { b = a[k] }
      m.I -> t.k: I[i]
      m.A -> t.a: A[0:N] dynamic
      t.b -> m.B: B[i]
    }
    I -> m.I
    A -> m.A
    m.B -> B
  }
}
";

/// Data picks the element that is written, so that threads may meet.
const SCATTER: &str = "sdfg scatter {
  symbol N: i64
  array I: i64[N]
  array A: f64[N]
  state s {
    access I
    access a = A
    map m [i = 0:N] {
      tasklet t (k) -> (o) { o[k] = 1.0 }
      m.I -> t.k: I[i]
      t.o -> m.A: A[0:N] dynamic
    }
    I -> m.I
    m.A -> a
  }
}
";

const CALLS_C: &str = r#"sdfg calls {
  array A: f64[1]
  state s {
    access A
    tasklet t () -> (o) external set(o) from source "void set(double *o) { o[0] = 3; }"
    t.o -> A
  }
}
"#;

const COPIES_BOOLS: &str = "sdfg flags {
  array A: bool[2]
  array B: bool[2]
  state s {
    access A
    access B
    A -> B
  }
}
";

fn program(text: &str) -> Validated {
    let sdfg = sdfg::text::parse("p.sdft", text).expect("it is a program");
    sdfg::validate::validate(sdfg).expect("it is valid")
}

fn checked() -> CompileOptions {
    CompileOptions { level: OptLevel::Quick, checked: true, ..CompileOptions::default() }
}

fn compiled(text: &str, options: &CompileOptions) -> ObjectCode {
    sdfg_codegen::compile(&program(text), options).expect("it compiles")
}

/// Why safe Rust does not run the program.
fn hazard(text: &str, options: &CompileOptions) -> Hazard {
    hazard_of(&compiled(text, options))
}

fn hazard_of(object: &ObjectCode) -> Hazard {
    assert!(object.hazard().is_some());
    let library = trusted::load(object).expect("it loads");
    let mut arguments = Arguments::new()
        .with("I", Tensor::vector(&[0_i64]))
        .with("A", Tensor::vector(&[0.0]))
        .with("B", Tensor::vector(&[0.0]));
    for name in ["I", "A", "B"] {
        if library.interface().position(name).is_none() {
            arguments.take(name);
        }
    }
    match library.run_checked(&mut arguments, None) {
        Err(CallError::Hazard { hazard, .. }) => hazard,
        other => panic!("it must be refused, not {other:?}"),
    }
}

#[test]
fn checked_code_is_run_and_ends_where_an_index_is_outside() {
    let object = compiled(GATHER, &checked());
    assert_eq!(object.hazard(), None);
    let library = Library::load(&object).expect("it loads");
    let a = [1.0, 2.0, 3.0];
    let run = |indices: &[i64; 3]| {
        let mut b = [0.0; 3];
        let call = library.call().array("I", indices, &[3]).array("A", &a, &[3]).array_mut("B", &mut b, &[3]);
        call.run_checked().map(|()| b)
    };
    assert_eq!(run(&[2, 0, 1]).expect("it runs"), [3.0, 1.0, 2.0]);
    for outside in [3, -1, 1 << 40, i64::MIN] {
        let error = run(&[0, outside, 1]).expect_err("an index is outside");
        assert!(error.to_string().contains("out of bounds"), "{error}");
    }
}

#[test]
fn a_prepared_call_is_run_with_what_its_memory_holds_then() {
    let library = Library::load(&compiled(GATHER, &checked())).expect("it loads");
    let (mut indices, a, mut b) = ([1_i64, 0], [1.0, 2.0], [0.0; 2]);
    let call = library.call().array_mut("I", &mut indices, &[2]).array("A", &a, &[2]);
    let mut call = call.array_mut("B", &mut b, &[2]).prepare().expect("it fits");
    call.run_checked().expect("it runs");
    call.bytes_mut("I").expect("it may be written").fill(7);
    assert!(matches!(call.run_checked(), Err(CallError::Failed { .. })));
    drop(call);
    assert_eq!(b, [2.0, 1.0]);
}

#[test]
fn code_that_could_corrupt_memory_is_refused() {
    let unchecked = CompileOptions { checked: false, ..checked() };
    assert_eq!(hazard(GATHER, &unchecked), Hazard::Unchecked);
    let found = hazard(SCATTER, &checked());
    assert!(
        found.to_string().contains("(V705): two iterations of `m` may touch one element of `A`"),
        "{found}"
    );
    assert_eq!(hazard(CALLS_C, &checked()), Hazard::ExternalCode);
    let fast = CompileOptions { floats: Some(FloatMode::Fast), ..checked() };
    assert_eq!(hazard(GATHER, &fast), Hazard::FastArithmetic);
    let named = CompileOptions { cpu: Cpu::named("generic"), ..checked() };
    assert_eq!(hazard(GATHER, &named), Hazard::NamedProcessor);
    // A plan may say anything.
    let plan = lower(&program(GATHER), &checked().target(), &checked().lowering()).expect("it is lowered");
    let object = llvm::compile(&plan, &checked()).expect("it compiles");
    assert_eq!(hazard_of(&object), Hazard::UnknownProgram);
}

/// Constructors of what is loaded run before anything is called.
#[test]
fn code_of_others_is_not_even_loaded() {
    let error = Library::load(&compiled(CALLS_C, &checked())).map(|_| ()).expect_err("it brings C code");
    assert!(matches!(&error, LoadError::ExternalCode { program } if program == "calls"), "{error}");
}

/// Elsewhere, a copy could make a `bool` of Rust that is neither true nor false.
#[test]
fn bytes_that_are_no_bools_are_refused() {
    let library = Library::load(&compiled(COPIES_BOOLS, &checked())).expect("it loads");
    let boolean = ElementType::scalar(ScalarType::Bool);
    let run = |bytes: &[u8; 2]| {
        let mut copies = [false; 2];
        let call = library.call().buffer("A", ArgumentBuffer::new(boolean, bytes, &[2]));
        call.array_mut("B", &mut copies, &[2]).run_checked().map(|()| copies)
    };
    assert_eq!(run(&[0, 1]).expect("it runs"), [false, true]);
    let error = run(&[1, 7]).expect_err("7 is no bool");
    assert!(
        matches!(&error, CallError::NotBool { argument, position: 1, value: 7 } if argument == "A"),
        "{error}"
    );

    let (source, mut copies) = ([true; 2], [false; 2]);
    let call = library.call().array("A", &source, &[2]).array_mut("B", &mut copies, &[2]);
    let mut call = call.prepare().expect("it fits");
    assert!(call.bytes("B").is_some() && call.bytes_mut("B").is_none());
}

/// Checks know indices, not where strides put them.
#[test]
fn strides_do_not_lead_out_of_an_argument() {
    let text = "sdfg strided {
  symbol N: i64
  symbol S: i64
  array A: f64[N] strides(S) size(N)
  state s {
    access A
    map m [i = 0:N] {
      tasklet t () -> (o) { o = 1.0 }
      t.o -> m.A: A[i]
    }
    m.A -> A
  }
}
";
    let library = Library::load(&compiled(text, &checked())).expect("it loads");
    let run = |stride: i64| {
        let mut a = vec![0.0; 4];
        library.call().array_mut("A", &mut a, &[4]).symbol("S", stride).run_checked()
    };
    run(1).expect("it runs");
    let error = run(1000).expect_err("the second element is outside");
    assert!(matches!(error, CallError::Outside { .. }), "{error}");
}
