//! Runs random programs in the interpreter and as native code: `cargo xtask random --programs 2000 --seed 1`.
//!
//! Each program is compiled at levels 0 and 3, checked and unchecked, and runs with one thread and with two.
//! With `--target c`, gcc and clang compile its C source instead, unchecked. With `--target cuda`, maps become kernels, and their
//! CUDA source runs on threads of this processor.
//! Each program that agrees then receives a race, which validation or the interpreter has to refuse.
//! `--target cuda|opencl --schedules 40` runs each program with 40 random schedules of its kernels.
//! `--faulty 500` adds 500 programs in which a memlet is moved: checked code refuses the programs that the interpreter refuses;
//! with `--target cuda|opencl`, it runs these alone, as kernels. `--loops 20000` adds a fixed list of loops, 20000 random programs of loops, and
//! as many with maps of schedule `simd`, compared at every level and for several vector widths. The command
//! prints each failure with the smallest program that shows it, the number of programs that agree, and the
//! number of programs with each feature. With `--every-match [NAME]`, `--simplify`, `--optimize` or `--chains LENGTH`, programs
//! are transformed and compared with the program before, in the interpreter and, unless `--interpret` is given,
//! in native code (`rewritten`). The exit status tells whether all agree.
#![expect(clippy::print_stdout, reason = "this is a command")]

mod rewritten;

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use sdfg::dtype::ScalarType;
use sdfg_programs::random::{
    CheckedCode, Device, Effort, Failure, Features, Outcome, Race, Variants, Verdict, check, check_faulty,
    check_loops, check_race, check_random_loops, check_vectors, reduced, reduced_loops, suite,
};
use sdfg_programs::rewritten::Runs;
use sdfg_programs::subjects::Subjects;

use rewritten::{Rewrites, Rewriting};

