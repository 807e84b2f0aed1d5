//! The programs that fuzzing starts from: those of the repository and of its file tests.

use std::path::{Path, PathBuf};

/// The text of every `.sdft` file, by path.
///
/// # Panics
/// When the folders cannot be read.
pub fn texts() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![root.join("programs"), root.join("crates/sdfg/filetests")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("its entries can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sdft") {
                let text = std::fs::read_to_string(&path).expect("programs are texts");
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}
