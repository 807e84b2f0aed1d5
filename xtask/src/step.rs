//! Runs one external command as a named, timed step.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The steps of one xtask command, and how long each took.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<(String, Duration)>,
}

impl Steps {
    /// Announces `name`, runs `work` and records its time.
    ///
    /// # Errors
    /// What `work` returned, with the step's name.
    pub(crate) fn run<T>(&mut self, name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n==> {name}");
        let start = Instant::now();
        let value = work().with_context(|| format!("step `{name}` failed"))?;
        self.done.push((name.to_owned(), start.elapsed()));
        Ok(value)
    }

    /// One line with every step and its time, for the end of the command.
    pub(crate) fn summary(&self) -> String {
        let mut line = String::new();
        for (name, time) in &self.done {
            let separator = if line.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(line, "{separator}{name} {:.1} s", time.as_secs_f64());
        }
        line
    }
}

/// The cargo that runs us, in the workspace root, with its output on our terminal.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(crate::workspace::root());
    command
}

/// Runs the command to its end.
///
/// # Errors
/// When it cannot be started or ends with a non-zero status; the message has the command line.
pub(crate) fn check(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Whether the command can be run and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let text: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", text.join(" "))
}
