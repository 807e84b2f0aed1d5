//! `sdfg chain record`: applies steps one after the other and writes them as a chain.

use std::io::{BufRead, BufReader, IsTerminal, Write};

use clap::{Args, Parser};
use sdfg::ir::Sdfg;
use sdfg::text;
use sdfg_transforms::verify::Verifier;
use sdfg_transforms::{Conditions, Pipeline, Soundness, simplify};

use crate::failure::Failure;
use crate::output::{Destination, check_outputs};
use crate::program::Program;
use crate::terminal::Terminal;
use crate::transform::{StepOptions, anywhere, explained, refused, told, wrong_chain};
use crate::verify::{Verification, Wrong};

/// Apply steps to a program and write them as a chain.
///
/// Each line of the standard input is a step with the options of `sdfg transform`, as `MapTiling --at gemm --param tile_sizes=[32,32]`,
/// or `simplify [--fuel COUNT]`, or `undo`. Empty lines and lines that begin with `#` are skipped. The chain is written at the end
/// of the input. On a terminal, a step that fails is reported and skipped; otherwise it ends the command, and nothing is written.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg chain record gemm.sdft -o gemm.chain.json\n  \
                  sdfg chain record gemm.sdft --steps gemm.steps -o gemm.chain.json --rewritten tiled.sdft")]
pub(super) struct Record {
    #[command(flatten)]
    program: Program,
    /// Read the steps from this file.
    #[arg(long, value_name = "FILE")]
    steps: Option<String>,
    /// Print the changes of each step and the facts that it relied on.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    verification: Verification,
    /// The file of the chain; the default is the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
    /// Also write the rewritten program.
    #[arg(long, value_name = "FILE")]
    rewritten: Option<String>,
}

/// A line of the input.
#[derive(Parser)]
#[command(no_binary_name = true, name = "step", disable_help_flag = true)]
struct StepLine {
    #[command(flatten)]
    step: StepOptions,
}

/// A line of the input that begins with `simplify`.
#[derive(Parser)]
#[command(name = "simplify", disable_help_flag = true)]
struct SimplifyLine {
    /// Stop after so many applications.
    #[arg(long, value_name = "COUNT")]
    fuel: Option<usize>,
}

impl Record {
    pub(super) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        check_outputs(self.output.as_deref(), &[("--rewritten", self.rewritten.as_deref())])?;
        let is_session = self.steps.is_none() && std::io::stdin().is_terminal();
        let input = self.input()?;
        let before = self.program.read(terminal)?;
        let verifier = self.verification.of(&before, &[])?;
        let pipeline = Pipeline::on(before.clone());
        let mut session =
            Session { record: self, terminal, verifier, given: before, assumed: Vec::new(), pipeline };
        let name = self.steps.as_deref().unwrap_or("<stdin>");
        prompt(is_session);
        for (number, line) in input.lines().enumerate() {
            let line = line.map_err(|error| Failure::usage(format_args!("cannot read `{name}`: {error}")))?;
            match session.take(&line) {
                Ok(()) => {}
                Err(failure) if is_session => terminal.message(&failure.render(terminal.style())),
                Err(failure) => return Err(failure.at(format_args!("{name}, line {}", number + 1))),
            }
            prompt(is_session);
        }
        let chain = session.pipeline.chain().to_json().map_err(wrong_chain)?;
        let program = session.pipeline.finish().map_err(|error| refused(&error))?;
        if let Some(file) = &self.rewritten {
            Destination::new(Some(file)).write(text::print(program.sdfg()).as_bytes())?;
        }
        Destination::new(self.output.as_deref()).write(chain.as_bytes())
    }

    fn input(&self) -> Result<Box<dyn BufRead>, Failure> {
        let Some(file) = &self.steps else { return Ok(Box::new(std::io::stdin().lock())) };
        let opened = std::fs::File::open(file).map_err(|error| {
            Failure::usage(format_args!("cannot read `{file}`: {error}")).at("--steps").help("check the path")
        })?;
        Ok(Box::new(BufReader::new(opened)))
    }
}

/// Asks for the next step.
fn prompt(is_session: bool) {
    if is_session {
        // A closed error stream gets no prompt.
        let _ = write!(std::io::stderr().lock(), "step> ");
    }
}

