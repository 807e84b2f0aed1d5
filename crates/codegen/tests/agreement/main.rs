//! Agreement tests: small programs at the corners of lowering, run by the interpreter and as native code with
//! several numbers of threads. Results must be equal bit by bit. Each file is one reported test.
//!
//! The programs are file tests beside this file, in the dialect of `sdfg-filetest`: `#! test agree N=3`, with
//! `every_level` for arithmetic that optimisation could change. Those in `repeated_runs` run several times on one
//! handle (`agree repeated`). Those in `known_wrong` were compiled or rewritten wrongly by DaCe. Those in `deadlocks`, and those in `traps` as checked code, end with an error
//! (`-> trap PART`).
//!
//! gcc and clang compile the C source of the same programs, as C11 and as C++17; every warning is an error.
//!
//! With `SDFG_TEST_SANITIZER`, code is instrumented, and the programs in `faults` become tests too: each ends
//! its process with the report of its command `sanitize`. `cargo xtask sanitize` runs them in this way.

mod harness;
mod timers;

use std::path::Path;
use std::process::ExitCode;

use harness::{
    agree, agree_at_every_level, agree_repeatedly, agree_through_c, failure, failure_through_c, prepared, run,
};
use libtest_mimic::{Arguments, Trial};
use sdfg::ir::Sdfg;
use sdfg_filetest::{Agreement, BackEnd, Native, PlanOptions, files};
use timers::run_timed;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agreement");
    let mut trials = files(&root, "cargo test -p sdfg-codegen --test agreement", &Interpreted);
    for (folder, least) in [
        ("", 64),
        ("repeated_runs/", 1),
        ("deadlocks/", 4),
        ("traps/", 16),
        ("faults/", 4),
        ("known_wrong/", 3),
    ] {
        let found = trials.iter().filter(|trial| trial.name().starts_with(folder)).count();
        assert!(found >= least, "only {found} programs in `{folder}`");
    }
    if harness::options().sanitizer.is_none() {
        trials.retain(|trial| !trial.name().starts_with("faults/"));
        // A name without a kind also selects the tests of every kind with this name.
        trials = trials.into_iter().map(|trial| trial.with_kind("llvm")).collect();
        for (compiler, back_end) in [("gcc", &ThroughC("gcc")), ("clang", &ThroughC("clang-19"))] {
            if !is_there(back_end.0) {
                // `cargo xtask test` installs it, or says that tests leave it out.
                continue;
            }
            let found = files(&root, "cargo test -p sdfg-codegen --test agreement", back_end).into_iter();
            // C source has no sanitizer.
            let found = found.filter(|trial| !trial.name().starts_with("faults/"));
            trials.extend(found.map(|trial| trial.with_kind(compiler)));
        }
    }
    trials.push(Trial::test("a_failure_stops_the_timers", || {
        a_failure_stops_the_timers();
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Compares native code with the interpreter.
struct Interpreted;

impl BackEnd for Interpreted {
    fn plan(&self, _: &Sdfg, _: PlanOptions) -> Result<String, String> {
        Err("`plan` belongs in `tests/plans`".to_owned())
    }

    fn run(&self, program: &Sdfg, command: &Native) -> Result<(), String> {
        let symbols = &command.symbols;
        match &command.agreement {
            Agreement::Results => agree(program, symbols),
            Agreement::EveryLevel => {
                agree(program, symbols)?;
                agree_at_every_level(program, symbols)
            }
            Agreement::Repeated => agree_repeatedly(program, symbols),
            Agreement::Trap { checked, part } => {
                let variants = if *checked { &[true][..] } else { &[false, true] };
                variants.iter().try_for_each(|checked| {
                    let found = failure(program, symbols, *checked).unwrap_or_default();
                    if found.contains(part) { Ok(()) } else { Err(format!("`{found}` and not `{part}`")) }
                })
            }
            Agreement::Report => {
                run(program, symbols)?;
                Err("the sanitizer has found nothing".to_owned())
            }
        }
    }
}

fn is_there(command: &str) -> bool {
    std::process::Command::new(command).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Compares C source, compiled by this command, with the interpreter.
struct ThroughC(&'static str);

impl BackEnd for ThroughC {
    fn plan(&self, _: &Sdfg, _: PlanOptions) -> Result<String, String> {
        Err("`plan` belongs in `tests/plans`".to_owned())
    }

    fn run(&self, program: &Sdfg, command: &Native) -> Result<(), String> {
        let symbols = &command.symbols;
        match &command.agreement {
            Agreement::Results | Agreement::EveryLevel => self.agree(program, symbols, 1),
            Agreement::Repeated => self.agree(program, symbols, 4),
            Agreement::Trap { checked, part } => {
                let variants = if *checked { &[true][..] } else { &[false, true] };
                variants.iter().try_for_each(|checked| {
                    let found = failure_through_c(self.0, program, symbols, *checked)?.unwrap_or_default();
                    if found.contains(part) { Ok(()) } else { Err(format!("`{found}` and not `{part}`")) }
                })
            }
            Agreement::Report => Err("C source has no sanitizer".to_owned()),
        }
    }
}

impl ThroughC {
    /// The program must agree with the interpreter, as checked code, too.
    fn agree(&self, program: &Sdfg, symbols: &[(String, i64)], runs: usize) -> Result<(), String> {
        [false, true].iter().try_for_each(|checked| {
            agree_through_c(self.0, program, symbols, runs, *checked).map_err(|error| match checked {
                true => format!("checked: {error}"),
                false => error,
            })
        })
    }
}

/// A failed run is measured until the failure: the timers stop where it leaves their regions.
fn a_failure_stops_the_timers() {
    let source = "sdfg p {
  symbol N: i64
  symbol M: i64
  array A: i64[N]
  transient array T: i64[(k - 1) * M * M + 1] lifetime(state)
  for l: k = 1:4 {
    state first { access A; tasklet one () -> (o) { o = k }; one.o -> A: A[0] }
    if c: A[0] > 0 {
      state large { access A; access B = A; access T; A -> T: A[0] -> T[0]; T -> B: T[0] -> A[1] }
    }
  }
}";
    let symbols = [("N".to_owned(), 3), ("M".to_owned(), 1 << 29)];
    let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
    let (program, mut arguments) = prepared(&program, &symbols).unwrap_or_else(|error| panic!("{error}"));
    let (result, counts) = run_timed(&program, &mut arguments, 2).unwrap_or_else(|error| panic!("{error}"));
    assert!(result.is_err_and(|error| error.contains("no memory for `T`")), "{counts:?}");
    let found: Vec<(&str, u64)> = counts.iter().map(|((_, path), count)| (path.as_str(), *count)).collect();
    assert_eq!(found, [("p/c", 2), ("p/first", 2), ("p/l", 1), ("p/large", 2), ("p", 1), ("p/first/one", 2)]);
}
