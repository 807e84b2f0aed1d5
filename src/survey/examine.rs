//! One graph through every stage.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use sdfg::interpret::{Arguments, Externals, Options};
use sdfg::path::ElementPath;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::interface::Interface;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::{Target, lower, refusals};
use sdfg_codegen::object::ObjectCode;
use sdfg_dace::Form;
use sdfg_library::{BuiltIn, expand_all};
use sdfg_transforms::verify::search;

use super::{Obstacle, Stage, Verdict};
use crate::corpus;
use crate::trusted;

/// The two levels at which every graph is compiled.
const LEVELS: [OptLevel; 2] = [OptLevel::Quick, OptLevel::O3];

/// The work that is done for one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Whether inputs are searched for and the graph is run.
    pub interpret: bool,
    /// Whether C++ code of the graph is compiled and run; it may do whatever its user may.
    pub allow_external: bool,
    /// The most steps of the interpreter for a run; `None` if the search decides.
    pub steps: Option<u64>,
}

/// What is left of a graph for DaCe.
#[derive(Debug, Default)]
pub struct Example {
    /// The graph as written back, if it can be.
    pub written: Option<Vec<u8>>,
    /// Arguments before and after a run.
    pub run: Option<(Arguments, Arguments)>,
}

/// Examines a graph. `reached` learns of every stage before it begins.
pub fn examine(graph: &Path, effort: Effort, reached: &mut dyn FnMut(Stage)) -> (Vec<Obstacle>, Example) {
    let mut examination = Examination { obstacles: Vec::new(), example: Example::default(), reached };
    examination.run(graph, effort);
    (examination.obstacles, examination.example)
}

struct Examination<'a> {
    obstacles: Vec<Obstacle>,
    example: Example,
    reached: &'a mut dyn FnMut(Stage),
}

