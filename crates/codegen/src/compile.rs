//! Compiles a validated program to object code in one call.

use sdfg::diagnostic::Code;
use sdfg::ir::FloatMode;
use sdfg::validate::Validated;

use crate::llvm::{self, CompileOptions, Cpu, LlvmError};
use crate::lower::{LowerError, lower};
use crate::object::{Hazard, ObjectCode};
use crate::plan::Plan;

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
/// The object knows whether safe Rust may run it ([`ObjectCode::hazard`]).
///
/// # Errors
/// [`CompileError`] if the program uses what native code does not support, or LLVM refuses an option.
pub fn compile(program: &Validated, options: &CompileOptions) -> Result<ObjectCode, CompileError> {
    let plan = lower(program, &options.target(), &options.lowering())?;
    let object = llvm::compile(&plan, options)?;
    Ok(ObjectCode { hazard: hazard(program, &plan, options), ..object })
}

/// Why the code of a program could corrupt memory when it runs.
fn hazard(program: &Validated, plan: &Plan, options: &CompileOptions) -> Option<Hazard> {
    let conflict = program.warnings().iter().find(|warning| warning.code == Code::PossibleConflict);
    if !plan.externals.is_empty() || !plan.callbacks.is_empty() {
        Some(Hazard::ExternalCode)
    } else if !plan.checked {
        Some(Hazard::Unchecked)
    } else if let Some(conflict) = conflict {
        Some(Hazard::PossibleConflict { message: conflict.message.clone() })
    } else if plan.float_mode == FloatMode::Fast {
        Some(Hazard::FastArithmetic)
    } else {
        match options.cpu {
            Cpu::Named { .. } => Some(Hazard::NamedProcessor),
            Cpu::Host | Cpu::Levels(_) => None,
        }
    }
}
