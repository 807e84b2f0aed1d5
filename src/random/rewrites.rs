//! Transformations of random programs: every match, and random chains, compared in the interpreter.

use std::collections::BTreeMap;

use sdfg::diagnostic::Style;
use sdfg::interpret::{Arguments, Order};
use sdfg::ir::Sdfg;
use sdfg::validate::validate;
use sdfg_library::{ExpandLibrary, transformations};
use sdfg_transforms::rewrites::{
    DiamondTiling, InlineSdfg, LocalStorage, LoopPeeling, MapDimShuffle, MapExpansion, MapSchedule, MapSplit,
    MapTiling, Relayout, Size, StripMining,
};
use sdfg_transforms::{Chain, Match, Pipeline, TransformError, Transformation, apply, places, simplify};

use super::check::{Failure, difference, interpret, on_text};
use super::generate::generate;
use super::inputs::inputs;
use super::reducible::reducible;
use super::repeated::repeated;
use super::rewritable::rewritable;
use super::rng::Rng;

/// How often each transformation was applied and refused, by name.
pub type Applications = BTreeMap<&'static str, Outcomes>;

/// How often a transformation was applied and refused.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Number of applications.
    pub applied: u64,
    /// Number of refusals for each reason, with `_` for names and subsets.
    pub refused: BTreeMap<String, u64>,
}

impl Outcomes {
    /// Adds other outcomes.
    pub fn add(&mut self, other: Outcomes) {
        self.applied += other.applied;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_insert(0) += count;
        }
    }

    fn note(&mut self, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.applied += 1,
            Err(reason) => *self.refused.entry(reason).or_insert(0) += 1,
        }
    }
}

/// Applies every transformation at every match of the program of a seed, and compares the results with those before. With a name,
/// only the transformation of this name.
///
/// # Errors
/// [`Failure`] if a rewritten program is not valid, traps or gives other results.
pub fn check_every_match(seed: u64, only: Option<&str>) -> Result<Applications, Box<Failure>> {
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
            for found in places(&before, transformation.as_ref()) {
                let mut program = before.clone();
                let applied = attempt(&mut program, transformation.as_ref(), &found)?;
                let is_applied = applied.is_ok();
                counts.entry(name).or_default().note(applied);
                if is_applied {
                    case.compare(&program).map_err(|what| {
                        format!("after {}: {what}", described(&before, transformation.as_ref(), &found))
                    })?;
                }
            }
        }
        Ok(counts)
    })
}

/// Simplifies the program of a seed and compares the results with those before.
///
/// # Errors
/// [`Failure`] if the simplified program is not valid, traps or gives other results.
pub fn check_simplify(seed: u64) -> Result<Applications, Box<Failure>> {
    on_program(seed, |case, _| {
        let mut program = case.program.clone();
        let counts = simplify(&mut program, &transformations(), None);
        case.compare(&program).map_err(|what| format!("after simplification: {what}"))?;
        Ok(counts
            .into_iter()
            .map(|(name, count)| (name, Outcomes { applied: count as u64, ..Outcomes::default() }))
            .collect())
    })
}

/// Applies a random chain of at most `length` transformations to the program of a seed, compares the results after each, and
/// replays the chain from its file on the first program.
///
/// # Errors
/// [`Failure`] if a rewritten program is not valid, traps or gives other results, or if the replay gives another program.
pub fn check_chain(seed: u64, length: usize) -> Result<Applications, Box<Failure>> {
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

/// Every transformation with its default parameters, and some with others.
fn variants() -> Vec<Box<dyn Transformation>> {
    let mut all = transformations().defaults();
    let sizes = |sizes: &[i64]| MapTiling::new(sizes.iter().map(|size| Size::from(*size)));
    all.extend([
        Box::new(sizes(&[2])) as Box<dyn Transformation>,
        Box::new(sizes(&[3, 2])),
        Box::new(sizes(&[0, 2])),
        Box::new(MapExpansion { dimensions: 2 }),
        Box::new(MapDimShuffle::default()),
        Box::new(LocalStorage::of_output("")),
        Box::new(MapTiling::in_parts([2, 3])),
        Box::new(LoopPeeling { count: 2 }),
        Box::new(DiamondTiling { steps: 2, width: 20 }),
        Box::new(InlineSdfg { serialize: true }),
        Box::new(Relayout { order: Vec::new(), padding: Size::from(1) }),
        Box::new(MapSplit { count: Size::from(2), dimension: 1 }),
        Box::new(StripMining { dimension: 1, size: Size::from(2) }),
        Box::new(ExpandLibrary::by("sequential")),
        Box::new(ExpandLibrary::by("parallel")),
        Box::new(ExpandLibrary::by("tree")),
        Box::new(MapSchedule::new("sequential")),
        Box::new(MapSchedule::new("cpu_multicore")),
    ]);
    all
}

/// A program with arguments and the results of running it.
struct Case {
    program: Sdfg,
    arguments: Arguments,
    expected: Arguments,
    seed: u64,
}

impl Case {
    /// Runs a rewritten program, in the fixed order and in a random one.
    fn compare(&self, program: &Sdfg) -> Result<(), String> {
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

/// Applies a transformation, or tells why it refuses.
fn attempt(
    program: &mut Sdfg,
    transformation: &dyn Transformation,
    found: &Match,
) -> Result<Result<(), String>, String> {
    match apply(program, transformation, found) {
        Ok(_) => Ok(Ok(())),
        Err(TransformError::Refused { refusal, .. }) => {
            refused_for_a_reason(transformation.metadata().name, &refusal.to_string()).map(Err)
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The reason without names and subsets. That the rewritten program is not valid is none: transformations leave valid programs.
fn refused_for_a_reason(name: &str, reason: &str) -> Result<String, String> {
    if reason.starts_with("the edits would make the program wrong") {
        return Err(format!("{name} leaves an invalid program: {reason}"));
    }
    let mut general = String::new();
    for (at, part) in reason.split(['`', '[', ']']).enumerate() {
        general.push_str(if at % 2 == 0 { part } else { "_" });
    }
    Ok(general)
}

fn described(program: &Sdfg, transformation: &dyn Transformation, found: &Match) -> String {
    let paths: Vec<String> = found.paths(program).iter().map(ToString::to_string).collect();
    format!("{} {} at {}", transformation.metadata().name, transformation.parameters(), paths.join(", "))
}

/// Generates the program of a seed and runs it.
fn on_program<T>(
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
