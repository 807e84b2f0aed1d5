//! Location of the workspace, and the files that belong to the project.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder of the root manifest.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), Path::to_path_buf)
}

/// Cargo's build folder. It also stores files that are fetched or created for tests and measurements.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Every file under `root` except for build output and git's files, as sorted paths relative to `root`.
///
/// It walks the tree instead of asking git, so that a source archive can be checked too.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(folder) = pending.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
            let kind =
                entry.file_type().with_context(|| format!("cannot look at {}", entry.path().display()))?;
            let name = entry.file_name();
            if kind.is_dir() && name != "target" && name != ".git" {
                pending.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path().strip_prefix(root).unwrap_or(&entry.path()).to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}
