//! The bytes of a `.sdfg` file as a JSON tree that keeps the order of keys.
//!
//! This layer does not depend on DaCe: it handles gzip or plain bytes, UTF-8 and JSON. The order of keys
//! matters because assignments between states take effect in that order.

mod document;
mod json;
mod object;
mod place;
mod scan;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::MultiGzDecoder;

pub(crate) use document::{Document, List, Value};
pub(crate) use json::{Json, whole_factor};
pub(crate) use object::Object;
pub(crate) use place::{Path, Place};
pub(crate) use write::{compressed, to_bytes};

/// The most bytes that a compressed file may unfold to.
const LARGEST: u64 = 1 << 32;

/// Why bytes are no JSON document.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// The compressed data is damaged or ends early.
    #[error("the gzip data is damaged: {0}")]
    Gzip(std::io::Error),
    /// A small file that would fill the memory.
    #[error("the gzip data unfolds to more than {LARGEST} bytes")]
    TooLarge,
    /// Not JSON, or nested deeper than 128 levels.
    #[error("the text is no JSON: {0}")]
    Json(serde_json::Error),
}

/// The text of a file, unfolded if it is compressed, whatever its name was.
///
/// # Errors
/// Damaged gzip data.
pub(crate) fn unfold(bytes: &[u8]) -> Result<Cow<'_, [u8]>, WireError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    // The file ends with the length of what it unfolds to; where it lies, there is a bound.
    let length = bytes.last_chunk().map_or(0, |end| u32::from_le_bytes(*end) as usize);
    let mut unfolded = Vec::with_capacity(length.min(bytes.len().saturating_mul(64)) + 64);
    let mut reader = MultiGzDecoder::new(bytes).take(LARGEST + 1);
    let read = reader.read_to_end(&mut unfolded).map_err(WireError::Gzip)?;
    if read as u64 > LARGEST { Err(WireError::TooLarge) } else { Ok(Cow::Owned(unfolded)) }
}

/// Parses JSON.
///
/// # Errors
/// Text that is no JSON or is nested deeper than 128 levels.
pub(crate) fn parse(text: &[u8]) -> Result<Document<'_>, WireError> {
    if let Some(document) = scan::document(text) {
        return Ok(document);
    }
    let mut document = Document::default();
    document.push(serde_json::from_slice(text).map_err(WireError::Json)?);
    Ok(document)
}
