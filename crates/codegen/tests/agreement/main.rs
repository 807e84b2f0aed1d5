//! Small programs at the corners of lowering, each run by the interpreter and as native code with several numbers of
//! threads: results must be the same, bit by bit.
//!
//! A program is a file beside this one; those in `deadlocks`, and those in `traps` as checked code, end with the error of their line `# fails with`. The first line says what it shows, `# with N = 3` gives symbols, and
//! `# for NAME in A B` runs it once with each word in place of the name.

mod harness;
mod timers;

use std::path::{Path, PathBuf};

use harness::{agree, failure, prepared};
use timers::run_timed;

#[test]
fn native_code_agrees_with_the_interpreter() {
    let files = programs("tests/agreement");
    assert!(files.len() > 40, "only {} programs", files.len());
    // One after the other in each of a few threads: every program starts teams of its own.
    let failures: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> =
            files.chunks(files.len().div_ceil(2)).map(|part| scope.spawn(|| failures_of(part))).collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|_| vec!["a panic".to_owned()]))
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Waits for what never comes end with a status that says who waits, whatever waits with it.
#[test]
fn a_deadlock_is_an_error() {
    let files = programs("tests/agreement/deadlocks");
    assert!(files.len() >= 4, "only {} programs", files.len());
    for path in files {
        [false, true].into_iter().for_each(|checked| ends_with_its_error(&path, checked));
    }
}

/// What ran until a failure is measured, too: the timers stop where the failure leaves their regions.
#[test]
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

/// What checked native code looks at ends with a status that says what was wrong.
#[test]
fn what_is_looked_at_is_an_error() {
    let files = programs("tests/agreement/traps");
    assert!(files.len() >= 16, "only {} programs", files.len());
    files.iter().for_each(|path| ends_with_its_error(path, true));
}

fn ends_with_its_error(path: &Path, checked: bool) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}"));
    let expected = text.lines().find_map(|line| line.strip_prefix("# fails with ")).unwrap_or("?");
    let found = failure(&text, &symbols(&text), checked).unwrap_or_default();
    assert!(found.contains(expected), "{}: `{found}` and not `{expected}`", path.display());
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

fn failures_of(files: &[PathBuf]) -> Vec<String> {
    let mut failures = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}"));
        let symbols = symbols(&text);
        for source in variants(&text) {
            if let Err(what) = agree(&source, &symbols) {
                failures.push(format!("{}: {what}\n{source}", path.display()));
            }
        }
    }
    failures
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
