//! Symbols: the names in symbolic expressions.
//!
//! They are a separate module because interstate assignments, map parameters and container shapes use them
//! without expressions.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::syntax::is_name;

/// The name of an integer: a size, an iteration variable or a value that an interstate edge assigns.
///
/// A name is an identifier, `[A-Za-z_][A-Za-z0-9_]*`, and no word of the language. Symbols compare, order and hash by their text, and clone
/// without copying it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Symbol(Arc<str>);

/// A text that cannot name a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{name}` is not a symbol name: expected a letter or underscore, then letters, digits or underscores, and no word of the language"
)]
pub struct InvalidSymbol {
    /// The rejected text.
    pub name: String,
}

impl Symbol {
    /// Checks that `name` is an identifier that expressions can hold and makes a symbol of it.
    ///
    /// # Errors
    /// [`InvalidSymbol`] when it is not an identifier, or a word such as `if`, which no text reads as a name.
    pub fn new(name: &str) -> Result<Symbol, InvalidSymbol> {
        if is_identifier(name) && is_name(name) {
            Ok(Symbol(Arc::from(name)))
        } else {
            Err(InvalidSymbol { name: name.to_owned() })
        }
    }

    /// The symbol of a name that the program text fixes, such as `Symbol::of("N")`.
    ///
    /// # Panics
    /// When `name` is not the name of a symbol; use [`Symbol::new`] for names that come from input.
    #[must_use]
    #[track_caller]
    pub fn of(name: &str) -> Symbol {
        match Symbol::new(name) {
            Ok(symbol) => symbol,
            Err(error) => panic!("{error}"),
        }
    }

    /// The text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for Symbol {
    fn cmp(&self, other: &Symbol) -> Ordering {
        // Most symbols that are compared are clones of each other.
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for Symbol {
    fn partial_cmp(&self, other: &Symbol) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
