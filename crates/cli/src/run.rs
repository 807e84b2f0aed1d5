//! `sdfg run`: compiles a program and runs it in this process.

mod compilation;
mod progress;
mod ranks;
mod results;

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use sdfg_codegen::lower::LowerOptions;

use crate::call::call;
use crate::crash::report_signals;
use crate::data::{DataOptions, RunData};
use crate::failure::Failure;
use crate::interpret::without_callbacks;
use crate::native::{NativeOptions, positive};
use crate::profile::ProfileOptions;
use crate::source::Source;
use crate::terminal::Terminal;

/// Compile a program and run it, on the CPU or with its kernels on a device.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg run laplace.sdft --set N=4096 --set T=100\n  \
                        sdfg run matmul.sdft -i A=a.npy -i B=b.npy -o C=c.npy\n  \
                        sdfg run matmul.sdft --set M=512 --set N=512 --set K=512 --repeat 20 --threads 4\n  \
                        sdfg run gpu.sdft --target opencl --set N=4096")]
pub(crate) struct Run {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
    #[command(flatten)]
    data: DataOptions,
    /// Run the program this many times on the same inputs, and show the times. Results are those of the last run.
    #[arg(long, value_name = "TIMES", value_parser = positive)]
    repeat: Option<NonZeroU32>,
    /// Run the program on this many ranks of MPI, started by mpirun. Under mpirun, a distributed program runs on its ranks.
    #[arg(long, value_name = "N", value_parser = positive)]
    ranks: Option<NonZeroU32>,
    /// On ranks, tell after each so many seconds how many moves of data between ranks have run, and of how many; 0 never does.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    progress: u32,
    #[command(flatten)]
    profile: ProfileOptions,
    #[command(flatten)]
    native: NativeOptions,
}

impl Run {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        self.data.spare(&self.program)?;
        self.profile.spare(&self.program, self.data.written_files())?;
        if let Some(command) = ranks::Ranked::of(self)? {
            return command.execute(terminal);
        }
        let instrumentation = self.profile.instrumentation()?;
        let lowering = LowerOptions { instrumentation, ..LowerOptions::default() };
        let source =
            Source::read(&self.program, self.native.allow_external())?.retargeted(self.native.retarget());
        let (exposed, lowered) = self.native.lower(&source, &lowering, &self.data, terminal)?;
        self.native.consent(&lowered)?;
        without_callbacks(exposed.program.sdfg())?;
        let data = RunData::prepare(&exposed, &self.data, terminal)?;
        let library = self.native.load(&lowered)?;
        report_signals(lowered.running(), terminal);
        let mut times = Vec::new();
        let mut results = data.arguments.clone();
        let rounds = self.repeat.map_or(1, NonZeroU32::get);
        for round in 0..rounds {
            if round > 0 {
                results = data.arguments.clone();
            }
            let is_last = round + 1 == rounds;
            times.push(call(&library, &mut results, self.native.threads(), |call, failed| {
                // After the last run or a failure, what was measured is shown.
                if is_last || failed { self.profile.report(call, terminal) } else { Ok(()) }
            })?);
        }
        if self.repeat.is_some() {
            terminal.message(&timing(times));
        }
        data.finish(&results)
    }
}

fn timing(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let middle = times.len() / 2;
    let median = if times.len() % 2 == 1 { times[middle] } else { (times[middle - 1] + times[middle]) / 2 };
    let (shortest, longest) = (times[0], times[times.len() - 1]);
    format!("{} runs: median {median:.3?}, shortest {shortest:.3?}, longest {longest:.3?}", times.len())
}
