//! Python package: installation together with the `sdfg` command, and its tests.
//!
//! The tests of `cargo xtask test` need only NumPy, and run in a virtual environment below `target` if no other
//! Python has it. Tests with DaCe use a separate virtual environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::setup::{self, Tools};
use crate::step;
use crate::workspace::{self, target_folder};

/// The interpreter of Python that makes virtual environments and runs tests; `python3` without.
const PYTHON_VARIABLE: &str = "SDFG_PYTHON";

/// The interpreter that packages of the distribution are for.
const DISTRIBUTION_PYTHON: &str = "/usr/bin/python3";

/// A Python that has DaCe.
pub(crate) const DACE_VARIABLE: &str = "SDFG_DACE_PYTHON";

/// The version of DaCe that the tests, the measurements and the corpus are of, and the newest of its dependencies that it works with.
const DACE: [&str; 5] =
    ["dace==1.0.2", "numpy==1.26.4", "sympy==1.13.3", "setuptools==65.5.0", "networkx==3.4.2"];

/// The newest Numba for that NumPy.
const NUMBA: &str = "numba==0.60.0";

/// Installs the package, or with `test` tests it.
///
/// # Errors
/// When options are wrong, a build, an installation or a test fails.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    match options {
        [] => install(&environment()),
        ["--venv", folder] => install(Path::new(folder)),
        ["test"] => test(&setup::run()?),
        ["test", "--dace"] => test_with_dace(&setup::run()?),
        other => bail!("`python` knows no `{}`; see `cargo xtask help`", other.join(" ")),
    }
}

/// The environment that is active, or one of our own.
fn environment() -> PathBuf {
    std::env::var_os("VIRTUAL_ENV").map_or_else(|| target_folder().join("venv"), PathBuf::from)
}

fn interpreter() -> PathBuf {
    std::env::var_os(PYTHON_VARIABLE).map_or_else(|| "python3".into(), PathBuf::from)
}

/// Puts the package and the command into a virtual environment, which is made if it is not there.
fn install(folder: &Path) -> Result<()> {
    let tools = setup::run()?;
    println!("==> the sdfg command: building with optimisation, which takes a few minutes the first time");
    step::check(&mut tools.cargo(&["build", "--release", "--package", "sdfg-cli"]))?;
    let python = virtual_environment(folder)?;
    println!("==> the Python package into {}", folder.display());
    step::check(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).arg(package()?))?;
    // Under another name first: a command that runs cannot be written to.
    let (command, part) = (folder.join("bin/sdfg"), folder.join("bin/.sdfg.part"));
    let copied =
        fs::copy(target_folder().join("release/sdfg"), &part).and_then(|_| fs::rename(&part, &command));
    copied.with_context(|| format!("cannot write {}", command.display()))?;
    println!("\nInstalled. Try it with {} -c 'import sdfg; help(sdfg.compile)'", python.display());
    Ok(())
}

/// The Python of a virtual environment.
pub(crate) fn virtual_environment(folder: &Path) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    if !python.is_file() {
        println!("==> the virtual environment {}", folder.display());
        let made = step::check(Command::new(interpreter()).args(["-m", "venv"]).arg(folder));
        made.with_context(|| {
            format!(
                "virtual environments need Python 3.9 or later with venv (Debian and Ubuntu: apt-get install python3-venv); {PYTHON_VARIABLE} names another one"
            )
        })?;
    }
    Ok(python)
}

/// A copy of the package's sources, in which pip may build.
fn package() -> Result<PathBuf> {
    let (source, copy) = (workspace::root().join("python"), target_folder().join("python-package"));
    let made = || -> std::io::Result<()> {
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        fs::create_dir_all(copy.join("sdfg"))?;
        fs::copy(source.join("pyproject.toml"), copy.join("pyproject.toml"))?;
        for entry in fs::read_dir(source.join("sdfg"))? {
            let path = entry?.path();
            if let Some(name) =
                path.file_name().filter(|_| path.extension().is_some_and(|found| found == "py"))
            {
                fs::copy(&path, copy.join("sdfg").join(name))?;
            }
        }
        Ok(())
    };
    made().with_context(|| format!("cannot copy the package to {}", copy.display()))?;
    Ok(copy)
}

/// Runs the tests that do not need DaCe.
///
/// # Errors
/// When no Python has NumPy and it cannot be installed, the command cannot be built, or a test fails.
pub(crate) fn test(tools: &Tools) -> Result<()> {
    let python = with_numpy()?;
    add_mpi4py(&python);
    suite(tools, &python, "python/tests")
}

