//! Files that appear whole or not at all: written beside their place under another name, then renamed.

use std::fs::Permissions;
use std::io::{self, Write};
use std::path::Path;

use tempfile::TempPath;

use super::error::LinkError;

/// Writes `contents` to `path`, replacing what is there.
///
/// # Errors
/// [`LinkError::Write`]; the old file is then untouched.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), LinkError> {
    write_with(path, |file| file.write_all(contents))
}

pub(super) fn write_with(
    path: &Path,
    write: impl FnOnce(&mut std::fs::File) -> io::Result<()>,
) -> Result<(), LinkError> {
    let failed = |source| LinkError::Write { path: path.to_owned(), source };
    let mut file = builder(0o666).tempfile_in(folder_of(path)).map_err(failed)?;
    write(file.as_file_mut()).map_err(failed)?;
    file.into_temp_path().persist(path).map_err(|error| failed(error.error))
}

/// The path of an empty file beside `path`, for a program that writes it; deleted unless it is persisted.
pub(super) fn beside(path: &Path) -> Result<TempPath, LinkError> {
    let file = builder(0o777).tempfile_in(folder_of(path));
    file.map(tempfile::NamedTempFile::into_temp_path)
        .map_err(|source| LinkError::Write { path: path.to_owned(), source })
}

/// The folder that holds `path`, so that the rename does not cross file systems.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Temporary files with the permissions of ordinary ones; the process's mask applies.
fn builder(mode: u32) -> tempfile::Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sdfg-").permissions(Permissions::from_mode(mode));
    builder
}
