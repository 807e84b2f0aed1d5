//! Writes results: atomic files, and the standard output.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

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

    /// Whether both are one place.
    fn is(&self, other: &Destination) -> bool {
        match (self, other) {
            (Destination::Stdout, Destination::Stdout) => true,
            (Destination::File(one), Destination::File(other)) => place(one) == place(other),
            (Destination::Stdout, Destination::File(_)) | (Destination::File(_), Destination::Stdout) => {
                false
            }
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

/// The place of a file that may not exist yet, however its path is spelled.
pub(crate) fn place(path: &str) -> PathBuf {
    let path = Path::new(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (std::fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Stdout => f.write_str("the standard output"),
            Destination::File(path) => write!(f, "`{path}`"),
        }
    }
}

/// Refuses outputs that cannot be written, and two at one place. The first one goes to the standard output without a name; others are
/// written if their options name a file.
pub(crate) fn check_outputs(first: Option<&str>, others: &[(&str, Option<&str>)]) -> Result<(), Failure> {
    let mut seen = vec![Destination::new(first)];
    seen[0].check()?;
    for (option, path) in others {
        let Some(place) = path.map(|path| Destination::new(Some(path))) else { continue };
        if seen.iter().any(|other| other.is(&place)) {
            return Err(Failure::usage(format_args!("two results cannot both be written to {place}"))
                .at(option)
                .help("give each a file of its own"));
        }
        place.check()?;
        seen.push(place);
    }
    Ok(())
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
