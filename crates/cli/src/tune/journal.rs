//! The log of measurements beside the output, the best chain so far, and messages about progress.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use sdfg_codegen::link::write_file;
use sdfg_transforms::tune::{Entry, Journal, Log, Point, Progress, Trial};

use super::{Tuning, report};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Destination, unwritten};
use crate::terminal::Terminal;
use crate::transform::wrong_chain;

/// Records of a search.
pub(super) struct Records<'r> {
    tuning: &'r Tuning<'r>,
    output: &'r Destination,
    log: Log,
    /// The log, if the output is a file.
    file: Option<(String, File)>,
    /// The best point that was written.
    written: Point,
    /// The first failure to write; it ends the search.
    failure: Option<Failure>,
    terminal: Terminal,
}

impl<'r> Records<'r> {
    /// Opens the log, and reads the measurements in it if the search is resumed.
    pub(super) fn open(
        tuning: &'r Tuning<'r>,
        key: &str,
        output: &'r Destination,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        let (file, log) = match output {
            Destination::Stdout => (None, Log::read("", key)),
            // A pipe or a device has no place for a log beside it.
            Destination::File(output) if is_special(output) => (None, Log::read("", key)),
            Destination::File(output) => {
                let name = format!("{output}.log");
                let content = contents(&name)?;
                let found = if tuning.tune.resume { content.as_str() } else { "" };
                let log = Log::read(found, key);
                let opened = OpenOptions::new().create(true).append(true).open(&name);
                let file = opened.map_err(|error| {
                    Failure::usage(format_args!("cannot write the log `{name}`: {error}"))
                        .help("check that the folder exists and may be written to")
                })?;
                (Some((name, file)), log)
            }
        };
        let log = log.map_err(|error| {
            let name = file.as_ref().map_or("", |(name, _)| name.as_str());
            Failure::usage(error).at(name).help("repair or delete the file, or leave --resume out")
        })?;
        let written = tuning.space.start();
        Ok(Records { tuning, output, log, file, written, failure: None, terminal })
    }

    /// Measurements of earlier searches.
    pub(super) fn recalled(&self) -> usize {
        self.log.len()
    }

    /// The failure to write a record.
    pub(super) fn close(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }

    fn write(&mut self, pair: [&Point; 2], entry: Entry) {
        let Some((name, file)) = &mut self.file else { return };
        let line = self.log.line(self.tuning.space, pair, entry).map_err(std::io::Error::from);
        if let Err(error) = line.and_then(|line| file.write_all(line.as_bytes())) {
            let failure = Failure::usage(format_args!("cannot write the log `{name}`: {error}"));
            self.fail(failure.help("make room, or name another output"));
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
        interrupt::ask();
    }

    /// Writes the best chain so far, so that a process that is killed leaves it.
    fn keep(&mut self, progress: &Progress<'_>) {
        if *progress.best == self.written || *self.output == Destination::Stdout {
            return;
        }
        self.written.clone_from(progress.best);
        let Progress { best, best_ratio, best_seconds, .. } = progress;
        let chain = self.tuning.chain(best, best_seconds / best_ratio, *best_seconds, *best_ratio);
        let json = chain.to_json().map_err(wrong_chain);
        if let Err(failure) = json.and_then(|json| self.output.write(json.as_bytes())) {
            self.fail(failure);
        }
    }
}

impl Journal for Records<'_> {
    fn recall(&mut self, [candidate, beside]: [&Point; 2]) -> Option<Trial> {
        self.log.recall(self.tuning.space, [candidate, beside])
    }

    fn begin(&mut self, pair: [&Point; 2]) {
        self.write(pair, Entry::Begun);
    }

    fn abandon(&mut self, pair: [&Point; 2]) {
        self.write(pair, Entry::Abandoned);
    }

    fn end(&mut self, progress: &Progress<'_>) {
        if !progress.is_recalled {
            self.write([progress.candidate, progress.beside], progress.trial.clone().into());
            self.terminal.message(&report::line(self.tuning.space, progress));
        }
        self.keep(progress);
    }
}

/// Whether something is there that is no regular file.
fn is_special(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file())
}

/// The log as it is; empty if there is none. The rest of a line that was not written to its end is removed.
fn contents(name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    if !path.exists() {
        return Ok(String::new());
    }
    let content = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format_args!("cannot read the log `{name}`: {error}"))
            .help("delete it, or name another output")
    })?;
    let whole = &content[..content.rfind('\n').map_or(0, |at| at + 1)];
    if whole.len() < content.len() {
        write_file(path, whole.as_bytes()).map_err(|error| unwritten(&error))?;
    }
    Ok(whole.to_owned())
}
