//! DaCe as the oracle: a Python process that loads, validates and runs graphs, one line for each.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Obstacle, Stage, Verdict, about};

/// How far DaCe comes, in order.
const REACHED: [&str; 6] = ["read", "loaded", "valid", "compiled", "ran", "same"];

/// DaCe's answer about one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The last step that succeeded: `read`, `loaded`, `valid`, `compiled`, `ran` or `same`.
    pub reached: String,
    /// The reason why no further step did.
    pub why: String,
}

impl Answer {
    /// Whether DaCe loads and validates the graph.
    pub fn is_valid(&self) -> bool {
        let at = REACHED.iter().position(|step| *step == self.reached);
        at.is_some_and(|at| at >= 2)
    }

    /// The answer in the line of a survey.
    pub fn to_json(&self) -> Json {
        json!({"reached": self.reached, "valid": self.is_valid(), "why": self.why})
    }

    /// The answer as an obstacle: a graph that DaCe rejects is not tested, and one that it computes otherwise
    /// fails.
    pub fn obstacle(&self, graph: &str, is_run: bool) -> Option<Obstacle> {
        if !self.is_valid() {
            let message = format!("DaCe rejects {graph}: {}", self.why);
            return Some(Obstacle::new(Stage::Dace, Verdict::Untested, message));
        }
        (is_run && self.reached == "ran").then(|| {
            let message = format!("DaCe computes something else for {graph}: {}", self.why);
            Obstacle::new(Stage::Dace, Verdict::Failed, message)
        })
    }
}

/// Tries whether a Python has DaCe.
///
/// # Errors
/// If it cannot be run or has no DaCe.
pub fn check(python: &Path) -> std::io::Result<()> {
    let output = Command::new(python)
        .args(["-c", "import dace"])
        .output()
        .map_err(|error| about(python, "--dace: cannot run", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    let told = messages.lines().last().unwrap_or_default();
    let advice = "install DaCe for it (`pip install dace==1.0.2`), or name another one";
    Err(std::io::Error::other(format!("--dace: {} cannot import DaCe: {told}; {advice}", python.display())))
}

/// A Python with DaCe that answers questions, started by the first one.
#[derive(Debug)]
pub struct Oracle {
    python: PathBuf,
    limit: Duration,
    running: Option<(Child, ChildStdin, BufReader<ChildStdout>)>,
}

impl Oracle {
    /// The oracle of a Python that has DaCe. It gives up on a graph after `limit`.
    pub fn new(python: &Path, limit: Duration) -> Self {
        Oracle { python: python.to_owned(), limit, running: None }
    }

    /// Asks about a graph with a folder of inputs and outputs, or `-`.
    pub fn ask(&mut self, graph: &Path, inputs: &Path) -> Answer {
        match self.attempt(graph, inputs) {
            Ok(answer) => answer,
            Err(error) => {
                self.stop();
                Answer { reached: "read".to_owned(), why: format!("no answer: {error}") }
            }
        }
    }

    fn attempt(&mut self, graph: &Path, inputs: &Path) -> std::io::Result<Answer> {
        let (_, input, output) = match &mut self.running {
            Some(running) => running,
            idle => {
                let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/dace/tests/dace/run.py");
                let mut child = Command::new(&self.python)
                    .arg(script)
                    .env("SDFG_DACE_SECONDS", self.limit.as_secs().to_string())
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()?;
                let pipes = child.stdin.take().zip(child.stdout.take());
                let (input, output) = pipes.ok_or_else(|| std::io::Error::other("no pipes"))?;
                idle.insert((child, input, BufReader::new(output)))
            }
        };
        writeln!(input, "{}\t{}", graph.display(), inputs.display())?;
        input.flush()?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        let mut parts = line.trim_end_matches('\n').splitn(3, '\t').skip(1);
        let (Some(reached), why) = (parts.next(), parts.next().unwrap_or_default()) else {
            return Err(std::io::Error::other("DaCe's process ended"));
        };
        Ok(Answer { reached: reached.to_owned(), why: why.to_owned() })
    }

    fn stop(&mut self) {
        if let Some((mut child, ..)) = self.running.take() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        self.stop();
    }
}
