//! Changes of programs: the editor for transformations, raising and lowering of control flow, and
//! minimisation of programs that show a failure.
//!
//! Users depend on `sdfg`, which re-exports these modules.
#![forbid(unsafe_code)]

pub mod control;
pub mod edit;
pub mod minimize;
