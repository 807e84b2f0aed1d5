//! `sdfg tune`: parameters of a chain that measurements select.

mod bench;
mod journal;
mod report;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use sdfg::text;
use sdfg::validate::Validated;
use sdfg_transforms::tune::{Outcome, Point, SearchError, Settings, Space, Variable, search};
use sdfg_transforms::{Chain, Tuned};

use crate::data::{DataOptions, Input, SymbolValue, hash};
use crate::failure::Failure;
use crate::interrupt;
use crate::measure::{Clock, Measure};
use crate::native::NativeOptions;
use crate::output::{Destination, refuse_program};
use crate::source::Source;
use crate::terminal::Terminal;
use crate::transform::wrong_chain;
use bench::NativeBench;
use journal::Records;
pub(crate) use report::milliseconds;

/// Search the parameters of a chain with which a program runs fastest, by measurement, and write the chain with them.
///
/// By default, tile sizes and other sizes vary over powers of two around their values. Each candidate is replayed, compiled, checked against
/// the results of the program without the chain, and run in turns with the best so far.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sdfg tune jacobi2d.sdft --chain jacobi2d.chain.json --set N=2048 --set T=100 -o tuned.chain.json\n  \
                        sdfg tune matmul.sdft --chain c.json --specialize N=512 --vary '3.tile_sizes[1]=64,128,256' --budget 5min -o t.json\n  \
                        sdfg chain apply matmul.sdft t.json -o fast.sdft\n\n\
                        `sdfg chain show CHAIN` prints the numbers of steps. Ctrl-C ends the search with the best chain so far."
)]
pub(crate) struct Tune {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
    /// The chain whose parameters vary.
    #[arg(long, value_name = "CHAIN")]
    chain: String,
    /// Set a symbol in the measured runs. Only --specialize inserts the value into the program.
    #[arg(long = "set", value_name = "SYMBOL=VALUE")]
    symbols: Vec<SymbolValue>,
    /// Set the contents of an argument, as for `sdfg run`. By default, floats are random and integers zero.
    #[arg(long = "input", short, value_name = "NAME=FILE|PATTERN")]
    inputs: Vec<Input>,
    /// A parameter of a step, or of a row of steps, with the values to try, as in `3.tile_sizes[1]=8,16,32` or `2-5.width=32,64`. Values are
    /// JSON or words.
    #[arg(long, value_name = "STEP.PARAMETER=VALUES")]
    vary: Vec<String>,
    /// The time for the search, as in `90s`, `5min` or `2h`. A candidate that has begun may end later.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    budget: Duration,
    /// Measure at most this many candidates.
    #[arg(long, value_name = "COUNT")]
    candidates: Option<usize>,
    /// Turns in which a candidate and the best so far run. Candidates that are clearly slower have fewer.
    #[arg(long, value_name = "COUNT", default_value_t = 7, value_parser = turns)]
    turns: usize,
    /// Compare the time that processors spend on all threads, instead of the time that passes. Other work on the machine disturbs it less;
    /// it does not show how well threads share the work.
    #[arg(long)]
    cpu_time: bool,
    /// The seed of random restarts.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Use the measurements in the log of an earlier search, OUTPUT.log, of the same program, chain, sizes, options and processor.
    #[arg(long, requires = "output")]
    resume: bool,
    /// The file for the chain with the best parameters; the default is the standard output. Measurements are added to FILE.log.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
    #[command(flatten)]
    native: NativeOptions,
}

/// A time with its unit; seconds without one.
fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let factor = match unit.trim() {
        "" | "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("`{other}` is no unit of time: write s, min or h, as in `90s`")),
    };
    let seconds = number.parse::<f64>().map_err(|_| "write a number and a unit, as in `90s`".to_owned())?;
    let found = Duration::try_from_secs_f64(seconds * factor).map_err(|error| error.to_string())?;
    if found.is_zero() { Err("nothing can be measured in no time".to_owned()) } else { Ok(found) }
}

fn turns(text: &str) -> Result<usize, String> {
    let number = text.parse().map_err(|_| "expected a number from 3 to 1000".to_owned())?;
    if (3..=1000).contains(&number) { Ok(number) } else { Err("expected a number from 3 to 1000".to_owned()) }
}

