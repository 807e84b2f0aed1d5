//! Parts of arguments: the elements that a rank of a distributed program holds, and their way to files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sdfg::npy::{FileError, NpyWriter};
use sdfg::symbolic::Symbol;
use sdfg::tensor::Tensor;

use crate::failure::Failure;

/// Elements of arguments that a process holds.
pub(crate) trait Parts {
    /// Whether it holds a part of this argument.
    fn is_part(&self, argument: &str) -> bool;

    /// The positions that it holds of an argument; `None` for all.
    fn held(
        &self,
        argument: &str,
        symbols: &BTreeMap<Symbol, i64>,
    ) -> Result<Option<Vec<Range<i64>>>, Failure>;
}

/// A process that holds everything.
pub(super) struct EveryElement;

impl Parts for EveryElement {
    fn is_part(&self, _: &str) -> bool {
        false
    }

    fn held(&self, _: &str, _: &BTreeMap<Symbol, i64>) -> Result<Option<Vec<Range<i64>>>, Failure> {
        Ok(None)
    }
}

/// A result of which each rank writes its own elements. It appears under its name when all have done so.
pub(crate) struct SharedOutput {
    path: PathBuf,
    temporary: PathBuf,
}

impl SharedOutput {
    /// A file that ranks can share; `None` for what is none, such as a pipe.
    pub(crate) fn at(path: &str) -> Option<Self> {
        if path == "-" {
            return None;
        }
        let found = std::fs::canonicalize(path).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return None;
        }
        let path = found.unwrap_or_else(|| PathBuf::from(path));
        let name = path.file_name()?.to_str()?;
        let temporary = path.with_file_name(format!(".sdfg-parts-{name}"));
        Some(SharedOutput { path, temporary })
    }

    /// Makes the file with its extents. Rank 0 does this, before the others write.
    pub(crate) fn create(&self, like: &Tensor, shape: &[i64]) -> Result<(), Failure> {
        NpyWriter::create(&self.temporary, like.element(), shape).map_err(|error| self.unwritten(&error))
    }

    /// Writes the own elements of a rank, out of what it holds from `first` on.
    pub(crate) fn write(
        &self,
        shape: &[i64],
        own: &[Range<i64>],
        held: &Tensor,
        first: &[i64],
    ) -> Result<(), Failure> {
        let file = NpyWriter::open(&self.temporary, held.element(), shape);
        let written = file.and_then(|file| file.write(own, held, first));
        written.map_err(|error| self.unwritten(&error))
    }

    /// Gives the file its name, or removes it where some rank failed. Rank 0 does this.
    pub(crate) fn finish(&self, is_complete: bool) -> Result<(), Failure> {
        if !is_complete {
            // The failure is told; what is left of the file is of no use.
            let _ = std::fs::remove_file(&self.temporary);
            return Ok(());
        }
        std::fs::rename(&self.temporary, &self.path).map_err(|error| self.unwritten(&FileError::Io(error)))
    }

    fn unwritten(&self, error: &FileError) -> Failure {
        Failure::usage(format_args!("cannot write {}: {error}", display(&self.path)))
            .help("check that the folder exists, may be written to, and is the same on all ranks")
    }
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
