//! Compiled programs beside the same algorithms in C: `cargo xtask bench baseline [NAME...]`. With `--target c` in front, the same programs
//! by way of C source beside LLVM's code.
//!
//! `benches/baseline` contains each algorithm as a program and as C, which clang and gcc compile. Each of the
//! three libraries runs in a separate process, because one process must not load two OpenMP runtimes. Rounds
//! are interleaved, and only one process runs at a time.
#![expect(clippy::print_stdout, reason = "this is a command")]

mod cases;
mod libraries;
mod worker;

use std::process::ExitCode;

use cases::{CASES, Case};
use libraries::{Compiler, Libraries};
use worker::Worker;

type Error = Box<dyn std::error::Error>;

/// Rounds for the median.
const ROUNDS: usize = 7;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some(worker::COMMAND) => worker::serve(&arguments[1..]),
        Some("--target") if arguments.get(1).is_some_and(|target| target == "c") => {
            compare_targets(&arguments[2..])
        }
        _ => compare(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures the cases with these names, or all.
fn compare(names: &[String]) -> Result<(), Error> {
    let chosen = chosen(names)?;
    let libraries = Libraries::new()?;
    println!(
        "milliseconds, medians of {ROUNDS} interleaved rounds; C by the best of clang, clang with Polly, and gcc, -O3 -march=native -ffast-math -fopenmp"
    );
    println!(
        "{:16} {:>7} {:>10} {:>10} {:>10} {:>10} {:>7} {:>6} {:>9} {:>8}",
        "program", "threads", "compiled", "clang", "gcc", "Polly", "C/ours", "goal", "GB/s", "of peak"
    );
    for threads in [1, 2] {
        let peak = bandwidth(&libraries, threads)?;
        println!("{:16} {threads:>7} {:>73.1}", "bandwidth", peak);
        for case in &chosen {
            measure(&libraries, case, threads, peak)?;
        }
    }
    Ok(())
}

/// Measures the cases with these names, or all, as LLVM's code and by way of C source.
fn compare_targets(names: &[String]) -> Result<(), Error> {
    let chosen = chosen(names)?;
    let libraries = Libraries::new()?;
    println!(
        "milliseconds, medians of {ROUNDS} interleaved rounds; C source with -O3 -march=native, and -fveclib=libmvec for clang"
    );
    println!(
        "{:16} {:>7} {:>10} {:>10} {:>10} {:>10} {:>8}",
        "program", "threads", "LLVM", "clang", "gcc", "LLVM/clang", "LLVM/gcc"
    );
    let mut logarithms = [0.0; 2];
    for threads in [1, 2] {
        for case in &chosen {
            let mut workers = vec![Worker::start(case.name, &libraries.ours(case)?, true, threads)?];
            for compiler in Compiler::BOTH {
                let library = libraries.ours_through_c(case, compiler)?;
                workers.push(Worker::start(case.name, &library, true, threads)?);
            }
            same_sums(case, &mut workers)?;
            let times = rounds(&mut workers)?;
            let ratios = [times[0] / times[1], times[0] / times[2]];
            logarithms.iter_mut().zip(ratios).for_each(|(sum, ratio)| *sum += ratio.ln());
            println!(
                "{:16} {threads:>7} {:>10.2} {:>10.2} {:>10.2} {:>10.2} {:>8.2}",
                case.name, times[0], times[1], times[2], ratios[0], ratios[1]
            );
        }
    }
    let [clang, gcc] = logarithms.map(|sum| (sum / (2.0 * chosen.len() as f64)).exp());
    println!("{:58} {clang:>10.2} {gcc:>8.2}", "geometric mean");
    Ok(())
}

/// The cases with these names, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static Case>, Error> {
    if let Some(unknown) = names.iter().find(|name| !CASES.iter().any(|case| case.name == **name)) {
        let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(format!("no baseline `{unknown}`: there are {}", known.join(", ")).into());
    }
    let is_chosen = |case: &&Case| names.is_empty() || names.iter().any(|name| name == case.name);
    Ok(CASES.iter().filter(is_chosen).collect())
}

/// Has all workers compute the same.
fn same_sums(case: &Case, workers: &mut [Worker]) -> Result<(), Error> {
    let sums: Vec<f64> = workers.iter_mut().map(Worker::check).collect::<Result<_, _>>()?;
    if let Some(other) = sums[1..].iter().find(|sum| !case.agrees(sums[0], **sum)) {
        return Err(format!("{}: the results differ: {} and {other}", case.name, sums[0]).into());
    }
    Ok(())
}

/// Gigabytes a second that a triad moves, the lines that are read before they are written included.
fn bandwidth(libraries: &Libraries, threads: u32) -> Result<f64, Error> {
    let case = &cases::BANDWIDTH;
    let mut workers = Vec::new();
    for compiler in Compiler::BOTH {
        workers.push(Worker::start(case.name, &libraries.c(case.name, compiler)?, false, threads)?);
    }
    let times = rounds(&mut workers)?;
    Ok(case.bytes / times.iter().copied().fold(f64::INFINITY, f64::min) / 1e6)
}

fn measure(libraries: &Libraries, case: &Case, threads: u32, peak: f64) -> Result<(), Error> {
    let mut workers = vec![Worker::start(case.name, &libraries.ours(case)?, true, threads)?];
    for compiler in Compiler::BOTH {
        workers.push(Worker::start(case.name, &libraries.c(case.baseline, compiler)?, false, threads)?);
    }
    // Not every clang has it.
    if let Ok(library) = libraries.c(case.baseline, Compiler::Polly) {
        workers.push(Worker::start(case.name, &library, false, threads)?);
    }
    same_sums(case, &mut workers)?;
    let times = rounds(&mut workers)?;
    let best = times[1..].iter().copied().fold(f64::INFINITY, f64::min);
    let polly = times.get(3).map_or("-".to_owned(), |time| format!("{time:.2}"));
    let (ratio, goal) = (best / times[0], case.goal(threads));
    let speed = case.bytes / times[0] / 1e6;
    let memory =
        if case.bytes > 0.0 { format!("{speed:>9.1} {:>7.0}%", 100.0 * speed / peak) } else { String::new() };
    let verdict = if ratio < goal { " below the goal" } else { "" };
    println!(
        "{:16} {threads:>7} {:>10.2} {:>10.2} {:>10.2} {polly:>10} {ratio:>7.2} {goal:>6.2} {memory}{verdict}",
        case.name, times[0], times[1], times[2]
    );
    Ok(())
}

/// Median milliseconds of each worker, which take turns.
fn rounds(workers: &mut [Worker]) -> Result<Vec<f64>, Error> {
    let mut times = vec![Vec::with_capacity(ROUNDS); workers.len()];
    for round in 0..=ROUNDS {
        for (worker, times) in workers.iter_mut().zip(&mut times) {
            let time = worker.run()?;
            // The first one touches memory and starts threads.
            if round > 0 {
                times.push(time);
            }
        }
    }
    Ok(times
        .into_iter()
        .map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        })
        .collect())
}
