//! Output files that are written whole or not at all, with errors that name the path.

use std::path::{Path, PathBuf};

use sdfg::file;

use super::error::LinkError;

/// Writes `contents` to `path`, replacing the regular file that is there.
///
/// # Errors
/// [`LinkError::Write`]; the old file is then untouched.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), LinkError> {
    file::write(path, contents).map_err(failed(path))
}

/// Whether [`write_file`] could write to `path` now, so that long work is not done in vain. Nothing is changed.
///
/// # Errors
/// [`LinkError::Write`] if a folder is there, or no file can be made beside it.
pub fn check_writable(path: &Path) -> Result<(), LinkError> {
    file::check_writable(path).map_err(failed(path))
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> LinkError {
    let path = path.to_owned();
    |source| LinkError::Write { path, source }
}

/// An empty file for a program that writes it, whose contents then go to a path; deleted unless it does.
pub(crate) struct Output {
    path: PathBuf,
    file: file::Output,
}

impl Output {
    /// The output for `path`.
    pub(crate) fn new(path: &Path) -> Result<Self, LinkError> {
        let file = file::Output::new(path).map_err(failed(path))?;
        Ok(Output { path: path.to_owned(), file })
    }

    /// The file to write.
    pub(crate) fn temporary(&self) -> &Path {
        self.file.temporary()
    }

    /// Makes the path have what was written.
    pub(crate) fn persist(self) -> Result<(), LinkError> {
        self.file.persist().map_err(failed(&self.path))
    }
}
