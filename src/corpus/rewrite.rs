//! Graphs that are transformed before they run: simplified, by a chain, or by every transformation at its matches.

use std::fmt;
use std::path::Path;

use sdfg::ir::{NodeKind, Sdfg};
use sdfg_library::transformations;
use sdfg_transforms::auto::{Target, optimize};
use sdfg_transforms::{Chain, Pipeline, Transformation, places, simplify};

use super::run::{Engine, Loaded, checked, failed};
use super::{Outcome, variant};
use crate::applications::{
    Applications, applied, attempt, counted, described, is_for_this_machine, passing, spread, variants,
};

/// Transformations of a graph before it runs.
#[derive(Clone, Debug)]
pub enum Rewrite {
    /// Simplification.
    Simplify,
    /// The optimiser, for sizes that are not known.
    Optimize,
    /// The steps of a chain.
    Chain(Chain),
    /// Every transformation, or the one with this name, at its matches.
    EveryMatch {
        /// Name of the transformation.
        only: Option<String>,
        /// The most matches of one transformation with one set of parameters that are applied: spread over all of them.
        most: usize,
    },
}

/// The outcome of a graph that was transformed.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The outcome of its runs.
    pub outcome: Outcome,
    /// Applications and refusals of each transformation.
    pub applications: Applications,
    /// Sizes before and after simplification.
    pub sizes: Option<[Size; 2]>,
    /// The size of DaCe's own simplified variant, if there is one beside a raw variant.
    pub simplified_by_dace: Option<Size>,
}

/// Numbers of blocks and nodes, with those of called SDFGs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// States, loops, branches and jumps.
    pub blocks: usize,
    /// Nodes of all states.
    pub nodes: usize,
}

impl Size {
    /// The size of an SDFG.
    pub fn of(sdfg: &Sdfg) -> Size {
        let mut size = Size { blocks: sdfg.blocks().count(), nodes: 0 };
        for (_, node) in sdfg.states().flat_map(|(_, state)| state.nodes()) {
            size.nodes += 1;
            if let NodeKind::Nested(nested) = &node.kind {
                let inner = Size::of(&nested.sdfg);
                size.blocks += inner.blocks;
                size.nodes += inner.nodes;
            }
        }
        size
    }

    /// Blocks and nodes together.
    pub fn all(self) -> usize {
        self.blocks + self.nodes
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks and {} nodes", self.blocks, self.nodes)
    }
}

/// Reads a graph, transforms it, runs it on the inputs beside it and compares its outputs. `tell` is called with each step
/// before it is taken, so that a crash has a place, and with each wrong rewrite.
///
/// Every match is applied to the graph as it was read, and the interpreter runs the result. Other engines, which take longer,
/// run the graph with all applications of a transformation, one after the other, after the interpreter has run it.
pub fn check_rewritten(
    graph: &Path,
    engine: Engine,
    rewrite: &Rewrite,
    tell: &mut dyn FnMut(&str),
) -> Rewritten {
    let mut rewritten = Rewritten {
        outcome: Outcome::Passed,
        applications: Applications::new(),
        sizes: None,
        simplified_by_dace: None,
    };
    if let Err(outcome) = attempt_all(graph, engine, rewrite, &mut rewritten, tell) {
        rewritten.outcome = outcome;
    }
    rewritten
}

fn attempt_all(
    graph: &Path,
    engine: Engine,
    rewrite: &Rewrite,
    rewritten: &mut Rewritten,
    tell: &mut dyn FnMut(&str),
) -> Result<(), Outcome> {
    let loaded = Loaded::read(graph)?;
    let before = loaded.program.sdfg();
    match rewrite {
        Rewrite::Simplify => {
            let mut program = before.clone();
            tell("simplification");
            rewritten.applications = counted(simplify(&mut program, &transformations(), None));
            rewritten.sizes = Some([Size::of(before), Size::of(&program)]);
            rewritten.simplified_by_dace = simplified_by_dace(graph);
            run(&loaded, program, engine)
        }
        Rewrite::Optimize => {
            tell("optimisation");
            let mut pipeline = Pipeline::on(before.clone());
            optimize(&mut pipeline, &transformations(), &Target::default());
            rewritten.applications = applied(&pipeline);
            run(&loaded, pipeline.program().clone(), engine)
        }
        Rewrite::Chain(chain) => {
            tell("the chain");
            let replayed = chain.replay(before.clone(), &transformations());
            let pipeline = replayed
                .map_err(|error| Outcome::Refused { code: "chain".to_owned(), reason: error.to_string() })?;
            rewritten.applications = applied(&pipeline);
            run(&loaded, pipeline.program().clone(), engine)
        }
        Rewrite::EveryMatch { only, most } => {
            // Without this, a graph that fails as it was read would be the fault of every transformation.
            loaded.check(&loaded.program, engine)?;
            let mut wrong = Vec::new();
            for transformation in variants() {
                let transformation = transformation.as_ref();
                let name = transformation.metadata().name;
                if only.as_ref().is_some_and(|only| only != name) {
                    continue;
                }
                tell(&format!("{name} {}", transformation.parameters()));
                let mut case = Case { loaded: &loaded, transformation, engine, tell };
                if let Err(reason) = case.at_every_match(*most, &mut rewritten.applications) {
                    (case.tell)(&format!("wrong: {reason}"));
                    wrong.push(name);
                }
            }
            if wrong.is_empty() { Ok(()) } else { Err(failed(format!("wrong: {}", wrong.join(", ")))) }
        }
    }
}

