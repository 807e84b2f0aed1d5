//! Tests of the library of communication: a driver in C calls it under MPI. Without MPI they pass, and say that they were skipped.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod random;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use random::{Case, Random, are_equal, random_case};
use sdfg_codegen::cache::Cache;
use sdfg_codegen::mpi::{Launcher, Mpi, MpiError};
use tempfile::TempDir;

/// The compiled driver with what starts it.
struct Driver {
    launcher: Launcher,
    program: PathBuf,
    folder: TempDir,
}

impl Driver {
    /// Compiles the driver and the library. `None` if this machine has no MPI.
    fn new() -> Option<Self> {
        let found = Mpi::find().and_then(|mpi| Ok((Launcher::find(&mpi)?, mpi)));
        let (launcher, mpi) = match found {
            Ok(found) => found,
            Err(error @ (MpiError::NoCompiler { .. } | MpiError::NoLauncher { .. })) => {
                eprintln!("skipped: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        // One build serves the tests of this run, and the next ones.
        let cache = Cache::in_folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("mpi"));
        let library = mpi.library(Some(&cache)).unwrap();
        let program = folder.path().join("driver");
        let mut command = Command::new(mpi.compiler());
        command.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]).arg("-o").arg(&program);
        command.arg("-I").arg(root.join("../runtime/src/mpi")).arg(root.join("tests/mpi/driver.c"));
        let output = command.arg(library.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Driver { launcher, program, folder })
    }

    fn run(&self, ranks: usize, arguments: &[&str], variables: &[(&str, &str)]) -> (Output, Duration) {
        let start = Instant::now();
        let mut command = self.launcher.command(ranks, &self.program);
        let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
        (output, start.elapsed())
    }

    /// Runs a test of the driver that has to succeed.
    fn succeed(&self, ranks: usize, test: &str) {
        let (output, _) = self.run(ranks, &[test], &[]);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{test} on {ranks} ranks: {:?}\n{messages}", output.status);
    }

    /// Runs cases on so many ranks, and compares every array and counter.
    fn compare(&self, cases: &[Case], ranks: usize, chunk: i64) {
        for rank in 0..ranks {
            let mut file = Vec::new();
            cases.iter().for_each(|case| case.push(rank, &mut file));
            file.extend((-1_i64).to_ne_bytes());
            std::fs::write(self.folder.path().join(format!("{rank}.in")), file).unwrap();
        }
        let folder = self.folder.path().to_str().unwrap();
        let (output, _) = self.run(ranks, &["cases", folder], &[("SDFG_MPI_CHUNK", &chunk.to_string())]);
        assert!(output.status.success(), "{ranks} ranks:\n{}", String::from_utf8_lossy(&output.stderr));
        let mut files: Vec<Vec<u8>> = (0..ranks)
            .map(|rank| std::fs::read(self.folder.path().join(format!("{rank}.out"))).unwrap())
            .collect();
        for (number, case) in cases.iter().enumerate() {
            let expected = case.expected(ranks, chunk);
            let mut combined = 0;
            for (rank, file) in files.iter_mut().enumerate() {
                let mut rest = std::mem::take(file);
                let words: Vec<i64> = rest[..72]
                    .chunks_exact(8)
                    .map(|word| i64::from_ne_bytes(word.try_into().unwrap()))
                    .collect();
                let bytes = usize::try_from(words[8]).unwrap();
                let array = &rest[72..72 + bytes];
                let place = format!("case {number}, rank {rank} of {ranks}: {:?}", case.description);
                assert!(
                    are_equal(case.description.scalar, array, &expected.targets[rank]),
                    "{place}\nbefore   {:?}\nexpected {:?}\nfound    {array:?}",
                    case.targets[rank],
                    expected.targets[rank]
                );
                assert_eq!(words[..6], expected.counters[rank], "{place}");
                combined += words[6];
                *file = rest.split_off(72 + bytes);
            }
            let (least, most) = expected.combined;
            assert!((least..=most).contains(&combined), "case {number}: {combined} in {least}..={most}");
        }
        assert!(files.iter().all(Vec::is_empty));
    }
}

