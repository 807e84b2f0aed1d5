//! Random programs through the interpreter and native code: `cargo xtask random --programs 2000 --seed 1`.
//!
//! With `--faulty 500`, that many programs in which a memlet is moved follow: checked native code refuses what the
//! interpreter refuses. Prints each failure with the smallest program that shows it, then how many programs agreed and
//! how many of them had what; the exit status says whether all agreed.
#![expect(clippy::print_stdout, reason = "this is a command")]

use std::collections::BTreeMap;
use std::process::ExitCode;

use sdfg_programs::random::{Failure, Outcome, Verdict, check, check_faulty, reduced};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut programs, mut seed, mut faulty) = (2000u64, 1u64, 0u64);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse().ok());
        match (argument.as_str(), value) {
            ("--programs", Some(value)) => programs = value,
            ("--seed", Some(value)) => seed = value,
            ("--faulty", Some(value)) => faulty = value,
            _ => {
                println!("usage: random [--programs N] [--seed S] [--faulty N]");
                return ExitCode::from(2);
            }
        }
    }
    let (mut agreed, mut trivial, mut failed) = (0u64, 0u64, 0u64);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    // Trivial programs show nothing: others take their place.
    while agreed + failed < programs {
        match check(seed) {
            Ok(Outcome::Agreed(features)) => {
                agreed += 1;
                features.into_iter().for_each(|feature| *counts.entry(feature).or_insert(0u64) += 1);
            }
            Ok(Outcome::Trivial) => trivial += 1,
            Err(failure) => {
                failed += 1;
                show(&failure);
            }
        }
        seed += 1;
    }
    println!("{agreed} programs agree, {failed} do not, {trivial} were trivial and not counted");
    for (feature, count) in counts {
        println!("{count:8} with: {feature}");
    }
    let (mut refused, mut fine, mut unknown) = (0u64, 0u64, 0u64);
    for seed in seed..seed + faulty {
        match check_faulty(seed) {
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
    if faulty > 0 {
        println!(
            "{faulty} programs with a moved memlet: {refused} runs refused, {fine} agree, {unknown} not compared"
        );
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(failure: &Failure) {
    println!("{failure}");
    match reduced(failure) {
        Some(smaller) => {
            println!("the smallest program that fails so: {}\n{}", smaller.what, smaller.source_text)
        }
        None => println!("it does not fail again"),
    }
}
