//! Sizes as parameters: numbers, or expressions over the symbols of the program.

use sdfg::symbolic::Expr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

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
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(i64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(size) => Ok(size.into()),
            Written::Text(text) => {
                let parsed: Result<Expr, _> = text.parse();
                parsed.map(Size).map_err(|error| de::Error::custom(format!("`{text}`: {error}")))
            }
        }
    }
}
