//! Cache of compiled objects, addressed by content.
//!
//! The name of an object is a hash of everything that its bytes depend on: the plan, every option, the
//! processor with its features, LLVM's version and the compiler itself. Therefore entries never become stale,
//! and two programs with the same name do not collide. Objects are published atomically and carry a hash of
//! their contents. Processes may share a cache folder, and damaged objects are compiled again. A cache that
//! cannot be read or written makes compilation slower; it never causes an error or a wrong result.

#[cfg(feature = "llvm")]
mod objects;
#[cfg(all(test, feature = "llvm"))]
mod tests;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use crate::link::EXTERNAL_EXTENSION;

/// Suffix of object names. Nothing else in the folder is touched, except compiled C++ sources of external
/// tasklets and kernels.
const EXTENSION: &str = "sdfg-object";

/// Suffix of images of kernels, which compiled programs keep (`crates/runtime/src/device/cache.h`).
const KERNELS_EXTENSION: &str = "sdfg-kernels";

/// Prefix and suffix of files that are being written, which identify the remains of a killed writer.
const UNFINISHED: (&str, &str) = (".sdfg-", ".unfinished");

/// The variable that names the folder of the user's cache; empty for none.
pub const VARIABLE: &str = "SDFG_CACHE";

/// A folder of compiled objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

/// Contents of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Number of objects.
    pub objects: u64,
    /// Number of files that are being written, or were when their writer was killed.
    pub unfinished: u64,
    /// The size of all of them on disk.
    pub bytes: u64,
}

impl Contents {
    fn add(&mut self, entry: &Entry) {
        *(if entry.is_unfinished { &mut self.unfinished } else { &mut self.objects }) += 1;
        self.bytes += entry.bytes;
    }
}

/// An object in the folder, or what becomes one.
struct Entry {
    path: PathBuf,
    bytes: u64,
    #[cfg_attr(
        not(feature = "llvm"),
        expect(dead_code, reason = "decides which objects go when one is added")
    )]
    used: SystemTime,
    is_unfinished: bool,
}

impl Cache {
    /// The cache in a folder, which is made when the first object is put into it.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Cache { folder: folder.into() }
    }

    /// The user's cache: in the folder that [`VARIABLE`] names, else in `sdfg` in `$XDG_CACHE_HOME`, else in `~/.cache`.
    /// `None` if the variable is empty, or there is no home.
    pub fn of_user() -> Option<Self> {
        let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
        if let Some(folder) = folder(VARIABLE) {
            return (!folder.as_os_str().is_empty()).then(|| Cache::in_folder(folder));
        }
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let base = folder("XDG_CACHE_HOME").and_then(absolute);
        let base = base.or_else(|| Some(folder("HOME").and_then(absolute)?.join(".cache")));
        Some(Cache::in_folder(base?.join("sdfg")))
    }

    /// The folder of the objects.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Current contents; nothing if the folder does not exist.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn contents(&self) -> io::Result<Contents> {
        let mut contents = Contents::default();
        self.entries()?.iter().for_each(|entry| contents.add(entry));
        Ok(contents)
    }

    /// Removes every object, and what is unfinished; the answer is what there was. A process that is writing an object just now does not keep it.
    ///
    /// # Errors
    /// When the folder cannot be read, or an object not be removed.
    pub fn clear(&self) -> io::Result<Contents> {
        let mut removed = Contents::default();
        for entry in self.entries()? {
            remove(&entry.path)?;
            removed.add(&entry);
        }
        Ok(removed)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let folder = match self.folder.read_dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            folder => folder?,
        };
        let mut entries = Vec::new();
        for entry in folder {
            let path = entry?.path();
            let is_unfinished = is_unfinished(&path);
            let is_object = path.extension().is_some_and(|found| {
                found == EXTENSION || found == EXTERNAL_EXTENSION || found == KERNELS_EXTENSION
            });
            if !is_object && !is_unfinished {
                continue;
            }
            // Another process may have removed it meanwhile.
            if let Ok(metadata) = path.metadata() {
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                entries.push(Entry { path, bytes: metadata.len(), used, is_unfinished });
            }
        }
        Ok(entries)
    }
}

/// An empty file that will be one of the folder.
fn unfinished(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let (prefix, suffix) = UNFINISHED;
    tempfile::Builder::new().prefix(prefix).suffix(suffix).tempfile_in(folder)
}

/// Whether a file has a name of those that are being written.
fn is_unfinished(path: &Path) -> bool {
    let (prefix, suffix) = UNFINISHED;
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(prefix) && name.ends_with(suffix))
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Writes a file of a folder, whole or not at all, also where other processes write the same one. The folder is made if it is not there.
pub(crate) fn put(folder: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = unfinished(folder)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// Notes that a file was used now. Where that cannot be noted, it is removed earlier.
pub(crate) fn count_as_used(path: &Path) {
    if let Ok(file) = std::fs::File::options().append(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// A hash as a file's name.
pub(crate) fn hex(hash: Sha256) -> String {
    let mut name = String::new();
    for byte in hash.finalize() {
        let _ = write!(name, "{byte:02x}");
    }
    name
}
