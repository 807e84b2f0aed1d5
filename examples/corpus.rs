//! Runs every DaCe graph of a folder in the interpreter and as native code:
//! `cargo xtask corpus --dir ../shared/corpus`.
//!
//! Without `--dir`, the folder is that of `SDFG_CORPUS`, or `../shared/corpus`. Names after the options
//! select the graphs whose path contains one of them. Each graph runs in a separate process, so a crash
//! counts as one failure. The command prints a line for each graph, a table for each variant, and the totals.
//! The exit status tells whether any graph failed. `--table FILE` writes the outcome of each program and
//! variant as a table with reasons; equal outcomes give equal tables. It keeps the page's part about surveys.
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use sdfg_programs::corpus::{Engine, Outcome, check, graphs, variant};

/// Time limit of one graph.
const LIMIT: Duration = Duration::from_secs(120);

/// Numbers of graphs that passed, were refused and failed.
type Counts = [usize; 3];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut folder =
        std::env::var_os("SDFG_CORPUS").map_or_else(|| PathBuf::from("../shared/corpus"), PathBuf::from);
    let (mut names, mut table) = (Vec::new(), None);
    let mut engines = vec![Engine::Interpreter, Engine::Native];
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--dir" => match arguments.next() {
                Some(found) => folder = found.into(),
                None => return usage(),
            },
            "--table" => match arguments.next() {
                Some(found) => table = Some(PathBuf::from(found)),
                None => return usage(),
            },
            "--target" => match arguments.next().as_deref() {
                Some("llvm") => {}
                Some("c") => engines = vec![Engine::Interpreter, Engine::Gcc, Engine::Clang],
                _ => return usage(),
            },
            "--one" => return one(arguments.next(), arguments.next()),
            option if option.starts_with('-') => return usage(),
            _ => names.push(argument),
        }
    }
    let found = match graphs(&folder) {
        Ok(found) => found,
        Err(error) => {
            say(format_args!("{}: {error}", folder.display())).ok();
            return ExitCode::from(2);
        }
    };
    let is_chosen = |graph: &&PathBuf| {
        let path = graph.to_string_lossy();
        names.is_empty() || names.iter().any(|name| path.contains(name))
    };
    let chosen: Vec<&PathBuf> = found.iter().filter(is_chosen).collect();
    let Ok(outcomes) = run_all(&folder, &chosen, &engines) else { return ExitCode::FAILURE };
    if let Some(path) = table
        && let Err(error) = std::fs::write(&path, coverage(&outcomes) + &surveys(&path))
    {
        say(format_args!("{}: {error}", path.display())).ok();
        return ExitCode::from(2);
    }
    let none_failed = outcomes.iter().all(|(.., outcome)| !matches!(outcome, Outcome::Failed(_)));
    if none_failed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The part of the table's page that surveys fill by hand.
fn surveys(page: &Path) -> String {
    let old = std::fs::read_to_string(page).unwrap_or_default();
    old.find("\n## Surveys").map(|at| old[at..].to_owned()).unwrap_or_default()
}

/// Prints a line.
fn say(line: fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}

fn usage() -> ExitCode {
    say(format_args!("usage: corpus [--dir FOLDER] [--target llvm|c] [--table FILE] [NAME]...")).ok();
    ExitCode::from(2)
}

/// Runs one graph in this process and prints the outcome.
fn one(graph: Option<String>, engine: Option<String>) -> ExitCode {
    let (Some(graph), Some(engine)) = (graph, engine) else { return usage() };
    let Some(engine) = Engine::ALL.into_iter().find(|known| known.name() == engine) else { return usage() };
    say(format_args!("{}", check(Path::new(&graph), engine))).ok();
    ExitCode::SUCCESS
}

