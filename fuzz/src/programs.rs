//! Seed programs: the example programs and the file tests of the repository.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value as Json;

/// The root of the repository, for the fuzz targets and for the test that compiles this file.
fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    if own.join("fuzz").is_dir() { own } else { own.parent().unwrap_or(own) }
}

/// The text of every `.sdft` file, by path.
///
/// # Panics
/// When the folders cannot be read.
pub fn texts() -> Vec<(PathBuf, String)> {
    let root = root();
    let mut folders = vec![root.join("programs"), root.join("crates/filetest/filetests")];
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

/// DaCe's graphs of the repository that are small.
///
/// # Panics
/// When they cannot be read.
pub fn dace() -> &'static [Json] {
    static PROGRAMS: OnceLock<Vec<Json>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = root().join("crates/dace/tests/programs");
        let entries = std::fs::read_dir(folder).expect("the folder can be listed");
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.expect("its entries can be read").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "sdfg"));
        paths.sort();
        let contents = paths.iter().map(|path| std::fs::read(path).expect("programs can be read"));
        let small = contents.filter(|content| content.len() < 16_000);
        small.map(|content| serde_json::from_slice(&content).expect("programs are JSON")).collect()
    })
}
