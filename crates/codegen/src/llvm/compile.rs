//! Compiles a plan to LLVM IR, assembly text or an object file.

use inkwell::context::Context;

use super::emitter::Emitter;
use super::error::LlvmError;
use super::machine::Machine;
use super::options::CompileOptions;
use crate::interface::Interface;
use crate::object::{Hazard, ObjectCode, Requirements};
use crate::plan::Plan;

/// Compiles `plan` to an object file.
///
/// # Errors
/// [`LlvmError`] when the plan asks for what this back end cannot do, or LLVM does not know the processor.
pub fn compile(plan: &Plan, options: &CompileOptions) -> Result<ObjectCode, LlvmError> {
    let interface = plan.interface()?;
    with_module(plan, options, &interface, |machine, emitter| {
        machine.optimise(&emitter.module)?;
        let bytes = machine.object(&emitter.module)?;
        let requirements = Requirements {
            openmp: emitter.uses_openmp(),
            runtime: emitter.uses_runtime(),
            profile: plan.profile.is_some(),
            processor: emitter.asks_for_processor(),
            vector_mathematics: emitter.uses_vector_mathematics(),
            sanitizer: options.sanitizer,
            externals: plan.externals.clone(),
            source_level: options.level.of_sources(),
            source_cache: None,
        };
        let hazard = Some(Hazard::UnknownProgram);
        Ok(ObjectCode { interface: interface.clone(), bytes, requirements, hazard })
    })
}

/// The LLVM IR of `plan`, as text: as it was emitted, or after optimisation.
///
/// # Errors
/// As [`compile`].
pub fn llvm_ir(plan: &Plan, options: &CompileOptions, optimised: bool) -> Result<String, LlvmError> {
    with_module(plan, options, &plan.interface()?, |machine, emitter| {
        if optimised {
            machine.optimise(&emitter.module)?;
        }
        Ok(emitter.module.print_to_string().to_string())
    })
}

/// The assembly text of `plan`.
///
/// # Errors
/// As [`compile`].
pub fn assembly(plan: &Plan, options: &CompileOptions) -> Result<String, LlvmError> {
    with_module(plan, options, &plan.interface()?, |machine, emitter| {
        machine.optimise(&emitter.module)?;
        machine.assembly(&emitter.module)
    })
}

/// Emits and verifies the module of `plan`, and hands it on.
fn with_module<T>(
    plan: &Plan,
    options: &CompileOptions,
    interface: &Interface,
    finish: impl FnOnce(&Machine, &Emitter<'_>) -> Result<T, LlvmError>,
) -> Result<T, LlvmError> {
    let machine = Machine::new(options)?;
    let context = Context::create();
    let emitter = Emitter::new(&context, &machine, plan, options);
    emitter.program(interface)?;
    emitter.write_kept();
    emitter.finish_debug();
    emitter.verify()?;
    finish(&machine, &emitter)
}
