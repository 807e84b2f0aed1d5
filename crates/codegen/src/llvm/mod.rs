//! The CPU back end: plans to LLVM IR to object code.
//!
//! `compile` is the entry point. `machine` describes the processor to LLVM. `emitter` and `function` hold the
//! module and the function under construction. Each other file emits one family of the plan language, as
//! methods of `Function`. The back end trusts plans: it reports a violation of the plan's rules as a defect
//! and never panics.

mod abi;
mod arena;
mod arithmetic;
mod body;
mod captures;
mod check;
mod compile;
mod control;
mod copy;
mod debug;
mod emitter;
mod error;
mod external;
mod function;
mod index;
mod joined_pointers;
mod launch;
mod level;
mod loops;
mod machine;
mod memory;
mod metadata;
mod multiply_add;
mod multiversion;
mod options;
mod ordered;
mod overlap;
mod parallel;
mod parts;
mod passes;
mod process;
mod processor;
mod profile;
mod recurrence;
mod reference;
mod sanitizer;
mod stream;
mod task;
mod tasklet;
mod value;
mod vector;
mod worksharing;
mod write;

#[cfg(test)]
mod tests;

pub use compile::{assembly, compile, llvm_ir};
pub use error::LlvmError;
pub use level::Level;
pub(crate) use machine::{Machine, llvm_version};
pub use options::{CompileOptions, Cpu, OptLevel, ParseOptLevelError, Sanitizer};
