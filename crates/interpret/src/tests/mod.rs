//! Tests of the interpreter on whole programs in text form.

mod analysis;
mod memory;
mod orders;
mod programs;
mod races;
mod ranks;
mod repository;
mod resolutions;
mod stream_order;
mod streams;
mod trace;
mod traps;
mod validation;

use sdfg_graph::text;
use sdfg_validate::{Validated, validate};

use super::{Arguments, Interpreter, Options, Order, Report, RunError, TrapKind};

/// Parses and validates a program.
#[track_caller]
fn program(source: &str) -> Validated {
    match text::parse("test.sdft", source) {
        Ok(sdfg) => validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}")),
        Err(errors) => panic!("{errors:?}\n{source}"),
    }
}

/// Runs a program in its fixed order.
#[track_caller]
fn run_with(source: &str, arguments: &mut Arguments, options: &Options<'_>) -> Result<Report, RunError> {
    let validated = program(source);
    let mut interpreter = Interpreter::new(&validated).unwrap_or_else(|error| panic!("{error}"));
    interpreter.run(arguments, options)
}

/// Runs a program in the fixed and in several random orders, which must give the same results.
#[track_caller]
fn run(source: &str, arguments: Arguments) -> Arguments {
    let mut expected = arguments.clone();
    run_with(source, &mut expected, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    for seed in 0..5 {
        let mut other = arguments.clone();
        let options = Options { order: Order::Random(seed), ..Options::default() };
        run_with(source, &mut other, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(other, expected, "seed {seed}");
    }
    expected
}

/// The trap that a program ends in, which must be the same kind in all orders. Validation may foresee it.
#[track_caller]
fn trap(source: &str, arguments: Arguments) -> TrapKind {
    let mut found = None;
    for order in [Order::Fixed, Order::Random(1), Order::Random(2)] {
        let options = Options { order, step_limit: Some(10_000), ..Options::default() };
        let parsed = text::parse("test.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut interpreter = Interpreter::of(&parsed).unwrap_or_else(|error| panic!("{error}"));
        match interpreter.run(&mut arguments.clone(), &options) {
            Err(RunError::Trap(trap)) => {
                let same =
                    |kind: &TrapKind| std::mem::discriminant(kind) == std::mem::discriminant(&trap.kind);
                assert!(found.as_ref().is_none_or(same), "{trap}");
                found.get_or_insert(trap.kind);
            }
            Err(RunError::Arguments(error)) => panic!("{error}"),
            Ok(_) => panic!("the program does not trap"),
        }
    }
    found.expect("three runs were made")
}
