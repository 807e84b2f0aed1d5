//! Programs under transformations: each at its matches, simplification, and random chains. The interpreter, and on request
//! native code, compare the results with those before.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sdfg::diagnostic::Style;
use sdfg::interpret::{Arguments, Interpreter, Options, Order, Report};
use sdfg::ir::Sdfg;
use sdfg::symbolic::Symbol;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::lower;
use sdfg_library::transformations;
use sdfg_transforms::auto::{Target, optimize};
use sdfg_transforms::rewrites::GpuTransform;
use sdfg_transforms::{
    Chain, Match, Pipeline, Soundness, TransformError, Transformation, fixed_point, places, simplify,
    useful_ranks,
};

use crate::applications::{
    Applications, applied, attempt, counted, described, is_for_this_machine, passing, refused_for_a_reason,
    runs_here, spread, variants,
};
use crate::corpus::first_difference;
use crate::random::{Operations, Rng, difference, expanded, with_calls};
use crate::trusted;

/// Steps that a rewritten program may take, as a multiple of those of the program before.
const MORE_STEPS: u64 = 20;

/// The most maps that become kernels before a transformation that is about kernels.
const MOST_KERNELS: usize = 4;

/// Ways to run rewritten programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// The interpreter.
    Interpreted,
    /// The interpreter, and native code of the programs with all applications of a transformation, or of a chain.
    Compiled,
}

/// Results that count as equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Equality {
    /// The same bits.
    Bits,
    /// The same up to the rounding of sums in another order.
    UpToRounding,
    /// The same elements up to rounding, in any order, as programs write that collect what they find.
    InAnyOrder,
}

/// A program with arguments and the results of running it.
#[derive(Debug)]
pub struct Case {
    pub(crate) program: Sdfg,
    pub(crate) arguments: Arguments,
    pub(crate) expected: Arguments,
    /// Steps that the interpreter may take.
    limit: u64,
    /// Chooses a random order and a level of optimisation.
    seed: u64,
    /// Equality of results of the program itself in different orders.
    ///
    /// Where all arithmetic is exact, transformations that may change rounding keep the bits, too.
    equality: Equality,
    is_exact: bool,
}

/// Random orders in which a program runs, to find the equality of its results. Of small programs, few orders round differently.
const ORDERS: u64 = 12;

impl Case {
    /// The program.
    pub fn program(&self) -> &Sdfg {
        &self.program
    }

    /// The arguments of its call.
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// The arguments after a run of the interpreter.
    pub fn expected(&self) -> &Arguments {
        &self.expected
    }

    /// Runs a program whose arithmetic is exact, or not.
    ///
    /// # Errors
    /// The trap of the interpreter.
    pub fn of(program: &Validated, arguments: Arguments, is_exact: bool, seed: u64) -> Result<Self, String> {
        let mut case = Case {
            program: program.sdfg().clone(),
            expected: arguments.clone(),
            arguments,
            limit: u64::MAX,
            seed,
            equality: Equality::Bits,
            is_exact,
        };
        let (expected, steps) = case.interpret(program, Order::Fixed, 1)?;
        case.expected = expected;
        case.limit = steps.saturating_mul(MORE_STEPS).saturating_add(100_000);
        if is_exact {
            return Ok(case);
        }
        for other in case.in_random_orders(program).collect::<Result<Vec<_>, _>>()? {
            let fits = |equality: &Equality| case.equal(&other, *equality).is_ok();
            let all = [Equality::Bits, Equality::UpToRounding, Equality::InAnyOrder];
            let found = all.into_iter().find(fits).unwrap_or(Equality::InAnyOrder);
            case.equality = case.equality.max(found);
        }
        Ok(case)
    }

