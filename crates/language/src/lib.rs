//! Languages of stateful dataflow multigraphs: element types and values, the grammar of expressions and
//! statements, symbolic expressions, subsets, and tasklet code.
//!
//! This crate does not depend on the graph. Users depend on `sdfg`, which re-exports these modules.
//! [`workspace`] holds items for the crates of the workspace only.
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
