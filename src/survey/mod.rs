//! Survey of a folder of DaCe graphs: every graph is read, checked, compiled, run on generated inputs and
//! written back, and the causes of all refusals and failures are counted.
//!
//! The graphs need no inputs and no expected outputs; the corpus runner is for graphs that have them.
//! [`examine`] handles one graph and may crash or hang, so `examples/survey` runs it in a child process.

mod causes;
mod examine;
mod options;
mod oracle;
mod process;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

pub use causes::table;
pub use examine::{Effort, Example, examine};
pub use options::{Options, USAGE};
pub use oracle::{Answer, Oracle, check as check_dace};
pub use process::{Ended, Limits, check_start, in_limits};

/// How far a graph came. A later variant includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The bytes become a graph.
    Read,
    /// Validation, and what `sdfg check` knows of refusals to come.
    Check,
    /// Native code without and with optimisation.
    Compile,
    /// The graph as a file of DaCe's, which is read and checked again.
    Write,
    /// The interpreter, on inputs that were searched for.
    Interpret,
    /// Native code on the same inputs.
    Run,
    /// DaCe.
    Dace,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Stage; 7] =
        [Stage::Read, Stage::Check, Stage::Compile, Stage::Write, Stage::Interpret, Stage::Run, Stage::Dace];

    /// Its name in tables and lines.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Check => "check",
            Stage::Compile => "compile",
            Stage::Write => "write",
            Stage::Interpret => "interpret",
            Stage::Run => "run",
            Stage::Dace => "dace",
        }
    }
}

/// The judgement of a finding about a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A fault of this project: a crash, a hang, a difference, a broken promise of `check`.
    Failed,
    /// The graph is not supported, with a code.
    Refused,
    /// The graph was not tested: no inputs fit, or DaCe itself rejects it.
    Untested,
    /// The command says in advance what it will refuse.
    Warned,
}

impl Verdict {
    /// Its name in tables and lines.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Failed => "failed",
            Verdict::Refused => "refused",
            Verdict::Untested => "untested",
            Verdict::Warned => "warned",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Verdict::Failed, Verdict::Refused, Verdict::Untested, Verdict::Warned]
            .into_iter()
            .find(|verdict| verdict.name() == name)
    }
}

/// Something that keeps a graph from coming through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Where it was found.
    pub stage: Stage,
    /// The judgement.
    pub verdict: Verdict,
    /// The code of the finding; empty if it has none.
    pub code: String,
    /// The message with its place.
    pub message: String,
}

impl Obstacle {
    /// An obstacle without a code.
    pub fn new(stage: Stage, verdict: Verdict, message: impl ToString) -> Self {
        Obstacle { stage, verdict, code: String::new(), message: message.to_string() }
    }

    /// The same with a code.
    #[must_use]
    pub fn with_code(mut self, code: impl ToString) -> Self {
        self.code = code.to_string();
        self
    }

    /// The obstacle as a part of the line of its graph.
    pub fn to_json(&self) -> Json {
        let cause = causes::cause(&self.message);
        json!({
            "stage": self.stage.name(), "verdict": self.verdict.name(), "code": self.code,
            "cause": cause, "message": causes::one_line(&self.message, 600),
        })
    }
}

/// A graph of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The file.
    pub path: PathBuf,
    /// Its path below the folder.
    pub name: String,
    /// An earlier graph of the folder with the same bytes.
    pub same_as: Option<String>,
}

/// An error of the file system with the path that it is about.
pub fn about(path: &Path, cannot: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{cannot} {}: {error}", path.display()))
}

/// Every graph of a folder and its subfolders, in the order of their names: files `*.sdfg`, `*.sdfgz` and
/// `*.sdfg.gz`. A file that cannot be read is one of them: the stage of reading tells the reason.
///
/// # Errors
/// If a folder cannot be read.
pub fn graphs(folder: &Path) -> io::Result<Vec<Graph>> {
    let mut paths = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(at) = waiting.pop() {
        let unread = |error: io::Error| about(&at, "cannot read the folder", &error);
        for entry in std::fs::read_dir(&at).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().map_err(unread)?.is_dir() {
                waiting.push(entry.path());
            } else if [".sdfg", ".sdfgz", ".sdfg.gz"].iter().any(|ending| name.ends_with(ending)) {
                paths.push(entry.path());
            }
        }
    }
    paths.sort();
    let mut known: std::collections::BTreeMap<(usize, u64), String> = std::collections::BTreeMap::new();
    let mut found = Vec::new();
    for path in paths {
        let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let same_as = std::fs::read(&path).ok().and_then(|bytes| {
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            let key = (bytes.len(), hasher.finish());
            let same = known.get(&key).cloned();
            known.entry(key).or_insert_with(|| name.clone());
            same
        });
        found.push(Graph { path, name, same_as });
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
