//! Tests of the compilation for ranks of MPI: one rank compiles, and the others take its code.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use sdfg_codegen::mpi::{Launcher, Mpi};

use crate::Bench;
use crate::packages::skip;

/// Twice the elements of `A`, each rank its own, by C++.
const TWICE: &str = "sdfg all_twice {
  array A: f64[6] distribution(grid(3)[balanced(0)])
  array B: f64[6] distribution(grid(3)[balanced(0)])
  state s {
    access A
    access B
    map ranks [p = 0:3] schedule(mpi) {
      map own [i = 2 * p:2 * p + 2] {
        tasklet t (a) -> (o) external o = twice(a) from cpp CODE
        own.A -> t.a: A[i]
        t.o -> own.B: B[i]
      }
      ranks.A -> own.A
      own.B -> ranks.B
    }
    A -> ranks.A
    ranks.B -> B
  }
}
";

const CODE: &str = r#""extern \"C\" double twice(double x) { return 2.0 * x; }""#;

/// A folder with the program and compilers that write a line for each file that they compile.
struct Counted {
    bench: Bench,
    launcher: Launcher,
    cpp: String,
    mpicc: String,
}

impl Counted {
    /// `None` without MPI and a compiler of C++.
    fn new(code: &str) -> Option<Self> {
        let found = Mpi::find().and_then(|mpi| Ok((Launcher::find(&mpi)?, mpi)));
        let (launcher, mpi) = match found {
            Ok(found) => found,
            Err(error) => {
                skip(&error.to_string());
                return None;
            }
        };
        if Command::new("g++").arg("--version").output().is_err() {
            skip("g++");
            return None;
        }
        let bench = Bench::new();
        bench.file("twice.sdft", TWICE.replace("CODE", code));
        let cpp = counting(&bench, "g++", Path::new("g++"));
        let mpicc = counting(&bench, "mpicc", mpi.compiler());
        Some(Counted { bench, launcher, cpp, mpicc })
    }

    fn variables(&self) -> [(&str, &str); 2] {
        [("CXX", &self.cpp), ("SDFG_MPICC", &self.mpicc)]
    }

    /// How often a compiler was called with files since the last question.
    fn calls(&self, name: &str) -> usize {
        let file = self.bench.path(&format!("{name}.calls"));
        let lines = std::fs::read_to_string(&file).unwrap_or_default().lines().count();
        std::fs::remove_file(file).ok();
        lines
    }
}

/// The path of a script that calls a compiler and counts the calls.
fn counting(bench: &Bench, name: &str, compiler: &Path) -> String {
    let (script, calls) = (bench.path(&format!("counting-{name}")), bench.path(&format!("{name}.calls")));
    // Questions about a compiler name no output.
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *' -o '*) echo \"$*\" >> '{}';; esac\nexec '{}' \"$@\"\n",
        calls.display(),
        compiler.display()
    );
    std::fs::write(&script, text).expect("the script is written");
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("it becomes a program");
    script.display().to_string()
}

const RUN: [&str; 5] = ["run", "twice.sdft", "--allow-external", "-i", "A=range"];
const RESULT: &str = "0.0, 2.0, 4.0, 6.0, 8.0, 10.0";
const ALONE: &str = "some ranks compiled the program themselves";

#[test]
fn ranks_share_one_compilation() {
    let Some(counted) = Counted::new(CODE) else { return };
    let run = |more: &[&str]| {
        let command = [&RUN[..], &["--ranks", "3"], more].concat();
        let answer = counted.bench.run_with(&command, "", &counted.variables());
        answer.prints(&[RESULT]);
        assert!(!answer.stderr.contains(ALONE), "{answer:?}");
        (counted.calls("g++"), counted.calls("mpicc"))
    };
    assert_eq!(run(&[]), (1, 1));
    assert_eq!(run(&[]), (0, 0));
    // Without the cache, ranks share a folder of rank 0, which goes with the run.
    assert_eq!(run(&["--no-cache"]), (1, 0));
    counted.bench.run(&["cache", "--clear"]).prints(&[]);
    assert_eq!(run(&["-O", "0"]), (1, 1));
    // A launcher of the user starts ranks that find no library of communication: one builds it.
    counted.bench.run(&["cache", "--clear"]).prints(&[]);
    let launch = |program: &[&str]| {
        let mut command = counted.launcher.command(3, program[0]);
        command.args(&program[1..]).args(RUN).envs(counted.variables());
        command.env("SDFG_CACHE", counted.bench.cache.path()).current_dir(counted.bench.path("."));
        let output = command.output().expect("the launcher runs");
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && text.contains(RESULT), "{text}");
        (text, counted.calls("g++"), counted.calls("mpicc"))
    };
    let (text, cpp, mpicc) = launch(&[env!("CARGO_BIN_EXE_sdfg")]);
    assert!(!text.contains(ALONE), "{text}");
    assert_eq!((cpp, mpicc), (1, 1));
    // Ranks with caches of their own do without each other, and say so.
    let own_cache = format!(
        "SDFG_CACHE='{}'/$OMPI_COMM_WORLD_RANK$PMI_RANK exec '{}' \"$@\"",
        counted.bench.path("caches").display(),
        env!("CARGO_BIN_EXE_sdfg")
    );
    let (text, cpp, _) = launch(&["sh", "-c", &own_cache, "sdfg"]);
    assert_eq!((text.matches(ALONE).count(), cpp), (1, 3), "{text}");
}

#[test]
fn a_compilation_that_fails_ends_all_ranks_with_one_message() {
    let wrong = r#""extern \"C\" double twice(double x) { return y; }""#;
    let Some(counted) = Counted::new(wrong) else { return };
    let start = Instant::now();
    let command = [&RUN[..], &["--ranks", "3"]].concat();
    let answer = counted.bench.run_with(&command, "", &counted.variables());
    // The status is that of a run in one process.
    answer.fails(2, &["the C++ code of the program does not compile"]);
    assert_eq!(answer.stderr.matches("does not compile").count(), 1, "{answer:?}");
    assert_eq!(counted.calls("g++"), 1);
    // Rank 0 has the text of the compiler, too, of which all ranks learn the beginning.
    assert!(answer.stderr.contains("return y;"), "{answer:?}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[test]
fn all_ranks_end_when_the_one_that_compiles_is_killed() {
    let Some(counted) = Counted::new(CODE) else { return };
    // The compiler ends the rank that started it, and questions about it do not.
    let kills = "#!/bin/sh\ncase \"$*\" in *' -o '*) kill -9 $PPID; exit 1;; esac\nexec g++ \"$@\"\n";
    std::fs::write(&counted.cpp, kills).expect("the script is written");
    let start = Instant::now();
    let command = [&RUN[..], &["--ranks", "3"]].concat();
    let answer = counted.bench.run_with(&command, "", &counted.variables());
    assert!(!matches!(answer.status, Some(0)) && answer.stderr.contains("signal 9"), "{answer:?}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
