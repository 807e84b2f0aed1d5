//! Transformations of random programs: every match, and random chains, compared in the interpreter and in native code.

use std::num::NonZeroU32;

use sdfg::diagnostic::Style;
use sdfg::interpret::{Arguments, Order};
use sdfg::ir::Sdfg;
use sdfg::validate::validate;
use sdfg_codegen::llvm::{CompileOptions, OptLevel};
use sdfg_library::transformations;
use sdfg_transforms::{Chain, Pipeline, TransformError, places, simplify};

use super::check::{Failure, compile, difference, expanded, interpret, on_text};
use super::generate::generate;
use super::inputs::inputs;
use super::reducible::reducible;
use super::repeated::repeated;
use super::rewritable::rewritable;
use super::rng::Rng;
use crate::applications::{
    Applications, attempt, counted, described, is_for_this_machine, refused_for_a_reason, variants,
};
use crate::trusted;

/// Ways to run rewritten programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The interpreter.
    Interpreted,
    /// The interpreter, and native code of the programs with all applications of a transformation, or of a chain.
    Compiled,
}

/// Applies every transformation at every match of the program of a seed, and compares the results with those before. With a name,
/// only the transformation of this name. Native code runs the program with all applications of a transformation, one after the
/// other.
///
/// # Errors
/// [`Failure`] if a rewritten program is not valid, traps or gives other results.
pub fn check_every_match(seed: u64, only: Option<&str>, runs: Runs) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, _| {
        let mut counts = Applications::new();
        for transformation in variants() {
            let name = transformation.metadata().name;
            if only.is_some_and(|only| only != name) {
                continue;
            }
            let mut before = case.program.clone();
            if name == "RaiseLoops" {
                // It looks for what lowering makes.
                sdfg::control::lower(&mut before);
            }
            let mut all = before.clone();
            let mut is_changed = false;
            for found in places(&before, transformation.as_ref()) {
                let mut program = before.clone();
                let applied = attempt(&mut program, transformation.as_ref(), &found)?;
                let is_applied = applied.is_ok();
                counts.entry(name).or_default().note(applied);
                if is_applied {
                    case.compare(&program).map_err(|what| {
                        format!("after {}: {what}", described(&before, transformation.as_ref(), &found))
                    })?;
                    is_changed |= attempt(&mut all, transformation.as_ref(), &found)?.is_ok();
                }
            }
            if is_changed && is_for_this_machine(transformation.as_ref()) {
                case.compare_by(&all, runs).map_err(|what| {
                    format!("after every {} {}: {what}", name, transformation.parameters())
                })?;
            }
        }
        Ok(counts)
    })
}

/// Simplifies the program of a seed and compares the results with those before.
///
/// # Errors
/// [`Failure`] if the simplified program is not valid, traps or gives other results.
pub fn check_simplify(seed: u64, runs: Runs) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, _| {
        let mut program = case.program.clone();
        let counts = simplify(&mut program, &transformations(), None);
        case.compare_by(&program, runs).map_err(|what| format!("after simplification: {what}"))?;
        Ok(counted(counts))
    })
}

/// Applies a random chain of at most `length` transformations to the program of a seed, compares the results after each, and
/// replays the chain from its file on the first program.
///
/// # Errors
/// [`Failure`] if a rewritten program is not valid, traps or gives other results, or if the replay gives another program.
pub fn check_chain(seed: u64, length: usize, runs: Runs) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, rng| {
        let mut counts = Applications::new();
        let mut pipeline = Pipeline::on(case.program.clone());
        for _ in 0..length {
            let transformations = variants();
            let chosen = transformations[rng.below(transformations.len())].as_ref();
            let all = places(pipeline.program(), chosen);
            if all.is_empty() {
                continue;
            }
            let found = all[rng.below(all.len())].clone();
            let name = chosen.metadata().name;
            match pipeline.apply_at(chosen, &found) {
                Ok(_) => counts.entry(name).or_default().note(Ok(())),
                Err(TransformError::Refused { refusal, .. }) => {
                    let reason = refused_for_a_reason(name, &refusal.to_string())?;
                    counts.entry(name).or_default().note(Err(reason));
                    continue;
                }
                Err(error) => return Err(error.to_string()),
            }
            let steps = pipeline.chain().lines().join("; ");
            case.compare(pipeline.program()).map_err(|what| format!("after {steps}: {what}"))?;
        }
        if pipeline.applications().all(|applied| applied.name != "GPUTransform") {
            let steps = || pipeline.chain().lines().join("; ");
            case.compare_by(pipeline.program(), runs).map_err(|what| format!("after {}: {what}", steps()))?;
        }
        let json = pipeline.chain().to_json().map_err(|error| error.to_string())?;
        let chain = Chain::from_json(&json).map_err(|error| error.to_string())?;
        let replayed = chain.replay(case.program.clone(), &transformations());
        let replayed =
            replayed.map_err(|error| format!("replay of {}: {error}", chain.lines().join("; ")))?;
        if sdfg::text::print(replayed.program()) != sdfg::text::print(pipeline.program()) {
            return Err(format!("the replay of {} gives another program", chain.lines().join("; ")));
        }
        Ok(counts)
    })
}

