//! Writes compiled programs to files: objects, static libraries and shared libraries.
//!
//! Every file is published atomically and contains no paths, times or addresses of this machine.

mod blas;
mod compiler;
mod error;
mod external;
mod libraries;
mod linker;
mod output;

use std::ffi::OsString;
use std::io::{self, Cursor, Write};
use std::path::Path;

use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream};
use tempfile::NamedTempFile;

pub use blas::BlasLibraries;
pub use error::LinkError;
pub(crate) use error::quoted;
pub use linker::LINKER_VARIABLE;
pub use output::{check_writable, write_file};
pub(crate) use sdfg::file::{folder_of, unmade};

use crate::object::ObjectCode;
pub(crate) use compiler::{EXTENSION as EXTERNAL_EXTENSION, Form, is_whole, keep};
pub(crate) use external::{Externals, Library};
use linker::{Flavour, Linker};
pub(crate) use linker::{on_path, run as run_program};
pub(crate) use output::Output;

/// Links `object` to a shared library at `path`, whose file name becomes the name that programs ask for.
///
/// The linker is that of the variable `SDFG_LINKER`, else the first of a C compiler, `ld`, `lld` and the linker of the Rust
/// toolchain.
///
/// # Errors
/// Every [`LinkError`].
pub fn shared_library(object: &ObjectCode, path: &Path) -> Result<(), LinkError> {
    let failed = |source| LinkError::Write { path: path.to_owned(), source };
    let name = path
        .file_name()
        .ok_or_else(|| failed(io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file")))?;
    let linker = Linker::find()?;
    let inputs = program_files(object)?;
    let result = Output::new(path)?;

    let mut command = linker.command();
    let mut soname = OsString::new();
    // The runtime of a sanitizer is the process's: libraries have none of their own.
    let is_complete = object.requirements.sanitizer.is_none();
    match linker.flavour {
        Flavour::Driver => {
            soname.push("-Wl,-soname,");
            soname.push(name);
            command.arg("-shared").arg(soname).args(is_complete.then_some("-Wl,-z,defs"));
            command.arg("-Wl,--as-needed");
        }
        Flavour::Bare | Flavour::GenericLld => {
            soname.push("-soname=");
            soname.push(name);
            command.arg("-shared").arg(soname);
            command.args(is_complete.then_some(["-z", "defs"]).into_iter().flatten()).arg("--as-needed");
        }
    }
    command.arg("-o").arg(result.temporary()).args(inputs.iter().map(NamedTempFile::path));
    let runtime = runtime_files(object)?;
    command.args(runtime.iter().map(NamedTempFile::path));
    let externals = Externals::prepare(&object.requirements, Form::Object)?;
    command.args(&externals.objects);
    for library in &externals.libraries {
        match library {
            Library::Found(path) => command.arg(path),
            Library::Named(name) => command.arg(format!("-l{name}")),
        };
    }
    match linker.flavour {
        _ if !externals.needs_cpp => {}
        Flavour::Driver => {
            command.arg("-lstdc++");
        }
        Flavour::Bare | Flavour::GenericLld => {
            command.arg(libraries::system("libstdc++.so.6")?).arg(libraries::system("libgcc_s.so.1")?);
        }
    }
    if object.requirements.openmp {
        command.arg(libraries::openmp(&linker, object.requirements.sanitizer)?);
    }
    if object.requirements.vector_mathematics {
        command.arg(libraries::system("libmvec.so.1")?);
    }
    match linker.flavour {
        Flavour::Driver => {
            command.arg("-lm");
        }
        Flavour::Bare | Flavour::GenericLld => {
            command.arg(libraries::system("libm.so.6")?).arg(libraries::system("libc.so.6")?);
        }
    }
    linker::run(&linker.program, command).map_err(linker::what_is_missing)?;
    if std::fs::metadata(result.temporary()).is_ok_and(|written| written.len() == 0) {
        return Err(LinkError::NoOutput { program: linker.program.display().to_string() });
    }
    result.persist()
}

/// The object file of a program with what it needs of this project's runtime, for a linker of the user's.
///
/// # Errors
/// As [`shared_library`].
pub fn relocatable(object: &ObjectCode) -> Result<Vec<u8>, LinkError> {
    if let ([only], None) = (object.files(), object.requirements.runtime_objects().next()) {
        return Ok(only.clone());
    }
    let failed = |source| LinkError::Write { path: "an object in the temporary folder".into(), source };
    let linker = Linker::find()?;
    let inputs = program_files(object)?;
    let runtime = runtime_files(object)?;
    let output = tempfile::Builder::new().prefix("sdfg-").suffix(".o").tempfile().map_err(failed)?;
    let mut command = linker.command();
    command.arg("-r");
    if linker.flavour == Flavour::Driver {
        command.arg("-nostdlib");
    }
    command.arg("-o").arg(output.path()).args(inputs.iter().map(NamedTempFile::path));
    command.args(runtime.iter().map(NamedTempFile::path));
    linker::run(&linker.program, command)?;
    std::fs::read(output.path()).map_err(failed)
}

/// Writes `object`, and what was compiled for its external tasklets, as a static library with a symbol index at `path`.
///
/// # Errors
/// [`LinkError::Write`], or the C compiler's failure.
pub fn static_library(object: &ObjectCode, path: &Path) -> Result<(), LinkError> {
    let failed = |source| LinkError::Write { path: path.to_owned(), source };
    let externals = Externals::prepare(&object.requirements, Form::Object)?;
    let mut members = Vec::new();
    for (name, bytes) in object.named_files() {
        members.push(NewArchiveMember::new(bytes, &DEFAULT_OBJECT_READER, format!("{name}.o")));
    }
    for (name, bytes) in object.requirements.runtime_objects() {
        members.push(NewArchiveMember::new(bytes, &DEFAULT_OBJECT_READER, format!("sdfg-{name}.o")));
    }
    for (index, external) in externals.objects.iter().enumerate() {
        let bytes = std::fs::read(external).map_err(failed)?;
        members.push(NewArchiveMember::new(bytes, &DEFAULT_OBJECT_READER, format!("external{index}.o")));
    }
    let mut bytes = Cursor::new(Vec::new());
    write_archive_to_stream(&mut bytes, &members, ArchiveKind::Gnu, false, None).map_err(failed)?;
    write_file(path, bytes.get_ref())
}

/// The objects of a program, as files.
fn program_files(object: &ObjectCode) -> Result<Vec<NamedTempFile>, LinkError> {
    object.named_files().map(|(name, bytes)| object_file(&name, bytes)).collect()
}

/// The objects of this project's runtime that a program needs, as files.
fn runtime_files(object: &ObjectCode) -> Result<Vec<NamedTempFile>, LinkError> {
    object.requirements.runtime_objects().map(|(name, bytes)| object_file(name, bytes)).collect()
}

/// A file with an object, which goes when its name does.
fn object_file(name: &str, bytes: &[u8]) -> Result<NamedTempFile, LinkError> {
    let folder = std::env::temp_dir();
    let failed =
        |source: &io::Error| LinkError::Write { path: folder.clone(), source: unmade(source, &folder) };
    let mut builder = tempfile::Builder::new();
    let named = builder.prefix(&format!("sdfg-{name}-")).suffix(".o").tempfile_in(&folder);
    let mut file = named.map_err(|source| failed(&source))?;
    file.write_all(bytes).map_err(|source| failed(&source))?;
    Ok(file)
}
