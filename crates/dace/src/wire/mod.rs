//! The bytes of a `.sdfg` file as a JSON tree that keeps the order of its keys.
//!
//! It stands apart from decoding because nothing here knows DaCe: gzip or plain, UTF-8, JSON. The order of keys matters,
//! since assignments between states take effect in it.

mod json;
mod object;
mod place;
mod write;

use std::io::Read;

use flate2::read::MultiGzDecoder;

pub(crate) use json::Json;
pub(crate) use object::Object;
pub(crate) use place::Place;
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

/// Parses JSON, compressed or not, whatever the name of the file was.
///
/// # Errors
/// Damaged gzip data, and text that is no JSON or is nested deeper than 128 levels.
pub(crate) fn parse(bytes: &[u8]) -> Result<Json, WireError> {
    let mut unfolded = Vec::new();
    let text = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut reader = MultiGzDecoder::new(bytes).take(LARGEST + 1);
        let read = reader.read_to_end(&mut unfolded).map_err(WireError::Gzip)?;
        if read as u64 > LARGEST {
            return Err(WireError::TooLarge);
        }
        &unfolded
    } else {
        bytes
    };
    serde_json::from_slice(text).map_err(WireError::Json)
}
