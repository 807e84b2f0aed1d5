//! Example programs of the SDFG compiler, and the random programs that hold native code against the interpreter.

pub mod demo;
pub mod programs;
pub mod random;
