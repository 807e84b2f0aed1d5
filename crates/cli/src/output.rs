//! Writing results: files that appear whole or not at all, and the standard output.

use std::io::Write;
use std::path::Path;

use sdfg_codegen::link::{check_writable, write_file};

use crate::failure::Failure;

/// Where a result goes.
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

/// An error of writing a file.
pub(crate) fn unwritten(error: &dyn std::error::Error) -> Failure {
    Failure::usage(error).help("check that the folder exists and may be written to")
}

/// Writes to the standard output. Whoever closes it has read enough.
pub(crate) fn print(contents: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(contents).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::usage(format_args!("cannot write to the standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
