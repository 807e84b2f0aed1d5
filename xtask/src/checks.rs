//! `cargo xtask test`: every check that CI runs, in the order that finds faults soonest.

use std::process::Command;

use anyhow::{Result, bail};

use crate::setup::{self, Tools};
use crate::step::{self, Steps};
use crate::{python, tidy};

/// Runs the checks; `quick` leaves only the tests.
///
/// # Errors
/// At the first check that fails.
pub(crate) fn run(quick: bool) -> Result<()> {
    let mut steps = Steps::default();
    let tools = steps.run("set-up", setup::run)?;
    steps.run("tools of some tests", || {
        setup::offer_test_tools();
        Ok(())
    })?;
    if !quick {
        steps.run("format", || {
            need_component("fmt", "rustfmt")?;
            step::check(&mut tools.cargo(&["fmt", "--all", "--check"]))
        })?;
        steps.run("tidy", || tidy::run(false))?;
        steps.run("clippy", || {
            need_component("clippy", "clippy")?;
            let lint = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
            step::check(&mut tools.cargo(&lint))
        })?;
        steps.run("clippy without LLVM", || {
            let lint = [
                "clippy",
                "--package",
                "sdfg-codegen",
                "--no-default-features",
                "--lib",
                "--",
                "--deny",
                "warnings",
            ];
            step::check(&mut tools.cargo(&lint))
        })?;
        steps.run("documentation", || {
            let mut document = tools.cargo(&["doc", "--workspace", "--no-deps"]);
            step::check(document.env("RUSTDOCFLAGS", "--deny warnings"))
        })?;
        steps.run("documentation tests", || {
            step::check(&mut tools.cargo(&["test", "--workspace", "--doc"]))
        })?;
    }
    steps.run("Python package", || python::test(&tools))?;
    // The tests come last, so that the log ends with their summary.
    steps.run("tests", || step::check(&mut test_command(&tools)))?;
    println!("\nEvery step passed: {}", steps.summary());
    Ok(())
}

/// cargo-nextest runs the tests of all crates side by side and has a time limit for each; without it, cargo's own.
fn test_command(tools: &Tools) -> Command {
    if step::succeeds(&mut step::cargo(["nextest", "--version"])) {
        tools.cargo(&["nextest", "run", "--workspace", "--no-fail-fast"])
    } else {
        println!("cargo-nextest is not installed: using cargo test");
        tools.cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--examples", "--no-fail-fast"])
    }
}

/// A minimal Rust installation lacks these two; rustup can add them without root.
fn need_component(subcommand: &str, component: &str) -> Result<()> {
    if step::succeeds(&mut step::cargo([subcommand, "--version"])) {
        return Ok(());
    }
    println!("cargo {subcommand} is missing: adding it with rustup");
    if step::check(Command::new("rustup").args(["component", "add", component])).is_ok() {
        return Ok(());
    }
    bail!(
        "`cargo {subcommand}` is needed; install your distribution's {component}, \
         or Rust from rustup with that component; `cargo xtask test --quick` does without"
    )
}
