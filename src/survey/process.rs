//! Child processes with limits of time and memory.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Limits of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time from its start to its end.
    pub time: Duration,
    /// Its address space, in MiB.
    pub memory: u64,
}

/// The end of a child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It ended with status 0, after this text on its standard output.
    Well(String),
    /// It ended with another status or by a signal: its output, and the last line of its messages behind the
    /// status.
    Badly(String, String),
    /// It took longer than the limit, and wrote this before.
    Late(String),
}

/// Runs a command with limits and collects its standard output.
///
/// The shell sets the limit of memory, so it holds on every system with a POSIX shell.
pub fn in_limits(command: &Command, limits: Limits) -> Ended {
    let kibibytes = limits.memory.saturating_mul(1024);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("ulimit -v {kibibytes} && exec \"$0\" \"$@\"")).arg(command.get_program());
    shell.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    match child {
        Ok(child) => wait(child, limits.time),
        Err(error) => Ended::Badly(String::new(), error.to_string()),
    }
}

/// Tries whether a command, which does nothing, starts and ends in the limits: a limit of memory below the size of a program and its
/// libraries stops each start, with a signal that tells no reason.
///
/// # Errors
/// A message with the limit of memory, if the command does not end well.
pub fn check_start(command: &Command, limits: Limits) -> io::Result<()> {
    let why = match in_limits(command, limits) {
        Ended::Well(_) => return Ok(()),
        Ended::Badly(_, status) => status,
        Ended::Late(_) => format!("it takes longer than {} s", limits.time.as_secs_f64()),
    };
    let message = format!("no process starts with the limit of {} MiB (`--memory`): {why}", limits.memory);
    Err(io::Error::other(message))
}

/// Text of a pipe, read on a thread of its own so that a full pipe does not block the child.
fn collected(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A pipe that breaks ends the text.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(mut child: Child, time: Duration) -> Ended {
    let (output, messages) = (collected(child.stdout.take()), collected(child.stderr.take()));
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if start.elapsed() > time => {
                // It may have ended in this moment, which is as good.
                let _ = child.kill();
                let _ = child.wait();
                return Ended::Late(output.join().unwrap_or_default());
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => break Err(error),
        }
    };
    let output = output.join().unwrap_or_default();
    match status {
        Ok(status) if status.success() => Ended::Well(output),
        Ok(status) => {
            let messages = messages.join().unwrap_or_default();
            let told = messages.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Ended::Badly(output, format!("{status} {told}").trim_end().to_owned())
        }
        Err(error) => Ended::Badly(output, error.to_string()),
    }
}
