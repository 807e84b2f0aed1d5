//! Options for timers and counters: the timed parts, and the destination of the measurements.

use clap::{Args, ValueEnum};
use sdfg_codegen::interface::ProfileFormat;
use sdfg_codegen::load::PreparedCall;
use sdfg_codegen::lower::{Instrumentation, ProfileLevel};

use crate::failure::Failure;
use crate::output::{Destination, refuse_program};
use crate::terminal::Terminal;

/// The timed elements; each level includes the previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// The program as a whole.
    Program,
    /// States, loops and branches.
    Block,
    /// Maps and consume scopes, and the part of each thread in them.
    Map,
    /// Tasklets. The timers take longer than most tasklets.
    Tasklet,
}

impl Level {
    /// Instrumentation for this level.
    pub(crate) fn instrumentation(self, counters: bool) -> Instrumentation {
        let level = match self {
            Level::Program => ProfileLevel::Program,
            Level::Block => ProfileLevel::Block,
            Level::Map => ProfileLevel::Map,
            Level::Tasklet => ProfileLevel::Tasklet,
        };
        Instrumentation { level, counters }
    }
}

/// Measurements of a run, and their destination.
#[derive(Args, Debug)]
pub(crate) struct ProfileOptions {
    /// Show how often and how long parts of the program ran, summed over all runs. The default level is `map`.
    #[arg(long, value_enum, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "map")]
    profile: Option<Level>,
    /// Write a trace of these parts with times and threads, as JSON for Chrome's trace viewer (chrome://tracing) or Perfetto; `-` is the
    /// standard output.
    #[arg(long, value_name = "FILE")]
    trace: Option<String>,
    /// Count page faults, cycles, instructions and cache misses of these parts, as far as the machine supports it. Counts are those of the
    /// thread that runs a part. Each timer makes system calls.
    #[arg(long)]
    counters: bool,
}

impl ProfileOptions {
    /// The requested instrumentation, if any.
    pub(crate) fn instrumentation(&self) -> Result<Option<Instrumentation>, Failure> {
        let level = self.profile.or(self.trace.as_ref().map(|_| Level::Map));
        if level.is_none() && self.counters {
            return Err(Failure::usage("--counters counts what is timed, and nothing is")
                .help("add --profile, or --trace FILE"));
        }
        Destination::new(self.trace.as_deref()).check()?;
        Ok(level.map(|level| level.instrumentation(self.counters)))
    }

    /// Refuses to write the trace over the program or a result.
    pub(crate) fn spare<'a>(
        &self,
        program: &str,
        mut results: impl Iterator<Item = &'a str>,
    ) -> Result<(), Failure> {
        refuse_program(program, self.trace.as_deref())?;
        match self.trace.as_deref() {
            Some(trace) if trace != "-" && results.any(|result| result == trace) => Err(Failure::usage(
                format_args!("a result and the trace cannot both be written to `{trace}`"),
            )
            .at("--trace")
            .help("give each a file of its own")),
            Some(_) | None => Ok(()),
        }
    }

    /// Shows and writes what the timers of a call found.
    pub(crate) fn report(&self, call: &mut PreparedCall<'_, '_>, terminal: Terminal) -> Result<(), Failure> {
        if self.profile.is_some() {
            terminal.message(text(call, ProfileFormat::Table)?.trim_end());
        }
        if let Some(path) = &self.trace {
            Destination::new(Some(path)).write(text(call, ProfileFormat::Trace)?.as_bytes())?;
        }
        Ok(())
    }
}

fn text(call: &mut PreparedCall<'_, '_>, format: ProfileFormat) -> Result<String, Failure> {
    call.profile(format).ok_or_else(|| Failure::usage("there is no memory for what was measured"))
}
