//! `cargo xtask bench dace`: compares this compiler with DaCe and NumPy, in a separate Python environment.
//!
//! With `--transformations`, it compares the matches of transformations and the time of simplification instead.
//!
//! DaCe comes from PyPI. NPBench's kernels and inputs come from its repository, and `target/bench-dace` keeps
//! them. The corpus provides DaCe's graphs of the kernels. This project contains none of these.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{python, setup, step, workspace};

const NPBENCH: &str = "https://github.com/spcl/npbench.git";

/// The commit of NPBench whose inputs of size S this project's tables use.
const NPBENCH_COMMIT: &str = "f2d7f27d87ba4881991e62c18a607aa6ba52b260";

/// Builds the measured programs, prepares Python and NPBench unless an earlier run did, and runs
/// `benches/dace/bench.py` with the given options.
///
/// # Errors
/// If a part cannot be built, installed or found. The message names the variable that can name an installed one.
pub(crate) fn bench(options: &[&str]) -> Result<()> {
    if let ["--transformations", rest @ ..] = options {
        return transformations(rest);
    }
    let tools = setup::run()?;
    let corpus = corpus()?;
    let root = workspace::root();
    let python = python::with_dace()?;
    if options.contains(&"--optimized") {
        python::add_numba(&python);
        // DaCe's optimised graphs call it.
        setup::install_missing(&["libopenblas-dev"], has_openblas)?;
    }
    let folder = workspace::target_folder().join("bench-dace");
    let npbench = given("SDFG_NPBENCH").map_or_else(|| npbench(&folder.join("npbench")), Ok)?;
    println!("==> bench dace: building with optimisation, which takes a few minutes the first time");
    step::check(&mut tools.cargo(&["build", "--quiet", "--release", "--package", "sdfg-cli"]))?;
    let example = ["build", "--quiet", "--release", "--package", "sdfg-programs", "--example", "bench_dace"];
    step::check(&mut tools.cargo(&example))?;
    let release = workspace::target_folder().join("release");
    step::check(
        Command::new(python)
            .arg(root.join("benches/dace/bench.py"))
            .arg("--corpus")
            .arg(corpus)
            .arg("--npbench")
            .arg(npbench)
            .arg("--example")
            .arg(release.join("examples/bench_dace"))
            .arg("--sdfg")
            .arg(release.join("sdfg"))
            .args(options),
    )
}

/// Builds `beside_dace` and runs `benches/dace/transformations.py` with the given options.
fn transformations(options: &[&str]) -> Result<()> {
    let tools = setup::run()?;
    let (corpus, python) = (corpus()?, python::with_dace()?);
    println!("==> bench dace: building with optimisation, which takes a few minutes the first time");
    let example = ["build", "--quiet", "--release", "--package", "sdfg-programs", "--example", "beside_dace"];
    step::check(&mut tools.cargo(&example))?;
    step::check(
        Command::new(python)
            .arg(workspace::root().join("benches/dace/transformations.py"))
            .arg("--corpus")
            .arg(corpus)
            .arg("--example")
            .arg(workspace::target_folder().join("release/examples/beside_dace"))
            .args(options),
    )
}

/// Whether C++ code finds OpenBLAS.
fn has_openblas() -> bool {
    step::succeeds(Command::new("g++").args([
        "-E",
        "-include",
        "cblas.h",
        "-x",
        "c++",
        "/dev/null",
        "-o",
        "/dev/null",
    ]))
}

fn given(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn corpus() -> Result<PathBuf> {
    let folder = given("SDFG_CORPUS").unwrap_or_else(|| workspace::root().join("../shared/corpus"));
    if !folder.join("npbench").is_dir() {
        bail!(
            "no folder `npbench` in {}: set SDFG_CORPUS to a folder with DaCe's graphs of NPBench's kernels",
            folder.display()
        );
    }
    Ok(folder)
}

/// A checkout of NPBench, which is created if it does not exist.
fn npbench(folder: &Path) -> Result<PathBuf> {
    if folder.join("bench_info").is_dir() {
        return Ok(folder.to_owned());
    }
    println!("==> fetching NPBench into {}", folder.display());
    let advice = || "set SDFG_NPBENCH to a checkout of NPBench";
    let git = |arguments: &[&str]| step::check(Command::new("git").arg("-C").arg(folder).args(arguments));
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    git(&["init", "--quiet"]).with_context(advice)?;
    git(&["fetch", "--quiet", "--depth", "1", NPBENCH, NPBENCH_COMMIT]).with_context(advice)?;
    git(&["checkout", "--quiet", "FETCH_HEAD"]).with_context(advice)?;
    Ok(folder.to_owned())
}
