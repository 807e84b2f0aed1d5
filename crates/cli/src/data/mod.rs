//! Data of a run: symbols and inputs from the command line or generated; outputs to files or summarised.

mod arguments;
mod dump;
mod file;
mod generate;
mod options;
mod parts;
mod summary;

pub(crate) use arguments::{RunData, argument, check_extents, check_sizes, check_symbols};
pub(crate) use dump::{Exposed, with_dumps};
pub(crate) use generate::hash;
pub(crate) use options::{DataOptions, Input, SymbolValue};
pub(crate) use parts::{Parts, SharedOutput};
