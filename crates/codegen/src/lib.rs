//! Lowering of SDFGs to plans, and the back ends that print plans.
//!
//! `lower` turns a graph into a plan. `plan` defines the language between graph and back ends. `llvm`
//! compiles a plan to object code, `source` prints a plan as C. `link` writes libraries. `header`, `fortran`, `json` and `package`
//! describe the interface to callers. `load` calls compiled programs from Rust. `mpi` builds the library through which programs
//! communicate, and starts ranks.

pub mod cache;
#[cfg(feature = "llvm")]
mod compile;
pub mod devices;
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
pub mod mpi;
pub mod object;
pub mod package;
pub mod plan;
#[cfg(feature = "llvm")]
mod processor;
pub mod ranks;
mod reserved;
pub mod source;
mod structures;

#[cfg(feature = "llvm")]
pub use compile::{CompileError, compile};
#[cfg(feature = "llvm")]
pub use externals::NativeExternals;
