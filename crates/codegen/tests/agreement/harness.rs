//! Runs one program in the interpreter and as native code.

use std::io::Write;
use std::num::NonZeroU32;
use std::process::{Command, Stdio};

use sdfg::dtype::{ScalarKind, ScalarType};
use sdfg::interpret::{Arguments, Interpreter, Options, tensors_of};
use sdfg::ir::Sdfg;
use sdfg::syntax::CompareOp;
use sdfg::tasklet::arith::{self, cast};
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg::value::Value;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel, Sanitizer};
use sdfg_codegen::load::{CallError, Library};
use sdfg_codegen::lower::{LowerOptions, lower};
use sdfg_codegen::source::{CCompiler, SourceOptions, c_source};

use super::timers::agree_when_timed;

/// The `at`-th of a sequence of small numbers, of which some are negative.
fn number(at: usize, ty: ScalarType) -> Value {
    let value = ((at * 7 + 3) % 23) as f64 - 6.0;
    match ty.kind() {
        ScalarKind::Bool => Value::Bool(value > 0.0),
        ScalarKind::Unsigned => cast(Value::F64(value.abs()), ty),
        ScalarKind::Signed | ScalarKind::Float | ScalarKind::Complex => cast(Value::F64(value), ty),
    }
}

/// Runs a program with these symbols and small numbers in every argument; the two must agree.
pub(crate) fn agree(program: &Sdfg, symbols: &[(String, i64)]) -> Result<(), String> {
    let (program, arguments) = prepared(program, symbols)?;
    let mut expected = arguments.clone();
    let mut interpreter = Interpreter::new(&program).map_err(|error| error.to_string())?;
    let report = interpreter
        .run(&mut expected, &Options::default())
        .map_err(|error| format!("interpreter: {error}"))?;
    for checked in [false, true] {
        let library = compiled(&program, &CompileOptions { checked, ..options() })?;
        for threads in [1, 2, 3] {
            let how = format!("{threads} threads{}", if checked { ", checked" } else { "" });
            let mut actual = arguments.clone();
            native(&library, &mut actual, NonZeroU32::new(threads))
                .map_err(|error| format!("native, {how}: {error}"))?;
            if let Some(difference) = difference(&expected, &actual) {
                return Err(format!("with {how}, {difference}"));
            }
        }
    }
    agree_when_timed(&program, &arguments, &expected, &report)
}

/// Runs a program with these symbols and small numbers in every argument, as code of every level; each must agree with the interpreter.
pub(crate) fn agree_at_every_level(program: &Sdfg, symbols: &[(String, i64)]) -> Result<(), String> {
    let (program, arguments) = prepared(program, symbols)?;
    let mut expected = arguments.clone();
    let mut interpreter = Interpreter::new(&program).map_err(|error| error.to_string())?;
    interpreter.run(&mut expected, &Options::default()).map_err(|error| format!("interpreter: {error}"))?;
    for level in OptLevel::ALL {
        let library = compiled(&program, &CompileOptions { level, ..options() })?;
        let mut actual = arguments.clone();
        native(&library, &mut actual, NonZeroU32::new(1))
            .map_err(|error| format!("native, level {level}: {error}"))?;
        if let Some(difference) = difference(&expected, &actual) {
            return Err(format!("at level {level}, {difference}"));
        }
    }
    Ok(())
}

/// Runs a program by way of C source, compiled by this command, with these symbols and small numbers in every argument, several times on one
/// handle; every run must agree with the interpreter.
pub(crate) fn agree_through_c(
    compiler: &str,
    program: &Sdfg,
    symbols: &[(String, i64)],
    runs: usize,
    checked: bool,
) -> Result<(), String> {
    let (program, arguments) = prepared(program, symbols)?;
    let library = compiled_by(compiler, &program, checked)?;
    // Each number of threads has a handle of its own.
    for threads in [1, 2, 3] {
        let mut interpreter = Interpreter::new(&program).map_err(|error| error.to_string())?;
        let (mut expected, mut actual) = (arguments.clone(), arguments.clone());
        for run in 1..=runs {
            let ran = interpreter.run(&mut expected, &Options::default());
            ran.map_err(|error| format!("interpreter: {error}"))?;
            native(&library, &mut actual, NonZeroU32::new(threads))
                .map_err(|error| format!("native, {threads} threads, run {run}: {error}"))?;
            if let Some(difference) = difference(&expected, &actual) {
                return Err(format!("with {threads} threads, run {run}, {difference}"));
            }
        }
    }
    Ok(())
}