/// After how many programs the command tells how far it is.
const BATCH: u64 = 1000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let (mut programs, mut seed, mut faulty, mut loops) = (None, 1u64, 0u64, 0u64);
    let (mut effort, mut code) = (Effort::Full, CheckedCode::Native);
    let mut rewriting = Rewriting { on: None, runs: Runs::Compiled, applications: None };
    let (mut rewrites, mut schedules) = (None, None);
    while let Some(argument) = arguments.next() {
        if argument == "--every-match" {
            rewrites = Some(Rewrites::EveryMatch(arguments.next_if(|next| !next.starts_with("--"))));
            continue;
        }
        if argument == "--distribute" {
            rewrites = Some(Rewrites::Distribute);
            continue;
        }
        if argument == "--simplify" {
            rewrites = Some(Rewrites::Simplify);
            continue;
        }
        if argument == "--optimize" {
            rewrites = Some(Rewrites::Optimize);
            continue;
        }
        if argument == "--interpret" {
            rewriting.runs = Runs::Interpreted;
            continue;
        }
        if argument == "--target" {
            effort = match arguments.next().as_deref() {
                Some("llvm") => Effort::Full,
                Some("c") => {
                    code = CheckedCode::C;
                    Effort::ThroughC
                }
                Some("cuda") => {
                    code = CheckedCode::OnDevice(Device::Cuda);
                    rewrites = Some(Rewrites::OnDevice(Device::Cuda));
                    effort
                }
                Some("cuda-driver") => {
                    code = CheckedCode::OnDevice(Device::CudaDriver);
                    rewrites = Some(Rewrites::OnDevice(Device::CudaDriver));
                    effort
                }
                Some("opencl") => {
                    code = CheckedCode::OnDevice(Device::OpenCl);
                    rewrites = Some(Rewrites::OnDevice(Device::OpenCl));
                    effort
                }
                _ => return usage(),
            };
            continue;
        }
        if argument == "--on" {
            rewriting.on = match arguments.next().as_deref() {
                Some("random") => None,
                Some("programs") => Some(Subjects::Programs),
                Some("polybench") => Some(Subjects::Polybench),
                _ => return usage(),
            };
            continue;
        }
        let value = arguments.next().and_then(|value| value.parse().ok());
        match (argument.as_str(), value) {
            ("--programs", Some(value)) => programs = Some(value),
            ("--seed", Some(value)) => seed = value,
            ("--faulty", Some(value)) => faulty = value,
            ("--schedules", Some(value)) => schedules = Some(value),
            ("--loops", Some(value)) => loops = value,
            ("--chains", Some(value)) => rewrites = Some(Rewrites::Chains(value as usize)),
            ("--applications", Some(value)) => rewriting.applications = Some(value),
            _ => return usage(),
        }
    }
    if let (Some(count), Some(Rewrites::OnDevice(device))) = (schedules, &rewrites) {
        rewrites = Some(Rewrites::Schedules(*device, count));
    } else if schedules.is_some() {
        return usage();
    }
    if faulty > 0 && matches!(code, CheckedCode::OnDevice(_)) {
        let failed = moved_memlets(seed..seed + faulty, code);
        return if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Some(rewrites) = rewrites {
        return rewriting.run(seed, programs, &rewrites);
    }
    let programs = programs.unwrap_or(2000);
    let failed_loops = if loops > 0 { all_loops(seed..seed + loops) } else { 0 };
    let mut counts = Counts::default();
    // Trivial programs show nothing: others take their place.
    while counts.agreed + counts.failed < programs {
        let end = seed + BATCH.min(programs - counts.agreed - counts.failed);
        counts.add(of_all(seed..end, |seed| one(seed, effort)));
        seed = end;
        println!("up to seed {seed}: {} programs agree, {} do not", counts.agreed, counts.failed);
    }
    counts.print();
    let failed =
        failed_loops + counts.failed + if faulty > 0 { moved_memlets(seed..seed + faulty, code) } else { 0 };
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage() -> ExitCode {
    println!(
        "usage: random [--target llvm|c|cuda|opencl] [--programs N] [--seed S] [--faulty N] [--schedules N] [--loops N] [--every-match [NAME] [--applications N] | --simplify | --optimize | --distribute | --chains LENGTH] [--on random|programs|polybench] [--interpret]"
    );
    ExitCode::from(2)
}

/// Outcomes of the programs.
#[derive(Default)]
struct Counts {
    agreed: u64,
    trivial: u64,
    failed: u64,
    features: BTreeMap<&'static str, u64>,
    /// Races that validation refused, that the interpreter refused, and that did not happen.
    races: [u64; 3],
}

/// Outcome of one program: `None` if it is trivial or failed.
type One = Result<Option<(Features, Race)>, ()>;

fn one(seed: u64, effort: Effort) -> One {
    let failed = |failure: Box<Failure>| show(&failure, reduced(&failure, effort));
    match check(seed, effort).map_err(failed)? {
        Outcome::Trivial => Ok(None),
        Outcome::Agreed(features) => {
            let race = check_race(seed).map_err(|failure| println!("{failure}"))?;
            Ok(Some((features, race)))
        }
    }
}

impl Counts {
    fn add(&mut self, found: Vec<One>) {
        for one in found {
            match one {
                Err(()) => self.failed += 1,
                Ok(None) => self.trivial += 1,
                Ok(Some((features, race))) => {
                    self.agreed += 1;
                    features.into_iter().for_each(|feature| *self.features.entry(feature).or_insert(0) += 1);
                    match race {
                        Race::Rejected => self.races[0] += 1,
                        Race::Trapped => self.races[1] += 1,
                        Race::Absent => self.races[2] += 1,
                        Race::Unknown => {}
                    }
                }
            }
        }
    }

    fn print(&self) {
        println!(
            "{} programs agree, {} do not, {} were trivial and not counted",
            self.agreed, self.failed, self.trivial
        );
        for (feature, count) in &self.features {
            println!("{count:8} with: {feature}");
        }
        let [rejected, trapped, absent] = self.races;
        println!(
            "races planted in {}: {rejected} refused by validation, {trapped} by the interpreter, {absent} did not happen",
            rejected + trapped + absent
        );
    }
}

/// Results of a function for all seeds, in their order, computed by one thread for each processor.
fn of_all<T: Send>(seeds: Range<u64>, of: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(seeds.start);
    let found = Mutex::new(BTreeMap::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let result = of(seed);
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(seed, result);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// The fixed list of loops, over elements of three types, and random ones; how many fail.
fn all_loops(seeds: Range<u64>) -> u64 {
    let failed = |found: Vec<Result<(), Box<Failure>>>| {
        let failures: Vec<_> = found.into_iter().filter_map(Result::err).collect();
        for failure in &failures {
            show(failure, reduced_loops(failure));
        }
        failures.len() as u64
    };
    let types = [ScalarType::F64, ScalarType::F32, ScalarType::I32];
    let list = suite();
    let of_list = (list.len() * types.len()) as u64;
    let mut count = failed(of_all(0..of_list, |number| {
        let (name, loops) = list[number as usize % list.len()];
        check_loops(name, number, types[number as usize / list.len()], loops, Variants::All)
    }));
    println!("{of_list} loops of the list, {count} of them fail");
    let mut done = seeds.start;
    while done < seeds.end {
        let end = seeds.end.min(done + BATCH);
        count += failed(of_all(done..end, |seed| check_random_loops(seed, Variants::All)));
        count += failed(of_all(done..end, |seed| check_vectors(seed, Variants::All)));
        done = end;
        println!("loops of seeds {} to {}: {count} fail", seeds.start, done - 1);
    }
    count
}

/// Programs with a moved memlet; how many fail.
fn moved_memlets(seeds: Range<u64>, code: CheckedCode) -> u64 {
    let programs = seeds.end - seeds.start;
    let (mut refused, mut fine, mut unknown, mut failed) = (0u64, 0u64, 0u64, 0u64);
    for verdicts in of_all(seeds, |seed| check_faulty(seed, code)) {
        match verdicts {
            Ok(verdicts) => verdicts.into_iter().for_each(|verdict| match verdict {
                Verdict::Refused => refused += 1,
                Verdict::Agreed => fine += 1,
                Verdict::Unknown => unknown += 1,
            }),
            Err(failure) => {
                failed += 1;
                println!("{failure}");
            }
        }
    }
    println!(
        "{programs} programs with a moved memlet: {refused} runs refused, {fine} agree, {unknown} not compared"
    );
    failed
}

fn show(failure: &Failure, smaller: Option<Failure>) {
    match smaller {
        Some(smaller) => println!(
            "{failure}\nthe smallest program that fails so: {}\n{}",
            smaller.what, smaller.source_text
        ),
        None => println!("{failure}\nit does not fail again"),
    }
}
