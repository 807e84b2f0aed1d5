//! Trials as lines of a file, so that a search that ended early goes on where it was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{Comparison, Point, Space, Trial};

/// A candidate that two searches began to measure and did not end is skipped: it probably ends the process.
const MOST_BEGINNINGS: usize = 2;

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    /// What the measurement depends on besides the point: program, sizes, options, machine.
    key: String,
    /// The parameters of the candidate that differ from those of the given chain.
    candidate: Map<String, Value>,
    /// The same for the point beside which it was measured.
    beside: Map<String, Value>,
    #[serde(flatten)]
    entry: Entry,
}

/// The progress of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Entry {
    /// It begins.
    Begun,
    /// It has no outcome, because the search ended.
    Abandoned,
    /// The candidate has no program.
    Refused {
        /// The reason.
        reason: String,
    },
    /// It ended.
    Measured(Comparison),
}

impl From<Trial> for Entry {
    fn from(trial: Trial) -> Self {
        match trial {
            Trial::Refused { reason } => Entry::Refused { reason },
            Trial::Measured(comparison) => Entry::Measured(comparison),
        }
    }
}

/// Trials of earlier searches.
#[derive(Clone, Debug, Default)]
pub struct Log {
    key: String,
    /// By the parameters of the candidate and of the point beside it, as JSON.
    trials: BTreeMap<(String, String), Comparison>,
    /// Candidates that were refused, beside whichever point.
    refused: BTreeMap<String, String>,
    /// How often a measurement began since the last one that ended.
    beginnings: BTreeMap<(String, String), usize>,
}

/// A line of a log that is none.
#[derive(Debug, Error)]
#[error("line {number} is no line of a log of measurements: {error}")]
pub struct LogError {
    /// The number of the line, from 1.
    pub number: usize,
    /// The reason.
    pub error: serde_json::Error,
}

fn text(map: &Map<String, Value>) -> String {
    Value::Object(map.clone()).to_string()
}

impl Log {
    /// Reads the trials with a key. The last line may be incomplete, if the process was killed.
    ///
    /// # Errors
    /// [`LogError`] if another line is wrong.
    pub fn read(content: &str, key: &str) -> Result<Self, LogError> {
        let mut log = Log { key: key.to_owned(), ..Log::default() };
        let ends = content.ends_with('\n');
        let lines: Vec<&str> = content.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let parsed: Line = match serde_json::from_str(line) {
                Ok(parsed) => parsed,
                Err(_) if at + 1 == lines.len() && !ends => break,
                Err(error) => return Err(LogError { number: at + 1, error }),
            };
            if parsed.key != key {
                continue;
            }
            let pair = (text(&parsed.candidate), text(&parsed.beside));
            match parsed.entry {
                Entry::Begun => *log.beginnings.entry(pair).or_default() += 1,
                Entry::Abandoned => {
                    log.beginnings.remove(&pair);
                }
                Entry::Refused { reason } => {
                    log.refused.insert(pair.0, reason);
                }
                Entry::Measured(comparison) => {
                    log.trials.insert(pair, comparison);
                }
            }
        }
        Ok(log)
    }

    /// Number of trials.
    pub fn len(&self) -> usize {
        self.trials.len() + self.refused.len()
    }

    /// Whether there is no trial.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The trial of a candidate beside another point.
    pub fn recall(&self, space: &Space, [candidate, beside]: [&Point; 2]) -> Option<Trial> {
        let pair = (text(&space.changes(candidate)), text(&space.changes(beside)));
        if let Some(reason) = self.refused.get(&pair.0) {
            return Some(Trial::Refused { reason: reason.clone() });
        }
        if let Some(comparison) = self.trials.get(&pair) {
            return Some(Trial::Measured(comparison.clone()));
        }
        let count = self.beginnings.get(&pair).copied().unwrap_or_default();
        let reason = format!("{count} earlier searches ended while they measured it");
        (count >= MOST_BEGINNINGS).then_some(Trial::Refused { reason })
    }

    /// The line of an entry, with the end of the line.
    ///
    /// # Errors
    /// If a number is none of JSON's.
    pub fn line(
        &self,
        space: &Space,
        [candidate, beside]: [&Point; 2],
        entry: Entry,
    ) -> Result<String, serde_json::Error> {
        let line = Line {
            key: self.key.clone(),
            candidate: space.changes(candidate),
            beside: space.changes(beside),
            entry,
        };
        Ok(serde_json::to_string(&line)? + "\n")
    }
}
