//! `sdfg transforms`, `match`, `transform`, `simplify` and `chain`: transformations of programs.

use clap::{Args, Subcommand};
use sdfg::ir::Sdfg;
use sdfg::text;
use sdfg_transforms::{
    Anchor, Application, Chain, ChainError, Pipeline, Registry, Site, Step, Tables, TransformError,
    Transformation, places, simplify,
};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::{Destination, print};
use crate::source::Source;
use crate::terminal::Terminal;

/// List the transformations, or print the page of one.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg transforms\n  sdfg transforms MapTiling")]
pub(crate) struct Transforms {
    /// The transformation.
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// List where transformations match a program, and why they refuse.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg match gemm.sdft\n  sdfg match gemm.sdft MapFusion")]
pub(crate) struct Match {
    #[command(flatten)]
    program: Program,
    /// The transformation; without it, the places at which each of them applies.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    parameters: Parameters,
}

/// Apply a transformation to a program and print the result as text.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sdfg transform gemm.sdft MapTiling --at gemm --param tile_sizes=[32,32]\n  \
                        sdfg transform p.sdft MapFusion --at add --at scale -o fused.sdft"
)]
pub(crate) struct Transform {
    #[command(flatten)]
    program: Program,
    /// The transformation.
    #[arg(value_name = "NAME")]
    name: String,
    /// The path of an element of the match, as `state/map`; several in the order of the pattern.
    #[arg(long, value_name = "PATH")]
    at: Vec<String>,
    #[command(flatten)]
    parameters: Parameters,
    /// Print the changes and the facts that the transformation relied on.
    #[arg(long)]
    explain: bool,
    /// Write the step to this file, a chain of one step, or add it to the chain there.
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
    /// The output file; the default is the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

/// Apply the strict transformations until none applies, and print the result as text.
#[derive(Args)]
#[command(after_help = "Example:\n  sdfg simplify gemm.sdfg -o gemm.sdft")]
pub(crate) struct Simplify {
    #[command(flatten)]
    program: Program,
    /// Stop after so many applications, to find one that goes wrong.
    #[arg(long, value_name = "COUNT")]
    fuel: Option<usize>,
    /// The output file; the default is the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

/// Replay, show and compare chains of transformations.
#[derive(Args)]
pub(crate) struct ChainCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Apply a chain to a program and print the result as text.
    Apply {
        #[command(flatten)]
        program: Program,
        /// The chain.
        chain: String,
        /// Apply only the first steps.
        #[arg(long, value_name = "COUNT")]
        steps: Option<usize>,
        /// The output file; the default is the standard output.
        #[arg(long, short, value_name = "FILE")]
        output: Option<String>,
    },
    /// Print the steps of a chain.
    Show {
        /// The chain.
        chain: String,
    },
    /// Print the steps in which two chains differ.
    Diff {
        /// The first chain.
        first: String,
        /// The second chain.
        second: String,
    },
}

#[derive(Args)]
struct Program {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
    /// Accept C++ code of DaCe's files as external tasklets. This command does not compile it.
    #[arg(long)]
    allow_external: bool,
}

impl Program {
    fn read(&self, terminal: Terminal) -> Result<Sdfg, Failure> {
        Ok(Source::read(&self.program, self.allow_external)?.validated(terminal)?.sdfg().clone())
    }
}

#[derive(Args)]
struct Parameters {
    /// A parameter of the transformation, its value as JSON or as a word.
    #[arg(long = "param", value_name = "NAME=VALUE")]
    param: Vec<String>,
}

impl Parameters {
    fn value(&self) -> Result<Value, Failure> {
        let mut values = Map::new();
        for param in &self.param {
            let Some((name, value)) = param.split_once('=') else {
                return Err(Failure::usage(format_args!("`--param {param}` has no value"))
                    .help("write `--param NAME=VALUE`, as `--param tile_sizes=[32,32]`"));
            };
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
            if values.insert(name.to_owned(), value).is_some() {
                return Err(Failure::usage(format_args!("the parameter `{name}` is given twice")));
            }
        }
        Ok(Value::Object(values))
    }

    fn make(&self, name: &str) -> Result<Box<dyn Transformation>, Failure> {
        let made = Registry::standard().make(name, &self.value()?);
        made.map_err(|error| {
            Failure::usage(error).help(
                "`sdfg transforms` lists the transformations and `sdfg transforms NAME` their parameters",
            )
        })
    }
}

impl Transforms {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let registry = Registry::standard();
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
                let metadata = made.metadata();
                out.push_str(&format!("{}\n\n{}\n\n", metadata.name, metadata.page()));
                out.push_str(&format!("Pattern: {}\n", pattern(made.as_ref())));
                out.push_str(&format!("Soundness: {}\n", metadata.soundness.name()));
                out.push_str(&format!("Source: {}\n", metadata.source));
                if metadata.is_strict {
                    out.push_str("Part of `sdfg simplify`.\n");
                }
                for parameter in metadata.parameters {
                    let default =
                        parameter.default.map_or("required".to_owned(), |value| format!("default {value}"));
                    out.push_str(&format!(
                        "Parameter {} ({}, {default}): {}\n",
                        parameter.name, parameter.ty, parameter.summary
                    ));
                }
            }
        }
        print(out.as_bytes())
    }
}

fn pattern(transformation: &dyn Transformation) -> String {
    let names = transformation.pattern().names();
    if names.is_empty() { "an SDFG".to_owned() } else { names.join(" -> ") }
}

