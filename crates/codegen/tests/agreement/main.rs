//! Agreement tests: small programs at the corners of lowering, run by the interpreter and as native code with
//! several numbers of threads. Results must be equal bit by bit. Each file is one reported test.
//!
//! Programs are files beside this one. Programs in `again` run several times on one handle. Programs in
//! `deadlocks`, and those in `traps` as checked code, end with the error of their line `# fails with`. The
//! first line of a program states its subject. `# with N = 3` sets symbols. `# for NAME in A B` runs the
//! program once with each word in place of the name. `# at every level` requests all optimisation levels, for
//! arithmetic that optimisation could change.
//!
//! With `SDFG_TEST_SANITIZER`, code is instrumented, and the programs in `faults` become tests too: each ends
//! its process with the report of its line `# address:` or `# thread:`. `cargo xtask sanitize` runs them in
//! this way.

mod harness;
mod timers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use harness::{agree, agree_again, agree_at_every_level, failure, prepared, run};
use libtest_mimic::{Arguments, Failed, Trial};
use timers::run_timed;

fn main() -> ExitCode {
    let mut trials = trials("", 40, agrees);
    // What lives in the handle.
    trials.extend(self::trials("again", 1, |path| {
        let text = std::fs::read_to_string(path)?;
        agree_again(&text, &symbols(&text)).map_err(|what| format!("{what}\n{text}").into())
    }));
    // Waits for what never comes end with a status that says who waits, whatever waits with it.
    trials.extend(self::trials("deadlocks", 4, |path| {
        [false, true].into_iter().try_for_each(|checked| ends_with_its_error(path, checked))
    }));
    // What checked native code looks at ends with a status that says what was wrong.
    trials.extend(self::trials("traps", 16, |path| ends_with_its_error(path, true)));
    if harness::options().sanitizer.is_some() {
        trials.extend(self::trials("faults", 3, |path| {
            let text = std::fs::read_to_string(path)?;
            run(&text, &symbols(&text))?;
            Err("the sanitizer has found nothing".into())
        }));
    }
    trials.push(Trial::test("a_failure_stops_the_timers", || {
        a_failure_stops_the_timers();
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// One trial for each of the programs in a folder, of which there are no fewer than `least`.
fn trials(folder: &str, least: usize, check: fn(&Path) -> Result<(), Failed>) -> Vec<Trial> {
    let files = programs(&format!("tests/agreement/{folder}"));
    assert!(files.len() >= least, "only {} programs in `{folder}`", files.len());
    let name = |path: &Path| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if folder.is_empty() { stem.into_owned() } else { format!("{folder}/{stem}") }
    };
    files.into_iter().map(|path| Trial::test(name(&path), move || check(&path))).collect()
}

/// Every variant of a program gives what the interpreter gives.
fn agrees(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let symbols = symbols(&text);
    let at_every_level = text.lines().any(|line| line == "# at every level");
    variants(&text).into_iter().try_for_each(|source| {
        let mut result = agree(&source, &symbols);
        if at_every_level {
            result = result.and_then(|()| agree_at_every_level(&source, &symbols));
        }
        result.map_err(|what| format!("{what}\n{source}").into())
    })
}

fn ends_with_its_error(path: &Path, checked: bool) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let expected = text.lines().find_map(|line| line.strip_prefix("# fails with ")).unwrap_or("?");
    let found = failure(&text, &symbols(&text), checked).unwrap_or_default();
    if found.contains(expected) { Ok(()) } else { Err(format!("`{found}` and not `{expected}`").into()) }
}

/// What ran until a failure is measured, too: the timers stop where the failure leaves their regions.
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
    let (program, mut arguments) = prepared(source, &symbols).unwrap_or_else(|error| panic!("{error}"));
    let (result, counts) = run_timed(&program, &mut arguments, 2).unwrap_or_else(|error| panic!("{error}"));
    assert!(result.is_err_and(|error| error.contains("no memory for `T`")), "{counts:?}");
    let found: Vec<(&str, u64)> = counts.iter().map(|((_, path), count)| (path.as_str(), *count)).collect();
    assert_eq!(found, [("p/c", 2), ("p/first", 2), ("p/l", 1), ("p/large", 2), ("p", 1), ("p/first/one", 2)]);
}

/// The programs in a folder of this crate, in order.
fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{error}"));
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sdft"));
    files.sort();
    files
}

/// The symbols of `# with` lines.
fn symbols(text: &str) -> Vec<(String, i64)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# with "));
    let pairs = lines.flat_map(|line| line.split(", ")).filter_map(|pair| pair.split_once(" = "));
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

/// The program with every combination of the words of its `# for` lines.
fn variants(text: &str) -> Vec<String> {
    let mut variants = vec![text.to_owned()];
    for line in text.lines().filter_map(|line| line.strip_prefix("# for ")) {
        let Some((name, words)) = line.split_once(" in ") else { continue };
        let with = |variant: &String| {
            let body = variant.replacen(line, "", 1);
            words.split(' ').map(move |word| body.replace(name, word)).collect::<Vec<_>>()
        };
        variants = variants.iter().flat_map(with).collect();
    }
    variants
}
