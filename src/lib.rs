//! Example programs of the SDFG compiler with what feeds them, the demo, and the random programs that hold native code
//! against the interpreter.

/// The program of the README is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub mod demo;
pub mod matrix_market;
pub mod programs;
pub mod random;
