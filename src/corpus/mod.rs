//! Corpus runner: folders of DaCe graphs with inputs and expected outputs, through reader, validation,
//! interpreter and native code.
//!
//! A program is a folder that contains a folder `io` and its variants as files `*.sdfg` or `*.sdfg.gz`.
//! Programs may lie at any depth. `io/meta.json` lists the arguments, with `.npy` files of their values
//! before and after the call. A graph may be transformed before it runs.

mod compare;
mod data;
mod ranks;
mod rewrite;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use compare::first_difference;
pub(crate) use ranks::run_divided;
pub use ranks::{Divided, check_on_ranks};
pub use rewrite::{Rewrite, Rewritten, Size, check_rewritten};
pub use run::{Engine, check};

/// The outcome of one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every output equals the expected one, within the tolerance.
    Passed,
    /// A construct is not supported.
    Refused {
        /// The code of the support report, of a diagnostic or of a trap.
        code: String,
        /// The construct and its place.
        reason: String,
    },
    /// The graph is supported, but a run fails or gives other outputs.
    Failed(String),
}

/// One line: the word, the code if there is one, the reason.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Passed => f.write_str("passed"),
            Outcome::Refused { code, reason } => write!(f, "refused ({code}) {}", one_line(reason)),
            Outcome::Failed(reason) => write!(f, "failed  {}", one_line(reason)),
        }
    }
}

impl Outcome {
    /// The outcome of a line that [`Outcome`] was printed as.
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.trim_end();
        if line == "passed" {
            return Some(Outcome::Passed);
        }
        if let Some(rest) = line.strip_prefix("refused (") {
            let (code, reason) = rest.split_once(')')?;
            return Some(Outcome::Refused { code: code.to_owned(), reason: reason.trim().to_owned() });
        }
        Some(Outcome::Failed(line.strip_prefix("failed")?.trim().to_owned()))
    }
}

fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(400).collect()
}

/// The folder of the corpus: that of `SDFG_CORPUS`, or `../shared/corpus`.
pub fn folder() -> PathBuf {
    std::env::var_os("SDFG_CORPUS").map_or_else(|| "../shared/corpus".into(), PathBuf::from)
}

/// Every graph of a folder, in the order of their names.
///
/// # Errors
/// If a folder cannot be read.
pub fn graphs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        let has_data = folder.join("io").join("meta.json").is_file();
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && name != "io" {
                waiting.push(path);
            } else if has_data && (name.ends_with(".sdfg") || name.ends_with(".sdfg.gz")) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The part of a graph's file name that tells its variant: `simplified`, `raw`, ...
pub fn variant(graph: &Path) -> &str {
    let name = graph.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('.').next().unwrap_or_default()
}
