//! Runs a folder of DaCe graphs through every stage, and counts the causes of refusals and failures:
//! `cargo xtask survey DIR [--interpret] [--dace PYTHON]`.
//!
//! Every graph runs in a child process with limits of time and memory, so a crash or a hang is one line.
//! The command prints one JSON line for each graph, in the order of their names, then the table of causes.
//! `--dace` names a Python that has DaCe 1.0.2. DaCe then loads and validates every graph and what is written of
//! it, and with `--interpret` also runs both on the same inputs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sdfg::interpret::Arguments;
use sdfg::npy;
use sdfg_programs::survey::{
    Effort, Ended, Graph, Obstacle, Options, Oracle, Stage, USAGE, Verdict, about, check_dace, check_start,
    examine, graphs, in_limits, table,
};
use serde_json::{Value as Json, json};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, graph, example, options @ ..] = arguments.as_slice()
        && first == "--one"
    {
        let has = |name: &str| options.iter().any(|option| option == name);
        let steps = options.iter().find_map(|option| option.strip_prefix("--steps=")?.parse().ok());
        let effort = Effort { interpret: has("--interpret"), allow_external: has("--allow-external"), steps };
        return done(one(Path::new(graph), Path::new(example), effort));
    }
    if arguments == ["--ready"] {
        // The parent learns that a child starts in its limits.
        return ExitCode::SUCCESS;
    }
    match Options::parse(arguments) {
        Ok(options) => done(survey(&options)),
        Err(error) => {
            // Nothing else can be told where this cannot.
            let _ = writeln!(io::stderr(), "error: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn done(result: io::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // As above.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Examines one graph in this process: a line for each stage that begins, then one with the obstacles. The folder
/// `example` gets what DaCe needs.
fn one(graph: &Path, example: &Path, effort: Effort) -> io::Result<bool> {
    let mut reached = |stage: Stage| {
        // The parent may be gone; then nobody needs the line.
        let _ = writeln!(io::stdout(), "stage {}", stage.name());
    };
    let (obstacles, found) = examine(graph, effort, &mut reached);
    if let Some(bytes) = &found.written {
        std::fs::write(example.join("written.sdfg"), bytes)?;
    }
    if let Some((before, after)) = &found.run {
        keep_run(&example.join("io"), before, after)?;
    }
    let obstacles: Vec<Json> = obstacles.iter().map(Obstacle::to_json).collect();
    writeln!(io::stdout(), "obstacles {}", Json::from(obstacles))?;
    Ok(true)
}

/// Writes the arguments of a run in the form of the corpus.
fn keep_run(folder: &Path, before: &Arguments, after: &Arguments) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut listed = Vec::new();
    for (at, (name, tensor)) in before.tensors().enumerate() {
        let (input, expected) = (format!("{at}.before.npy"), format!("{at}.after.npy"));
        std::fs::write(folder.join(&input), npy::write(tensor))?;
        if let Some(tensor) = after.get(name) {
            std::fs::write(folder.join(&expected), npy::write(tensor))?;
        }
        listed.push(json!({"name": name, "input": input, "expected": expected, "shape": tensor.shape()}));
    }
    let symbols: BTreeMap<&str, i64> = before.symbols().collect();
    let meta = json!({
        "args": listed, "symbols": symbols, "has_streams": true,
        "tolerance": {"rtol": 1e-4, "atol": 1e-6, "norm_error": 1e-5},
    });
    std::fs::write(folder.join("meta.json"), meta.to_string())
}

/// Examines every graph and prints lines and table; whether nothing failed.
fn survey(options: &Options) -> io::Result<bool> {
    let all = options.chosen(graphs(&options.folder)?)?;
    // A survey may take hours: all that it needs is tried before it begins.
    let created = |path: &PathBuf| File::create(path).map_err(|error| about(path, "cannot write", &error));
    let mut output: Box<dyn Write + Send> = match &options.lines {
        Some(path) => Box::new(created(path)?),
        None => Box::new(io::stdout()),
    };
    let table_file = options.table.as_ref().map(created).transpose()?;
    options.dace.as_deref().map(check_dace).transpose()?;
    check_start(Command::new(std::env::current_exe()?).arg("--ready"), options.limits)?;
    let workspace = tempfile::tempdir()?;
    let next = AtomicUsize::new(0);
    let finished: Mutex<BTreeMap<usize, Json>> = Mutex::new(BTreeMap::new());
    let work = |worker: usize| -> io::Result<()> {
        let mut oracle = options.dace.as_deref().map(|python| Oracle::new(python, options.limits.time));
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(graph) = all.get(at) else { return Ok(()) };
            let example = workspace.path().join(worker.to_string());
            std::fs::create_dir_all(&example)?;
            let line = line(graph, &example, options, oracle.as_mut());
            std::fs::remove_dir_all(&example)?;
            if let Ok(mut finished) = finished.lock() {
                finished.insert(at, line);
            }
        }
    };
    let mut lines = Vec::new();
    std::thread::scope(|scope| -> io::Result<()> {
        let workers: Vec<_> = (0..options.jobs).map(|worker| scope.spawn(move || work(worker))).collect();
        let workers_end = || workers.iter().all(std::thread::ScopedJoinHandle::is_finished);
        loop {
            let ended = workers_end();
            while let Some(line) = finished.lock().ok().and_then(|mut found| found.remove(&lines.len())) {
                let written = writeln!(output, "{line}").and_then(|()| output.flush());
                if written.is_err() {
                    // Nobody reads what the workers still find.
                    next.store(all.len(), Ordering::Relaxed);
                }
                written?;
                lines.push(line);
            }
            if ended {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    lines.retain(|line| line["outcome"] != "same");
    let report = table(&lines);
    match table_file {
        Some(mut file) => file.write_all(report.as_bytes())?,
        None => write!(io::stdout(), "{report}")?,
    }
    Ok(!lines.iter().any(|line| line["outcome"] == Verdict::Failed.name()))
}

/// The line of one graph.
fn line(graph: &Graph, example: &Path, options: &Options, oracle: Option<&mut Oracle>) -> Json {
    if let Some(same) = &graph.same_as {
        return json!({"file": graph.name, "outcome": "same", "as": same});
    }
    let (reached, mut obstacles) = in_child(graph, example, options);
    let mut line = json!({"file": graph.name, "reached": reached});
    if let Some(oracle) = oracle {
        let io = example.join("io");
        let inputs = if io.is_dir() { io } else { PathBuf::from("-") };
        let original = oracle.ask(&graph.path, &inputs);
        line["dace"] = json!({"original": original.to_json()});
        obstacles.extend(original.obstacle("the graph", inputs.is_dir()).map(|found| found.to_json()));
        let written = example.join("written.sdfg");
        if written.is_file() && original.is_valid() {
            let answer = oracle.ask(&written, &inputs);
            line["dace"]["written"] = answer.to_json();
            if answer.is_valid() {
                obstacles.extend(
                    answer.obstacle("the written graph", inputs.is_dir()).map(|found| found.to_json()),
                );
            } else {
                let message = format!("DaCe does not accept the written graph: {}", answer.why);
                obstacles.push(Obstacle::new(Stage::Dace, Verdict::Failed, message).to_json());
            }
        }
    }
    let has = |verdict: Verdict| obstacles.iter().any(|found| found["verdict"] == verdict.name());
    let worst =
        [Verdict::Failed, Verdict::Refused, Verdict::Untested].into_iter().find(|verdict| has(*verdict));
    line["outcome"] = worst.map_or("passed", Verdict::name).into();
    line["obstacles"] = obstacles.into();
    line
}

/// The last stage that the child process began, and the obstacles.
fn in_child(graph: &Graph, example: &Path, options: &Options) -> (String, Vec<Json>) {
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(error) => {
            let message = format!("this program does not know its own file: {error}");
            let obstacle = Obstacle::new(Stage::Read, Verdict::Failed, message);
            return (Stage::Read.name().to_owned(), vec![obstacle.to_json()]);
        }
    };
    let mut command = Command::new(own);
    command.arg("--one").arg(&graph.path).arg(example);
    if options.effort.interpret {
        command.arg("--interpret");
    }
    if options.effort.allow_external {
        command.arg("--allow-external");
    }
    if let Some(steps) = options.effort.steps {
        command.arg(format!("--steps={steps}"));
    }
    let (output, end, is_late) = match in_limits(&command, options.limits) {
        Ended::Well(output) => (output, None, false),
        Ended::Badly(output, status) => (output, Some(format!("it crashes: {status}")), false),
        Ended::Late(output) => {
            (output, Some(format!("it takes longer than {} s", options.limits.time.as_secs())), true)
        }
    };
    let mut stages = output.lines().filter_map(|line| line.strip_prefix("stage "));
    let reached =
        stages.next_back().and_then(|name| Stage::ALL.into_iter().find(|stage| stage.name() == name));
    let stage = reached.unwrap_or(Stage::Read);
    let told = output.lines().find_map(|line| line.strip_prefix("obstacles "));
    let mut obstacles: Vec<Json> = told.and_then(|told| serde_json::from_str(told).ok()).unwrap_or_default();
    if let Some(end) = end {
        // The interpreter is slow by design, and the search may take it through many runs.
        let is_search = is_late && stage == Stage::Interpret;
        let verdict = if is_search { Verdict::Untested } else { Verdict::Failed };
        obstacles.push(Obstacle::new(stage, verdict, end).to_json());
    }
    (stage.name().to_owned(), obstacles)
}