/// A program with arguments and the results of running it.
pub(super) struct Case {
    pub(super) program: Sdfg,
    pub(super) arguments: Arguments,
    pub(super) expected: Arguments,
    seed: u64,
}

impl Case {
    /// As [`compare`](Case::compare), and in native code if asked for.
    fn compare_by(&self, program: &Sdfg, runs: Runs) -> Result<(), String> {
        self.compare(program)?;
        match runs {
            Runs::Interpreted => Ok(()),
            Runs::Compiled => {
                self.compare_native(program).map_err(|what| format!("{what}\n{}", sdfg::text::print(program)))
            }
        }
    }

    /// Compiles and runs a rewritten program that the interpreter has run.
    fn compare_native(&self, program: &Sdfg) -> Result<(), String> {
        let program = validate(program.clone()).map_err(|rejected| rejected.to_string())?;
        let level = OptLevel::ALL[(self.seed / 8 % OptLevel::ALL.len() as u64) as usize];
        let options = CompileOptions { level, parallel_threshold: 0, ..CompileOptions::default() };
        let library = compile(&expanded(&program)?, &options, None)?;
        let mut found = self.arguments.clone();
        let run = trusted::run(&library, &mut found, NonZeroU32::new(2));
        run.map_err(|error| format!("native, level {level}: {error}"))?;
        match difference(&self.expected, &found) {
            None => Ok(()),
            Some((name, tensor, other)) => {
                Err(format!("`{name}` differs in native code, level {level}: {tensor:?} and {other:?}"))
            }
        }
    }

    /// Runs a rewritten program, in the fixed order and in a random one.
    pub(super) fn compare(&self, program: &Sdfg) -> Result<(), String> {
        let text = || format!("\n{}", sdfg::text::print(program));
        let program = validate(program.clone())
            .map_err(|rejected| format!("rejected: {}{}", rejected.render(None, Style::Plain), text()))?;
        for order in [Order::Fixed, Order::Random(self.seed)] {
            let found = interpret(&program, self.arguments.clone(), order)
                .map_err(|error| format!("{order:?}: {error}{}", text()))?;
            if let Some((name, tensor, other)) = difference(&self.expected, &found) {
                return Err(format!("`{name}` differs in {order:?}: {tensor:?} and {other:?}{}", text()));
            }
        }
        Ok(())
    }
}

/// Generates the program of a seed and runs it.
pub(super) fn on_program<T>(
    seed: u64,
    check: impl FnOnce(&Case, &mut Rng) -> Result<T, String>,
) -> Result<T, Box<Failure>> {
    // Programs of all kinds, and those that transformations look for.
    let source_text = match seed % 8 {
        0 | 2 | 4 | 6 => generate(seed),
        1 | 5 => rewritable(seed),
        3 => reducible(seed),
        _ => repeated(seed),
    };
    on_text(seed, source_text, |program, sizes, rng| {
        let arguments = inputs(program.sdfg(), sizes, rng);
        let expected = interpret(program, arguments.clone(), Order::Fixed)?;
        check(&Case { program: program.sdfg().clone(), arguments, expected, seed }, rng)
    })
}
