//! The text form of whole SDFGs (`.sdft`): parser and printer. `docs/text-format.md` is the specification.
//!
//! Parser and printer have one file each for each part of a program. Shared parts (quoting of names, values)
//! have separate files. Expressions and statements are those of [`syntax`](sdfg_language::syntax).

mod error;
mod implied;
pub(crate) mod names;
mod parse;
mod print;
mod values;

#[cfg(test)]
pub(crate) mod arbitrary;
#[cfg(test)]
pub(crate) mod structure;
#[cfg(test)]
#[path = "../../../language/src/syntax/arbitrary.rs"]
#[expect(dead_code, reason = "the tests of the syntax use the rest")]
mod syntax_arbitrary;
#[cfg(test)]
mod tests;

pub use error::{ParseError, ParseErrorKind};
pub(crate) use parse::dialect_name;
pub use parse::parse;
pub use print::{
    PrintOptions, Printed, SpanTable, print, print_edge, print_ends, print_memlet, print_with,
    print_with_spans,
};
pub use values::{parse_value, print_value};
