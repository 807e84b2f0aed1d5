//! The cost model: from a program at given sizes and a machine to a problem for the search.
//!
//! What is modelled and how is told in `docs/strategy.md`, section 8.

mod binding;
mod condition;
mod costs;
mod describe;
mod elements;
mod error;
mod flow;
mod index;
mod machine;
mod operator;
mod read;
#[cfg(test)]
mod tests;

pub use costs::{Load, Model};
pub use error::ModelError;
pub use machine::{Machine, MachineError};
