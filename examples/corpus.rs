//! Runs every DaCe graph of a folder in the interpreter and as native code:
//! `cargo xtask corpus --dir ../shared/corpus`.
//!
//! Without `--dir`, the folder is that of `SDFG_CORPUS`, or `../shared/corpus`. Names after the options
//! select the graphs whose path contains one of them. Each graph runs in a separate process, so a crash
//! counts as one failure. The command prints a line for each graph, a table for each variant, and the totals.
//! The exit status tells whether any graph failed. `--table FILE` writes the outcome of each program and
//! variant as a table with reasons; equal outcomes give equal tables. It keeps the page's part about surveys.
//!
//! `--target c` runs the C source of the programs. `--target cuda` and `--target opencl` make kernels of their maps, and run them on
//! threads of this processor or on a device of OpenCL. `--target dace` writes them for DaCe, which loads, compiles and
//! runs them; `SDFG_DACE_PYTHON` names its Python.
//!
//! `--simplify`, `--optimize`, `--chain FILE` and `--every-match [NAME]` transform each graph before it runs. The command then
//! also prints the applications and refusals of each transformation. With `--simplify`, it compares the sizes of
//! raw variants with those of DaCe's simplified variants. `--every-match` applies at most 8 matches of each
//! transformation in one graph, spread over all; `--most N` sets another number.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode, Stdio};
use std::time::{Duration, Instant};

use sdfg_programs::corpus::{
    Engine, Outcome, Rewrite, Rewritten, Size, check, check_rewritten, folder, graphs, variant,
};
use sdfg_transforms::Chain;

/// Time limit of one graph.
const LIMIT: Duration = Duration::from_secs(120);

/// Time limit of one graph at every match of the transformations.
const LIMIT_OF_MATCHES: Duration = Duration::from_secs(1200);

/// Time limit of one graph that DaCe compiles.
const LIMIT_OF_DACE: Duration = Duration::from_secs(600);

/// Numbers of graphs that passed, were refused and failed.
type Counts = [usize; 3];

/// The command line.
struct Command {
    folder: PathBuf,
    names: Vec<String>,
    table: Option<PathBuf>,
    engines: Vec<Engine>,
    rewrite: Option<Rewrite>,
    /// The options of the rewrite, for the processes of the graphs.
    rewriting: Vec<String>,
    /// The graph and the engine of this process.
    one: Option<(String, String)>,
}

impl Command {
    fn parse() -> Option<Self> {
        let mut arguments = std::env::args().skip(1).peekable();
        let folder = folder();
        let engines = vec![Engine::Interpreter, Engine::Native];
        let (names, rewriting) = (Vec::new(), Vec::new());
        let mut command =
            Command { folder, names, table: None, engines, rewrite: None, rewriting, one: None };
        let mut most = 8;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--dir" => command.folder = arguments.next()?.into(),
                "--table" => command.table = Some(arguments.next()?.into()),
                "--target" => match arguments.next()?.as_str() {
                    "llvm" => {}
                    "c" => command.engines = vec![Engine::Interpreter, Engine::Gcc, Engine::Clang],
                    "cuda" => command.engines = vec![Engine::Cuda],
                    "cuda-driver" => command.engines = vec![Engine::CudaDriver],
                    "opencl" => command.engines = vec![Engine::OpenCl],
                    "dace" => command.engines = vec![Engine::Dace],
                    _ => return None,
                },
                "--one" => command.one = Some((arguments.next()?, arguments.next()?)),
                "--simplify" => {
                    command.rewriting.push(argument);
                    command.rewrite = Some(Rewrite::Simplify);
                }
                "--optimize" => {
                    command.rewriting.push(argument);
                    command.rewrite = Some(Rewrite::Optimize);
                }
                "--chain" => {
                    let file = arguments.next()?;
                    let chain = Chain::load(&file).map_err(|error| say(format_args!("{error}"))).ok()?;
                    command.rewriting.extend([argument, file]);
                    command.rewrite = Some(Rewrite::Chain(chain));
                }
                "--every-match" => {
                    let known = sdfg_library::transformations();
                    let only = arguments.next_if(|next| known.all().any(|known| known.name == next));
                    command.rewriting.push(argument);
                    command.rewriting.extend(only.clone());
                    command.rewrite = Some(Rewrite::EveryMatch { only, most });
                }
                "--most" => {
                    let number = arguments.next()?;
                    most = number.parse().ok()?;
                    command.rewriting.extend([argument, number]);
                }
                option if option.starts_with('-') => return None,
                _ => command.names.push(argument),
            }
        }
        if let Some(Rewrite::EveryMatch { most: place, .. }) = &mut command.rewrite {
            *place = most;
        }
        Some(command)
    }
}

