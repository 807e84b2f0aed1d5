//! Tests of libraries of distributed programs, called from C, Fortran and Python on the ranks of MPI.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use sdfg_codegen::mpi::{Launcher, Mpi};

use crate::Bench;
use crate::packages::{repository, skip};

/// Shifts by one element and adds one of `W`, which all ranks hold. The halos of `A` are not refreshed: arguments are current when a run
/// begins.
const SHIFT: &str = "sdfg shift {
  symbol N: i64
  array A: f64[N] distribution(grid(3)[balanced(0, 0, N - 1) halo(0, 1)])
  array B: f64[N] distribution(grid(3)[balanced(0, 0, N - 1)])
  array W: f64[2]
  state forth {
    access A
    access B
    access W
    map tiles [k = 0:3] schedule(mpi) {
      map cells [i = k*(N - 1) // 3:(k + 1)*(N - 1) // 3] {
        tasklet t (a, w) -> (b) { b = a + w }
        cells.A -> t.a: A[i + 1]
        cells.W -> t.w: W[1]
        t.b -> cells.B: B[i]
      }
      tiles.A -> cells.A
      tiles.W -> cells.W
      cells.B -> tiles.B
    }
    A -> tiles.A
    W -> tiles.W
    tiles.B -> B
  }
  state back {
    access B
    access A
    map tiles [k = 0:3] schedule(mpi) {
      map cells [i = k*(N - 1) // 3:(k + 1)*(N - 1) // 3] {
        tasklet t (b) -> (a) { a = b }
        cells.B -> t.b: B[i]
        t.a -> cells.A: A[i]
      }
      tiles.B -> cells.B
      cells.A -> tiles.A
    }
    B -> tiles.B
    tiles.A -> A
  }
}
";

/// The library of a program that is divided over four ranks, as a package, and the launcher of MPI.
struct Ranked {
    bench: Bench,
    mpi: Mpi,
    /// The name of the program.
    name: &'static str,
}

impl Ranked {
    /// `None` without an MPI.
    fn new() -> Option<Self> {
        let Ok(mpi) = Mpi::find() else {
            skip("mpicc (Debian: apt-get install libopenmpi-dev openmpi-bin)");
            return None;
        };
        let bench = Bench::new();
        let program = repository("programs/jacobi2d.sdft").display().to_string();
        let distribute =
            ["distribute", &program, "-p", "4", "--set", "N=64", "--set", "T=5", "-o", "four.sdft"];
        let distributed = bench.run(&distribute);
        assert_eq!(distributed.status, Some(0), "{distributed:?}");
        bench.run(&["compile", "four.sdft", "--emit", "package", "-o", "package"]).prints(&[]);
        Some(Ranked { bench, mpi, name: "jacobi2d" })
    }

    /// The same of the program `shift` on three ranks.
    fn shift() -> Option<Self> {
        let Ranked { bench, mpi, .. } = Ranked::new()?;
        bench.file("shift.sdft", SHIFT);
        bench.run(&["compile", "shift.sdft", "--emit", "package", "-o", "package"]).prints(&[]);
        Some(Ranked { bench, mpi, name: "shift" })
    }

    fn path(&self, path: &str) -> PathBuf {
        self.bench.path(path)
    }

    /// Compiles a program in C or Fortran against the package by a command of MPI; `None` if there is no such command.
    fn build(&self, compiler: &str, files: &[&Path], name: &str) -> Option<PathBuf> {
        let program = self.path(name);
        let output = Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-Ipackage/include"])
            .args(files)
            .args(["-Lpackage/lib".to_owned(), format!("-l{}", self.name)])
            .arg(format!("-Wl,-rpath,{}", self.path("package/lib").display()))
            .arg("-o")
            .arg(&program)
            .current_dir(self.bench.folder.path())
            .output();
        let Ok(output) = output else {
            skip(compiler);
            return None;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(program)
    }

    fn launch(&self, ranks: usize, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let launcher = Launcher::find(&self.mpi).expect("mpicc comes with a launcher");
        let mut command = launcher.command(ranks, program);
        command.args(arguments).envs(variables.iter().copied()).current_dir(self.bench.folder.path());
        command.output().expect("the launcher runs")
    }
}

fn succeeds(output: &Output, text: &str) {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains(text), "{}\n{stdout}{stderr}", output.status);
}

#[test]
fn c_programs_call_a_distributed_library() {
    let Some(ranked) = Ranked::new() else { return };
    let compiler = ranked.mpi.compiler().display().to_string();
    let source = repository("examples/mpi/main.c");
    let Some(main) = ranked.build(&compiler, &[&source], "main") else { return };
    // The fifth rank is not in the communicator.
    for ranks in [4, 5] {
        succeeds(&ranked.launch(ranks, &main, &[], &[]), "jacobi2d on 4 ranks: ok\n");
    }
    let few = ranked.launch(3, &main, &[], &[]);
    let errors = String::from_utf8_lossy(&few.stderr).into_owned();
    assert!(!few.status.success(), "{errors}");
    assert!(errors.contains("`jacobi2d` is divided over 4 ranks, and the communicator has 3"), "{errors}");
}

