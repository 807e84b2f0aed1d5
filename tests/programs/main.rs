//! Tests of every example program, from the builder and from its text, against a formula in Rust.
//!
//! Each program runs in the interpreter, and as native code at two optimisation levels with one thread and with
//! two. Inputs are small integers and dyadic fractions if these make every operation exact; results are then
//! compared for equality. If rounding is unavoidable, the test states its bound.
#![expect(clippy::print_stdout, reason = "a failing test shows which form of the program it ran, and how")]

mod control;
mod divided;
mod execute;
mod linear_algebra;
mod sparse;
mod stencils;
mod streams;
