//! The graph of a stateful dataflow multigraph: its parts, paths to them, analyses, propagation of memlets, its text
//! and JSON forms, and diagnostics about it.
//!
//! The graph may be wrong: `sdfg-validate` holds it against the rules. Users depend on `sdfg`, which re-exports these
//! modules. [`workspace`] holds the items that only the crates of the workspace use.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod diagnostic;
pub mod ir;
pub mod json;
pub mod path;
pub mod propagate;
pub mod text;
pub mod workspace;
