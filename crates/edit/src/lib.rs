//! Changes of stateful dataflow multigraphs: the editor that transformations are written with, control flow raised to
//! loops and branches and lowered again, and reduction of programs that show a failure.
//!
//! Users depend on `sdfg`, which re-exports these modules.
#![forbid(unsafe_code)]

pub mod control;
pub mod edit;
pub mod reduce;
