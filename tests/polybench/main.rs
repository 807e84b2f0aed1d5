//! PolyBench's kernels against formulas in Rust, at the size MINI.
//!
//! Each kernel runs in the interpreter, from the builder and from its text, and as native code. The formulas are loops over
//! plain vectors, in the order of the C code. Conflict resolutions add in other orders, so results have a bound on
//! their difference, relative to the largest element of the array. Transformations of the kernels keep the results.
#![expect(clippy::print_stdout, reason = "a failing test shows which kernel it ran, and how")]

mod formulas;
mod memory;

use std::path::PathBuf;

use memory::Memory;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::CompileOptions;
use sdfg_codegen::load::Library;
use sdfg_programs::programs::polybench::{KERNELS, Kernel, arguments};
use sdfg_programs::rewritten::Runs;
use sdfg_programs::subjects::Subjects;
use sdfg_programs::{applications, trusted};

fn path(kernel: &Kernel) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("programs/polybench");
    folder.join(format!("{}.sdft", kernel.name))
}

fn built(kernel: &Kernel) -> Validated {
    (kernel.build)().unwrap_or_else(|rejected| panic!("{}: {rejected}", kernel.name)).0
}

fn interpret(program: &Validated, arguments: &Arguments, order: Order) -> Arguments {
    let mut arguments = arguments.clone();
    let options = Options { order, ..Options::default() };
    let mut interpreter = Interpreter::new(program).unwrap_or_else(|error| panic!("{error}"));
    interpreter.run(&mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    arguments
}

/// The text of a kernel in the repository is that of the builder. With `SDFG_UPDATE` set, it is written.
#[test]
fn texts_are_those_of_the_builder() {
    for kernel in &KERNELS {
        let text = sdfg::text::print(built(kernel).sdfg());
        let path = path(kernel);
        if std::env::var_os("SDFG_UPDATE").is_some() {
            std::fs::write(&path, &text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        let found =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(found == text, "{} differs from the builder: run with SDFG_UPDATE=1", path.display());
        let parsed = sdfg::text::parse(kernel.name, &found).unwrap_or_else(|errors| panic!("{errors:?}"));
        validate(parsed).unwrap_or_else(|rejected| panic!("{}: {rejected}", kernel.name));
    }
}

#[test]
fn kernels_give_the_results_of_their_formulas() {
    for kernel in &KERNELS {
        let program = built(kernel);
        let given = arguments(kernel, &program, kernel.mini).unwrap_or_else(|error| panic!("{error}"));
        let mut expected = Memory::of(&given);
        formulas::run(kernel.name, &mut expected);
        for order in [Order::Fixed, Order::Random(1)] {
            println!("{} interpreted in order {order:?}", kernel.name);
            expected.compare(&given, &interpret(&program, &given, order));
        }
        println!("{} compiled", kernel.name);
        let object = sdfg_codegen::compile(&program, &CompileOptions::default());
        let library = Library::load(&object.unwrap_or_else(|error| panic!("{error}")));
        let mut native = given.clone();
        trusted::run(&library.unwrap_or_else(|error| panic!("{error}")), &mut native, None)
            .unwrap_or_else(|error| panic!("{error}"));
        expected.compare(&given, &native);
    }
}

/// Kernels that share the transformations of a test among them: a kernel is tested with every eighth one.
const TURNS: usize = 8;

/// A match of each transformation in some kernels, at small sizes: `cargo xtask random --on polybench --every-match` takes all
/// matches in all kernels at the size MINI.
#[test]
fn transformations_keep_the_results_of_kernels() {
    let mut names: Vec<&str> =
        applications::variants().iter().map(|transformation| transformation.metadata().name).collect();
    names.sort_unstable();
    names.dedup();
    let mut applied = 0;
    for (number, kernel) in KERNELS.iter().enumerate() {
        let case =
            Subjects::SmallPolybench.case(number, number as u64).unwrap_or_else(|what| panic!("{what}"));
        let is_wanted = |name: &str| {
            names.iter().position(|other| *other == name).is_some_and(|at| at % TURNS == number % TURNS)
        };
        let runs = if number % TURNS == 0 { Runs::Compiled } else { Runs::Interpreted };
        let counts = case.every_match(&is_wanted, Some(1), runs);
        let counts = counts.unwrap_or_else(|what| panic!("{}: {what}", kernel.name));
        applied += counts.values().map(|outcomes| outcomes.applied).sum::<u64>();
    }
    assert!(applied >= 60, "only {applied} applications");
}

#[test]
fn simplification_keeps_the_results_of_kernels() {
    for (number, kernel) in KERNELS.iter().enumerate() {
        let case =
            Subjects::SmallPolybench.case(number, number as u64).unwrap_or_else(|what| panic!("{what}"));
        let runs = if number % 10 == 0 { Runs::Compiled } else { Runs::Interpreted };
        case.simplified(runs).unwrap_or_else(|what| panic!("{}: {what}", kernel.name));
    }
}