fn main() -> ExitCode {
    let Some(command) = Command::parse() else { return usage() };
    if let Some((graph, engine)) = &command.one {
        return one(Path::new(graph), engine, command.rewrite.as_ref());
    }
    let folder = &command.folder;
    let found = match graphs(folder) {
        Ok(found) => found,
        Err(error) => {
            say(format_args!("{}: {error}", folder.display())).ok();
            return ExitCode::from(2);
        }
    };
    let is_chosen = |graph: &&PathBuf| {
        let path = graph.to_string_lossy();
        command.names.is_empty() || command.names.iter().any(|name| path.contains(name))
    };
    let chosen: Vec<&PathBuf> = found.iter().filter(is_chosen).collect();
    let Ok(outcomes) = run_all(&command, &chosen) else { return ExitCode::FAILURE };
    if let Some(path) = &command.table
        && let Err(error) = std::fs::write(path, coverage(&outcomes) + &surveys(path))
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
    say(format_args!("usage: corpus [--dir FOLDER] [--target llvm|c|dace] [--table FILE] [--simplify | --optimize | --chain FILE | --every-match [TRANSFORMATION] [--most N]] [NAME]...")).ok();
    ExitCode::from(2)
}

/// Runs one graph in this process and prints the outcome as the last line.
fn one(graph: &Path, engine: &str, rewrite: Option<&Rewrite>) -> ExitCode {
    let Some(engine) = Engine::ALL.into_iter().find(|known| known.name() == engine) else { return usage() };
    let Some(rewrite) = rewrite else {
        say(format_args!("{}", check(graph, engine))).ok();
        return ExitCode::SUCCESS;
    };
    let mut tell = |step: &str| {
        let is_told = step.starts_with("wrong: ") || step.starts_with("unwritten: ");
        let word = if is_told { "" } else { "at " };
        say(format_args!("{word}{}", step.split_whitespace().collect::<Vec<_>>().join(" "))).ok();
    };
    let Rewritten { outcome, applications, sizes, simplified_by_dace } =
        check_rewritten(graph, engine, rewrite, &mut tell);
    for (name, outcomes) in applications {
        let refused: u64 = outcomes.refused.values().sum();
        say(format_args!("count {name} {} {refused}", outcomes.applied)).ok();
    }
    if let Some([before, after]) = sizes {
        let sizes = [before, after].into_iter().chain(simplified_by_dace);
        let numbers: Vec<String> = sizes.map(|size| format!("{} {}", size.blocks, size.nodes)).collect();
        say(format_args!("size {}", numbers.join(" "))).ok();
    }
    say(format_args!("{outcome}")).ok();
    ExitCode::SUCCESS
}

/// What the process of a graph prints before its last line.
#[derive(Default)]
struct Told {
    /// Applications and refusals of each transformation.
    counts: BTreeMap<String, [u64; 2]>,
    /// The size before and after simplification, and that of DaCe's simplified variant.
    sizes: Vec<Size>,
    /// Wrong rewrites, and results that cannot be written for DaCe.
    remarks: Vec<String>,
    /// The last step that was begun.
    last: String,
}

impl Told {
    fn parse(output: &str) -> Self {
        let mut told = Told::default();
        for line in output.lines() {
            let numbers =
                |words: &str| words.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
            if let Some((name, counts)) = line.strip_prefix("count ").and_then(|rest| rest.split_once(' ')) {
                if let [applied, refused] = numbers(counts)[..] {
                    told.counts.insert(name.to_owned(), [applied, refused]);
                }
            } else if let Some(sizes) = line.strip_prefix("size ") {
                let pairs = numbers(sizes);
                let size = |pair: &[u64]| Size { blocks: pair[0] as usize, nodes: pair[1] as usize };
                told.sizes = pairs.chunks_exact(2).map(size).collect();
            } else if let Some(step) = line.strip_prefix("at ") {
                step.clone_into(&mut told.last);
            } else if line.starts_with("wrong: ") || line.starts_with("unwritten: ") {
                told.remarks.push(line.to_owned());
            }
        }
        told
    }

    /// The numbers of a graph, for its line.
    fn summary(&self) -> String {
        let applied: u64 = self.counts.values().map(|[applied, _]| applied).sum();
        let mut text = format!(" ({applied} applications");
        if let [before, after, rest @ ..] = &self.sizes[..] {
            text += &format!(", {before} become {after}");
            if let [dace] = rest {
                let word = if after.all() <= dace.all() { "no larger than" } else { "larger than" };
                text += &format!(", {word} DaCe's simplified variant of {dace}");
            }
        }
        text + ")"
    }
}