/// As [`failure`], by way of C source.
pub(crate) fn failure_through_c(
    compiler: &str,
    program: &Sdfg,
    symbols: &[(String, i64)],
    checked: bool,
) -> Result<Option<String>, String> {
    let (program, mut arguments) = prepared(program, symbols)?;
    let library = compiled_by(compiler, &program, checked)?;
    native(&library, &mut arguments, NonZeroU32::new(2)).err();
    Ok(native(&library, &mut arguments, NonZeroU32::new(1)).err().map(|error| error.to_string()))
}

/// The library of a program by way of C source, which is C++, too. Warnings are errors.
fn compiled_by(compiler: &str, program: &Validated, checked: bool) -> Result<Library, String> {
    let options = CompileOptions { checked, ..options() };
    let plan = lower(program, &options.target(), &options.lowering()).map_err(|error| error.to_string())?;
    let text = c_source(&plan, &SourceOptions::default()).map_err(|error| error.to_string())?;
    let mut warnings = vec!["-O2", "-march=native", "-Wall", "-Wextra", "-Wconversion", "-Werror"];
    if compiler.contains("clang") {
        // clang 19 warns of `native` on processors with AVX10.1.
        warnings.push("-Wno-invalid-feature-combination");
    }
    let as_cpp = Command::new(compiler)
        .args(["-x", "c++", "-std=c++17", "-fopenmp", "-fsyntax-only"])
        .args(&warnings)
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut as_cpp = as_cpp.map_err(|error| format!("`{compiler}` cannot be run: {error}"))?;
    let written = as_cpp.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    written.transpose().map_err(|error| error.to_string())?;
    let output = as_cpp.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("not C++: {}\n{text}", String::from_utf8_lossy(&output.stderr)));
    }
    // SAFETY: programs with C or C++ code of their own are not among these.
    let library = unsafe { CCompiler::new(compiler, &warnings).load(&plan, &SourceOptions::default()) };
    library.map_err(|error| format!("not compiled: {error}\n{text}"))
}

/// Runs a program of these tests natively.
fn native(
    library: &Library,
    arguments: &mut Arguments,
    threads: Option<NonZeroU32>,
) -> Result<(), CallError> {
    // SAFETY: the interpreter brings the programs to an end on the same arguments, or they are checked, or run in a process of their own.
    unsafe { library.run(arguments, threads) }
}

/// Runs a program several times, each on the results of the run before; all that is kept from run to run must agree, too.
pub(crate) fn agree_repeatedly(program: &Sdfg, symbols: &[(String, i64)]) -> Result<(), String> {
    let (program, arguments) = prepared(program, symbols)?;
    for checked in [false, true] {
        let library = compiled(&program, &CompileOptions { checked, ..options() })?;
        let mut interpreter = Interpreter::new(&program).map_err(|error| error.to_string())?;
        let (mut expected, mut actual) = (arguments.clone(), arguments.clone());
        for run in 1..=4 {
            interpreter
                .run(&mut expected, &Options::default())
                .map_err(|error| format!("interpreter, run {run}: {error}"))?;
            native(&library, &mut actual, NonZeroU32::new(2))
                .map_err(|error| format!("native, run {run}: {error}"))?;
            if let Some(difference) = difference(&expected, &actual) {
                return Err(format!("in run {run}, {difference}"));
            }
        }
    }
    Ok(())
}

/// Differences, if any.
pub(crate) fn difference(expected: &Arguments, actual: &Arguments) -> Option<String> {
    expected.tensors().find_map(|(name, tensor)| match actual.get(name) {
        None => Some(format!("`{name}` is lost")),
        Some(other) if same(tensor, other) => None,
        Some(other) => Some(format!("`{name}` differs: {tensor:?} and {other:?}")),
    })
}

