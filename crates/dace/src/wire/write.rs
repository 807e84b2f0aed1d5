//! Writes a JSON tree as plain or compressed bytes that depend only on the tree.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::Json;

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Integer(value) => serializer.serialize_i64(*value),
            // JSON has no such numbers; NumPy reads the texts.
            Json::Float(value) if value.is_nan() => serializer.serialize_str("nan"),
            Json::Float(value) if value.is_infinite() => {
                serializer.serialize_str(if *value > 0.0 { "inf" } else { "-inf" })
            }
            Json::Float(value) => serializer.serialize_f64(*value),
            Json::Text(text) => serializer.serialize_str(text),
            Json::List(list) => list.serialize(serializer),
            Json::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// The document as a text with indented lines.
pub(crate) fn to_bytes(document: &Json) -> Vec<u8> {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    // Neither the tree nor a vector refuses anything.
    let _ = document.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter));
    text.push(b'\n');
    text
}

/// Compressed bytes, without a name or a time in their header.
pub(crate) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    // A vector takes everything.
    let written = encoder.write_all(bytes);
    match (written, encoder.finish()) {
        (Ok(()), Ok(file)) => file,
        _ => Vec::new(),
    }
}