/// The program as the steps so far leave it.
struct Session<'a> {
    record: &'a Record,
    terminal: Terminal,
    verifier: Option<Verifier<'static>>,
    given: Sdfg,
    /// The conditions whose inputs the verifier has.
    assumed: Vec<Conditions>,
    pipeline: Pipeline,
}

impl Session<'_> {
    /// Takes one line. If it fails, the program is as before.
    fn take(&mut self, line: &str) -> Result<(), Failure> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let words = shlex::split(line)
            .ok_or_else(|| Failure::usage("a quote is not closed").help("close it on the same line"))?;
        match words.first().map(String::as_str) {
            Some("undo") if words.len() == 1 => self.pipeline.undo().map_err(|_| {
                Failure::usage("there is no step to undo")
                    .help("`undo` takes back the last step of the chain")
            }),
            Some("simplify") => {
                let SimplifyLine { fuel } = SimplifyLine::try_parse_from(&words).map_err(usage)?;
                self.simplify(fuel)
            }
            Some(_) | None => self.apply(&StepLine::try_parse_from(&words).map_err(usage)?.step),
        }
    }

    fn apply(&mut self, options: &StepOptions) -> Result<(), Failure> {
        let step = options.step()?;
        let (name, soundness) =
            (step.transformation.metadata().name, step.transformation.metadata().soundness);
        let application = self.pipeline.apply(step).map_err(|error| refused(&error))?;
        let told = if self.record.explain { explained(application) } else { String::new() };
        self.verify(name, soundness, &|program| {
            options.step().is_ok_and(|step| anywhere(program, step.transformation.as_ref()))
        })?;
        self.tell(&told);
        Ok(())
    }

    fn simplify(&mut self, fuel: Option<usize>) -> Result<(), Failure> {
        let registry = sdfg_library::transformations();
        let counts = self.pipeline.simplify(&registry, fuel);
        self.verify("simplification", Soundness::Always, &|program| {
            !simplify(program, &registry, fuel).is_empty()
        })?;
        self.tell(&counts.iter().map(|tally| format!("  {}\n", told(tally, false))).collect::<String>());
        Ok(())
    }

    /// Compares results with those of the given program. The step that changes them is taken back.
    fn verify(
        &mut self,
        name: &str,
        soundness: Soundness,
        rewrite: &dyn Fn(&mut Sdfg) -> bool,
    ) -> Result<(), Failure> {
        let chain = self.pipeline.chain();
        let conditions: Vec<_> = chain.conditions().collect();
        // The inputs have to meet what the steps take for granted, and nothing that was taken back.
        let taken = conditions.iter().filter(|given| !given.is_empty()).map(|given| (*given).clone());
        let taken: Vec<Conditions> = taken.collect();
        if self.verifier.is_some() && taken != self.assumed {
            match self.record.verification.of(&self.given, &conditions) {
                Ok(verifier) => (self.verifier, self.assumed) = (verifier, taken),
                Err(failure) => {
                    self.pipeline.undo().map_err(|error| refused(&error))?;
                    return Err(failure);
                }
            }
        }
        let Some(verifier) = &self.verifier else { return Ok(()) };
        let steps = chain.actions(&sdfg_library::transformations());
        let earlier = steps.map_err(wrong_chain)?.iter().map(sdfg_transforms::Action::soundness).max();
        let allowed = earlier.map_or(soundness, |earlier| earlier.max(soundness));
        let Err(difference) = verifier.check(self.pipeline.program(), allowed) else { return Ok(()) };
        self.pipeline.undo().map_err(|error| refused(&error))?;
        let before = self.pipeline.program();
        let own = conditions.last().map_or(&[][..], std::slice::from_ref);
        let wrong = Wrong { what: name, before, soundness, conditions: &conditions, own, rewrite };
        Err(self.record.verification.wrong(&wrong, verifier, &difference))
    }

    /// Prints the last step as `sdfg chain show` does, and more about it.
    fn tell(&self, more: &str) {
        let lines = self.pipeline.chain().lines();
        if let Some(line) = lines.last() {
            self.terminal.message(&format!("{}. {line}\n{more}", lines.len()));
        }
    }
}

/// A line that is no step.
fn usage(error: clap::Error) -> Failure {
    let text = error.render().to_string();
    // The usage of the command follows an empty line.
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    Failure::usage(lines.join(" ").trim_start_matches("error: "))
        .help("a step has the options of `sdfg transform`: NAME [--at PATH] [--param NAME=VALUE]")
}
