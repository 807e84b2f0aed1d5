//! `sdfg transforms`, `transform` and `simplify`: transformations of programs.

use std::path::Path;

use clap::Args;
use sdfg::ir::Sdfg;
use sdfg::text;
use sdfg_transforms::{
    Anchor, Application, Chain, ChainError, Conditions, Page, Pipeline, Soundness, Step, Tally,
    TransformError, Transformation, apply, places, simplify,
};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::{Destination, check_outputs, print};
use crate::program::Program;
use crate::terminal::Terminal;
use crate::verify::{Verification, Wrong};

/// List the transformations, or print the page of one.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg transforms\n  sdfg transforms MapTiling")]
pub(crate) struct Transforms {
    /// The transformation.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Apply a transformation to a program and print the result as text.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sdfg transform gemm.sdft MapTiling --at gemm --param tile_sizes=[32,32]\n  \
                        sdfg transform p.sdft MapFusion --at add --at scale -o fused.sdft\n  sdfg transform p.sdft LoopToMap --everywhere"
)]
pub(crate) struct Transform {
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    step: StepOptions,
    /// Print the changes and the facts that the transformation relied on.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    outcome: Outcome,
}

/// The checks and the files of a rewritten program.
#[derive(Args)]
struct Outcome {
    #[command(flatten)]
    verification: Verification,
    /// Write the step to this file, a chain of one step, or add it to the chain there.
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
    /// The output file; the default is the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

impl Outcome {
    /// Refuses files that cannot be written. Gives the chain to which the step is added.
    fn begin(&self) -> Result<Chain, Failure> {
        check_outputs(self.output.as_deref(), &[("--record", self.record.as_deref())])?;
        match self.record.as_deref() {
            Some(file) if Path::new(file).exists() => Chain::load(file).map_err(wrong_chain),
            Some(_) | None => Ok(Chain::default()),
        }
    }

    /// Writes the chain with the steps of a pipeline, and its program.
    fn end(&self, recorded: Chain, pipeline: Pipeline) -> Result<(), Failure> {
        if let Some(file) = &self.record {
            save_chain(&recorded.then(pipeline.chain()), file)?;
        }
        finish(pipeline, self.output.as_deref())
    }
}

/// A transformation with its place, parameters and conditions.
#[derive(Args)]
pub(crate) struct StepOptions {
    /// The transformation.
    #[arg(value_name = "NAME")]
    name: String,
    /// The path of an element of the match, as `state/map`; several in the order of the pattern.
    #[arg(long, value_name = "PATH")]
    at: Vec<String>,
    /// Apply it at every match, again until there is none.
    #[arg(long, conflicts_with_all = ["at", "assume"])]
    everywhere: bool,
    /// With --everywhere: stop after so many applications.
    #[arg(long, value_name = "COUNT", requires = "everywhere")]
    limit: Option<usize>,
    #[command(flatten)]
    parameters: Parameters,
    /// A comparison of symbols that the check takes for granted, as `N >= 2`. The chain records it.
    #[arg(long, value_name = "COMPARISON")]
    assume: Vec<String>,
    /// Test the assumptions at run time, and run the original code where one does not hold.
    #[arg(long, requires = "assume")]
    guard: bool,
}

impl StepOptions {
    /// The step that the options describe.
    pub(crate) fn step(&self) -> Result<Step, Failure> {
        let transformation = self.parameters.make(&self.name)?;
        let paths =
            self.at.iter().map(|path| path.parse().map_err(Failure::usage)).collect::<Result<Vec<_>, _>>()?;
        let at = match (self.everywhere, paths.is_empty()) {
            (true, _) => Anchor::Everywhere { limit: self.limit },
            (false, true) => Anchor::Only,
            (false, false) => Anchor::Paths(paths),
        };
        let under = Conditions { assume: self.assume.clone(), guard: self.guard };
        Ok(Step { transformation, at, under })
    }
}

/// Apply the strict transformations until none applies, and print the result as text.
#[derive(Args)]
#[command(after_help = "Example:\n  sdfg simplify gemm.sdfg --record gemm.chain.json -o gemm.sdft")]
pub(crate) struct Simplify {
    #[command(flatten)]
    program: Program,
    /// Stop after so many applications, to find one that goes wrong.
    #[arg(long, value_name = "COUNT")]
    fuel: Option<usize>,
    /// Also print the time of each transformation.
    #[arg(long)]
    times: bool,
    #[command(flatten)]
    outcome: Outcome,
}

/// The parameters of a transformation.
#[derive(Args)]
pub(crate) struct Parameters {
    /// A parameter of the transformation, its value as JSON or as a word.
    #[arg(long = "param", value_name = "NAME=VALUE")]
    param: Vec<String>,
}

impl Parameters {
    /// Whether none is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.param.is_empty()
    }