    /// Applies every transformation that is wanted at its matches, and compares the results with those before: at every match,
    /// or at `most` that it does not refuse. Native code runs the program with all applications of a transformation, one after
    /// the other.
    ///
    /// # Errors
    /// If a rewritten program is not valid, traps or gives other results.
    pub fn every_match(
        &self,
        wanted: &dyn Fn(&str) -> bool,
        most: Option<usize>,
        runs: Runs,
    ) -> Result<Applications, String> {
        let mut counts = Applications::new();
        for transformation in variants() {
            if wanted(transformation.metadata().name) {
                self.matches_of(transformation.as_ref(), most, runs, &mut counts)?;
            }
        }
        Ok(counts)
    }

    /// One transformation at its matches.
    fn matches_of(
        &self,
        transformation: &dyn Transformation,
        most: Option<usize>,
        runs: Runs,
        counts: &mut Applications,
    ) -> Result<(), String> {
        let name = transformation.metadata().name;
        let mut before = self.program.clone();
        // Some look for what others make.
        match name {
            "RaiseLoops" => sdfg::control::lower(&mut before),
            "GPUTransform" if self.seed % 2 == 1 => with_calls(&mut before, &mut Rng::new(self.seed)),
            "TransientToDevice" => {
                let _ = fixed_point(&mut before, &[Box::new(GpuTransform::default())], Some(MOST_KERNELS));
            }
            _ => {}
        }
        let mut chosen: Vec<Match> = places(&before, transformation);
        let outcomes = counts.entry(name).or_default();
        if let Some(most) = most {
            let passing = passing(&before, transformation, &chosen);
            (passing.len()..chosen.len()).for_each(|_| outcomes.note(Err(String::new())));
            chosen = spread(&passing, most);
        }
        let mut all = before.clone();
        let mut is_changed = false;
        for found in chosen {
            let at = || described(&before, transformation, &found);
            let mut program = before.clone();
            let applied = attempt(&mut program, transformation, &found)?;
            let is_applied = applied.is_ok();
            outcomes.note(applied);
            if is_applied {
                self.compare(&program, transformation.metadata().soundness)
                    .map_err(|what| format!("after {}: {what}", at()))?;
                is_changed |= attempt(&mut all, transformation, &found)?.is_ok();
            }
        }
        if is_changed && is_for_this_machine(transformation) {
            let parameters = transformation.parameters();
            self.compare_by(&all, transformation.metadata().soundness, runs)
                .map_err(|what| format!("after every {name} {parameters}: {what}"))?;
        }
        Ok(())
    }

    /// Simplifies the program and compares the results with those before.
    ///
    /// # Errors
    /// If the simplified program is not valid, traps or gives other results.
    pub fn simplified(&self, runs: Runs) -> Result<Applications, String> {
        let mut program = self.program.clone();
        let counts = simplify(&mut program, &transformations(), None);
        self.compare_by(&program, Soundness::Always, runs)
            .map_err(|what| format!("after simplification: {what}"))?;
        Ok(counted(counts))
    }

    /// Optimises the program and compares the results with those before. The chain gives the same program again.
    ///
    /// # Errors
    /// If the optimised program is not valid, traps or gives other results, or if the replay gives another program.
    pub fn optimized(&self, sizes: BTreeMap<Symbol, i64>, runs: Runs) -> Result<Applications, String> {
        let mut pipeline = Pipeline::on(self.program.clone());
        let target = Target { sizes, ..Target::default() };
        optimize(&mut pipeline, &transformations(), &target);
        let lines = pipeline.chain().lines().join("; ");
        self.compare_by(pipeline.program(), Soundness::ChangesRounding, runs)
            .map_err(|what| format!("after {lines}: {what}"))?;
        let replayed = pipeline.chain().replay(self.program.clone(), &transformations());
        let replayed = replayed.map_err(|error| format!("the chain {lines} is not replayed: {error}"))?;
        if sdfg::text::print(replayed.program()) != sdfg::text::print(pipeline.program()) {
            return Err(format!("the chain {lines} gives another program when it is replayed"));
        }
        Ok(applied(&pipeline))
    }

