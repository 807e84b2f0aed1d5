//! `cargo xtask faults`: mutation testing with a list of planted faults.
//!
//! A test suite is trustworthy if it fails for wrong code. Each fault of `faults.toml` is one small change.
//! The command plants faults in a copy of the working tree with a separate build folder, and runs the tests
//! there until one fails. Most faults are built at once, behind switches ([`switch`]); the others are planted
//! one at a time and reverted. The tests of the changed crate run first, then those of the crates that depend
//! on it. Both must pass without a fault beforehand. The command is slow, so `test` does not include it, but
//! `tidy` checks that every fault still applies.

mod list;
mod plant;
mod suite;
mod switch;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

pub(crate) use list::{Fault, LIST, read};
pub(crate) use plant::{Planted, plant_together};
pub(crate) use suite::{Outcome, Part, Suite, first_failure, parts};
pub(crate) use switch::{REACHED, VARIABLE};

use crate::{setup, step, workspace};

/// Plants the faults with one of these names, or all without a name, and runs the tests on each.
///
/// # Errors
/// When a name is unknown, the tests fail without a fault, a fault does not build, or more than one in twenty is missed.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    let (in_place, names): (Vec<&str>, Vec<&str>) =
        options.iter().partition(|option| **option == "--in-place");
    let root = workspace::root();
    let list = fs::read_to_string(root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    let faults = select(read(&list)?, &names)?;
    let tools = setup::run()?;
    let (copy, build) = ground(&root, !in_place.is_empty())?;
    let suite = Suite::new(&tools, &copy, build);

    let built = packages_of(&faults);
    let all: Vec<&Fault> = faults.iter().collect();
    let planted_together = plant_together(&all, &Part::of(built.clone(), built.clone()), &copy, &suite)?;
    let result = outcomes(&faults, &planted_together, &built, &copy, &suite);
    planted_together.take_back(&copy)?;
    result
}

/// Runs the tests on each fault.
fn outcomes(
    faults: &[Fault],
    together: &Planted,
    built: &[String],
    copy: &Path,
    suite: &Suite<'_>,
) -> Result<()> {
    let (mut missed, mut unbuilt) = (Vec::new(), Vec::new());
    let (first, last): (Vec<&Fault>, Vec<&Fault>) =
        faults.iter().partition(|fault| together.switched.contains(&fault.name));
    println!("==> {} faults in one build, {} by themselves", first.len(), last.len());
    let apart_from = first.len();
    for (index, fault) in first.into_iter().chain(last).enumerate() {
        if index == apart_from {
            together.take_back(copy)?;
        }
        let start = Instant::now();
        let outcome =
            if index < apart_from { switched(fault, suite, built) } else { planted(fault, copy, suite) }?;
        let verdict = match &outcome {
            Outcome::Found { by, .. } => format!("found by {by}"),
            Outcome::Missed => "MISSED".to_owned(),
            Outcome::DoesNotBuild(messages) => format!("DOES NOT BUILD\n{messages}"),
        };
        let seconds = start.elapsed().as_secs_f64();
        println!("{:>3}/{} {:40} {verdict} ({seconds:.0} s)", index + 1, faults.len(), fault.name);
        match outcome {
            Outcome::Found { .. } => {}
            Outcome::Missed => missed.push(fault),
            Outcome::DoesNotBuild(_) => unbuilt.push(fault.name.as_str()),
        }
    }
    let found = faults.len() - missed.len() - unbuilt.len();
    println!("\n{} faults planted, {found} found", faults.len() - unbuilt.len());
    for fault in &missed {
        println!("missed: {}: {}", fault.name, fault.about);
    }
    if !unbuilt.is_empty() {
        bail!("faults that do not build have to be corrected in {LIST}: {}", unbuilt.join(", "));
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

/// The packages whose tests may see one of these faults.
fn packages_of(faults: &[Fault]) -> Vec<String> {
    let packages: BTreeSet<String> = faults.iter().flat_map(|fault| parts(&fault.file)).flatten().collect();
    packages.into_iter().collect()
}

/// Runs the tests with the switch of the fault on, part by part until one fails. All packages of `built` have been.
fn switched(fault: &Fault, suite: &Suite<'_>, built: &[String]) -> Result<Outcome> {
    for of in parts(&fault.file) {
        let part = Part::of(of, built.to_vec());
        suite.must_pass(&part)?;
        let outcome = suite.outcome(&part, Some(&fault.name))?;
        if outcome != Outcome::Missed {
            return confirmed(outcome, suite);
        }
    }
    Ok(Outcome::Missed)
}

/// A machine that has other work to do is slow without any fault.
fn confirmed(outcome: Outcome, suite: &Suite<'_>) -> Result<Outcome> {
    match outcome {
        Outcome::Found { by, too_slow: true } if !suite.passes(&by)? => {
            bail!("{by} takes too long without a fault, too: let the machine have nothing else to do")
        }
        outcome => Ok(outcome),
    }
}

/// Runs the tests with the fault in place, part by part until one fails, and takes it back whatever they say.
fn planted(fault: &Fault, copy: &Path, suite: &Suite<'_>) -> Result<Outcome> {
    for of in parts(&fault.file) {
        let part = Part::of(of.clone(), of);
        suite.must_pass(&part)?;
        let path = copy.join(&fault.file);
        let right = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        fs::write(&path, fault.plant_in(&right)?)?;
        let outcome = suite.outcome(&part, None);
        fs::write(&path, right)?;
        let outcome = outcome?;
        if outcome != Outcome::Missed {
            return confirmed(outcome, suite);
        }
    }
    Ok(Outcome::Missed)
}

/// The tree in which faults are planted, and its build folder: a copy, or in place the tree itself.
///
/// # Errors
/// If the tree has changes that `git checkout` could not restore, or cannot be copied.
pub(crate) fn ground(root: &Path, in_place: bool) -> Result<(PathBuf, PathBuf)> {
    if in_place {
        let mut unchanged = Command::new("git");
        unchanged.args(["diff", "--quiet", "--", "crates", "src"]).current_dir(root);
        if !step::succeeds(&mut unchanged) {
            bail!("--in-place takes a tree without uncommitted changes, which `git checkout` can restore");
        }
        return Ok((root.to_path_buf(), workspace::target_folder()));
    }
    let copy = root.join("target/faults/tree");
    copy_tree(root, &copy)?;
    Ok((copy.clone(), copy.with_file_name("build")))
}

/// Brings a copy of the tree up to date. Equal files keep their times, so that cargo does not rebuild them.
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