impl Tune {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        let start = Instant::now();
        let output = Destination::new(self.output.as_deref());
        output.check()?;
        refuse_program(&self.program, self.output.as_deref())?;
        let given = Chain::load(&self.chain).map_err(wrong_chain)?;
        let space = self.space(&given)?;
        let data = DataOptions::of_inputs(&self.symbols, &self.inputs);
        let source =
            Source::read(&self.program, self.native.allow_external())?.retargeted(self.native.retarget());
        let program = self.native.read(&source, &data, terminal)?;
        let measure = Measure::of((&self.native, Clock::of(self.cpu_time)), &program, &data, terminal)?;
        let tuning =
            Tuning { tune: self, space: &space, processor: processor(), sizes: self.sizes(&measure) };
        let key = tuning.key(&program, &data);
        let mut records = Records::open(&tuning, &key, &output, terminal)?;
        terminal.note(&report::beginning(&space, records.recalled()));
        interrupt::listen();
        let mut bench = NativeBench::new(&measure, &space, program.sdfg(), start);
        let settings =
            Settings { budget: self.budget, seed: self.seed, turns: self.turns, candidates: self.candidates };
        let found = search(&space, &settings, &mut bench, &mut records);
        records.close()?;
        let outcome = found.map_err(|error| self.failed(&space, error))?;
        terminal.message(&report::summary(&space, &outcome));
        let chain = if outcome.best == space.start() { given } else { tuning.tuned(&outcome) };
        output.write(chain.to_json().map_err(wrong_chain)?.as_bytes())
    }

    /// The chain with the parameters that vary.
    fn space(&self, chain: &Chain) -> Result<Space, Failure> {
        let registry = sdfg_library::transformations();
        let variables = if self.vary.is_empty() {
            Variable::defaults(chain, &registry)
        } else {
            self.vary.iter().map(|text| Variable::parse(text, chain, &registry)).collect()
        };
        let space = variables.and_then(|variables| Space::new(chain.clone(), variables));
        space.map_err(|error| {
            let help = "`sdfg chain show CHAIN` prints the steps with their numbers and parameters, and `sdfg transforms NAME` the parameters of a transformation";
            let failure = Failure::usage(error).help(help);
            if self.vary.is_empty() { failure.at("--chain") } else { failure.at("--vary") }
        })
    }

    /// Values of all symbols in the measured runs.
    fn sizes(&self, measure: &Measure<'_>) -> BTreeMap<String, i64> {
        measure.symbols().chain(self.native.fixed()).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The failure of a search. The chain of a wrong rewrite is kept for a report.
    fn failed(&self, space: &Space, error: SearchError) -> Failure {
        let SearchError::Wrong { point, reason } = error else { return Failure::program(error) };
        let shown = space.shown(&point, &space.start());
        let failure = Failure::program(format_args!("wrong rewrite with {shown}: {reason}"));
        let file =
            self.output.as_deref().filter(|output| *output != "-").map(|output| format!("{output}.wrong"));
        let written = file.filter(|file| {
            let json = space.chain(&point).to_json();
            json.is_ok_and(|json| Destination::new(Some(file)).write(json.as_bytes()).is_ok())
        });
        let about = if space.given().assumes() {
            "an assumption of the chain does not hold for these sizes, or this is a fault of a transformation or of the compiler"
        } else {
            "this is a fault of a transformation or of the compiler"
        };
        match written {
            Some(file) => failure.help(format_args!(
                "{about}: report it with `{file}`. `sdfg chain apply PROGRAM {file} --verify` looks for the step"
            )),
            None => failure.help(format_args!("{about}: report it with the program and the chain")),
        }
    }
}

/// What a search depends on.
struct Tuning<'t> {
    tune: &'t Tune,
    space: &'t Space,
    processor: String,
    sizes: BTreeMap<String, i64>,
}

impl Tuning<'_> {
    /// A hash of everything that a measurement depends on.
    fn key(&self, program: &Validated, data: &DataOptions) -> String {
        let files: Vec<String> = data
            .read_files()
            .map(|file| {
                let found = std::fs::metadata(file).and_then(|found| Ok((found.len(), found.modified()?)));
                format!("{file} {found:?}")
            })
            .collect();
        let Tune { inputs, native, cpu_time, .. } = self.tune;
        let chain = self.space.given().lines();
        let Tuning { processor, sizes, .. } = self;
        let version = env!("CARGO_PKG_VERSION");
        let program = text::print(program.sdfg());
        let all = format!(
            "{version}\n{program}\n{chain:?}\n{sizes:?} {inputs:?} {files:?} {native:?} {cpu_time}\n{processor}"
        );
        format!("{:016x}", hash(all.as_bytes()))
    }

    /// The chain of a point with the record of the measurement.
    fn chain(&self, point: &Point, seconds_before: f64, seconds: f64, ratio: f64) -> Chain {
        let mut options = self.tune.native.words();
        if self.tune.cpu_time {
            options.push("--cpu-time".to_owned());
        }
        let tuned = Tuned {
            sizes: self.sizes.clone(),
            processor: self.processor.clone(),
            options,
            seconds_before,
            seconds,
            ratio,
        };
        self.space.chain(point).with_tuned(Some(tuned))
    }

    /// The chain of the best point of a search.
    fn tuned(&self, outcome: &Outcome) -> Chain {
        let Outcome { best, confirmation, found, .. } = outcome;
        let of = |point: &Point| {
            let found = found.iter().find(|found| found.point == *point);
            found.map_or((f64::NAN, f64::NAN), |found| (found.seconds, found.ratio))
        };
        let (start, best_found) = (of(&self.space.start()), of(best));
        match confirmation {
            Some(last) => self.chain(best, last.against_seconds, last.seconds, last.ratio),
            None => self.chain(best, start.0, best_found.0, best_found.1),
        }
    }
}

/// The processor, as the system names it, with the number of threads.
fn processor() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = known.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {threads} threads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text: &str| duration(text).map(|found| found.as_secs_f64());
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds("1.5"), Ok(1.5));
        assert_eq!(seconds("5 min"), Ok(300.0));
        assert_eq!(seconds("2h"), Ok(7200.0));
        for wrong in ["0s", "", "s", "-3s", "3 days", "1e400", "1.2.3"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert!(turns("2").is_err() && turns("x").is_err() && turns("3") == Ok(3));
    }
}
