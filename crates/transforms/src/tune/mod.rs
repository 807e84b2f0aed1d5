//! The autotuner: parameters of a given chain that measurements select.
//!
//! A [`Space`] is a chain with [`Variable`]s: parameters of its steps, each with some values. [`search`] looks for the point of the
//! space whose program is fastest. It compares two points by runs in turns, so that a machine that is busy for a while
//! slows both. How a point becomes a program that runs is the business of a [`Bench`]; tests use one with a clock of its own.
//!
//! ```text
//! space    the parameters that vary, and the chain of each point
//! trial    the comparison of two points by runs in turns
//! search   the order in which points are tried, within a budget
//! log      trials as lines of a file, for a search that is resumed
//! ```

mod log;
mod search;
mod space;
#[cfg(test)]
mod tests;
mod trial;

pub use log::{Entry, Log, LogError};
pub use search::{Ended, Found, Journal, Outcome, Progress, SearchError, Settings, search};
pub use space::{Point, Space, Variable, VaryError};
pub use trial::{Bench, Comparison, Trial, Unfit, compare};