impl Match {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        let program = self.program.read(terminal)?;
        let mut out = String::new();
        match &self.name {
            Some(name) => {
                let transformation = self.parameters.make(name)?;
                each_match(&program, transformation.as_ref(), &Tables::new(), true, &mut out);
                if out.is_empty() {
                    out = format!(
                        "{name} matches nowhere: its pattern is {}\n",
                        pattern(transformation.as_ref())
                    );
                }
            }
            None => {
                let tables = Tables::new();
                for transformation in Registry::standard().defaults() {
                    each_match(&program, transformation.as_ref(), &tables, false, &mut out);
                }
                if out.is_empty() {
                    out.push_str("no transformation applies with its default parameters\n");
                }
            }
        }
        print(out.as_bytes())
    }
}

/// Writes a line for each place of a transformation; those that it refuses only if asked for.
fn each_match(
    program: &Sdfg,
    transformation: &dyn Transformation,
    tables: &Tables,
    refused: bool,
    out: &mut String,
) {
    let name = transformation.metadata().name;
    for found in places(program, transformation) {
        let Some(site) = Site::of(program, &found, tables) else { continue };
        let at = || found.paths(program).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match transformation.check(&site) {
            Ok(_) => out.push_str(&format!("{name} at {}\n", at())),
            Err(reason) if refused => out.push_str(&format!("{name} at {}: refused: {reason}\n", at())),
            Err(_) => {}
        }
    }
}

impl Transform {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        Destination::new(self.output.as_deref()).check()?;
        let transformation = self.parameters.make(&self.name)?;
        let paths =
            self.at.iter().map(|path| path.parse().map_err(Failure::usage)).collect::<Result<Vec<_>, _>>()?;
        let at = if paths.is_empty() { Anchor::Only } else { Anchor::Paths(paths) };
        let recorded = match &self.record {
            Some(file) if std::path::Path::new(file).exists() => {
                Some(Chain::load(file).map_err(wrong_chain)?)
            }
            Some(_) | None => None,
        };
        let mut pipeline = Pipeline::on(self.program.read(terminal)?);
        let application = pipeline.apply(Step { transformation, at }).map_err(|error| refused(&error))?;
        if self.explain {
            terminal.message(&explained(application));
        }
        if let Some(file) = &self.record {
            let chain = recorded.unwrap_or_default().then(pipeline.chain());
            chain.save(file).map_err(wrong_chain)?;
        }
        finish(pipeline, self.output.as_deref())
    }
}

/// What an application changed, and what it relied on.
fn explained(application: &Application) -> String {
    let mut lines = vec![format!("{} at {}", application.name, application.at)];
    lines.extend(application.evidence.facts.iter().map(|fact| format!("  relies on {fact}")));
    lines.extend(application.changes.to_string().lines().map(|line| format!("  {line}")));
    lines.join("\n") + "\n"
}

impl Simplify {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        Destination::new(self.output.as_deref()).check()?;
        let mut program = self.program.read(terminal)?;
        let counts = simplify(&mut program, &Registry::standard(), self.fuel);
        let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let told = if counts.is_empty() { "nothing to simplify".to_owned() } else { counts.join(", ") };
        terminal.message(&format!("{told}\n"));
        finish(Pipeline::on(program), self.output.as_deref())
    }
}

impl ChainCommand {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        match &self.action {
            Action::Apply { program, chain, steps, output } => {
                Destination::new(output.as_deref()).check()?;
                let chain = Chain::load(chain).map_err(wrong_chain)?;
                let chain = chain.cut(steps.unwrap_or(chain.len()));
                let program = program.read(terminal)?;
                let replayed = chain.replay(program, &Registry::standard()).map_err(wrong_chain)?;
                finish(replayed, output.as_deref())
            }
            Action::Show { chain } => {
                let chain = Chain::load(chain).map_err(wrong_chain)?;
                let lines = chain.lines().into_iter().enumerate();
                print(lines.map(|(at, line)| format!("{}. {line}\n", at + 1)).collect::<String>().as_bytes())
            }
            Action::Diff { first, second } => {
                let [first, second] = [first, second].map(|file| Chain::load(file).map_err(wrong_chain));
                let (first, second) = (first?, second?);
                let common = first.common(&second);
                let mut out = format!("the first {common} steps are the same\n");
                for (sign, chain) in [("-", &first), ("+", &second)] {
                    for (at, line) in chain.lines().into_iter().enumerate().skip(common) {
                        out.push_str(&format!("{sign} {}. {line}\n", at + 1));
                    }
                }
                print(out.as_bytes())
            }
        }
    }
}

/// Validates and writes the program of a pipeline.
fn finish(pipeline: Pipeline, output: Option<&str>) -> Result<(), Failure> {
    let program = pipeline.finish().map_err(|error| refused(&error))?;
    Destination::new(output).write(text::print(program.sdfg()).as_bytes())
}

fn refused(error: &TransformError) -> Failure {
    let help = match error {
        TransformError::Refused { .. } | TransformError::NoMatch { .. } => {
            "`sdfg match PROGRAM NAME` lists the matches with the reasons of refusals"
        }
        TransformError::Ambiguous { .. } | TransformError::NoNumber { .. } | TransformError::Path(_) => {
            "`--at` takes paths as `sdfg match` prints them"
        }
        TransformError::Parameters(_) => "`sdfg transforms NAME` lists the parameters",
        TransformError::NothingToUndo | TransformError::Invalid { .. } => {
            "this is a fault of the transformation: report it with the program"
        }
    };
    Failure::program(error).help(help)
}

fn wrong_chain(error: ChainError) -> Failure {
    match &error {
        ChainError::File { .. }
        | ChainError::Format(_)
        | ChainError::Version(_)
        | ChainError::Anchor { .. } => {
            Failure::usage(error).help("`sdfg transform --record FILE` writes chains")
        }
        ChainError::Step { .. } => {
            Failure::program(error).help("`--steps COUNT` applies the steps before it")
        }
    }
}