/// Cases for so many ranks. Two that overlap have different sites.
fn cases(seed: u64, ranks: usize, n: usize) -> Vec<Case> {
    let mut random = Random(seed);
    let mut cases: Vec<Case> = (0..n).map(|_| random_case(&mut random, ranks)).collect();
    for at in 0..n {
        let is_followed = at + 1 < n;
        cases[at].is_overlapping &= is_followed;
        if cases[at].is_overlapping && cases[at].site == cases[at + 1].site {
            cases[at + 1].site += 1;
        }
        if is_followed && cases[at].is_overlapping {
            cases[at + 1].is_overlapping = false;
        }
    }
    cases
}

#[test]
fn random_moves_set_what_brute_force_sets() {
    let Some(driver) = Driver::new() else { return };
    let n = std::env::var("SDFG_MPI_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    for ranks in 1..=6 {
        // Messages of a few bytes are cut into several.
        for (seed, chunk) in [(1, 1 << 30), (2, 24)] {
            driver.compare(&cases(1000 * seed + ranks as u64, ranks, n), ranks, chunk);
        }
    }
}

#[test]
fn ranks_agree() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [1, 2, 3, 5] {
        driver.succeed(ranks, "agreement");
        driver.succeed(ranks, "wrong_words");
    }
}

#[test]
fn communicators_are_those_of_the_caller() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [1, 2, 5] {
        driver.succeed(ranks, "communicators");
    }
}

#[test]
fn repeated_moves_keep_their_buffers() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [1, 2, 4] {
        driver.succeed(ranks, "repeated");
    }
}

#[test]
fn all_ranks_learn_that_one_has_no_memory() {
    let Some(driver) = Driver::new() else { return };
    for ranks in [2, 4] {
        driver.succeed(ranks, "no_memory");
    }
}

/// All ranks end soon, with a message that has this part.
#[test]
fn lost_ranks_end_all() {
    let Some(driver) = Driver::new() else { return };
    for (arguments, message) in [
        (&["lost", "killed"][..], "rank 3"),
        (&["lost", "exited"], "sdfg: rank 3 ended with status 3 while others go on"),
        (&["lost", "crashed"], "rank 3"),
        (&["lost", "reported"], "sdfg: rank 3: the residual is no number"),
        (&["lost", "elsewhere"], "sdfg: rank 3: move 0 is finished before it begins"),
        (&["lost", "stuck"], "sdfg: rank 0: other ranks did not arrive within 1 s (SDFG_MPI_DEADLINE)"),
        (&["different"], "sdfg: rank"),
    ] {
        let variables: &[(&str, &str)] =
            if arguments.contains(&"stuck") { &[("SDFG_MPI_DEADLINE", "1")] } else { &[] };
        let (output, time) = driver.run(4, arguments, variables);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && messages.contains(message), "{arguments:?}: {messages}");
        assert!(time < Duration::from_secs(5), "{arguments:?} took {time:?}");
    }
}

#[test]
fn a_program_without_launcher_is_one_rank() {
    let Some(driver) = Driver::new() else { return };
    let output = Command::new(&driver.program).arg("agreement").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_library_is_built_once() {
    let Ok(mpi) = Mpi::find() else {
        eprintln!("skipped: no MPI");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::in_folder(folder.path().join("cache"));
    let first = mpi.library(Some(&cache)).unwrap().path().to_owned();
    let written = first.metadata().unwrap().len();
    // What lies there is taken if it is whole.
    let again = mpi.library(Some(&cache)).unwrap();
    assert_eq!(again.path(), first);
    std::fs::write(&first, b"damaged").unwrap();
    assert_eq!(mpi.library(Some(&cache)).unwrap().path(), first);
    assert_eq!(first.metadata().unwrap().len(), written);
    let object = mpi.object(Some(&cache)).unwrap();
    assert_ne!(object.path(), first);
    assert_eq!(cache.contents().unwrap().objects, 2);
    // Without a cache, the file goes with the value.
    let alone = mpi.library(None).unwrap();
    let path = alone.path().to_owned();
    assert!(path.is_file());
    drop(alone);
    assert!(!path.exists());
}

#[test]
fn a_missing_mpi_is_named_with_its_remedy() {
    let error = Mpi::of_compiler("/nowhere/mpicc").unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, MpiError::NoCompiler { .. }), "{message}");
    assert!(
        message.contains("/nowhere/mpicc") && message.contains("apt-get install libopenmpi-dev"),
        "{message}"
    );
    assert!(message.contains("SDFG_MPICC"), "{message}");
}