    /// Applies a random chain of at most `length` transformations, compares the results after each, and replays the chain from
    /// its file on the first program.
    ///
    /// # Errors
    /// If a rewritten program is not valid, traps or gives other results, or if the replay gives another program.
    pub fn chain(&self, length: usize, rng: &mut Rng, runs: Runs) -> Result<Applications, String> {
        let mut counts = Applications::new();
        let mut pipeline = Pipeline::on(self.program.clone());
        let variants = variants();
        let mut soundness = Soundness::Always;
        // Most choices have no match, or are refused.
        for _ in 0..4 * length {
            if pipeline.applications().count() == length {
                break;
            }
            let chosen = variants[rng.below(variants.len())].as_ref();
            let all = places(pipeline.program(), chosen);
            if all.is_empty() {
                continue;
            }
            let found = all[rng.below(all.len())].clone();
            let name = chosen.metadata().name;
            match pipeline.apply_at(chosen, &found) {
                Ok(_) => counts.entry(name).or_default().note(Ok(())),
                Err(TransformError::Refused { refusal, .. }) => {
                    let reason = refused_for_a_reason(name, &refusal.to_string()).map_err(|what| {
                        let before = pipeline.chain().lines().join("; ");
                        let at = described(pipeline.program(), chosen, &found);
                        format!("after {before}: {what}, at {at}\n{}", sdfg::text::print(pipeline.program()))
                    })?;
                    counts.entry(name).or_default().note(Err(reason));
                    continue;
                }
                Err(error) => return Err(error.to_string()),
            }
            soundness = soundness.max(chosen.metadata().soundness);
            let steps = || pipeline.chain().lines().join("; ");
            self.compare(pipeline.program(), soundness)
                .map_err(|what| format!("after {}: {what}", steps()))?;
        }
        let chain = pipeline.chain();
        let lines = || chain.lines().join("; ");
        if pipeline.applications().all(|applied| runs_here(applied.name)) {
            self.compare_by(pipeline.program(), soundness, runs)
                .map_err(|what| format!("after {}: {what}", lines()))?;
        }
        let json = chain.to_json().map_err(|error| error.to_string())?;
        let read = Chain::from_json(&json).map_err(|error| error.to_string())?;
        let replayed = read.replay(self.program.clone(), &transformations());
        let replayed = replayed.map_err(|error| format!("replay of {}: {error}", lines()))?;
        if sdfg::text::print(replayed.program()) != sdfg::text::print(pipeline.program()) {
            return Err(format!("the replay of {} gives another program", lines()));
        }
        Ok(counts)
    }

    /// As [`compare`](Case::compare), and in native code if asked for.
    fn compare_by(&self, program: &Sdfg, soundness: Soundness, runs: Runs) -> Result<(), String> {
        self.compare(program, soundness)?;
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
        let plan = lower(&expanded(&program)?, &options.target(), &options.lowering())
            .map_err(|error| format!("not lowered: {error}"))?;
        let object = llvm::compile(&plan, &options).map_err(|error| format!("not compiled: {error}"))?;
        let library = trusted::load(&object).map_err(|error| format!("not loaded: {error}"))?;
        let mut found = self.arguments.clone();
        let run = trusted::run(&library, &mut found, NonZeroU32::new(2));
        run.map_err(|error| format!("native, level {level}: {error}"))?;
        self.equal(&found, self.allowed(Soundness::ChangesRounding))
            .map_err(|what| format!("in native code, level {level}: {what}"))
    }

