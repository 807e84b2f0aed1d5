//! Commands that build and run a program of the project: the demo, the benchmarks, random programs and the
//! bridge.
//!
//! xtask links none of these programs, so it builds in seconds on a machine without set-up.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::setup::{self, Tools};
use crate::{python, step};

/// Builds an example of a package with optimisation and runs it with the given options.
///
/// # Errors
/// When the set-up or the build fails, or the example ends with a non-zero status.
pub(crate) fn example(package: &str, name: &str, options: &[&str]) -> Result<()> {
    built_and_run(&setup::run()?, package, name, options, None)
}

/// Runs the corpus. For DaCe's own runs, a Python with DaCe is installed if there is none.
///
/// # Errors
/// As [`example`], or when DaCe cannot be installed.
pub(crate) fn corpus(options: &[&str]) -> Result<()> {
    let tools = setup::run()?;
    let is_in_dace = options.windows(2).any(|pair| pair == ["--target", "dace"]);
    let dace = is_in_dace.then(python::with_dace).transpose()?;
    built_and_run(&tools, "sdfg-programs", "corpus", options, dace.as_deref())
}

fn built_and_run(
    tools: &Tools,
    package: &str,
    name: &str,
    options: &[&str],
    dace: Option<&Path>,
) -> Result<()> {
    let run = ["run", "--quiet", "--release", "--package", package, "--example", name, "--"];
    println!("==> {name}: building with optimisation, which takes a few minutes the first time");
    let mut command = tools.cargo(&[&run, options].concat());
    if let Some(python) = dace {
        command.env(python::DACE_VARIABLE, python);
    }
    step::check(&mut command)
}

/// The Debian and Ubuntu packages of the compilers and the OpenMP runtime that benchmarks compare with.
const PEERS: [&str; 3] = ["clang-19", "libomp-19-dev", "gcc"];

/// Measures the named programs, or all, beside the same algorithms in C.
///
/// # Errors
/// When a C compiler or its OpenMP runtime is missing, or as [`example`].
pub(crate) fn baseline(names: &[&str]) -> Result<()> {
    setup::install_missing(&PEERS, peers_are_there)?;
    if !peers_are_there() {
        bail!(
            "this is measured beside `gcc` and `clang-19` with its OpenMP runtime, which are not all there (Debian and Ubuntu: apt-get install {})",
            PEERS.join(" ")
        );
    }
    example("sdfg-programs", "bench_baseline", names)
}

fn peers_are_there() -> bool {
    let gcc = step::succeeds(Command::new("gcc").arg("--version"));
    // It answers with the name alone where it knows no file of it.
    let openmp = Command::new("clang-19").arg("-print-file-name=libomp.so").output();
    gcc && openmp.is_ok_and(|output| output.stdout.starts_with(b"/"))
}

/// The Debian and Ubuntu packages that programs by hand on ranks of MPI need.
const MPI: [&str; 3] = ["libopenblas-dev", "libopenmpi-dev", "openmpi-bin"];

/// ScaLAPACK for Open MPI, without which the comparison with `pdgemm` is left out.
const SCALAPACK: &str = "libscalapack-openmpi-dev";

/// Measures distributed programs on ranks of MPI beside C written by hand.
///
/// # Errors
/// When there is no MPI, or as [`example`].
pub(crate) fn mpi(options: &[&str]) -> Result<()> {
    install_mpi()?;
    let has_scalapack = || {
        let mut query = Command::new("mpicc");
        // It answers with the name alone where it knows no file of it.
        let answer = query.arg("-print-file-name=libscalapack-openmpi.so").output();
        answer.is_ok_and(|output| output.stdout.starts_with(b"/"))
    };
    // The benchmark tells what it leaves out.
    if setup::install_missing(&[SCALAPACK], has_scalapack).is_err() {
        println!("{SCALAPACK} cannot be installed");
    }
    example("sdfg-programs", "bench_mpi", options)
}

/// Runs random programs or DaCe's graphs on ranks of MPI. For so many seconds, moves data or runs one handle of a program.
///
/// # Errors
/// As [`mpi`].
pub(crate) fn ranks(options: &[&str]) -> Result<()> {
    install_mpi()?;
    let soak = match options {
        ["--soak", seconds] => Some((seconds, ["mpi", "memory_does_not_grow"])),
        ["--soak", seconds, "--runs"] => {
            Some((seconds, ["cli", "rank_libraries::runs_of_one_handle_do_not_grow"]))
        }
        _ => None,
    };
    if let Some((seconds, [target, test])) = soak {
        // nextest ends long tests.
        let test = ["test", "--workspace", "--test", target, "--", "--exact", test, "--nocapture"];
        return step::check(step::cargo(test).env("SDFG_MPI_SECONDS", seconds));
    }
    example("sdfg-programs", "ranks", options)
}

fn install_mpi() -> Result<()> {
    let has_mpi = || step::succeeds(Command::new("mpicc").arg("--version"));
    setup::install_missing(&MPI, has_mpi)?;
    if !has_mpi() {
        bail!(
            "this needs `mpicc`, which is not there (Debian and Ubuntu: apt-get install {})",
            MPI.join(" ")
        );
    }
    Ok(())
}

/// Builds and tests the bridge to Symbolica, a workspace of its own.
///
/// # Errors
/// When its build or a test fails.
pub(crate) fn symbolica() -> Result<()> {
    println!(
        "==> symbolica: its licence allows non-commercial use only without a key; the first build takes minutes"
    );
    let manifest = ["test", "--manifest-path", "crates/symbolica/Cargo.toml", "--", "--test-threads=1"];
    step::check(&mut step::cargo(manifest))
}
