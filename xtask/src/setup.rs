//! Makes sure that the build's requirements are installed.
//!
//! As root on a machine with apt, it installs missing packages. Elsewhere it prints their names.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::llvm::{self, Llvm, NotFound, PREFIX_VARIABLE, Surroundings};
use crate::step;

/// The Debian and Ubuntu package with the headers, `llvm-config` and the shared library.
const PACKAGE: &str = "llvm-19-dev";

/// The tools that later commands need.
pub(crate) struct Tools {
    prefix_to_set: Option<PathBuf>,
    /// The folder of LLVM's libraries.
    pub(crate) llvm_libraries: PathBuf,
}

impl Tools {
    /// A cargo command that finds this LLVM.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = step::cargo(arguments);
        if let Some(prefix) = &self.prefix_to_set {
            command.env(PREFIX_VARIABLE, prefix);
        }
        command
    }
}

/// Finds everything that the build needs. Installs missing packages as root on a machine with apt.
///
/// # Errors
/// If a tool is missing and cannot be installed. The message states what to install and how.
pub(crate) fn run() -> Result<Tools> {
    let llvm = match llvm::find(&Surroundings::of_process()) {
        Ok(llvm) => llvm,
        Err(NotFound::Nowhere { .. }) if is_root() && has_apt() => {
            println!("LLVM 19 is missing: installing {PACKAGE} (104 MB to download, 650 MB on disk)");
            install(&[PACKAGE]).with_context(|| advice(&NotFound::Nowhere { others: Vec::new() }, true))?;
            llvm::find(&Surroundings::of_process())
                .map_err(|missing| anyhow::anyhow!("{PACKAGE} was installed, but {missing}"))?
        }
        Err(missing) => bail!(advice(&missing, has_apt())),
    };
    report(&llvm);
    check_compiler()?;
    let llvm_libraries = llvm.libraries().context("llvm-config does not tell where LLVM's libraries are")?;
    Ok(Tools { prefix_to_set: llvm.prefix_to_set, llvm_libraries })
}

fn report(llvm: &Llvm) {
    println!("LLVM {} by {}", llvm.version, llvm.config.display());
    if let Some(prefix) = &llvm.prefix_to_set {
        println!(
            "  xtask passes this on; for cargo by itself: export {PREFIX_VARIABLE}={}",
            prefix.display()
        );
    }
}

/// The C compiler links libraries. Its OpenMP library runs parallel maps.
fn check_compiler() -> Result<()> {
    let output = Command::new("cc").arg("--version").output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        bail!("no C compiler `cc` on PATH; install one (Debian and Ubuntu: apt-get install gcc libc6-dev)");
    };
    println!("C compiler: {}", String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("cc"));
    Ok(())
}

/// Installs packages as root on a machine with apt, unless their files exist already. Does nothing elsewhere.
///
/// # Errors
/// When they cannot be installed.
pub(crate) fn install_missing(packages: &[&str], is_there: impl Fn() -> bool) -> Result<()> {
    if is_there() || !is_root() || !has_apt() {
        return Ok(());
    }
    println!("Installing {}", packages.join(", "));
    install(packages)
}

/// Packages that only some tests need: compilers for C source, C, Fortran and CMake for calls, a debugger, a BLAS, isl
/// for the facts of transformations, and PoCL, which runs kernels of OpenCL on this processor.
const TEST_PACKAGES: [&str; 14] = [
    "clang-19",
    "cmake",
    "g++",
    "gdb",
    "gfortran",
    "libisl23",
    "liblapacke-dev",
    "libomp-19-dev",
    "libopenblas-dev",
    "libopenmpi-dev",
    "ocl-icd-libopencl1",
    "openmpi-bin",
    "pkg-config",
    "pocl-opencl-icd",
];

/// Installs the packages that only some tests need, or prints them. Without a package its tests pass and report
/// that they are skipped.
pub(crate) fn offer_test_tools() {
    if !has_apt() {
        return;
    }
    let is_there = |package: &&str| {
        let mut query = Command::new("dpkg-query");
        query.args(["--show", "--showformat=${db:Status-Status}", package]);
        query.output().is_ok_and(|output| output.stdout == b"installed")
    };
    let missing: Vec<&str> = TEST_PACKAGES.into_iter().filter(|package| !is_there(package)).collect();
    if install_missing(&missing, || missing.is_empty()).is_err() || !(missing.is_empty() || is_root()) {
        println!("Some tests leave out what they cannot call here: apt-get install {}", missing.join(" "));
    }
}

/// Installs packages. After a failure it updates the package lists, which may be missing or outdated, and tries again.
fn install(packages: &[&str]) -> Result<()> {
    let command = || {
        let mut command = apt_get();
        command.args(["install", "--yes", "--no-install-recommends"]).args(packages);
        command
    };
    if step::succeeds(&mut command()) {
        return Ok(());
    }
    println!("Not in the package lists as they are: reading them anew");
    step::check(apt_get().arg("update")).and_then(|()| step::check(&mut command()))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn has_apt() -> bool {
    step::succeeds(Command::new("apt-get").arg("--version"))
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// The message about a missing LLVM, with the remedy.
fn advice(missing: &NotFound, apt: bool) -> String {
    let mut text = missing.to_string();
    let mut line = |words: &str| {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {words}");
    };
    match missing {
        NotFound::WrongPrefix { .. } => {
            line(&format!(
                "Set {PREFIX_VARIABLE} to a folder with LLVM 19.1's bin/llvm-config, or unset it."
            ));
        }
        NotFound::Nowhere { .. } => {
            line("The code generator is built on LLVM 19.1. One of these makes it known:");
            if apt {
                line(&format!(
                    "Debian 12 or later, Ubuntu 24.04 or later: sudo apt-get update && sudo apt-get install {PACKAGE}"
                ));
            }
            line("Fedora: sudo dnf install llvm19-devel");
            line("Spack, without root: spack install llvm@19 && spack load llvm@19");
            line("A module system: module load the LLVM 19 module, so that llvm-config is on PATH");
            line(&format!(
                "Any other installation: export {PREFIX_VARIABLE}=FOLDER, where FOLDER/bin/llvm-config is"
            ));
        }
    }
    line("Then repeat the command.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_package_only_where_it_helps() {
        let missing = NotFound::Nowhere { others: vec![] };
        assert!(advice(&missing, true).contains("apt-get install llvm-19-dev"));
        assert!(!advice(&missing, false).contains("apt-get"));
    }

    #[test]
    fn a_wrong_variable_is_answered_with_the_variable_alone() {
        let text = advice(&NotFound::WrongPrefix { prefix: "/nowhere".into(), version: None }, true);
        assert!(
            text.contains("/nowhere") && text.contains("unset it") && !text.contains("apt-get"),
            "{text}"
        );
    }
}
