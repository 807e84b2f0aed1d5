//! Sizes as parameters: numbers, or expressions over the symbols of the program.

use std::fmt;

use sdfg::symbolic::Expr;
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A size: in chains and on the command line a number, or the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size(pub Expr);

impl From<i64> for Size {
    fn from(size: i64) -> Self {
        Size(Expr::int(size))
    }
}

impl From<Expr> for Size {
    fn from(size: Expr) -> Self {
        Size(size)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_int() {
            Some(size) => serializer.serialize_i64(size),
            None => serializer.serialize_str(&self.0.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

/// A number, or the text of an expression.
struct Written;

impl Visitor<'_> for Written {
    type Value = Size;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an integer of 64 bits, or an expression as text, such as \"N // 4\"")
    }

    fn visit_i64<E: de::Error>(self, size: i64) -> Result<Size, E> {
        Ok(size.into())
    }

    fn visit_u64<E: de::Error>(self, size: u64) -> Result<Size, E> {
        let small = i64::try_from(size).map_err(|_| E::invalid_value(Unexpected::Unsigned(size), &self))?;
        Ok(small.into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        let parsed: Result<Expr, _> = text.parse();
        parsed.map(Size).map_err(|error| E::custom(format!("`{text}`: {error}")))
    }
}
