//! The JSON form of whole SDFGs: a versioned wire schema for tools. People read the [text form](crate::text).
//!
//! The schema has its own types (`schema`), which serde reads and writes. `write` and `read` convert from and
//! to the graph. Therefore a change of the graph's types does not change files, and one place checks every
//! name in a file. Source locations are not stored.

mod error;
mod read;
mod schema;
mod write;

#[cfg(test)]
mod tests;

pub use error::{JsonError, JsonProblem};

use crate::ir::Sdfg;

/// The `format` of every document.
const FORMAT: &str = "sdfg";

/// The version that is written. Version 1 is the same but for the attributes of schedules, which every schedule had.
const VERSION: u64 = 2;

/// The versions that are read.
const READ: std::ops::RangeInclusive<u64> = 1..=VERSION;

/// The document of an SDFG, indented and ended by a line end; equal graphs give equal bytes.
pub fn to_string(sdfg: &Sdfg) -> String {
    let document = schema::Document { format: FORMAT.to_owned(), version: VERSION, sdfg: write::sdfg(sdfg) };
    // The schema holds strings, numbers and lists only, which always have a JSON form.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Reads a document of a known version.
///
/// The result may still be wrong in every way that `sdfg::validate` finds.
///
/// # Errors
/// The first thing that is wrong: no JSON, another format or version, a field that is unknown or missing, a text that is
/// no expression, a name or index that nothing has.
pub fn parse(text: &str) -> Result<Sdfg, JsonError> {
    let header: schema::Header = serde_json::from_str(text)?;
    match (header.format.as_deref(), header.version) {
        (Some(FORMAT), Some(version)) if READ.contains(&version) => {}
        (Some(FORMAT), found) => {
            return Err(JsonError::UnknownVersion { found, first: *READ.start(), last: *READ.end() });
        }
        (found, _) => return Err(JsonError::OtherFormat { found: found.map(str::to_owned) }),
    }
    let document: schema::Document = serde_json::from_str(text)?;
    read::sdfg(&document)
}
