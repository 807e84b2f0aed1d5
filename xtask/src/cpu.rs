//! `cargo xtask bench cpu`: compares matrix products with OpenBLAS and MKL, in a separate Python environment.
//!
//! The libraries are wheels of PyPI below `target/bench-cpu`; this project contains none of them.

use std::process::Command;

use anyhow::{Context, Result};

use crate::{python, setup, step, workspace};

/// What the benchmark needs, and what it takes where it can be had.
const NEEDED: [&str; 2] = ["numpy", "scipy-openblas32"];
const OPTIONAL: &str = "mkl";

/// Builds the command, installs the peers unless an earlier run did, and runs `benches/cpu/bench.py` with the given options.
///
/// # Errors
/// If a part cannot be built or installed, or a result is wrong.
pub(crate) fn bench(options: &[&str]) -> Result<()> {
    let tools = setup::run()?;
    let folder = workspace::target_folder().join("bench-cpu");
    let python = python::virtual_environment(&folder)?;
    let install = |packages: &[&str]| {
        println!("==> installing {} into {}", packages.join(", "), folder.display());
        step::check(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))
    };
    if !step::succeeds(Command::new(&python).args(["-c", "import numpy, scipy_openblas32"])) {
        install(&NEEDED).context("the benchmark needs NumPy and OpenBLAS from PyPI")?;
        if install(&[OPTIONAL]).is_err() {
            println!("{OPTIONAL} cannot be installed and is left out");
        }
    }
    println!("==> bench cpu: building with optimisation, which takes a few minutes the first time");
    step::check(&mut tools.cargo(&["build", "--quiet", "--release", "--package", "sdfg-cli"]))?;
    step::check(
        Command::new(python)
            .arg(workspace::root().join("benches/cpu/bench.py"))
            .arg("--sdfg")
            .arg(workspace::target_folder().join("release/sdfg"))
            .args(options),
    )
}
