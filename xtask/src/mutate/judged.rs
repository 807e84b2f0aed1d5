//! Mutations that change no behaviour, judged by hand, with the reason.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::draw::Mutation;

/// The list, relative to the workspace root.
const LIST: &str = "xtask/equivalent.toml";

/// A mutation without effect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Equivalent {
    file: PathBuf,
    /// As cargo-mutants writes it: `replace > with < in offsets`.
    change: String,
    /// The first line that changes.
    code: String,
    /// The reason why no test can find it.
    pub(super) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    mutation: Vec<Equivalent>,
}

/// Reads the list.
///
/// # Errors
/// If it is no such list.
pub(super) fn read(root: &Path) -> Result<Vec<Equivalent>> {
    let text = std::fs::read_to_string(root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    let List { mutation } = toml::from_str(&text).with_context(|| format!("cannot read {LIST}"))?;
    Ok(mutation)
}

impl Equivalent {
    /// Whether this is the mutation.
    pub(super) fn is(&self, mutation: &Mutation) -> bool {
        self.file == mutation.fault.file && self.change == mutation.change && self.code == mutation.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_follows_the_code() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for entry in read(root).unwrap() {
            let text = std::fs::read_to_string(root.join(&entry.file)).unwrap();
            let is_there = text.lines().any(|line| line.trim() == entry.code);
            assert!(is_there, "{LIST}: `{}` is no line of {}", entry.code, entry.file.display());
        }
    }
}