/// A program, its variant, the engine, and the outcome.
type Found = (String, String, &'static str, Outcome);

/// Runs every graph and prints the tables.
///
/// # Errors
/// If the output is closed.
fn run_all(folder: &Path, graphs: &[&PathBuf], engines: &[Engine]) -> io::Result<Vec<Found>> {
    let mut outcomes = Vec::new();
    let mut totals: BTreeMap<(String, &str), Counts> = BTreeMap::new();
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    for graph in graphs {
        let name = graph.strip_prefix(folder).unwrap_or(graph).display().to_string();
        for engine in engines.iter().map(|engine| engine.name()) {
            let outcome = spawned(graph, engine);
            say(format_args!("{name} {engine}: {outcome}"))?;
            let place = match &outcome {
                Outcome::Passed => 0,
                Outcome::Refused { code, .. } => {
                    *codes.entry(code.clone()).or_default() += 1;
                    1
                }
                Outcome::Failed(_) => 2,
            };
            totals.entry((variant(graph).to_owned(), engine)).or_default()[place] += 1;
            let program = graph.parent().and_then(|parent| parent.strip_prefix(folder).ok());
            let program = program.map_or_else(String::new, |program| program.display().to_string());
            outcomes.push((program, variant(graph).to_owned(), engine, outcome));
        }
    }
    say(format_args!("\n{:20} {:12} {:>8} {:>8} {:>8}", "variant", "engine", "passed", "refused", "failed"))?;
    let mut sum: Counts = [0; 3];
    for ((variant, engine), counts) in &totals {
        let [passed, refused, failed] = counts;
        say(format_args!("{variant:20} {engine:12} {passed:8} {refused:8} {failed:8}"))?;
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    for (code, count) in &codes {
        say(format_args!("refused with {code}: {count}"))?;
    }
    say(format_args!("passed {}, refused {}, failed {}", sum[0], sum[1], sum[2]))?;
    Ok(outcomes)
}

/// The explanation of variants and outcomes on the page.
const LEGEND: &str = "\
Each program is a graph that DaCe 1.0.2 wrote, with inputs and expected outputs. The interpreter and native code
run every variant of it, and every output is compared.

| variant | graph |
|---|---|
| `program` | as it enters DaCe's compiler |
| `raw` | as DaCe's Python front end generates it |
| `simplified` | after DaCe's simplification |
| `regions` | simplified, with regions for loops and branches instead of a state machine |
| `autoopt`, `autoopt_blas` | after DaCe's automatic optimisation for CPUs, without and with calls of a BLAS |

| outcome | meaning |
|---|---|
| `passed` | every output equals the expected one, within the tolerance of the program |
| a code, such as `D004` | a construct is refused; tables at the end give place, reason and meaning |
| `failed` | the run traps, crashes, exceeds its time limit, or gives other outputs |

One outcome means that the interpreter and native code agree. Two outcomes are those of the interpreter and of
native code.

";

/// The outcomes as a page: a line for each program, then the reasons of all other outcomes than `passed`, then
/// the meanings of the codes.
fn coverage(outcomes: &[Found]) -> String {
    let mut programs: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    let mut reasons = String::new();
    for (program, variant, engine, outcome) in outcomes {
        let word = match outcome {
            Outcome::Passed => "passed",
            Outcome::Refused { code, .. } => code,
            Outcome::Failed(_) => "failed",
        };
        programs.entry(program).or_default().entry(variant).or_default().push(word);
        if *outcome != Outcome::Passed {
            let outcome = outcome.to_string().replace('|', "\\|");
            reasons += &format!("| {program} | {variant} | {engine} | {outcome} |\n");
        }
    }
    let mut page = String::from(
        "# Coverage of DaCe's programs\n\n<!-- Written by `cargo xtask corpus --table docs/dace-coverage.md`. -->\n\n",
    );
    page += LEGEND;
    page += "| program | variants |\n|---|---|\n";
    for (program, variants) in &programs {
        let told = variants.iter().map(|(variant, words)| match words.as_slice() {
            [first, rest @ ..] if rest.iter().all(|word| word == first) => format!("{variant}: {first}"),
            several => format!("{variant}: {}", several.join(", ")),
        });
        page += &format!("| {program} | {} |\n", told.collect::<Vec<_>>().join("; "));
    }
    page += "\n## Programs that do not pass\n\n| program | variant | engine | outcome |\n|---|---|---|---|\n";
    page += &reasons;
    page += "\n## Codes of the reader\n\n| code | meaning |\n|---|---|\n";
    for code in sdfg_dace::Code::ALL {
        page += &format!("| {code} | {} |\n", code.meaning());
    }
    page
}

/// Runs one graph in a process of its own.
fn spawned(graph: &Path, engine: &str) -> Outcome {
    let failed = |what: String| Outcome::Failed(what);
    let Ok(own) = std::env::current_exe() else {
        return failed("the command does not find itself".to_owned());
    };
    let child = Command::new(own)
        .arg("--one")
        .arg(graph)
        .arg(engine)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(error.to_string()),
    };
    let start = Instant::now();
    while let Ok(None) = child.try_wait() {
        if start.elapsed() > LIMIT {
            // It may have ended in this moment, which is as good.
            let _ = child.kill();
            let _ = child.wait();
            return failed(format!("it takes longer than {LIMIT:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    match child.wait_with_output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines()
                .next_back()
                .and_then(Outcome::parse)
                .unwrap_or_else(|| failed(format!("it crashes: {}", output.status)))
        }
        Err(error) => failed(error.to_string()),
    }
}
