//! The cost model: from a program at given sizes and a machine to a problem for the search.
//!
//! What is modelled and how is told in `docs/strategy.md`, section 8.

mod machine;

pub use machine::{Machine, MachineError};
