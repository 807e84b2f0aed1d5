//! Checks one random program: the interpreter, in several orders, against native code.

use std::convert::Infallible;
use std::num::NonZeroU32;

use sdfg::diagnostic::Style;
use sdfg::interpret::{Arguments, Interpreter, Options, Order, Report};
use sdfg::minimize::{Candidate, minimize};
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::{Instrumentation, LowerOptions, ProfileLevel, lower};
use sdfg_transforms::verify::same;

use super::features::{Features, features};
use super::generate::generate;
use super::inputs::{Sizes, inputs};
use super::operations::Operations;
use super::rng::Rng;
use crate::trusted::{self, Compiler};

/// The outcome of a random program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Interpreter and native code agree, and the outputs depend on the inputs. Contains the features of the program and run.
    Agreed(Features),
    /// They agree, but no change of an input that was tried changes an output.
    Trivial,
}

/// The compilations of a program that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Twice, one of them checked, at levels that take turns with the seed.
    Sample,
    /// At levels 0 and 3, checked and unchecked.
    Full,
    /// By way of C source, with gcc and with clang.
    ThroughC,
}

/// Why a random program is evidence of a fault, with its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("program of seed {seed}, sizes {sizes:?}: {what}\n{source_text}")]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// Values of the symbols.
    pub sizes: Sizes,
    /// The failure.
    pub what: String,
    /// The program.
    pub source_text: String,
}

/// Number of smaller programs that a reduction tries.
const REDUCTIONS: usize = 400;

/// Number of random orders that [`check`] tries before it compiles.
const ORDERS: u64 = 2;

/// Generates the program of a seed and compares the interpreter, in its fixed and in random orders, with native code,
/// with one thread and with two.
///
/// # Errors
/// [`Failure`] if the program is refused, traps or gives different results.
pub fn check(seed: u64, effort: Effort) -> Result<Outcome, Box<Failure>> {
    on_program(seed, |program, sizes, rng| {
        let arguments = inputs(program.sdfg(), sizes, rng);
        let expected = in_all_orders(program, &arguments, seed, ORDERS)?;
        if !depends_on_inputs(program, &arguments, &expected, sizes, rng)? {
            return Ok(Outcome::Trivial);
        }
        compare(seed, effort, program, &arguments, &expected)?;
        let (_, report) = run(program, arguments, Order::Fixed)?;
        Ok(Outcome::Agreed(features(program.sdfg(), &report, sizes)))
    })
}

/// A smaller program that fails as [`check`] found the program of a failure to fail; `None` if there is none.
pub fn reduced(failure: &Failure, effort: Effort) -> Option<Failure> {
    let Failure { seed, sizes, .. } = *failure;
    reduced_by(failure, |program| {
        let arguments = inputs(program.sdfg(), sizes, &mut Rng::new(seed ^ 0x5eed));
        let expected = in_all_orders(program, &arguments, seed, ORDERS);
        expected.and_then(|expected| compare(seed, effort, program, &arguments, &expected)).err()
    })
}

/// A smaller program with the same sort of problem as that of a failure; `None` if there is none.
pub(super) fn reduced_by(
    failure: &Failure,
    problem: impl Fn(&Validated) -> Option<String>,
) -> Option<Failure> {
    let Failure { seed, sizes, .. } = *failure;
    let program = validated(&failure.source_text).ok()?;
    let first = problem(&program)?;
    let fails = |candidate: &Candidate<'_>| -> Result<bool, Infallible> {
        let found = validate(candidate.sdfg.clone()).ok().and_then(|program| problem(&program));
        Ok(found.is_some_and(|found| kind(&found) == kind(&first)))
    };
    let Ok(smallest) = minimize(&program, Some(REDUCTIONS), fails);
    let what = problem(&smallest.program)?;
    Some(Failure { seed, sizes, what, source_text: sdfg::text::print(smallest.program.sdfg()) })
}

/// The sort of failure of a message: its text up to the first name or number, or `differs`.
fn kind(what: &str) -> &str {
    if what.contains(" differs ") {
        "differs"
    } else {
        what.split(|c: char| c == '`' || c.is_ascii_digit()).next().unwrap_or_default()
    }
}

