//! The graph of a program: its parts, paths to them, analyses, memlet propagation, its text and JSON forms,
//! and diagnostics about it.
//!
//! The graph may be invalid; `sdfg-validate` checks its rules. Users depend on `sdfg`, which re-exports these
//! modules. [`workspace`] holds items for the crates of the workspace only.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod diagnostic;
pub mod ir;
pub mod json;
pub mod path;
pub mod propagate;
pub mod text;
pub mod workspace;
