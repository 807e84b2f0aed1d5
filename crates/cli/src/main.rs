//! The sdfg command.
fn main() {}
