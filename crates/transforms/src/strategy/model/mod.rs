//! Cost model: turns a program at given sizes and a machine into a problem for the search.
//!
//! `docs/strategy.md`, section 8, describes the model.

mod access;
mod binding;
mod condition;
mod costs;
mod describe;
mod elements;
mod error;
mod fixed;
mod flow;
mod holding;
mod index;
mod load;
mod machine;
mod moves;
mod operator;
mod predicted;
mod read;
mod scope;
#[cfg(test)]
mod tests;
mod transfer;
mod views;

pub use costs::{Model, ModelOptions};
pub use error::ModelError;
pub use load::Load;
pub use machine::{Machine, MachineError};
pub use predicted::Predicted;
