//! `sdfg chain`: chains of transformations as files.

mod record;

use clap::{Args, Subcommand};
use sdfg::ir::Sdfg;
use sdfg_transforms::verify::Verifier;
use sdfg_transforms::{Chain, Conditions, Difference, Pipeline, Soundness, simplify};

use crate::failure::Failure;
use crate::output::{Destination, print};
use crate::program::Program;
use crate::terminal::Terminal;
use crate::transform::{anywhere, finish, refused, wrong_chain};
use crate::verify::{Verification, Wrong, unverified};

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
        #[command(flatten)]
        verification: Verification,
        /// The output file; the default is the standard output.
        #[arg(long, short, value_name = "FILE")]
        output: Option<String>,
    },
    Record(record::Record),
    /// Print the steps of a chain.
    Show {
        /// The chain.
        chain: String,
    },
    /// Print the steps of two chains, and which of them only one has.
    Diff {
        /// The first chain.
        first: String,
        /// The second chain.
        second: String,
    },
}

impl ChainCommand {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        match &self.action {
            Action::Apply { program, chain, steps, verification, output } => {
                Destination::new(output.as_deref()).check()?;
                let chain = Chain::load(chain).map_err(wrong_chain)?;
                if let Some(count) = steps.filter(|count| *count > chain.len()) {
                    let found = format_args!("--steps is {count}, and the chain has {} steps", chain.len());
                    return Err(Failure::usage(found).help("`sdfg chain show CHAIN` prints the steps"));
                }
                let chain = chain.cut(steps.unwrap_or(chain.len()));
                let program = program.read(terminal)?;
                let conditions: Vec<_> = chain.conditions().collect();
                let verifier = verification.of(&program, &conditions)?;
                let replayed =
                    chain.replay(program, &sdfg_library::transformations()).map_err(wrong_chain)?;
                let replayed = match verifier {
                    Some(verifier) => verified(&chain, replayed, &verifier, verification)?,
                    None => replayed,
                };
                finish(replayed, output.as_deref())
            }
            Action::Record(record) => record.execute(terminal),
            Action::Show { chain } => {
                let chain = Chain::load(chain).map_err(wrong_chain)?;
                let lines = chain.lines().into_iter().enumerate();
                let steps: String = lines.map(|(at, line)| format!("{}. {line}\n", at + 1)).collect();
                let tuned = chain.tuned().map_or_else(String::new, |tuned| format!("{tuned}\n"));
                print((steps + &tuned).as_bytes())
            }
            Action::Diff { first, second } => {
                let [first, second] = [first, second].map(|file| Chain::load(file).map_err(wrong_chain));
                let (first, second) = (first?, second?);
                print(difference(&first, &second).as_bytes())
            }
        }
    }
}

/// The steps of two chains: common ones, and those of one alone behind a sign, with their numbers.
fn difference(first: &Chain, second: &Chain) -> String {
    let all = first.difference(second);
    if all.iter().all(|line| matches!(line, Difference::Both(..))) {
        return "the chains are the same\n".to_owned();
    }
    let (own, theirs) = (first.lines(), second.lines());
    let line = |found: &Difference| match *found {
        Difference::Both(i, j) if i == j => format!("  {}. {}\n", i + 1, own[i]),
        Difference::Both(i, j) => format!("  {} -> {}. {}\n", i + 1, j + 1, own[i]),
        Difference::First(i) => format!("- {}. {}\n", i + 1, own[i]),
        Difference::Second(j) => format!("+ {}. {}\n", j + 1, theirs[j]),
    };
    all.iter().map(line).collect()
}

/// Checks the results after a chain. If they are wrong, finds the first step with other results.
fn verified(
    chain: &Chain,
    mut replayed: Pipeline,
    verifier: &Verifier<'_>,
    verification: &Verification,
) -> Result<Pipeline, Failure> {
    let steps = chain.actions(&sdfg_library::transformations()).map_err(wrong_chain)?;
    let soundness = |count: usize| {
        let all = steps[..count].iter().map(sdfg_transforms::Action::soundness);
        all.max().unwrap_or(Soundness::Always)
    };
    let Err(mut difference) = verifier.check(replayed.program(), soundness(steps.len())) else {
        return Ok(replayed);
    };
    for (at, step) in steps.iter().enumerate().rev() {
        replayed.undo().map_err(|error| refused(&error))?;
        match verifier.check(replayed.program(), soundness(at)) {
            // A known difference says more than a limit.
            Err(earlier) if earlier.is_limit() && !difference.is_limit() => {}
            Err(earlier) => difference = earlier,
            Ok(()) => {
                let what = format!("step {} ({})", at + 1, step.name());
                let conditions: Vec<&Conditions> = chain.conditions().collect();
                let wrong = Wrong {
                    what: &what,
                    before: replayed.program(),
                    soundness: soundness(at + 1),
                    conditions: &conditions,
                    own: &conditions[at..=at],
                    rewrite: &|program| repeated(program, step),
                };
                return Err(verification.wrong(&wrong, verifier, &difference));
            }
        }
    }
    if difference.is_limit() {
        return Err(unverified("the chain", &difference));
    }
    Err(Failure::program(format_args!("the chain gives other results: {difference}")))
}

/// Applies a step of a chain anywhere; gives whether it changed something.
fn repeated(program: &mut Sdfg, step: &sdfg_transforms::Action) -> bool {
    match step {
        sdfg_transforms::Action::Apply(transformation) => anywhere(program, transformation.as_ref()),
        sdfg_transforms::Action::Simplify(fuel) => {
            !simplify(program, &sdfg_library::transformations(), *fuel).is_empty()
        }
    }
}
