//! `cargo xtask faults`: whether the tests find faults that are planted on purpose.
//!
//! A test suite is believed when it fails for wrong code. Each fault of `faults.toml` is one small change; it is made
//! in a copy of the working tree, which has a build folder of its own, the tests run there until one fails, and the
//! change is taken back. Slow, so it is no part of `test`; but `tidy` checks that every fault can still be planted.

mod list;
mod suite;

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

pub(crate) use list::{Fault, LIST, read};

use crate::{setup, workspace};
use suite::{Outcome, Suite};

/// Plants the faults with one of these `names`, or all without a name, one at a time, and runs the tests on each.
///
/// # Errors
/// When a name is unknown, the tests fail without a fault, a fault does not build, or more than one in twenty is missed.
pub(crate) fn run(names: &[&str]) -> Result<()> {
    let root = workspace::root();
    let list = fs::read_to_string(root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    let faults = select(read(&list)?, names)?;
    let tools = setup::run()?;
    let copy = root.join("target/faults/tree");
    copy_tree(&root, &copy)?;
    let suite = Suite::new(&tools, &copy);
    println!("==> the tests without a fault, in {}", copy.display());
    suite.must_pass()?;

    let mut missed = Vec::new();
    for (index, fault) in faults.iter().enumerate() {
        let start = Instant::now();
        let outcome = planted(fault, &copy, &suite)?;
        let verdict = match &outcome {
            Outcome::Found { by, .. } => format!("found by {by}"),
            Outcome::Missed => "MISSED".to_owned(),
            Outcome::DoesNotBuild => bail!("fault `{}` does not build; correct it in {LIST}", fault.name),
        };
        let seconds = start.elapsed().as_secs_f64();
        println!("{:>3}/{} {:40} {verdict} ({seconds:.0} s)", index + 1, faults.len(), fault.name);
        if matches!(outcome, Outcome::Missed) {
            missed.push(fault);
        }
    }
    println!("\n{} faults planted, {} found", faults.len(), faults.len() - missed.len());
    for fault in &missed {
        println!("missed: {}: {}", fault.name, fault.about);
    }
    if missed.len() * 20 > faults.len() {
        bail!("the tests miss more than one fault in twenty");
    }
    Ok(())
}

fn select(all: Vec<Fault>, names: &[&str]) -> Result<Vec<Fault>> {
    for name in names {
        if !all.iter().any(|fault| fault.name == *name) {
            bail!("no fault `{name}` in {LIST}");
        }
    }
    let wanted = |fault: &Fault| names.is_empty() || names.contains(&fault.name.as_str());
    Ok(all.into_iter().filter(wanted).collect())
}

/// Runs the tests with the fault in place, and takes it back whatever they say.
fn planted(fault: &Fault, copy: &Path, suite: &Suite<'_>) -> Result<Outcome> {
    let path = copy.join(&fault.file);
    let right = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(&path, fault.plant_in(&right)?)?;
    let outcome = suite.outcome(&fault.file);
    fs::write(&path, right)?;
    match outcome? {
        // A machine that has other work to do is slow without any fault.
        Outcome::Found { by, too_slow: true } if !suite.passes(&by)? => {
            bail!("{by} takes too long without a fault, too: let the machine have nothing else to do")
        }
        outcome => Ok(outcome),
    }
}

/// Brings the copy up to date. Files that are equal keep their times, so that what was built there stays built.
fn copy_tree(root: &Path, copy: &Path) -> Result<()> {
    let files = workspace::files(root)?;
    for file in &files {
        let (from, to) = (root.join(file), copy.join(file));
        let wanted = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
        if fs::read(&to).is_ok_and(|present| present == wanted) {
            continue;
        }
        let folder = to.parent().unwrap_or(copy);
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::copy(&from, &to).with_context(|| format!("cannot write {}", to.display()))?;
    }
    if copy.exists() {
        for stale in workspace::files(copy)?.iter().filter(|file| files.binary_search(file).is_err()) {
            fs::remove_file(copy.join(stale))?;
        }
    }
    Ok(())
}
