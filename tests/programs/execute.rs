//! Runs one program in every available way, and passes each result to a check.

use std::num::NonZeroU32;

use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::tensor::{Scalar, Tensor};
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel, Sanitizer};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::{LowerOptions, lower};
use sdfg_codegen::object::ObjectCode;
use sdfg_programs::programs::ALL;
use sdfg_programs::trusted;

/// The program from the builder and from its text, each with a word for messages.
pub(crate) fn forms(name: &str) -> [(&'static str, Validated); 2] {
    let (_, build) = ALL.into_iter().find(|(known, _)| *known == name).expect("a program of the list");
    let (built, _) = build().unwrap_or_else(|rejected| panic!("{name} from the builder: {rejected}"));
    let path = format!("{}/programs/{name}.sdft", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let parsed = sdfg::text::parse(&path, &source).unwrap_or_else(|errors| panic!("{path}: {errors:?}"));
    let parsed = validate(parsed).unwrap_or_else(|rejected| panic!("{path}: {rejected}"));
    [("builder", built), ("text", parsed)]
}

/// Runs the program in the interpreter, in the fixed order and in two random ones.
pub(crate) fn interpreted(name: &str, arguments: &Arguments, check: impl Fn(&Arguments)) {
    for (form, program) in &forms(name) {
        for order in [Order::Fixed, Order::Random(1), Order::Random(2)] {
            println!("{name} from the {form}, interpreted in order {order:?}");
            check(&interpret(program, arguments, &Options { order, ..Options::default() }));
        }
    }
}

/// One run of the interpreter.
pub(crate) fn interpret(program: &Validated, arguments: &Arguments, options: &Options<'_>) -> Arguments {
    let mut arguments = arguments.clone();
    let mut interpreter = Interpreter::new(program).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { step_limit: Some(5_000_000), ..*options };
    interpreter.run(&mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    arguments
}

/// Runs the program in the interpreter and as native code, on each list of arguments.
pub(crate) fn everywhere(name: &str, cases: &[Arguments], check: impl Fn(&Arguments, &Arguments)) {
    for arguments in cases {
        interpreted(name, arguments, |results| check(arguments, results));
    }
    for (form, program) in &forms(name) {
        for level in [OptLevel::Quick, OptLevel::O3] {
            println!("{name} from the {form}, compiled at level {level}");
            let library = Library::load(&compiled(program, level)).unwrap_or_else(|error| panic!("{error}"));
            for arguments in cases {
                native(&library, arguments, |results| check(arguments, results));
            }
        }
    }
}

/// Runs compiled code with one thread and with two.
pub(crate) fn native(library: &Library, arguments: &Arguments, check: impl Fn(&Arguments)) {
    for threads in [1, 2] {
        println!("native with {threads} threads");
        let mut results = arguments.clone();
        trusted::run(library, &mut results, NonZeroU32::new(threads))
            .unwrap_or_else(|error| panic!("{error}"));
        check(&results);
    }
}

/// Expands library nodes and compiles, for the sanitizer that `cargo xtask sanitize` asks for. Every parallel region starts its
/// team, however little it has to do.
pub(crate) fn compiled(program: &Validated, level: OptLevel) -> ObjectCode {
    let expanded = sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn)
        .unwrap_or_else(|error| panic!("not expanded: {error}"));
    let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("expanded: {rejected}"));
    let sanitizer = match std::env::var("SDFG_TEST_SANITIZER").as_deref() {
        Ok("address") => Some(Sanitizer::Address),
        Ok("thread") => Some(Sanitizer::Thread),
        Ok(_) | Err(_) => None,
    };
    let options = CompileOptions { level, parallel_threshold: 0, sanitizer, ..CompileOptions::default() };
    // Sanitizers tell lines.
    let debug = sanitizer.map(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    let plan = lower(&expanded, &options.target(), &LowerOptions { debug, ..options.lowering() });
    let plan = plan.unwrap_or_else(|error| panic!("not lowered: {error}"));
    llvm::compile(&plan, &options).unwrap_or_else(|error| panic!("not compiled: {error}"))
}

/// The elements of an argument.
pub(crate) fn elements<T: Scalar>(arguments: &Arguments, name: &str) -> Vec<T> {
    let tensor = arguments.get(name).unwrap_or_else(|| panic!("no argument `{name}`"));
    tensor.to_vec().unwrap_or_else(|error| panic!("`{name}`: {error}"))
}

/// A tensor with the elements that a function gives for positions in row-major order.
pub(crate) fn filled<T: Scalar>(shape: &[i64], element: impl Fn(i64) -> T) -> Tensor {
    let elements: Vec<T> = (0..shape.iter().product()).map(element).collect();
    Tensor::new(shape, &elements).unwrap_or_else(|error| panic!("{error}"))
}

/// A small integer that looks random, from -`limit` to `limit`.
pub(crate) fn scattered(position: i64, limit: i64) -> f64 {
    // The multiplier is that of Knuth's multiplicative hashing; the middle bits are the mixed ones.
    let mixed = (position + 1).wrapping_mul(2_654_435_761) >> 12;
    (mixed.rem_euclid(2 * limit + 1) - limit) as f64
}
