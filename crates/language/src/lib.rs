//! The languages of a stateful dataflow multigraph: element types and values, the one grammar of expressions and
//! statements, symbolic expressions, subsets, and the code of tasklets.
//!
//! Nothing here knows the graph. Users depend on `sdfg`, which re-exports these modules. [`workspace`] holds the
//! items that only the crates of the workspace use.
#![forbid(unsafe_code)]

// Random syntax trees, which `sdfg-graph` includes, too, name this crate.
#[cfg(test)]
extern crate self as sdfg_language;

pub mod dtype;
pub mod subset;
pub mod symbolic;
pub mod syntax;
pub mod tasklet;
pub mod value;
pub mod workspace;
