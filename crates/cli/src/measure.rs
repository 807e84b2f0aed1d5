//! Measures rewritten programs: native runs on the same inputs, whose results are compared with those of the program before.

use std::time::Duration;

use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::load::Library;
use sdfg_transforms::Soundness;
use sdfg_transforms::tune::Unfit;
use sdfg_transforms::verify::agree;

use crate::call::call;
use crate::crash::report_signals;
use crate::data::{DataOptions, RunData, with_dumps};
use crate::failure::Failure;
use crate::interpret::without_callbacks;
use crate::native::NativeOptions;
use crate::terminal::Terminal;

/// The time that a sample should take: clocks and the start of threads disturb shorter ones.
const SAMPLE: Duration = Duration::from_millis(2);
/// The most runs of a sample.
const MOST_RUNS: u128 = 100;

/// The time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time that passes.
    Wall,
    /// The time that processors spend on all threads of the process.
    Processor,
}

impl Clock {
    /// Whether to take the time of processors.
    pub(crate) fn of(cpu_time: bool) -> Self {
        if cpu_time { Clock::Processor } else { Clock::Wall }
    }
}

/// Seconds that processors have spent on this process.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the function writes the structure. Every system of POSIX has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The inputs of a program, and its results before any rewrite.
pub(crate) struct Measure<'n> {
    native: &'n NativeOptions,
    clock: Clock,
    arguments: Arguments,
    expected: Arguments,
}

/// A program that runs.
pub(crate) struct Loaded {
    library: Library,
    /// Runs of a sample.
    runs: usize,
}

impl<'n> Measure<'n> {
    /// Compiles and runs the program as it was given.
    pub(crate) fn of(
        (native, clock): (&'n NativeOptions, Clock),
        program: &Validated,
        data: &DataOptions,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        without_callbacks(program.sdfg())?;
        let exposed = with_dumps(program.clone(), data)?;
        let arguments = RunData::prepare(&exposed, data, terminal)?.arguments;
        let lowered = native.lower_rewritten(program)?;
        native.consent(&lowered)?;
        report_signals(lowered.running(), terminal);
        let library = native.load(&lowered)?;
        let mut expected = arguments.clone();
        call(&library, &mut expected, native.threads(), |_, _| Ok(()))?;
        Ok(Measure { native, clock, arguments, expected })
    }

    /// Values of symbols.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = (&str, i64)> {
        self.arguments.symbols()
    }

    /// Compiles a rewritten program, runs it once, and compares its results. A program that the compiler refuses is refused. One that fails
    /// or has other results is wrong.
    pub(crate) fn load(&self, program: &Sdfg, soundness: Soundness) -> Result<Loaded, Unfit> {
        let refused = |failure: Failure| Unfit::Refused(failure.message());
        let program = validate(program.clone()).map_err(|rejected| {
            let first = rejected.diagnostics.first().map(ToString::to_string).unwrap_or_default();
            Unfit::Wrong(format!("the rewritten program is not valid: {first}"))
        })?;
        let library = self
            .native
            .lower_rewritten(&program)
            .and_then(|lowered| self.native.load(&lowered))
            .map_err(refused)?;
        let mut results = self.arguments.clone();
        let taken = call(&library, &mut results, self.native.threads(), |_, _| Ok(()))
            .map_err(|failure| Unfit::Wrong(format!("the rewritten program fails: {}", failure.message())))?;
        agree(&self.expected, &results, soundness).map_err(|error| Unfit::Wrong(error.to_string()))?;
        let runs = (SAMPLE.as_nanos() / taken.as_nanos().max(1) + 1).min(MOST_RUNS) as usize;
        Ok(Loaded { library, runs })
    }

    /// The median time of a run of a sample, in seconds.
    pub(crate) fn seconds(&self, loaded: &Loaded) -> Result<f64, Unfit> {
        let mut times = Vec::with_capacity(loaded.runs);
        for _ in 0..loaded.runs {
            let mut results = self.arguments.clone();
            let begin = processor_seconds();
            let taken = call(&loaded.library, &mut results, self.native.threads(), |_, _| Ok(()));
            let spent = processor_seconds() - begin;
            let failed = |failure: Failure| {
                Unfit::Wrong(format!("the rewritten program fails: {}", failure.message()))
            };
            let taken = taken.map_err(failed)?.as_secs_f64();
            times.push(match self.clock {
                Clock::Wall => taken,
                Clock::Processor => spent,
            });
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}
