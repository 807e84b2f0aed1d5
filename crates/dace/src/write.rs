//! Writes our graph as a `.sdfg` file in the form of DaCe 1.0.2.

use sdfg::control;
use sdfg::ir::Sdfg;

use crate::report::{Log, Report};
use crate::{encode, lift, wire};

/// Form of the bytes of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// JSON as a text.
    #[default]
    Plain,
    /// JSON, compressed by gzip; DaCe reads it by the same functions.
    Compressed,
}

/// A program that DaCe cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .report.errors().next().map_or_else(String::new, ToString::to_string))]
pub struct Unwritable {
    /// Everything that cannot be said there, at least one error.
    pub report: Report,
}

/// Writes a graph, which must be valid, as a file that DaCe 1.0.2 loads, validates and compiles to a program with the same
/// results, and that [`read`](crate::read) makes the same graph of.
///
/// Loops and branches become states and edges between them, which `read` raises again. The bytes depend on the graph alone.
///
/// # Errors
/// [`Unwritable`] with everything that DaCe 1.0.2 cannot say or would compute otherwise.
pub fn write(sdfg: &Sdfg, form: Form) -> Result<Vec<u8>, Unwritable> {
    let mut lowered = sdfg.clone();
    control::lower(&mut lowered);
    let log = Log::default();
    let program = lift::lift(&lowered, &log);
    let (report, failed) = log.finish();
    match program {
        Ok(program) if !failed => {
            let bytes = wire::to_bytes(&encode::document(&program));
            Ok(match form {
                Form::Plain => bytes,
                Form::Compressed => wire::compressed(&bytes),
            })
        }
        _ => Err(Unwritable { report }),
    }
}
