//! From a checked program to object code, in one call.

use sdfg::validate::Validated;

use crate::llvm::{self, CompileOptions, LlvmError};
use crate::lower::{LowerError, lower};
use crate::object::ObjectCode;

/// Why a program cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// It cannot be lowered for the target.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// No code can be generated.
    #[error(transparent)]
    Llvm(#[from] LlvmError),
}

/// Lowers and compiles a program for the host. Library nodes must have been expanded.
///
/// # Errors
/// [`CompileError`] if the program uses what native code does not support, or LLVM refuses an option.
pub fn compile(program: &Validated, options: &CompileOptions) -> Result<ObjectCode, CompileError> {
    let plan = lower(program, &options.target())?;
    Ok(llvm::compile(&plan, options)?)
}
