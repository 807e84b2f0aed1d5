//! `sdfg minimize`: finds the smallest program that still makes a command fail.

use std::fs::File;
use std::io::{IsTerminal, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use sdfg::ir::Sdfg;
use sdfg::minimize::{Candidate, Minimized, minimize};
use sdfg::text;

use crate::failure::Failure;
use crate::output::Destination;
use crate::program::Program;
use crate::terminal::Terminal;

/// Simplify a program while a command fails on it in the same way, and write the smallest program found.
///
/// The command receives a file with the program in place of `{}`, or as its last argument. It fails in the same way if it ends with the
/// same exit status as on the given program, or with the same signal, or exceeds the time limit as it did there.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sdfg minimize wrong.sdft -o small.sdft -- sdfg interpret {} --set N=4\n  \
                  sdfg minimize wrong.sdft --message 'undefined read' -- sdfg interpret {} --set N=4\n  \
                  sdfg minimize wrong.sdft --timeout 60 -- ./compare.sh"
)]
pub(crate) struct MinimizeCommand {
    #[command(flatten)]
    program: Program,
    /// The output file; the default is the standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
    /// Require this text on the standard output or error stream of the command.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// The maximum number of tried programs.
    #[arg(long, value_name = "N")]
    tries: Option<usize>,
    /// The time limit of the command for one program.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Show each accepted step, even if messages do not go to a terminal.
    #[arg(long, short)]
    verbose: bool,
    /// The command with its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Exited(ExitStatus),
    TimedOut,
}

impl MinimizeCommand {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        Destination::new(self.output.as_deref()).check()?;
        let source = self.program.source()?;
        let program = source.validated(terminal)?;
        let folder = tempfile::Builder::new().prefix("sdfg-minimize-").tempdir().map_err(|error| {
            Failure::usage(format_args!("cannot make a temporary folder: {error}"))
                .help("set TMPDIR to a folder that may be written to")
        })?;
        let failure = self.failure_of(program.sdfg(), folder.path())?;
        let shows_steps = self.verbose || std::io::stderr().is_terminal();
        let mut tries = 0;
        let reduced = minimize(&program, self.tries, |candidate: &Candidate<'_>| {
            tries += 1;
            let (ending, said) = self.run_on(candidate.text, folder.path())?;
            let fails = ending == failure && said;
            if fails && shows_steps {
                terminal.message(&format!("try {tries}: {}: {}", candidate.size, candidate.step));
            }
            Ok::<_, Failure>(fails)
        })?;
        Destination::new(self.output.as_deref()).write(text::print(reduced.program.sdfg()).as_bytes())?;
        terminal.note(&summary(&reduced));
        Ok(())
    }

    /// The failure of the command on the given program.
    fn failure_of(&self, sdfg: &Sdfg, folder: &Path) -> Result<Ending, Failure> {
        let (ending, said) = self.run_on(&text::print(sdfg), folder)?;
        let shown = self.command.join(" ");
        if let Some(message) = self.message.as_ref().filter(|_| !said) {
            return Err(Failure::usage(format_args!(
                "`{shown}` does not write `{message}`: there is nothing to keep"
            ))
            .help("give a part of what the command writes about the program"));
        }
        match ending {
            Ending::Exited(status) if status.success() => Err(Failure::usage(format_args!(
                "`{shown}` succeeds on the program: there is no failure to keep"
            ))
            .help("give a command that fails, as a script that ends with `exit 1`")),
            Ending::Exited(_) | Ending::TimedOut => Ok(ending),
        }
    }

    /// Runs the command on a program: how it ended, and whether it wrote what it should.
    fn run_on(&self, program: &str, folder: &Path) -> Result<(Ending, bool), Failure> {
        let unusable = |error: std::io::Error| {
            Failure::usage(format_args!("cannot use the folder `{}`: {error}", folder.display()))
        };
        let (file, log) = (folder.join("candidate.sdft"), folder.join("output"));
        std::fs::write(&file, program).map_err(unusable)?;
        let mut output = File::create_new(&log).map_err(unusable)?;
        // Only what this command opened as its own streams is read, whoever writes to the file later.
        std::fs::remove_file(&log).map_err(unusable)?;
        let streams = [output.try_clone().map_err(unusable)?, output.try_clone().map_err(unusable)?];
        let ending = self.run(&file, streams)?;
        let Some(message) = &self.message else { return Ok((ending, true)) };
        let mut written = Vec::new();
        output.rewind().and_then(|()| output.read_to_end(&mut written)).map_err(unusable)?;
        let said = String::from_utf8_lossy(&written).contains(message);
        Ok((ending, said))
    }

    fn run(&self, file: &Path, [stdout, stderr]: [File; 2]) -> Result<Ending, Failure> {
        let path = file.to_string_lossy();
        let mut words: Vec<String> = self.command.iter().map(|word| word.replace("{}", &path)).collect();
        if !self.command.iter().any(|word| word.contains("{}")) {
            words.push(path.into_owned());
        }
        let [name, arguments @ ..] = words.as_slice() else {
            return Err(Failure::usage("there is no command"));
        };
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        // Its own group, to be ended as a whole.
        command.process_group(0);
        let failed = |error: std::io::Error| {
            Failure::usage(format_args!("cannot run `{name}`: {error}"))
                .help("the command and its arguments follow `--`, each as a word of its own")
        };
        let mut child = command.spawn().map_err(failed)?;
        let end = Instant::now() + Duration::from_secs(self.timeout);
        // Most commands take milliseconds; those that do not are asked less often.
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok(Ending::Exited(status));
            }
            if Instant::now() >= end {
                kill(&mut child);
                child.wait().map_err(failed)?;
                return Ok(Ending::TimedOut);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}

/// Ends a command with all that it started. It may have ended meanwhile, so that errors say nothing.
fn kill(child: &mut Child) {
    // The standard library kills single processes only; a script would leave behind what it waits for.
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let _ = child.kill();
}

fn summary(reduced: &Minimized) -> String {
    let Minimized { before, after, tries, complete, .. } = reduced;
    let end = if *complete { "no single step makes it smaller" } else { "stopped by --tries" };
    let plural = if *tries == 1 { "try" } else { "tries" };
    format!("from {before} to {after} in {tries} {plural}; {end}")
}