/// Generates the program of a seed and compares the interpreter in its fixed order with `count` random ones. Programs
/// are free of conflicts and their arithmetic is exact, so that results are the same bit by bit.
///
/// # Errors
/// [`Failure`] if the program is refused, traps or gives different results.
pub fn check_orders(seed: u64, count: u64) -> Result<(), Box<Failure>> {
    on_program(seed, |program, sizes, rng| {
        in_all_orders(program, &inputs(program.sdfg(), sizes, rng), seed, count).map(|_| ())
    })
}

/// Generates, parses and validates the program of a seed, and says which it was when something is wrong with it.
fn on_program<T>(
    seed: u64,
    check: impl FnOnce(&Validated, Sizes, &mut Rng) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    on_text(seed, generate(seed), check)
}

/// As [`on_program`], for a program that was generated already.
pub(super) fn on_text<T>(
    seed: u64,
    source_text: String,
    check: impl FnOnce(&Validated, Sizes, &mut Rng) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let sizes = Sizes { n: 1 + rng.below(7) as i64, m: 1 + rng.below(7) as i64 };
    validated(&source_text)
        .and_then(|program| check(&program, sizes, &mut rng))
        .map_err(|what| Box::new(Failure { seed, sizes, what, source_text }))
}

/// Reads a program.
pub(super) fn validated(source_text: &str) -> Result<Validated, String> {
    let sdfg =
        sdfg::text::parse("random.sdft", source_text).map_err(|errors| format!("not parsed: {errors:?}"))?;
    validate(sdfg).map_err(|rejected| format!("rejected: {}", rejected.render(None, Style::Plain)))
}

/// Results of the interpreter in its fixed order, which must equal those in `count` random orders.
fn in_all_orders(
    program: &Validated,
    arguments: &Arguments,
    seed: u64,
    count: u64,
) -> Result<Arguments, String> {
    let expected = interpret(program, arguments.clone(), Order::Fixed)?;
    for number in 0..count {
        let order = Order::Random(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let found = interpret(program, arguments.clone(), order)?;
        if let Some((name, tensor, other)) = difference(&expected, &found) {
            return Err(format!("`{name}` differs in {order:?}: {tensor:?} and {other:?}"));
        }
    }
    Ok(expected)
}

/// The first container with other elements, and both of its tensors.
pub(crate) fn difference<'a>(
    expected: &'a Arguments,
    found: &'a Arguments,
) -> Option<(&'a str, &'a Tensor, Option<&'a Tensor>)> {
    expected
        .tensors()
        .map(|(name, tensor)| (name, tensor, found.get(name)))
        .find(|(_, tensor, other)| !other.is_some_and(|other| same(tensor, other)))
}

fn compare(
    seed: u64,
    effort: Effort,
    program: &Validated,
    arguments: &Arguments,
    expected: &Arguments,
) -> Result<(), String> {
    // Timers change no result; every seventh program has some.
    let timers = Instrumentation { level: ProfileLevel::Tasklet, counters: false };
    let timers = seed.is_multiple_of(7).then_some(timers);
    let expanded = expanded(program)?;
    if effort == Effort::ThroughC {
        return compare_through_c(&expanded, arguments, expected);
    }
    for (checked, level) in compilations(seed, effort) {
        // Programs are small: without this, no threads would be started.
        let options = CompileOptions { level, checked, parallel_threshold: 0, ..CompileOptions::default() };
        let library = compile(&expanded, &options, timers.filter(|_| !checked))?;
        for threads in [1, 2] {
            let how = format!("level {level}, {threads} threads{}", if checked { ", checked" } else { "" });
            let mut actual = arguments.clone();
            let run = trusted::run(&library, &mut actual, NonZeroU32::new(threads));
            run.map_err(|error| format!("native, {how}: {error}"))?;
            if let Some((name, tensor, other)) = difference(expected, &actual) {
                return Err(format!("`{name}` differs with {how}: {tensor:?} and {other:?}"));
            }
        }
    }
    Ok(())
}

