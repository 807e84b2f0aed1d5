//! Commands that build and run a program of the project: the demo, the benchmarks, the random programs, the bridge.
//!
//! They are thin on purpose: xtask links none of what they run, so that it builds on a bare machine in seconds.

use anyhow::Result;

use crate::{setup, step};

/// Builds an example of a package with optimisation and runs it with the given options.
///
/// # Errors
/// When the set-up or the build fails, or the example ends with a non-zero status.
pub(crate) fn example(package: &str, name: &str, options: &[&str]) -> Result<()> {
    let tools = setup::run()?;
    let run = ["run", "--quiet", "--release", "--package", package, "--example", name, "--"];
    println!("==> {name}: building with optimisation, which takes a few minutes the first time");
    step::check(&mut tools.cargo(&[&run, options].concat()))
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
