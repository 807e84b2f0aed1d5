//! Requirements of external tasklets: C and C++ sources to compile, and libraries to find.
//!
//! Running external code is the user's decision. Callers of this crate ask for it before they compile or load
//! a program that has external tasklets.

use std::path::{Path, PathBuf};

use sdfg::tasklet::ExternalOrigin;
use tempfile::TempDir;

use super::compiler::{Form, compile_c, compile_cpp};
use super::error::LinkError;
use super::libraries;
use super::output;
use crate::object::Requirements;

/// Objects and libraries of external tasklets, ready to be linked or loaded.
#[derive(Debug, Default)]
pub(crate) struct Externals {
    /// Object files of compiled sources.
    pub(crate) objects: Vec<PathBuf>,
    /// Shared libraries: paths where they were found, else names as `-l` takes them.
    pub(crate) libraries: Vec<Library>,
    /// Whether there are objects that need the standard library of C++.
    pub(crate) needs_cpp: bool,
    /// Holds the files.
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
    /// Compiles sources and finds libraries. Sources in C++ take the form that is asked for.
    pub(crate) fn prepare(requirements: &Requirements, form: Form) -> Result<Self, LinkError> {
        let mut externals = Externals::default();
        let failed = |source| LinkError::Write { path: std::env::temp_dir(), source };
        for (index, origin) in requirements.externals.iter().enumerate() {
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
                ExternalOrigin::Library(_) | ExternalOrigin::Callback => {}
                ExternalOrigin::File(path) => {
                    compile_c(Path::new(path), &object, requirements)?;
                    externals.objects.push(object);
                }
                ExternalOrigin::Source(text) => {
                    let source = folder.path().join(format!("external{index}.c"));
                    output::write_file(&source, text.as_bytes())?;
                    compile_c(&source, &object, requirements)?;
                    externals.objects.push(object);
                }
                ExternalOrigin::Cpp(text) => {
                    let name = format!("external{index}");
                    let file = compile_cpp(text, form, requirements, folder.path(), &name)?;
                    match form {
                        Form::Object => externals.objects.push(file),
                        Form::Library => externals.libraries.push(Library::Found(file)),
                    }
                    externals.needs_cpp |= form == Form::Object;
                }
            }
            externals._folder = Some(folder);
        }
        Ok(externals)
    }
}
