//! Small programs at the corners of lowering, each run by the interpreter and as native code with several numbers of
//! threads: results must be the same, bit by bit.

mod corners;
mod harness;
