//! Example programs of the SDFG compiler with their inputs, the demo, random programs that compare native
//! code with the interpreter, programs under transformations, the corpus runner, and surveys of graphs without expected outputs.

/// The program of the README is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

pub mod applications;
pub mod chains;
pub mod corpus;
pub mod demo;
pub mod distributed;
pub mod matrix_market;
pub mod programs;
pub mod random;
pub mod ranks;
pub mod rewritten;
pub mod subjects;
pub mod survey;
pub mod trusted;
