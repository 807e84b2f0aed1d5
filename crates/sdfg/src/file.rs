//! Atomic output files: written under a temporary name in the same folder, then renamed.
//!
//! A rename replaces the entry at a path. Therefore it applies only to regular files, after symbolic links
//! were resolved. Pipes and devices are kept and written to directly.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

/// Symbolic links that are followed from a path: as many as Linux follows.
const MAX_LINKS: usize = 40;

/// Writes `contents` to `path`, replacing the regular file that is there. The new file has the permissions of the old one.
///
/// # Errors
/// That of the system; the old file is then untouched.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    match PathEntry::of(path)? {
        PathEntry::File(file) => {
            let mut temporary = beside(&file, 0o666)?;
            temporary.write_all(contents)?;
            if let Ok(old) = fs::metadata(&file) {
                temporary.as_file().set_permissions(old.permissions())?;
            }
            temporary.into_temp_path().persist(file).map_err(|error| error.error)
        }
        PathEntry::Special => write_through(path, contents),
    }
}

/// Whether [`write()`] could write to `path` now, so that long work is not done in vain. Nothing is changed.
///
/// # Errors
/// That of the system if a folder is there, or no file can be made beside it.
pub fn check_writable(path: &Path) -> io::Result<()> {
    match PathEntry::of(path)? {
        PathEntry::File(file) => beside(&file, 0o600).map(drop),
        PathEntry::Special if path.is_dir() => {
            Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"))
        }
        // A pipe without a reader would keep whoever opens it waiting.
        PathEntry::Special => Ok(()),
    }
}

/// An empty file for a program that writes it, whose contents then go to a path; deleted unless it does.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    place: PathEntry,
    temporary: TempPath,
}

impl Output {
    /// The output for `path`.
    ///
    /// # Errors
    /// That of the system if no file can be made.
    pub fn new(path: &Path) -> io::Result<Self> {
        let place = PathEntry::of(path)?;
        let temporary = match &place {
            PathEntry::File(file) => beside(file, 0o777),
            PathEntry::Special => tempfile::Builder::new().prefix("sdfg-").tempfile(),
        };
        Ok(Output { path: path.to_owned(), place, temporary: temporary?.into_temp_path() })
    }

    /// The file to write.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Makes the path have what was written.
    ///
    /// # Errors
    /// That of the system.
    pub fn persist(self) -> io::Result<()> {
        match self.place {
            PathEntry::File(file) => self.temporary.persist(file).map_err(|error| error.error),
            PathEntry::Special => write_through(&self.path, &fs::read(&self.temporary)?),
        }
    }
}

/// The entry at a path.
#[derive(Debug)]
enum PathEntry {
    /// A regular file or nothing yet, at the end of all symbolic links.
    File(PathBuf),
    /// A pipe, a device or a socket. A folder counts, too: writing to it fails with the right words.
    Special,
}

impl PathEntry {
    fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let Ok(found) = fs::symlink_metadata(&path) else { return Ok(PathEntry::File(path)) };
            if !found.is_symlink() {
                return Ok(if found.is_file() { PathEntry::File(path) } else { PathEntry::Special });
            }
            // A target that is not absolute is relative to the folder of its link.
            path = folder_of(&path).join(fs::read_link(&path)?);
        }
        Err(io::Error::other("its symbolic links do not end"))
    }
}

fn write_through(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).open(path)?;
    file.write_all(contents)
}

/// A file in the folder of `path`, so that the rename does not cross file systems, with the permissions of an ordinary
/// one; the process's mask applies.
fn beside(path: &Path, mode: u32) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sdfg-").permissions(Permissions::from_mode(mode));
    builder.tempfile_in(folder_of(path)).map_err(|error| unmade(&error, folder_of(path)))
}

/// The error of a temporary file or folder in `folder`, which nobody has heard of, as one of the folder.
pub fn unmade(error: &io::Error, folder: &Path) -> io::Error {
    let shown = folder.display();
    let text = match error.kind() {
        io::ErrorKind::NotFound if !folder.is_dir() => format!("there is no folder `{shown}`"),
        io::ErrorKind::NotADirectory => format!("`{shown}` is no folder"),
        io::ErrorKind::PermissionDenied => format!("nothing may be written to the folder `{shown}`"),
        kind => format!("the folder `{shown}` takes no file ({kind})"),
    };
    io::Error::new(error.kind(), text)
}

/// The folder of a path; the present one for a name alone.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A file that only its owner reads stays one, and a link stays a link.
    #[test]
    fn replaced_files_keep_their_permissions() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("own"), folder.path().join("link"));
        fs::write(&file, "old").expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("permissions");
        symlink("own", &link).expect("a link");
        for (path, text) in [(&file, "new"), (&link, "newer")] {
            write(path, text.as_bytes()).expect("it is written");
            let mode = fs::metadata(&file).expect("a file").permissions().mode();
            assert_eq!((fs::read_to_string(&file).expect("text"), mode & 0o777), (text.to_owned(), 0o600));
        }
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    }
}