/// A transformation of a graph.
struct Case<'c> {
    loaded: &'c Loaded,
    transformation: &'c dyn Transformation,
    engine: Engine,
    tell: &'c mut dyn FnMut(&str),
}

impl Case<'_> {
    /// Applies the transformation at its matches, runs the results, and counts.
    ///
    /// # Errors
    /// The first match after which the graph is wrong, and why.
    fn at_every_match(&mut self, most: usize, counts: &mut Applications) -> Result<(), String> {
        let transformation = self.transformation;
        let name = transformation.metadata().name;
        let mut before = self.loaded.program.sdfg().clone();
        if name == "RaiseLoops" {
            // It looks for what lowering makes.
            sdfg::control::lower(&mut before);
        }
        let all = places(&before, transformation);
        let passing = passing(&before, transformation, &all);
        let outcomes = counts.entry(name).or_default();
        (passing.len()..all.len()).for_each(|_| outcomes.note(Err(String::new())));
        let chosen = spread(&passing, most);
        let is_interpreted = self.engine == Engine::Interpreter;
        let (mut series, mut applied) = (before.clone(), 0);
        for found in &chosen {
            if !is_interpreted {
                if attempt(&mut series, transformation, found)?.is_ok() {
                    outcomes.note(Ok(()));
                    applied += 1;
                }
                continue;
            }
            let at = || described(&before, transformation, found);
            (self.tell)(&at());
            let mut program = before.clone();
            let outcome =
                attempt(&mut program, transformation, found).map_err(|what| format!("{}: {what}", at()))?;
            let is_applied = outcome.is_ok();
            outcomes.note(outcome);
            if is_applied {
                run(self.loaded, program, self.engine).map_err(|what| format!("{}: {what}", at()))?;
            }
        }
        if applied > 0 && is_for_this_machine(transformation) {
            let what = format!("{name} {} at {applied} matches", transformation.parameters());
            (self.tell)(&what);
            match run(self.loaded, series, self.engine) {
                Err(Outcome::Refused { code, reason }) if self.engine == Engine::Dace => {
                    (self.tell)(&format!("unwritten: {what}: ({code}) {reason}"));
                }
                outcome => outcome.map_err(|wrong| format!("{what}: {wrong}"))?,
            }
        }
        Ok(())
    }
}

/// Runs a rewritten graph: in the interpreter, which checks each access, before native code.
fn run(loaded: &Loaded, program: Sdfg, engine: Engine) -> Result<(), Outcome> {
    let program = checked(program).map_err(|error| failed(format!("it is not valid: {error}")))?;
    loaded.check(&program, Engine::Interpreter)?;
    match engine {
        Engine::Interpreter => Ok(()),
        Engine::Native
        | Engine::Gcc
        | Engine::Clang
        | Engine::Cuda
        | Engine::CudaDriver
        | Engine::OpenCl
        | Engine::Dace => loaded.check(&program, engine).map_err(|outcome| match outcome {
            Outcome::Failed(what) => Outcome::Failed(format!("{} only: {what}", engine.name())),
            Outcome::Passed | Outcome::Refused { .. } => outcome,
        }),
    }
}

/// The size of the variant that DaCe simplified, beside the raw variant.
fn simplified_by_dace(graph: &Path) -> Option<Size> {
    if variant(graph) != "raw" {
        return None;
    }
    let name = graph.file_name()?.to_str()?.replacen("raw", "simplified", 1);
    let bytes = std::fs::read(graph.with_file_name(name)).ok()?;
    let import = sdfg_dace::read(&bytes, &sdfg_dace::Options::default()).ok()?;
    Some(Size::of(&import.sdfg))
}
