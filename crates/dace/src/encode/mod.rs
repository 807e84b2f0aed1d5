//! Encodes DaCe's model as JSON in the form of version 1.0.2, which omits properties at their default.
//!
//! Encoding is the inverse of decoding. It makes no decisions: a file can express everything that the model
//! holds.

mod dataflow;
mod descriptor;
mod library;
mod program;
mod symbolic;

pub(crate) use descriptor::scalar;
pub(crate) use library::library_module;
pub(crate) use program::document;
pub(crate) use symbolic::text;

use crate::wire::Json;

/// An object with its entries in this order.
fn object<const N: usize>(entries: [(&str, Json); N]) -> Json {
    Json::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A text.
fn string(value: impl ToString) -> Json {
    Json::Text(value.to_string())
}

/// A number of a list; lists are far shorter.
fn number(value: usize) -> Json {
    Json::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Code in Python.
fn python(code: impl ToString) -> Json {
    object([("string_data", string(code)), ("language", string("Python"))])
}

/// Properties that are there only when they are not at their default.
struct Attributes(Vec<(String, Json)>);

impl Attributes {
    fn new() -> Self {
        Attributes(Vec::new())
    }

    fn set(&mut self, name: &str, value: Json) {
        self.0.push((name.to_owned(), value));
    }

    /// Sets a property if it is not at its default.
    fn set_if(&mut self, condition: bool, name: &str, value: impl FnOnce() -> Json) {
        if condition {
            self.set(name, value());
        }
    }

    fn json(self) -> Json {
        Json::Object(self.0.into_iter().collect())
    }
}