    fn value(&self) -> Result<Value, Failure> {
        let mut values = Map::new();
        for param in &self.param {
            let Some((name, value)) = param.split_once('=') else {
                return Err(Failure::usage(format_args!("`--param {param}` has no value"))
                    .help("write `--param NAME=VALUE`, as `--param tile_sizes=[32,32]`"));
            };
            let value = match serde_json::from_str(value) {
                Ok(value) => value,
                Err(error) if value.starts_with(['[', '{', '"']) => {
                    let wrong = format_args!("`--param {param}`: the value is no JSON: {error}");
                    return Err(Failure::usage(wrong).help(format_args!(
                        "texts in a list have quotes, as in `--param '{name}={}'`",
                        quoted(value)
                    )));
                }
                Err(_) => Value::String(value.to_owned()),
            };
            if values.insert(name.to_owned(), value).is_some() {
                return Err(Failure::usage(format_args!("the parameter `{name}` is given twice")));
            }
        }
        Ok(Value::Object(values))
    }

    /// The transformation of a name with these parameters.
    pub(crate) fn make(&self, name: &str) -> Result<Box<dyn Transformation>, Failure> {
        let made = sdfg_library::transformations().make(name, &self.value()?);
        made.map_err(|error| {
            Failure::usage(error).help(
                "`sdfg transforms` lists the transformations and `sdfg transforms NAME` their parameters",
            )
        })
    }
}

/// A list with quotes around what is no JSON; an example for values of other forms.
fn quoted(value: &str) -> String {
    let inner = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    let Some(inner) = inner.filter(|inner| !inner.contains(['[', ']', '{', '"', '('])) else {
        return r#"["N",8]"#.to_owned();
    };
    let item = |item: &str| match serde_json::from_str::<Value>(item) {
        Ok(value) => value.to_string(),
        Err(_) => Value::from(item.trim()).to_string(),
    };
    format!("[{}]", inner.split(',').map(item).collect::<Vec<_>>().join(","))
}

impl Transforms {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let registry = sdfg_library::transformations();
        let mut out = String::new();
        match &self.name {
            None => {
                for metadata in registry.all() {
                    out.push_str(&format!(
                        "{:26} {:13} {}\n",
                        metadata.name,
                        metadata.group.name(),
                        metadata.summary
                    ));
                }
            }
            Some(name) => {
                let made = registry.make(name, &Value::Null);
                let made =
                    made.map_err(|error| Failure::usage(error).help("`sdfg transforms` lists them"))?;
                out.push_str(&Page::of(made.as_ref()).to_string());
            }
        }
        print(out.as_bytes())
    }
}

impl Transform {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        let recorded = self.outcome.begin()?;
        let step = self.step.step()?;
        let before = self.program.read(terminal)?;
        let conditions = step.under.clone();
        let verifier = self.outcome.verification.of(&before, &[&conditions])?;
        let soundness = step.transformation.metadata().soundness;
        let mut pipeline = Pipeline::on(before.clone());
        let application = pipeline.apply(step).map_err(|error| refused(&error))?;
        if self.step.everywhere {
            terminal.message(&format!("{} at {}", application.name, application.at));
        }
        if self.explain {
            terminal.message(&explained(application));
        }
        if let Some(verifier) = verifier
            && let Err(difference) = verifier.check(pipeline.program(), soundness)
        {
            let same = self.step.step()?.transformation;
            let wrong = Wrong {
                what: &self.step.name,
                before: &before,
                soundness,
                conditions: &[&conditions],
                own: &[&conditions],
                rewrite: &|program| anywhere(program, same.as_ref()),
            };
            return Err(self.outcome.verification.wrong(&wrong, &verifier, &difference));
        }
        self.outcome.end(recorded, pipeline)
    }
}