/// A Python with NumPy: the interpreter, that of the active environment, or that of an environment of our own. A missing NumPy is installed
/// there from the package index, or as root from the distribution's package.
///
/// # Errors
/// If no way works. The message names the package to install.
fn with_numpy() -> Result<PathBuf> {
    let has_numpy = |python: &PathBuf| step::succeeds(Command::new(python).args(["-c", "import numpy"]));
    let folder = target_folder().join("test-venv");
    let candidates = [interpreter(), environment().join("bin/python"), folder.join("bin/python")];
    if let Some(python) = candidates.into_iter().find(has_numpy) {
        return Ok(python);
    }
    let installed = virtual_environment(&folder).and_then(|python| {
        println!("==> installing NumPy into {}", folder.display());
        step::check(Command::new(&python).args(["-m", "pip", "install", "--quiet", "numpy"]))?;
        Ok(python)
    });
    let failed = match installed {
        Ok(python) if has_numpy(&python) => return Ok(python),
        Ok(python) => anyhow::anyhow!("{} cannot import the NumPy that pip installed", python.display()),
        Err(failed) => failed,
    };
    let python = PathBuf::from(DISTRIBUTION_PYTHON);
    let packages = ["python3", "python3-numpy"];
    if setup::install_missing(&packages, || has_numpy(&python)).is_ok() && has_numpy(&python) {
        return Ok(python);
    }
    Err(failed.context(format!(
        "the tests of the Python package need NumPy. Install it with `apt-get install python3-numpy` (Debian and Ubuntu) or \
         `python3 -m pip install numpy`, or set {PYTHON_VARIABLE} to a Python that has it"
    )))
}

/// Installs Numba into an environment of our own, where it is missing. Measurements leave it out without it.
pub(crate) fn add_numba(python: &Path) {
    let imports = step::succeeds(Command::new(python).args(["-c", "import numba"]));
    if imports || !python.starts_with(target_folder()) {
        return;
    }
    println!("==> installing {NUMBA}");
    if step::check(Command::new(python).args(["-m", "pip", "install", "--quiet", NUMBA, "scipy"])).is_err() {
        println!("Numba cannot be installed: its versions are left out");
    }
}

/// Installs mpi4py into an environment of our own, where it is missing. Tests on ranks say that they are skipped without it.
fn add_mpi4py(python: &Path) {
    let imports = step::succeeds(Command::new(python).args(["-c", "import mpi4py"]));
    if imports || !python.starts_with(target_folder()) {
        return;
    }
    println!("==> installing mpi4py");
    if step::check(Command::new(python).args(["-m", "pip", "install", "--quiet", "mpi4py"])).is_err() {
        println!("mpi4py cannot be installed: tests of Python on ranks are skipped");
    }
}

/// Runs every test with a Python that has DaCe, which is installed if it is not there.
fn test_with_dace(tools: &Tools) -> Result<()> {
    let python = with_dace()?;
    suite(tools, &python, "python/tests")?;
    suite(tools, &python, "python/tests/with_dace")
}

/// A Python with DaCe: the one that a variable names, or that of an environment of our own, where it is installed if it is not there.
///
/// # Errors
/// When it cannot be installed.
pub(crate) fn with_dace() -> Result<PathBuf> {
    if let Some(python) = std::env::var_os(DACE_VARIABLE).filter(|python| !python.is_empty()) {
        return Ok(PathBuf::from(python));
    }
    let has = |program: &str| step::succeeds(Command::new(program).arg("--version"));
    // DaCe builds its code by CMake.
    setup::install_missing(&["cmake", "g++"], || has("cmake") && has("g++"))?;
    let folder = target_folder().join("dace-venv");
    let python = virtual_environment(&folder)?;
    if !step::succeeds(Command::new(&python).args(["-c", "import dace, numpy"])) {
        println!("==> installing {} into {}", DACE.join(", "), folder.display());
        step::check(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(DACE))
            .with_context(|| format!("{DACE_VARIABLE} names a Python that has DaCe 1.0.2"))?;
    }
    Ok(python)
}

/// Runs the tests of a folder with the command as it is now.
fn suite(tools: &Tools, python: &Path, folder: &str) -> Result<()> {
    step::check(&mut tools.cargo(&["build", "--quiet", "--package", "sdfg-cli"]))?;
    let root = workspace::root();
    let mut command = Command::new(python);
    command.args(["-B", "-m", "unittest", "discover", "--start-directory", folder]).current_dir(&root);
    command.env("PYTHONPATH", root.join("python")).env("SDFG_COMMAND", target_folder().join("debug/sdfg"));
    step::check(&mut command)
}