impl Examination<'_> {
    fn meets(&mut self, obstacle: Obstacle) {
        self.obstacles.push(obstacle);
    }

    fn fails(&mut self, stage: Stage, message: impl ToString) {
        self.meets(Obstacle::new(stage, Verdict::Failed, message));
    }

    fn run(&mut self, graph: &Path, effort: Effort) {
        (self.reached)(Stage::Read);
        let bytes = match std::fs::read(graph) {
            Ok(bytes) => bytes,
            Err(error) => {
                let message = format!("the file cannot be read: {error}");
                return self.meets(Obstacle::new(Stage::Read, Verdict::Untested, message));
            }
        };
        let options =
            sdfg_dace::Options { allow_external: effort.allow_external, ..sdfg_dace::Options::default() };
        let import = match sdfg_dace::read(&bytes, &options) {
            Ok(import) => import,
            Err(refused) => {
                for found in refused.report.errors() {
                    let message = format!("{}: {}", found.path, found.message);
                    self.meets(Obstacle::new(Stage::Read, Verdict::Refused, message).with_code(found.code));
                }
                return;
            }
        };
        (self.reached)(Stage::Check);
        let mut sdfg = import.sdfg;
        // Callers choose the names of the functions that they get (`--name`).
        if Interface::new(&sdfg.name, Vec::new()).is_err() {
            "graph".clone_into(&mut sdfg.name);
        }
        let program = match validate(sdfg) {
            Ok(program) => program,
            Err(rejected) => {
                for found in rejected.diagnostics.iter().filter(|found| found.is_error()) {
                    let message = format!("{}: {}", found.path, found.message);
                    let obstacle = Obstacle::new(Stage::Check, Verdict::Refused, message);
                    self.meets(obstacle.with_code(found.code.name()));
                }
                return;
            }
        };
        let objects = self.compile(&program);
        self.write(&program, &options);
        if effort.interpret {
            self.compare(&program, &objects, effort);
        }
    }

    /// Compiles at every level. A refusal is one that `check` told of, or a fault.
    fn compile(&mut self, program: &Validated) -> Vec<(OptLevel, ObjectCode)> {
        let refused = |path: &ElementPath, message: String, code: &str| {
            Obstacle::new(Stage::Check, Verdict::Refused, format!("{path}: {message}")).with_code(code)
        };
        let expanded = match expand_all(program.sdfg(), &BuiltIn) {
            Ok(expanded) => expanded.into_owned(),
            Err(failed) => {
                for error in &failed {
                    self.meets(refused(&error.path, error.kind.to_string(), error.kind.code()));
                }
                return Vec::new();
            }
        };
        (self.reached)(Stage::Compile);
        let expanded = match validate(expanded) {
            Ok(expanded) => expanded,
            Err(rejected) => {
                self.fails(Stage::Compile, format!("expanded: {rejected}"));
                return Vec::new();
            }
        };
        let told = refusals(&expanded, &Target::cpu());
        let mut objects = Vec::new();
        for level in LEVELS {
            match object(&expanded, level) {
                Ok(object) => objects.push((level, object)),
                Err(message) if told.iter().any(|refusal| message.contains(refusal.lacks.code())) => {
                    for refusal in &told {
                        self.meets(refused(&refusal.path, refusal.message(), refusal.lacks.code()));
                    }
                    return objects;
                }
                Err(message) => {
                    let message = format!("accepted by check, refused at level {level}: {message}");
                    self.fails(Stage::Compile, message);
                    return objects;
                }
            }
        }
        for refusal in &told {
            let obstacle = Obstacle::new(Stage::Check, Verdict::Warned, refusal.message());
            self.meets(obstacle.with_code(refusal.lacks.code()));
        }
        objects
    }

    /// Writes the graph, and reads and checks the result.
    fn write(&mut self, program: &Validated, options: &sdfg_dace::Options) {
        (self.reached)(Stage::Write);
        let bytes = match sdfg_dace::write(program.sdfg(), Form::Plain) {
            Ok(bytes) => bytes,
            Err(unwritable) => {
                for found in unwritable.report.errors() {
                    let message = format!("{}: {}", found.path, found.message);
                    self.meets(Obstacle::new(Stage::Write, Verdict::Warned, message).with_code(found.code));
                }
                return;
            }
        };
        match sdfg_dace::read(&bytes, options) {
            Ok(import) => {
                if let Err(rejected) = validate(import.sdfg) {
                    self.fails(Stage::Write, format!("the written graph is not valid: {rejected}"));
                }
            }
            Err(refused) => self.fails(Stage::Write, format!("the written graph is not read: {refused}")),
        }
        self.example.written = Some(bytes);
    }

    /// Runs the interpreter and native code on the same inputs and compares every argument.
    fn compare(&mut self, program: &Validated, objects: &[(OptLevel, ObjectCode)], effort: Effort) {
        (self.reached)(Stage::Interpret);
        let externals = trusted::externals();
        let options = Options {
            libraries: Some(&BuiltIn),
            externals: effort.allow_external.then_some(&externals as &dyn Externals),
            step_limit: effort.steps,
            ..Options::default()
        };
        let fitting = match search(program, &BTreeMap::new(), &options) {
            Ok(fitting) => fitting,
            Err(trap) => {
                return self.meets(Obstacle::new(
                    Stage::Interpret,
                    Verdict::Untested,
                    format!("no inputs: {trap}"),
                ));
            }
        };
        (self.reached)(Stage::Run);
        for (level, object) in objects {
            let mut found = fitting.before.clone();
            let run = trusted::load(object).map_err(|error| error.to_string()).and_then(|library| {
                trusted::run(&library, &mut found, NonZeroU32::new(2)).map_err(|error| error.to_string())
            });
            if let Err(error) = run {
                self.fails(Stage::Run, format!("level {level}: {error}"));
                continue;
            }
            if let Some(difference) = corpus::first_difference(program.sdfg(), &fitting.after, &found, false)
            {
                self.fails(Stage::Run, format!("level {level} differs from the interpreter: {difference}"));
            }
        }
        self.example.run = Some((fitting.before, fitting.after));
    }
}

/// The object code of a program without library nodes.
fn object(expanded: &Validated, level: OptLevel) -> Result<ObjectCode, String> {
    let options = CompileOptions { level, parallel_threshold: 0, ..CompileOptions::default() };
    let plan = lower(expanded, &options.target(), &options.lowering()).map_err(|error| error.to_string())?;
    llvm::compile(&plan, &options).map_err(|error| error.to_string())
}
