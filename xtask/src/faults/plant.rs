//! Plants many faults behind switches and builds them at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Fault;
use super::suite::{Part, Suite};
use super::switch::{fault_at, places_in, with_switches};

/// The faults that one build contains.
pub(crate) struct Planted {
    /// The names of those behind switches.
    pub(crate) switched: BTreeSet<String>,
    /// The names of those that the compiler refuses.
    pub(crate) refused: BTreeSet<String>,
    /// The text of each changed file without faults.
    right: BTreeMap<PathBuf, String>,
}

impl Planted {
    /// Restores every changed file.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn take_back(&self, copy: &Path) -> Result<()> {
        for (file, text) in &self.right {
            fs::write(copy.join(file), text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }
}

/// Writes every fault that can be behind a switch into the copy and builds the tests.
///
/// # Errors
/// If the code does not build for another reason than a fault.
pub(crate) fn plant_together(
    faults: &[&Fault],
    part: &Part,
    copy: &Path,
    suite: &Suite<'_>,
) -> Result<Planted> {
    let mut files: BTreeMap<&Path, Vec<&Fault>> = BTreeMap::new();
    for fault in faults {
        files.entry(&fault.file).or_default().push(fault);
    }
    let mut planted = Planted { switched: BTreeSet::new(), refused: BTreeSet::new(), right: BTreeMap::new() };
    for file in files.keys() {
        let path = copy.join(file);
        let right = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        planted.right.insert(file.to_path_buf(), right);
    }
    loop {
        let texts = write(&files, &mut planted, copy)?;
        let Some(messages) = suite.messages_of_build(part)? else { return Ok(planted) };
        let mut is_changed = false;
        for (file, line) in places_in(&messages) {
            let Some(text) = texts.get(&file) else { continue };
            match fault_at(text, line) {
                Some(name) => is_changed |= planted.refused.insert(name.to_owned()),
                None => {
                    println!("==> no switches in {}", file.display());
                    is_changed |= files.remove(file.as_path()).is_some();
                }
            }
        }
        if !is_changed {
            planted.take_back(copy)?;
            bail!("the code does not build:\n{messages}");
        }
    }
}

/// Writes the faults that the compiler has not refused. The new texts of the files.
fn write(
    files: &BTreeMap<&Path, Vec<&Fault>>,
    planted: &mut Planted,
    copy: &Path,
) -> Result<BTreeMap<PathBuf, String>> {
    let mut texts = BTreeMap::new();
    planted.switched.clear();
    for (file, right) in &planted.right {
        let faults: Vec<&Fault> = files.get(file.as_path()).into_iter().flatten().copied().collect();
        let left: Vec<&Fault> =
            faults.into_iter().filter(|fault| !planted.refused.contains(&fault.name)).collect();
        let (text, names) = with_switches(right, &left);
        planted.switched.extend(names.into_iter().map(str::to_owned));
        let path = copy.join(file);
        // An equal file keeps its time, so that cargo does not build it again.
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        texts.insert(file.clone(), text);
    }
    Ok(texts)
}
