//! The CPU back end: plans to LLVM IR to object code.

mod error;
mod options;

pub use error::LlvmError;
pub use options::{CompileOptions, Cpu, OptLevel, ParseOptLevelError};