    /// Runs a rewritten program, in the fixed order and in a random one.
    pub(crate) fn compare(&self, program: &Sdfg, soundness: Soundness) -> Result<(), String> {
        let text = || format!("\n{}", sdfg::text::print(program));
        let program = validate(program.clone())
            .map_err(|rejected| format!("rejected: {}{}", rejected.render(None, Style::Plain), text()))?;
        let equality = self.allowed(soundness);
        let mut runs = vec![(Order::Fixed, 1), (Order::Random(self.seed), 1)];
        let ranks = useful_ranks(program.sdfg());
        if ranks > 1 {
            runs.extend([ranks, ranks - 1].map(|ranks| (Order::Random(self.seed), ranks)));
        }
        for (order, ranks) in runs {
            let place = format!("in {order:?} on {ranks} ranks");
            let (found, _) = self
                .interpret(&program, order, ranks)
                .map_err(|error| format!("{place}: {error}{}", text()))?;
            self.equal(&found, equality).map_err(|what| format!("{place}: {what}{}", text()))?;
        }
        Ok(())
    }

    /// Differences that a rewrite may make.
    fn allowed(&self, soundness: Soundness) -> Equality {
        if self.is_exact || soundness == Soundness::Always {
            self.equality
        } else {
            self.equality.max(Equality::UpToRounding)
        }
    }

    /// The seed of the case.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether results are those of the program before, up to what a rewrite may change.
    pub(crate) fn equals(&self, found: &Arguments, soundness: Soundness) -> Result<(), String> {
        self.equal(found, self.allowed(soundness))
    }

    /// Whether results are those of the program before.
    fn equal(&self, found: &Arguments, equality: Equality) -> Result<(), String> {
        let different = match equality {
            Equality::UpToRounding => first_difference(&self.program, &self.expected, found, false),
            Equality::InAnyOrder => first_difference(&self.program, &self.expected, found, true),
            Equality::Bits => difference(&self.expected, found)
                .map(|(name, tensor, other)| format!("`{name}` differs: {tensor:?} and {other:?}")),
        };
        match different {
            // Loops that halve elements often enough leave numbers whose sums are rounded.
            Some(_) if self.is_exact && equality == Equality::Bits && self.depends_on_order() => {
                self.equal(found, Equality::UpToRounding)
            }
            different => different.map_or(Ok(()), Err),
        }
    }

    /// Whether results of the program itself differ by the order of execution.
    fn depends_on_order(&self) -> bool {
        let Ok(program) = validate(self.program.clone()) else { return false };
        self.in_random_orders(&program).flatten().any(|other| difference(&self.expected, &other).is_some())
    }

    /// Results of the interpreter in some random orders.
    fn in_random_orders(&self, program: &Validated) -> impl Iterator<Item = Result<Arguments, String>> {
        let orders = (0..ORDERS).map(|order| Order::Random(self.seed.wrapping_add(order)));
        orders.map(|order| self.interpret(program, order, 1).map(|(arguments, _)| arguments))
    }

    /// The report of a run of the interpreter on a number of ranks.
    pub(crate) fn report(&self, program: &Validated, ranks: u32) -> Result<Report, String> {
        self.interpreted(program, Order::Fixed, ranks).map(|(_, report)| report)
    }

    /// Results of the interpreter, and the number of its steps.
    fn interpret(&self, program: &Validated, order: Order, ranks: u32) -> Result<(Arguments, u64), String> {
        self.interpreted(program, order, ranks).map(|(arguments, report)| (arguments, report.steps))
    }

    fn interpreted(
        &self,
        program: &Validated,
        order: Order,
        ranks: u32,
    ) -> Result<(Arguments, Report), String> {
        let mut arguments = self.arguments.clone();
        let mut interpreter =
            Interpreter::new(program).map_err(|error| format!("not interpreted: {error}"))?;
        let externals = trusted::externals();
        let options = Options {
            order,
            ranks,
            step_limit: Some(self.limit),
            libraries: Some(&Operations),
            externals: Some(&externals),
            ..Options::default()
        };
        let report = interpreter.run(&mut arguments, &options);
        let report = report.map_err(|error| format!("interpreter: {error}"))?;
        Ok((arguments, report))
    }
}