/// As [`compare`], by way of C source.
fn compare_through_c(
    expanded: &Validated,
    arguments: &Arguments,
    expected: &Arguments,
) -> Result<(), String> {
    let options = CompileOptions { parallel_threshold: 0, ..CompileOptions::default() };
    let plan = lower(expanded, &options.target(), &options.lowering());
    let plan = plan.map_err(|error| format!("not lowered: {error}"))?;
    for compiler in Compiler::ALL {
        let library = trusted::through_c(&plan, compiler)?;
        for threads in [1, 2] {
            let mut actual = arguments.clone();
            let run = trusted::run(&library, &mut actual, NonZeroU32::new(threads));
            run.map_err(|error| format!("native, {compiler:?}, {threads} threads: {error}"))?;
            if let Some((name, tensor, other)) = difference(expected, &actual) {
                return Err(format!(
                    "`{name}` differs with {compiler:?}, {threads} threads: {tensor:?} and {other:?}"
                ));
            }
        }
    }
    Ok(())
}

/// Whether checked, and the level.
fn compilations(seed: u64, effort: Effort) -> Vec<(bool, OptLevel)> {
    let level = |turn: u64| OptLevel::ALL[(turn % OptLevel::ALL.len() as u64) as usize];
    match effort {
        // Checked and unchecked code are compiled at different levels.
        Effort::Sample => vec![(false, level(seed)), (true, level(seed / 2))],
        Effort::Full => [OptLevel::O0, OptLevel::O3]
            .into_iter()
            .flat_map(|level| [(false, level), (true, level)])
            .collect(),
        Effort::ThroughC => Vec::new(),
    }
}

/// Whether a change of some input changes another container.
fn depends_on_inputs(
    program: &Validated,
    arguments: &Arguments,
    expected: &Arguments,
    sizes: Sizes,
    rng: &mut Rng,
) -> Result<bool, String> {
    for name in expected.tensors().map(|(name, _)| name) {
        // Only other containers show that this one matters: it keeps its own change where nothing writes it.
        let mut changed = arguments.clone();
        if let Some(tensor) = inputs(program.sdfg(), sizes, rng).take(name) {
            changed.set(name, tensor);
        }
        let other = interpret(program, changed, Order::Fixed)?;
        let differs =
            |(n, tensor): (&str, &Tensor)| n != name && !other.get(n).is_some_and(|t| same(tensor, t));
        if expected.tensors().any(differs) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn interpret(
    program: &Validated,
    arguments: Arguments,
    order: Order,
) -> Result<Arguments, String> {
    run(program, arguments, order).map(|(results, _)| results)
}

fn run(program: &Validated, mut arguments: Arguments, order: Order) -> Result<(Arguments, Report), String> {
    let mut interpreter = Interpreter::new(program).map_err(|error| format!("not interpreted: {error}"))?;
    let options =
        Options { order, step_limit: Some(2_000_000), libraries: Some(&Operations), ..Options::default() };
    let report = interpreter.run(&mut arguments, &options);
    let report = report.map_err(|error| format!("interpreter: {error}"))?;
    Ok((arguments, report))
}

/// The program without reductions and library nodes, as native code wants it.
pub(crate) fn expanded(program: &Validated) -> Result<Validated, String> {
    let expanded = sdfg_library::expand(program.sdfg(), &Operations).map_err(|error| error.to_string())?;
    validate(expanded).map_err(|rejected| {
        format!("the expanded program is rejected: {}", rejected.render(None, Style::Plain))
    })
}

/// Native code for an expanded program.
pub(super) fn compile(
    expanded: &Validated,
    options: &CompileOptions,
    instrumentation: Option<Instrumentation>,
) -> Result<Library, String> {
    let plan = lower(expanded, &options.target(), &LowerOptions { instrumentation, ..options.lowering() })
        .map_err(|error| format!("not lowered: {error}"))?;
    let object = llvm::compile(&plan, options).map_err(|error| format!("not compiled: {error}"))?;
    Library::load(&object).map_err(|error| format!("not loaded: {error}"))
}

/// Whether a program runs in the interpreter, in several orders.
#[cfg(test)]
pub(super) fn interprets(seed: u64, source_text: &str) -> Result<(), String> {
    let program = validated(source_text)?;
    let mut rng = Rng::new(seed);
    let sizes = Sizes { n: 1 + rng.below(7) as i64, m: 1 + rng.below(7) as i64 };
    in_all_orders(&program, &inputs(program.sdfg(), sizes, &mut rng), seed, ORDERS).map(|_| ())
}
