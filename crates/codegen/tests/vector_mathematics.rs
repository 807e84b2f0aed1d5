//! Tests of mathematical functions in the mode `fast`: loops call vector functions, and their errors stay
//! within the stated bound.

use std::num::NonZeroU32;

use sdfg::interpret::Arguments;
use sdfg::tensor::{Scalar, Tensor};
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{CompileOptions, assembly, llvm_ir};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::{LowerOptions, Target, lower};

/// Functions with the range of their argument.
const FUNCTIONS: [(&str, f64, f64); 25] = [
    ("acos(x)", -1.0, 1.0),
    ("acosh(x)", 1.0, 1000.0),
    ("asin(x)", -1.0, 1.0),
    ("asinh(x)", -20.0, 20.0),
    ("atan(x)", -20.0, 20.0),
    ("atan2(x, y)", -3.0, 3.0),
    ("atanh(x)", -0.999, 0.999),
    ("cbrt(x)", -1000.0, 1000.0),
    ("cos(x)", -100.0, 100.0),
    ("cosh(x)", -10.0, 10.0),
    ("erf(x)", -3.0, 3.0),
    ("erfc(x)", -3.0, 3.0),
    ("exp(x)", -20.0, 20.0),
    ("exp2(x)", -20.0, 20.0),
    ("expm1(x)", -1.0, 1.0),
    ("hypot(x, y)", -3.0, 3.0),
    ("log(x)", 0.001, 1000.0),
    ("log10(x)", 0.001, 1000.0),
    ("log1p(x)", -0.5, 1.0),
    ("log2(x)", 0.001, 1000.0),
    ("x ** y", 0.1, 3.0),
    ("sin(x)", -100.0, 100.0),
    ("sinh(x)", -10.0, 10.0),
    ("tan(x)", -100.0, 100.0),
    ("tanh(x)", -3.0, 3.0),
];

const COUNT: i64 = 1003;

fn program(ty: &str, mode: &str, expression: &str) -> Validated {
    let source = format!(
        "sdfg f float({mode}) {{
  symbol N: i64
  array A: {ty}[N]
  array B: {ty}[N]
  scalar y: {ty}
  state s {{
    access A
    access B
    access y
    map m [i = 0:N] {{
      tasklet t (x, y) -> (o) {{ o = {expression} }}
      m.A -> t.x: A[i]
      m.y -> t.y: y
      t.o -> m.B: B[i]
    }}
    A -> m.A
    y -> m.y
    m.B -> B
  }}
}}"
    );
    // Not every function has a second argument.
    let source = if expression.contains('y') {
        source
    } else {
        let lines = source.lines().filter(|line| !line.contains(".y") && !line.contains("access y"));
        lines
            .collect::<Vec<_>>()
            .join("\n")
            .replace("(x, y)", "(x)")
            .replace(&format!("  scalar y: {ty}\n"), "")
    };
    let sdfg = sdfg::text::parse("f.sdft", &source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"))
}

/// The results for numbers of a range.
fn results<T: Scalar>(mode: &str, expression: &str, numbers: &[T], second: T) -> Vec<T> {
    let program = program(&T::TYPE.to_string(), mode, expression);
    let object = sdfg_codegen::compile(&program, &CompileOptions::default()).unwrap();
    let library = Library::load(&object).unwrap();
    let mut arguments = Arguments::new()
        .with("A", Tensor::new(&[COUNT], numbers).unwrap())
        .with("B", Tensor::new(&[COUNT], numbers).unwrap());
    if expression.contains('y') {
        arguments.set("y", Tensor::scalar(second));
    }
    // SAFETY: the program accesses the elements of its arrays, whose extent is given.
    unsafe { library.run(&mut arguments, NonZeroU32::new(1)) }.unwrap();
    arguments.get("B").unwrap().to_vec().unwrap()
}

/// The largest error of each function, in units in the last place of the exact result.
fn largest_error<T: Scalar>(
    epsilon: f64,
    of: impl Fn(f64) -> T,
    to: impl Fn(T) -> f64,
) -> (f64, &'static str) {
    let mut worst = (0.0, "");
    for (expression, low, high) in FUNCTIONS {
        let numbers = (0..COUNT).map(|k| of(low + (high - low) * k as f64 / (COUNT - 1) as f64));
        let numbers: Vec<T> = numbers.collect();
        let in_mode = |mode| results(mode, expression, &numbers, of(0.7));
        for (exact, fast) in in_mode("strict").into_iter().zip(in_mode("fast")) {
            let (exact, fast) = (to(exact), to(fast));
            let error = if exact == fast { 0.0 } else { (exact - fast).abs() / (epsilon * exact.abs()) };
            assert!(!error.is_nan(), "{expression}: {exact} and {fast}");
            if error > worst.0 {
                worst = (error, expression);
            }
        }
    }
    worst
}

/// 4 units of the vectors', and one of the C library's own.
#[test]
#[cfg(target_arch = "x86_64")]
fn vectors_are_as_exact_as_is_stated() {
    let double = largest_error::<f64>(f64::EPSILON, |x| x, |x| x);
    let single = largest_error::<f32>(f64::from(f32::EPSILON), |x| x as f32, f64::from);
    assert!(double.0 <= 5.0, "{double:?}");
    assert!(single.0 <= 5.0, "{single:?}");
}

/// Each function has a call of vectors, for both types.
#[test]
#[cfg(target_arch = "x86_64")]
fn loops_call_functions_of_vectors_in_the_fast_mode_alone() {
    let options = CompileOptions {
        cpu: sdfg_codegen::llvm::Cpu::Named { name: "x86-64-v3".to_owned(), features: String::new() },
        ..CompileOptions::default()
    };
    for ty in ["f64", "f32"] {
        for (expression, ..) in FUNCTIONS {
            let calls = |mode| {
                let plan =
                    lower(&program(ty, mode, expression), &Target::cpu(), &LowerOptions::default()).unwrap();
                let ir = llvm_ir(&plan, &options, true).unwrap();
                ir.lines().filter(|line| line.contains("call") && line.contains("@_ZGV")).count()
            };
            assert_eq!(calls("contract"), 0, "{expression}");
            assert!(calls("fast") > 0, "{expression} of {ty} is not computed in vectors");
        }
    }
}

/// Values that cross cache lines take several times as long to load: a softmax took a tenth more time.
#[test]
#[cfg(target_arch = "x86_64")]
fn vectors_that_wait_for_a_call_lie_in_one_cache_line() {
    for (cpu, register) in [("haswell", "%ymm"), ("znver4", "%zmm")] {
        let cpu = sdfg_codegen::llvm::Cpu::Named { name: cpu.to_owned(), features: String::new() };
        let options = CompileOptions { cpu, ..CompileOptions::default() };
        let plan = lower(&program("f32", "fast", "exp(x + y) * y"), &Target::cpu(), &LowerOptions::default())
            .unwrap();
        let assembly = assembly(&plan, &options).unwrap();
        let kept = |instruction: &str| {
            let stores =
                assembly.lines().filter(|line| line.contains(instruction) && line.contains("(%rsp)"));
            stores.filter(|line| line.contains(register)).count()
        };
        assert!(kept("vmovaps") > 0, "{register}\n{assembly}");
        assert_eq!(kept("vmovups"), 0, "{register}\n{assembly}");
    }
}
