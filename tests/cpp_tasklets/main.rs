//! Tests of DaCe graphs with C++ tasklets beyond assignments. `programs.py` contains their sources and the
//! expected results by NumPy or DaCe. The graphs run in the interpreter and natively, and only with
//! permission.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::Sdfg;
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg::value::{Complex, Value};
use sdfg_codegen::NativeExternals;
use sdfg_codegen::cache::Cache;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::lower;
use sdfg_dace::{Code, Import, Refused};
use sdfg_programs::trusted;
use serde_json::Value as Json;

const PROGRAMS: [&str; 7] = ["lanes", "loops", "medians", "pairs", "resolved", "shared", "values"];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cpp_tasklets").join(name)
}

fn text(program: &str) -> String {
    std::fs::read_to_string(file(&format!("{program}.sdfg"))).unwrap()
}

fn read(text: &str, allow_external: bool) -> Result<Import, Refused> {
    sdfg_dace::read(text.as_bytes(), &sdfg_dace::Options { allow_external, ..Default::default() })
}

/// The numbers of one side of the data of a program: complex ones stand in two.
fn numbers(data: &Json) -> Vec<f64> {
    let number = |value: &Json| value.as_f64().or(value.as_bool().map(|value| f64::from(u8::from(value))));
    data["values"].as_array().unwrap().iter().filter_map(number).collect()
}

fn tensor(sdfg: &Sdfg, name: &str, data: &Json) -> Tensor {
    let container = sdfg.container(sdfg.find_container(name).unwrap());
    let lane = container.element.lane();
    let numbers = numbers(data);
    let values: Vec<Value> = match lane.is_complex() {
        true => numbers.chunks(2).map(|pair| Value::Complex128(Complex::new(pair[0], pair[1]))).collect(),
        false => numbers.into_iter().map(Value::F64).collect(),
    };
    let mut bytes = vec![0; values.len() * lane.size()];
    for (value, place) in values.into_iter().zip(bytes.chunks_mut(lane.size())) {
        cast(value, lane).write(place);
    }
    let shape = data["shape"].as_array().unwrap().iter().filter_map(Json::as_i64);
    Tensor::from_bytes(container.element, shape.collect(), bytes).unwrap()
}

fn flat(tensor: &Tensor) -> Vec<f64> {
    let parts = |value: Value| match cast(value, ScalarType::Complex128) {
        Value::Complex128(both) if value.ty().is_complex() => vec![both.re, both.im],
        Value::Complex128(both) => vec![both.re],
        _ => Vec::new(),
    };
    tensor.values().flat_map(parts).collect()
}

fn interpret(program: &Validated, arguments: &mut Arguments, cache: &Cache) {
    // SAFETY: the functions of these programs stay within their arguments.
    let externals = unsafe { NativeExternals::new(Some(cache.clone())) };
    let options = Options { externals: Some(&externals), ..Options::default() };
    Interpreter::new(program).unwrap().run(arguments, &options).unwrap();
}

fn native(program: &Validated, arguments: &mut Arguments, cache: &Cache) {
    let options =
        CompileOptions { level: OptLevel::Quick, parallel_threshold: 0, ..CompileOptions::default() };
    let plan = lower(program, &options.target(), &options.lowering()).unwrap();
    let library = trusted::load(&cache.compile(&plan, &options).unwrap()).unwrap();
    trusted::run(&library, arguments, NonZeroU32::new(2)).unwrap();
}

#[test]
fn code_computes_what_dace_has_it_compute() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path());
    for name in PROGRAMS {
        let data: Json =
            serde_json::from_slice(&std::fs::read(file(&format!("{name}.json"))).unwrap()).unwrap();
        let import = read(&text(name), true).unwrap_or_else(|refused| panic!("{name}: {}", refused.report));
        let program = validate(import.sdfg).unwrap_or_else(|rejected| panic!("{name}: {rejected}"));
        for (engine, run) in
            [("interpreted", interpret as fn(&Validated, &mut Arguments, &Cache)), ("native", native)]
        {
            let mut arguments = Arguments::new();
            for (name, value) in data["inputs"].as_object().unwrap() {
                arguments.set(name, tensor(program.sdfg(), name, value));
            }
            run(&program, &mut arguments, &cache);
            for (output, expected) in data["outputs"].as_object().unwrap() {
                let (found, expected) = (flat(arguments.get(output).unwrap()), numbers(expected));
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
                let is_right = found.len() == expected.len() && found.iter().zip(&expected).all(near);
                assert!(is_right, "{name}, {engine}: `{output}` is {found:?} and not {expected:?}");
            }
        }
    }
}

#[test]
fn code_that_is_not_allowed_is_refused_by_name() {
    for name in PROGRAMS {
        let refused = read(&text(name), false).unwrap_err();
        for error in refused.report.errors() {
            assert!(matches!(error.code, Code::Language | Code::ForeignCode), "{name}: {error}");
            assert!(error.message.contains("`--allow-external`"), "{name}: {error}");
        }
    }
}

#[test]
fn every_tasklet_that_is_compiled_is_told() {
    let told = |name: &str| -> Vec<String> {
        let report = read(&text(name), true).unwrap().report;
        let notes = report.findings.iter().filter(|found| found.code == Code::External);
        notes.map(|found| found.message.split('`').nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(told("shared"), ["power", "weigh"]);
    assert_eq!(told("values"), ["first", "second"]);
    // Simple code is translated whether more is allowed or not.
    let simple = text("lanes").replace("for (int k = 0; k < 2; ++k) { b = b * a; }", "b = b * a * a;");
    assert!(read(&simple, false).unwrap().report.findings.is_empty());
    let printed = |allow| sdfg::text::print(&read(&simple, allow).unwrap().sdfg);
    assert_eq!(printed(false), printed(true));
}

#[test]
fn what_cannot_be_compiled_alone_is_refused() {
    let refused = read(&text("pushes"), true).unwrap_err();
    let error = refused.report.errors().next().unwrap();
    assert!(error.code == Code::Language && error.message.contains("pushes to a stream"), "{error}");
    let loops = text("loops");
    for (from, to, code, what) in [
        (
            "double sum = 0;",
            "double sum = __state->sum;",
            Code::ForeignCode,
            "the state of DaCe's generated program",
        ),
        (
            "\"init_code\":{\"frame\":{\"string_data\":\"",
            "\"init_code\":{\"frame\":{\"string_data\":\"start();",
            Code::ForeignCode,
            "`start();`",
        ),
    ] {
        let changed = loops.replace(from, to);
        assert_ne!(loops, changed);
        let refused = read(&changed, true).unwrap_err();
        let error = refused.report.errors().next().unwrap();
        assert!(error.code == code && error.message.contains(what), "{error}");
    }
}

#[test]
fn messages_of_the_compiler_name_the_tasklet_and_its_lines() {
    let wrong = text("loops").replace("double sum = 0;", "double sum = nothing;");
    let program = validate(read(&wrong, true).unwrap().sdfg).unwrap();
    let options = CompileOptions::default();
    let plan = lower(&program, &options.target(), &options.lowering()).unwrap();
    let error = trusted::load(&llvm::compile(&plan, &options).unwrap()).unwrap_err().to_string();
    assert!(error.contains("tasklet `running` at loops/nodes[0]/nodes[0]:5:"), "{error}");
    assert!(!error.contains("generated:"), "{error}");
}
