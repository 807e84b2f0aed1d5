//! An owned JSON value whose objects keep the order of their keys.

use std::fmt;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A JSON value.
///
/// `serde_json::Value` would sort the keys of objects unless a feature is on for all crates of the workspace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    /// Also integers beyond 64 bits; `NaN` and infinities are texts in DaCe's files.
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(IndexMap<String, Json>),
}

/// The integer that a factor of a library node is, of a property of this name.
///
/// DaCe compares factors with 0 to tell whether an output is read, and SymPy's `0.0` is none.
pub(crate) fn whole_factor(name: &str, value: f64) -> Option<i64> {
    // These are all exact.
    let is_whole = matches!(name, "alpha" | "beta") && value.trunc() == value && value.abs() < 1e9;
    is_whole.then_some(value as i64)
}

impl Json {
    /// A noun for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "a truth value",
            Json::Integer(_) | Json::Float(_) => "a number",
            Json::Text(_) => "a text",
            Json::List(_) => "a list",
            Json::Object(_) => "an object",
        }
    }

    /// The value of a key of an object.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        if let Json::Object(entries) = self { entries.get(key) } else { None }
    }

    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(i64::try_from(value).map_or(Json::Float(value as f64), Json::Integer))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut found = Vec::new();
        while let Some(value) = list.next_element()? {
            found.push(value);
        }
        Ok(Json::List(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut found = IndexMap::new();
        while let Some((key, value)) = entries.next_entry::<String, Json>()? {
            found.insert(key, value);
        }
        Ok(Json::Object(found))
    }
}
