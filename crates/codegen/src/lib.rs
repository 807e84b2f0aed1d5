//! Lowering of SDFGs to plans, and the back ends that print them.
//!
//! `lower` makes a plan of a graph; `plan` is the language between the graph and the back ends. `llvm` makes object code of a plan, `link` writes
//! libraries, `header`, `fortran`, `json` and `package` what others call them by, and `load` calls compiled programs from Rust.

pub mod cache;
#[cfg(feature = "llvm")]
mod compile;
#[cfg(feature = "llvm")]
mod externals;
pub mod fortran;
pub mod header;
pub mod interface;
pub mod json;
pub mod link;
#[cfg(feature = "llvm")]
pub mod llvm;
pub mod load;
pub mod lower;
pub mod object;
pub mod package;
pub mod plan;
#[cfg(feature = "llvm")]
mod processor;
mod reserved;

#[cfg(feature = "llvm")]
pub use compile::{CompileError, compile};
#[cfg(feature = "llvm")]
pub use externals::NativeExternals;
