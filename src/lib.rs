//! Example programs of the SDFG compiler with what feeds them, the demo, and the random programs that hold native code
//! against the interpreter.

pub mod demo;
pub mod matrix_market;
pub mod programs;
pub mod random;
