//! Writes results: atomic files, and the standard output.

use std::io::Write;
use std::path::Path;

use sdfg_codegen::link::{LinkError, check_writable, write_file};

use crate::failure::Failure;

/// The destination of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The standard output.
    #[default]
    Stdout,
    /// A file.
    File(String),
}

impl Destination {
    /// `-` or nothing is the standard output.
    pub(crate) fn new(path: Option<&str>) -> Self {
        match path {
            None | Some("-") => Destination::Stdout,
            Some(path) => Destination::File(path.to_owned()),
        }
    }

    /// Refuses what cannot be written, before any work is done for it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Destination::Stdout => Ok(()),
            Destination::File(path) if path.is_empty() => {
                Err(Failure::usage("the name of an output is empty")
                    .help("name a file, or `-` for the standard output"))
            }
            Destination::File(path) => check_writable(Path::new(path)).map_err(|error| unwritten(&error)),
        }
    }

    pub(crate) fn write(&self, contents: &[u8]) -> Result<(), Failure> {
        match self {
            Destination::Stdout => print(contents),
            Destination::File(path) => {
                write_file(Path::new(path), contents).map_err(|error| unwritten(&error))
            }
        }
    }
}

/// Refuses to replace the program by what is made of it.
pub(crate) fn refuse_program(program: &str, output: Option<&str>) -> Result<(), Failure> {
    let file = |path: &str| std::fs::canonicalize(path).ok().filter(|path| path.is_file());
    match output.filter(|path| *path != "-" && program != "-") {
        Some(output) if file(output).is_some_and(|found| file(program) == Some(found)) => {
            Err(Failure::usage(format_args!("`{output}` is the program itself, which would be lost"))
                .help("name another file for the output"))
        }
        Some(_) | None => Ok(()),
    }
}

/// An error of writing a file.
pub(crate) fn unwritten(error: &LinkError) -> Failure {
    let is_full = match error {
        LinkError::Write { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
        _ => false,
    };
    let help = if is_full {
        "make room, or name another place"
    } else {
        "check that the folder exists and may be written to"
    };
    Failure::usage(error).help(help)
}

/// Writes to the standard output.
pub(crate) fn print(contents: &[u8]) -> Result<(), Failure> {
    shown(std::io::stdout().lock().write_all(contents))
}

/// The result of writing to the standard output. A closed output means that the reader has read enough.
pub(crate) fn shown(written: std::io::Result<()>) -> Result<(), Failure> {
    match written.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::usage(format_args!("cannot write to the standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