#[test]
fn fortran_programs_call_a_distributed_library() {
    let Some(ranked) = Ranked::new() else { return };
    let sources = [ranked.path("package/include/jacobi2d_sdfg.f90"), repository("examples/mpi/main.f90")];
    let Some(main) = ranked.build("mpif90", &[&sources[0], &sources[1]], "main") else { return };
    succeeds(&ranked.launch(4, &main, &[], &[]), "jacobi2d on 4 ranks: ok\n");
}

#[test]
fn runs_take_halos_from_their_owners() {
    let Some(ranked) = Ranked::shift() else { return };
    let compiler = ranked.mpi.compiler().display().to_string();
    let source = repository("tests/c/rank_shift.c");
    let Some(main) = ranked.build(&compiler, &[&source], "shift") else { return };
    succeeds(&ranked.launch(3, &main, &[], &[]), "");
}

/// Runs of one handle need no more memory, requests and communicators, with halos that travel while interiors are computed: for a
/// second, or for as many as `SDFG_MPI_SECONDS` says.
#[test]
#[expect(
    clippy::print_stderr,
    reason = "a long run shows the memory, requests and communicators of each rank"
)]
fn runs_of_one_handle_do_not_grow() {
    let Some(ranked) = Ranked::new() else { return };
    let overlapped = ranked.bench.run(&["transform", "four.sdft", "HaloOverlap", "--everywhere"]);
    assert!(overlapped.stdout.matches("schedule(mpi)").count() == 4, "{overlapped:?}");
    ranked.bench.file("overlapped.sdft", &overlapped.stdout);
    ranked.bench.run(&["compile", "overlapped.sdft", "--emit", "package", "-o", "package"]).prints(&[]);
    let compiler = ranked.mpi.compiler().display().to_string();
    let source = repository("tests/c/rank_soak.c");
    let Some(main) = ranked.build(&compiler, &[&source], "soak") else { return };
    let seconds = std::env::var("SDFG_MPI_SECONDS").unwrap_or("1".to_owned());
    let output = ranked.launch(4, &main, &[&seconds], &[]);
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
    succeeds(&output, "rank 3: ");
}

#[test]
fn libraries_move_several_arrays_together() {
    let Some(Ranked { bench, mpi, .. }) = Ranked::new() else { return };
    bench.file("three.sdft", crate::ranks::neighbours(3));
    bench.run(&["compile", "three.sdft", "--emit", "package", "-o", "package"]).prints(&[]);
    let ranked = Ranked { bench, mpi, name: "neighbours" };
    let compiler = ranked.mpi.compiler().display().to_string();
    let source = repository("tests/c/rank_neighbours.c");
    let Some(main) = ranked.build(&compiler, &[&source], "neighbours") else { return };
    succeeds(&ranked.launch(2, &main, &[], &[]), "");
}

#[test]
fn all_ranks_learn_of_wrong_arguments() {
    let Some(ranked) = Ranked::new() else { return };
    let compiler = ranked.mpi.compiler().display().to_string();
    let source = repository("tests/c/rank_refusals.c");
    let Some(main) = ranked.build(&compiler, &[&source], "refusals") else { return };
    let library = [("SDFG_MPI_LIBRARY", "/nowhere/libsdfg_mpi.so")];
    for mistake in ["symbols", "null", "refused", "memory"] {
        succeeds(&ranked.launch(4, &main, &[mistake], &[]), "");
    }
    succeeds(&ranked.launch(1, &main, &["library"], &library), "");
    for (mistake, message) in [("overlap", "rank 2: "), ("killed", "Killed")] {
        let start = Instant::now();
        let output = ranked.launch(4, &main, &[mistake], &[]);
        let text = format!("{output:?}");
        assert!(!output.status.success() && text.contains(message), "{mistake}: {text}");
        assert!(start.elapsed() < Duration::from_secs(20), "{mistake} took {:?}", start.elapsed());
    }
}

#[test]
fn a_distributed_library_needs_the_library_of_communication_only_at_run_time() {
    let bench = Bench::new();
    let program = repository("programs/jacobi2d.sdft").display().to_string();
    let distribute = ["distribute", &program, "-p", "4", "--set", "N=64", "--set", "T=5", "-o", "four.sdft"];
    assert_eq!(bench.run(&distribute).status, Some(0));
    let without = [("SDFG_MPICC", "/nowhere/mpicc")];
    let compiled = bench.run_with(&["compile", "four.sdft", "-o", "lib/libfour.so"], "", &without);
    assert_eq!(compiled.status, Some(2), "there is no folder `lib`: {compiled:?}");
    let compiled = bench.run_with(&["compile", "four.sdft", "-o", "libfour.so"], "", &without);
    assert_eq!(compiled.status, Some(0), "{compiled:?}");
    assert!(compiled.stderr.contains("sdfg mpi-library -o libsdfg_mpi.so"), "{compiled:?}");
    let refused = bench.run(&["compile", "four.sdft", "--emit", "obj", "-o", "four.o"]);
    refused.fails(2, &["write a library, with --emit so or a"]);
    assert!(!bench.path("four.o").exists());
    // The same bytes every time, and another name.
    let bytes = || std::fs::read(bench.path("libfour.so")).expect("it was written");
    let first = bytes();
    bench.run_with(&["compile", "four.sdft", "--no-cache", "-o", "libfour.so"], "", &without);
    assert!(first == bytes(), "the library differs");
    let header = bench.run(&["compile", "four.sdft", "--name", "other", "--emit", "header"]);
    assert!(header.stdout.contains("int32_t other_run_whole("), "{header:?}");
}