/// What an application changed, and what it relied on.
pub(crate) fn explained(application: &Application) -> String {
    let mut lines = vec![format!("{} at {}", application.name, application.at)];
    lines.extend(application.evidence.facts.iter().map(|fact| format!("  relies on {fact}")));
    if !application.evidence.facts.is_empty() {
        lines.extend(application.surroundings.iter().map(|text| format!("  where {text}")));
    }
    lines.extend(application.changes.to_string().lines().map(|line| format!("  {line}")));
    lines.join("\n") + "\n"
}

/// How often a transformation was applied, with its time if asked for.
pub(crate) fn told(tally: &Tally, times: bool) -> String {
    let time = if times { format!(" ({:.1} ms)", tally.time.as_secs_f64() * 1e3) } else { String::new() };
    format!("{} {}{time}", tally.name, tally.applications)
}

impl Simplify {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        let recorded = self.outcome.begin()?;
        let before = self.program.read(terminal)?;
        let verifier = self.outcome.verification.of(&before, &[])?;
        let mut pipeline = Pipeline::on(before.clone());
        let counts = pipeline.simplify(&sdfg_library::transformations(), self.fuel);
        let exact = Soundness::Always;
        if let Some(verifier) = verifier
            && let Err(difference) = verifier.check(pipeline.program(), exact)
        {
            let wrong = Wrong {
                what: "simplification",
                before: &before,
                soundness: exact,
                conditions: &[],
                own: &[],
                rewrite: &|program| !simplify(program, &sdfg_library::transformations(), None).is_empty(),
            };
            return Err(self.outcome.verification.wrong(&wrong, &verifier, &difference));
        }
        let counts: Vec<String> = counts.iter().map(|tally| told(tally, self.times)).collect();
        let told = if counts.is_empty() { "nothing to simplify".to_owned() } else { counts.join(", ") };
        terminal.message(&format!("{told}\n"));
        self.outcome.end(recorded, pipeline)
    }
}

/// Applies a transformation at the first place at which it applies; gives whether there is one.
pub(crate) fn anywhere(program: &mut Sdfg, transformation: &dyn Transformation) -> bool {
    let all = places(program, transformation);
    all.iter().any(|found| apply(program, transformation, found).is_ok())
}

/// Validates and writes the program of a pipeline.
pub(crate) fn finish(pipeline: Pipeline, output: Option<&str>) -> Result<(), Failure> {
    let program = pipeline.finish().map_err(|error| refused(&error))?;
    Destination::new(output).write(text::print(program.sdfg()).as_bytes())
}

pub(crate) fn refused(error: &TransformError) -> Failure {
    let help = match error {
        TransformError::Refused { .. } | TransformError::NoMatch { .. } => {
            "`sdfg match PROGRAM NAME` lists the matches with the reasons of refusals"
        }
        TransformError::Ambiguous { .. } | TransformError::NoNumber { .. } | TransformError::Path(_) => {
            "`--at` takes paths as `sdfg match` prints them"
        }
        TransformError::Condition { .. } | TransformError::NoAssumption => {
            "`--assume` takes a comparison of symbols, as `--assume 'N >= 2'`"
        }
        TransformError::Endless { .. } => "`--limit COUNT` stops after so many applications",
        TransformError::Parameters(_) => "`sdfg transforms NAME` lists the parameters",
        TransformError::NothingToUndo | TransformError::Invalid { .. } => {
            "this is a fault of the transformation: report it with the program"
        }
    };
    Failure::program(error).help(help)
}

/// Writes a chain to a file as a whole, or leaves the file as it was.
pub(crate) fn save_chain(chain: &Chain, file: &str) -> Result<(), Failure> {
    let text = chain.to_json().map_err(wrong_chain)?;
    Destination::new(Some(file)).write(text.as_bytes())
}

/// The failure of a chain that cannot be read, written or replayed.
pub(crate) fn wrong_chain(error: ChainError) -> Failure {
    match &error {
        ChainError::File { .. }
        | ChainError::Text { .. }
        | ChainError::Format(_)
        | ChainError::Version(_)
        | ChainError::Anchor { .. }
        | ChainError::Shape(_)
        | ChainError::Field { .. }
        | ChainError::Limit { .. } => {
            Failure::usage(error).help("`sdfg transform --record FILE` writes chains")
        }
        ChainError::Step { .. } => {
            Failure::program(error).help("`--steps COUNT` applies the steps before it")
        }
    }
}
