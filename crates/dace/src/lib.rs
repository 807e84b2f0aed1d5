//! Reader and writer of DaCe's `.sdfg` files.
//!
//! [`read`] accepts the bytes of a file, plain or compressed JSON, written by DaCe 0.13 to the 2.0 alphas. It
//! works in three steps. `wire` turns the bytes into a JSON tree. `decode` turns the tree into DaCe's own
//! model (`model`), with defaults filled in and texts parsed (`text`). `lower` turns the model into an
//! [`Sdfg`] and raises its state machines to loops and branches. An unsupported construct is an error with a
//! [`Code`] and a path. A property that is not honoured is a note. [`write()`] goes the opposite way (`lift`,
//! `model`, `encode`) and refuses programs that DaCe 1.0.2 cannot express. Decision record 12 has the
//! reasons.
#![forbid(unsafe_code)]

mod changed_sizes;
mod decode;
mod encode;
mod float_symbols;
mod lift;
mod lower;
mod model;
mod report;
mod sizing_scalars;
mod structures;
mod text;
mod vectors;
mod wire;
mod write;

use sdfg::ir::Sdfg;
use sdfg::ir::structure::CallerStructure;
use sdfg::symbolic::with_proof_cache;
use sdfg::tasklet::Dialect;

pub use report::{Code, Finding, Report};
pub use write::{Form, Unwritable, write};

use report::Log;

/// Options of reading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose arithmetic the code of tasklets means: in C, as DaCe compiles it, `/`, `//` and `%` of integers round towards
    /// zero; in Python they do as Python says.
    pub dialect: Dialect,
    /// Whether state machines become loops and branches where they have the form of one.
    pub raise: bool,
    /// Whether code in C++ that is more than assignments becomes external tasklets, which a C++ compiler compiles when the program
    /// is loaded, linked or interpreted. Such code may do whatever its user may; without, it is an error.
    pub allow_external: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { dialect: Dialect::C, raise: true, allow_external: false }
    }
}

/// A program that was read.
#[derive(Clone, Debug)]
pub struct Import {
    /// The graph; [`validate`](sdfg::validate::validate) says whether it is right.
    pub sdfg: Sdfg,
    /// Parts of the file that are not honoured; it contains no errors.
    pub report: Report,
    /// Structures that callers of DaCe's code pass in the place of arguments, in the order of the file.
    pub structures: Vec<CallerStructure>,
}

/// A file that is no program here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .report.errors().next().map_or_else(String::new, ToString::to_string))]
pub struct Refused {
    /// Everything that was found, at least one error.
    pub report: Report,
}

/// Whether bytes are a file of DaCe's: compressed, or a JSON object of type `SDFG` with attributes, or without a `format`.
///
/// Our own JSON form has a format and no attributes; so the content tells the two apart.
pub fn is_dace(bytes: &[u8]) -> bool {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return true;
    }
    let has = |key: &[u8]| bytes.windows(key.len()).any(|window| window == key);
    let text = bytes.trim_ascii_start();
    text.first() == Some(&b'{')
        && has(b"\"type\"")
        && has(b"\"SDFG\"")
        && (has(b"\"attributes\"") || !has(b"\"format\""))
}

/// Reads a file, compressed or not.
///
/// # Errors
/// [`Refused`] with everything that is wrong with the file or not supported.
pub fn read(bytes: &[u8], options: &Options) -> Result<Import, Refused> {
    let log = Log::default();
    let sdfg = with_proof_cache(|| read_into(bytes, options, &log));
    let (report, failed) = log.finish();
    match sdfg {
        Ok((sdfg, structures)) if !failed => Ok(Import { sdfg, report, structures }),
        _ => Err(Refused { report }),
    }
}

fn read_into(
    bytes: &[u8],
    options: &Options,
    log: &Log,
) -> Result<(Sdfg, Vec<CallerStructure>), report::Failed> {
    let not_a_file = |error: wire::WireError| log.error(Code::NotAFile, &"file", error.to_string());
    let text = wire::unfold(bytes).map_err(not_a_file)?;
    let document = wire::parse(&text).map_err(not_a_file)?;
    let mut decoded = decode::decode(&document, options.allow_external, log)?;
    let described = decoded.program.structures.clone();
    let passed = structures::flatten(&mut decoded.program, log)?;
    vectors::to_numbers(&mut decoded.program);
    float_symbols::to_scalars(&mut decoded.program, log)?;
    sizing_scalars::to_symbols(&mut decoded.program);
    changed_sizes::to_own_symbols(&mut decoded.program, log);
    let mut sdfg = lower::lower(&decoded, options, log)?;
    lower::sequential::order(&mut sdfg, log);
    if options.raise {
        sdfg::control::raise(&mut sdfg);
        lower::dynamic_sizes::resolve_sizes(&mut sdfg);
    } else {
        sdfg::propagate::propagate(&mut sdfg);
    }
    Ok((sdfg, structures::of_callers(&described, &passed)))
}
