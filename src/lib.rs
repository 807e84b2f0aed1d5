//! Example programs of the SDFG compiler with what feeds them, the demo, and the random programs that hold native code
//! against the interpreter, and the runner for folders of graphs from DaCe.

/// The program of the README is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub mod corpus;
pub mod demo;
pub mod matrix_market;
pub mod programs;
pub mod random;
pub mod trusted;