/// A program, its variant, the engine, and the outcome.
type Found = (String, String, &'static str, Outcome);

/// Runs every graph and prints the tables.
///
/// # Errors
/// If the output is closed.
fn run_all(command: &Command, graphs: &[&PathBuf]) -> io::Result<Vec<Found>> {
    let folder = &command.folder;
    let mut outcomes = Vec::new();
    let mut totals: BTreeMap<(String, &str), Counts> = BTreeMap::new();
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for graph in graphs {
        let name = graph.strip_prefix(folder).unwrap_or(graph).display().to_string();
        for engine in command.engines.iter().map(|engine| engine.name()) {
            let (outcome, told) = spawned(graph, engine, command);
            let summary = if command.rewrite.is_some() { told.summary() } else { String::new() };
            say(format_args!("{name} {engine}: {outcome}{summary}"))?;
            for remark in &told.remarks {
                say(format_args!("  {remark}"))?;
            }
            all.push((name.clone(), told));
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
    transformations(&all)?;
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

/// Prints the counts of the transformations, and the sizes of raw graphs beside DaCe's.
///
/// # Errors
/// If the output is closed.
fn transformations(all: &[(String, Told)]) -> io::Result<()> {
    let mut counts: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (name, added) in all.iter().flat_map(|(_, told)| &told.counts) {
        counts.entry(name).or_default().iter_mut().zip(added).for_each(|(sum, count)| *sum += count);
    }
    if !counts.is_empty() {
        say(format_args!("\n{:28} {:>9} {:>9}", "transformation", "applied", "refused"))?;
    }
    for (name, [applied, refused]) in &counts {
        say(format_args!("{name:28} {applied:9} {refused:9}"))?;
    }
    // Every engine runs the same graph.
    let raw: BTreeMap<&str, &Told> =
        all.iter().filter(|(_, told)| told.sizes.len() == 3).map(|(name, told)| (&**name, told)).collect();
    if !raw.is_empty() {
        let sizes = |at: usize| raw.values().map(move |told| told.sizes[at].all());
        let no_larger = sizes(1).zip(sizes(2)).filter(|(ours, dace)| ours <= dace).count();
        let [ours, dace] = [1, 2].map(|at| sizes(at).sum::<usize>());
        say(format_args!(
            "\nblocks and nodes no larger than DaCe's: {no_larger} of {} raw graphs; {ours} in all, DaCe's {dace}",
            raw.len()
        ))?;
    }
    Ok(())
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
fn spawned(graph: &Path, engine: &str, command: &Command) -> (Outcome, Told) {
    let failed = |what: String| (Outcome::Failed(what), Told::default());
    let limit = match command.rewrite {
        Some(Rewrite::EveryMatch { .. }) => LIMIT_OF_MATCHES,
        Some(Rewrite::Simplify | Rewrite::Optimize | Rewrite::Chain(_)) | None
            if engine == Engine::Dace.name() =>
        {
            LIMIT_OF_DACE
        }
        Some(Rewrite::Simplify | Rewrite::Optimize | Rewrite::Chain(_)) | None => LIMIT,
    };
    let Ok(own) = std::env::current_exe() else {
        return failed("the command does not find itself".to_owned());
    };
    // A file holds any amount of output without being read meanwhile.
    let Ok((mut output, written)) = tempfile::tempfile().and_then(|file| Ok((file.try_clone()?, file)))
    else {
        return failed("there is no temporary file".to_owned());
    };
    let child = process::Command::new(own)
        .args(&command.rewriting)
        .arg("--one")
        .arg(graph)
        .arg(engine)
        .stdout(Stdio::from(written))
        .stderr(Stdio::null())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(error.to_string()),
    };
    let start = Instant::now();
    let mut is_late = false;
    let status = loop {
        match child.try_wait() {
            Ok(None) if start.elapsed() > limit => {
                is_late = true;
                // It may have ended in this moment, which is as good.
                let _ = child.kill();
                break child.wait();
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Ok(Some(status)) => break Ok(status),
            Err(error) => break Err(error),
        }
    };
    let mut text = String::new();
    if let Err(error) = output.rewind().and_then(|()| output.read_to_string(&mut text)) {
        return failed(error.to_string());
    }
    let told = Told::parse(&text);
    let last = if told.last.is_empty() { String::new() } else { format!(", at {}", told.last) };
    let outcome = match status {
        Err(error) => Outcome::Failed(error.to_string()),
        Ok(_) if is_late => Outcome::Failed(format!("it takes longer than {limit:?}{last}")),
        Ok(status) => {
            let outcome = text.lines().next_back().filter(|_| status.success()).and_then(Outcome::parse);
            outcome.unwrap_or_else(|| Outcome::Failed(format!("it crashes: {status}{last}")))
        }
    };
    (outcome, told)
}
