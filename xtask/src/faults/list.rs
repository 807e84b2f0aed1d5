//! The list of faults: the change of each fault, and the check that it still applies.

use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The list, relative to the workspace root.
pub(crate) const LIST: &str = "xtask/faults.toml";

/// One small change that makes the code wrong.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    /// Short, unique, in words with hyphens.
    pub(crate) name: String,
    /// The wrong behaviour that the fault causes.
    pub(crate) about: String,
    /// The file, relative to the workspace root.
    pub(crate) file: PathBuf,
    /// Text that occurs there exactly once.
    find: String,
    /// The replacement.
    plant: String,
    /// The place of `find`, for a fault whose text occurs repeatedly.
    #[serde(skip)]
    at: Option<Range<usize>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    fault: Vec<Fault>,
}

/// Reads the list.
///
/// # Errors
/// If the text is not a list of faults, or two faults have one name.
pub(crate) fn read(text: &str) -> Result<Vec<Fault>> {
    let List { fault: faults } = toml::from_str(text).with_context(|| format!("cannot read {LIST}"))?;
    for (index, fault) in faults.iter().enumerate() {
        if faults[..index].iter().any(|other| other.name == fault.name) {
            bail!("two faults in {LIST} are named `{}`", fault.name);
        }
    }
    Ok(faults)
}

impl Fault {
    /// A fault at a known place of a text.
    pub(crate) fn at(
        name: String,
        about: String,
        file: PathBuf,
        place: (&str, Range<usize>),
        plant: &str,
    ) -> Self {
        let (text, range) = place;
        Self {
            name,
            about,
            file,
            find: text[range.clone()].to_owned(),
            plant: plant.to_owned(),
            at: Some(range),
        }
    }

    /// The text that replaces the found text.
    pub(crate) fn plant(&self) -> &str {
        &self.plant
    }

    /// The range of the text to replace, if it is known or a file contains the text exactly once.
    pub(crate) fn range_in(&self, text: &str) -> Option<Range<usize>> {
        if let Some(range) = &self.at {
            return (text.get(range.clone()) == Some(&self.find)).then(|| range.clone());
        }
        let mut places = text.match_indices(&self.find);
        let (at, found) = places.next()?;
        places.next().is_none().then_some(at..at + found.len())
    }

    /// The text of the file with the fault planted.
    ///
    /// # Errors
    /// If the text to replace does not occur exactly once: the code has changed, and the fault must follow.
    pub(crate) fn plant_in(&self, text: &str) -> Result<String> {
        if let Some(range) = self.range_in(text) {
            return Ok([&text[..range.start], &self.plant, &text[range.end..]].concat());
        }
        let count = text.matches(&self.find).count();
        bail!("the text that fault `{}` replaces occurs {count} times, not once", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "[[fault]]\nname = 'a'\nabout = 'x'\nfile = 'f.rs'\nfind = 'i + 1'\nplant = 'i'\n";

    #[test]
    fn a_fault_is_planted_where_its_text_is_and_nowhere_else() {
        let faults = read(LIST).unwrap();
        assert_eq!(faults[0].plant_in("f(i + 1)").unwrap(), "f(i)");
        assert!(faults[0].plant_in("f(i)").is_err());
        assert!(faults[0].plant_in("f(i + 1, i + 1)").is_err());
    }

    #[test]
    fn names_are_unique() {
        assert!(read(&format!("{LIST}{LIST}")).is_err());
    }
}
