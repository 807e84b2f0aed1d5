//! The CPU back end: plans to LLVM IR to object code.
//!
//! `compile` is the entry. `machine` is LLVM's view of the processor, `emitter` and `function` are the module and the
//! function that are being written; the other files emit one family of the plan language each, as methods of
//! `Function`. A plan is trusted: what its rules exclude is reported as a defect, never a panic.

mod abi;
mod arena;
mod arithmetic;
mod captures;
mod check;
mod compile;
mod control;
mod copy;
mod debug;
mod emitter;
mod error;
mod external;
mod forks;
mod function;
mod index;
mod launch;
mod level;
mod loops;
mod machine;
mod memory;
mod metadata;
mod multiply_add;
mod options;
mod ordered;
mod parallel;
mod passes;
mod process;
mod processor;
mod profile;
mod reference;
mod sanitizer;
mod sharing;
mod stream;
mod task;
mod tasklet;
mod value;
mod vector;
mod version;
mod write;

#[cfg(test)]
mod tests;

pub use compile::{assembly, compile, llvm_ir};
pub use error::LlvmError;
pub use level::Level;
pub(crate) use machine::{Machine, llvm_version};
pub use options::{CompileOptions, Cpu, OptLevel, ParseOptLevelError, Sanitizer};
