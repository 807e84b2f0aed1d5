//! What external tasklets bring: C sources to compile, and libraries to find.
//!
//! Running these is the user's decision; callers of this crate ask before they compile or load a program that has any.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sdfg::tasklet::ExternalOrigin;
use tempfile::TempDir;

use super::error::LinkError;
use super::libraries;
use super::output;

/// Objects and libraries of external tasklets, ready to be linked or loaded.
#[derive(Debug, Default)]
pub(crate) struct Externals {
    /// Object files of compiled sources.
    pub(crate) objects: Vec<PathBuf>,
    /// Shared libraries: paths where they were found, else names as `-l` takes them.
    pub(crate) libraries: Vec<Library>,
    /// Holds the object files.
    _folder: Option<TempDir>,
}

/// A shared library of an external tasklet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// A file.
    Found(PathBuf),
    /// Not in any known folder; the linker or loader may know better.
    Named(String),
}

impl Externals {
    /// Compiles sources and finds libraries.
    pub(crate) fn prepare(origins: &[ExternalOrigin]) -> Result<Self, LinkError> {
        let mut externals = Externals::default();
        let failed = |source| LinkError::Write { path: std::env::temp_dir(), source };
        for (index, origin) in origins.iter().enumerate() {
            if let ExternalOrigin::Library(name) = origin {
                externals.libraries.push(match libraries::find_by_link_name(name) {
                    Some(path) => Library::Found(path),
                    None => Library::Named(name.clone()),
                });
                continue;
            }
            let folder = match externals._folder.take() {
                Some(folder) => folder,
                None => tempfile::Builder::new().prefix("sdfg-").tempdir().map_err(failed)?,
            };
            let object = folder.path().join(format!("external{index}.o"));
            match origin {
                ExternalOrigin::Library(_) => {}
                ExternalOrigin::File(path) => compile(Path::new(path), &object)?,
                ExternalOrigin::Source(text) => {
                    let source = folder.path().join(format!("external{index}.c"));
                    output::write_file(&source, text.as_bytes())?;
                    compile(&source, &object)?;
                }
            }
            externals.objects.push(object);
            externals._folder = Some(folder);
        }
        Ok(externals)
    }
}

/// Compiles a C file with the compiler of the variable `CC`, else the system's.
fn compile(source: &Path, object: &Path) -> Result<(), LinkError> {
    let compiler = match std::env::var_os("CC").filter(|name| !name.is_empty()) {
        Some(compiler) => PathBuf::from(compiler),
        None => PathBuf::from("cc"),
    };
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-fPIC", "-c", "-o"]).arg(object).arg(source).stdin(Stdio::null());
    super::linker::run(&compiler, command)
}