/// The failure of native code for a program that also fails in the interpreter; nothing if one of the two
/// succeeds.
pub(crate) fn failure(program: &Sdfg, symbols: &[(String, i64)], checked: bool) -> Option<String> {
    let (program, mut arguments) = prepared(program, symbols).unwrap_or_else(|error| panic!("{error}"));
    let mut interpreter = Interpreter::new(&program).unwrap_or_else(|error| panic!("{error}"));
    interpreter.run(&mut arguments.clone(), &Options::default()).err()?;
    let library = compiled(&program, &CompileOptions { checked, ..options() })
        .unwrap_or_else(|error| panic!("{error}"));
    // Twice, as a failure leaves nothing behind.
    native(&library, &mut arguments, NonZeroU32::new(2)).err()?;
    native(&library, &mut arguments, NonZeroU32::new(1)).err().map(|error| error.to_string())
}

/// Runs a program as native code, whatever it does.
pub(crate) fn run(program: &Sdfg, symbols: &[(String, i64)]) -> Result<(), String> {
    let (program, arguments) = prepared(program, symbols)?;
    let library = compiled(&program, &options())?;
    // A copy has no memory behind its elements.
    native(&library, &mut arguments.clone(), NonZeroU32::new(2)).map_err(|error| error.to_string())
}

/// The program with symbols and small numbers in every argument.
pub(crate) fn prepared(program: &Sdfg, symbols: &[(String, i64)]) -> Result<(Validated, Arguments), String> {
    let program = validate(program.clone()).map_err(|rejected| rejected.to_string())?;
    let mut arguments = Arguments::new();
    for (name, value) in symbols {
        arguments.set_symbol(name, *value);
    }
    for (_, container) in program.sdfg().arguments() {
        let extent = |expr: &sdfg::symbolic::Expr| {
            let value = |symbol: &sdfg::symbolic::Symbol| {
                symbols.iter().find(|(name, _)| name == symbol.as_str()).map(|(_, value)| *value)
            };
            expr.eval(&value).map_err(|error| error.to_string())
        };
        let extents = container.shape().iter().map(extent).collect::<Result<Vec<_>, _>>()?;
        // The caller decides how many elements a queue begins with.
        for (name, shape) in tensors_of(container, extents, || 5) {
            let first = name.bytes().map(usize::from).sum::<usize>();
            let count = shape.iter().product::<i64>().max(0) as usize;
            let bytes = (0..count).flat_map(|at| {
                let value = number(first + at, container.element.lane());
                value.to_bytes().into_iter().take(container.element.size())
            });
            let tensor = Tensor::from_bytes(container.element, shape, bytes.collect())
                .map_err(|error| format!("{name}: {error}"))?;
            arguments.set(name, tensor);
        }
    }
    Ok((program, arguments))
}

/// Without a threshold, so that small programs start threads, too.
pub(crate) fn options() -> CompileOptions {
    let sanitizer = match std::env::var("SDFG_TEST_SANITIZER").as_deref() {
        Ok("address") => Some(Sanitizer::Address),
        Ok("thread") => Some(Sanitizer::Thread),
        Ok(_) | Err(_) => None,
    };
    CompileOptions { parallel_threshold: 0, sanitizer, ..CompileOptions::default() }
}

fn compiled(program: &Validated, options: &CompileOptions) -> Result<Library, String> {
    // Sanitizers tell lines.
    let debug = options.sanitizer.map(|_| "/".to_owned());
    let plan = lower(program, &options.target(), &LowerOptions { debug, ..options.lowering() })
        .map_err(|error| error.to_string())?;
    let object = llvm::compile(&plan, options).map_err(|error| format!("not compiled: {error}"))?;
    Library::load(&object).map_err(|error| error.to_string())
}

/// Whether two tensors hold the same elements, bit by bit; one NaN is as good as another.
fn same(a: &Tensor, b: &Tensor) -> bool {
    let equal = |(x, y): (Value, Value)| x.same_bits(y) || (is_nan(x) && is_nan(y));
    a.element() == b.element() && a.shape() == b.shape() && a.values().zip(b.values()).all(equal)
}

/// Whether a value is not equal to itself.
fn is_nan(value: Value) -> bool {
    let same = arith::compare(CompareOp::Equal, value, value);
    !same
}
