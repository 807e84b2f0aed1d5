//! Compiles a plan to LLVM IR, assembly text or an object file.

use std::num::NonZeroUsize;

use inkwell::context::Context;

use super::emitter::Emitter;
use super::error::LlvmError;
use super::machine::Machine;
use super::options::CompileOptions;
use super::parts::{Cut, is_large};
use crate::interface::Interface;
use crate::object::{Hazard, ObjectCode, Requirements};
use crate::plan::Plan;

/// Compiles `plan` to object files: one, or several for a large program, which the available cores compile side by side. The
/// objects do not depend on the number of cores.
///
/// # Errors
/// [`LlvmError`] when the plan asks for what this back end cannot do, or LLVM does not know the processor.
pub fn compile(plan: &Plan, options: &CompileOptions) -> Result<ObjectCode, LlvmError> {
    compile_with(plan, options, std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// As [`compile`], on up to so many threads.
pub(super) fn compile_with(
    plan: &Plan,
    options: &CompileOptions,
    threads: NonZeroUsize,
) -> Result<ObjectCode, LlvmError> {
    let interface = plan.interface()?;
    with_module(plan, options, &interface, |machine, emitter| {
        let files = object_files(machine, emitter, options, threads)?;
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
        Ok(ObjectCode { interface: interface.clone(), files, requirements, hazard })
    })
}

/// The object files of a module.
fn object_files(
    machine: &Machine,
    emitter: &Emitter<'_>,
    options: &CompileOptions,
    threads: NonZeroUsize,
) -> Result<Vec<Vec<u8>>, LlvmError> {
    let module = &emitter.module;
    // The runtimes of sanitizers know of modules, which they are told once for each.
    if options.sanitizer.is_some() || !is_large(module) {
        machine.optimise(module)?;
        return Ok(vec![machine.object(module)?]);
    }
    machine.optimise_program(module)?;
    match Cut::of(module, emitter.plan) {
        Some(cut) => cut.compile(options, threads),
        None => {
            machine.optimise_part(module)?;
            Ok(vec![machine.object(module)?])
        }
    }
}

/// The LLVM IR of `plan`, as text: as it was emitted, or after optimisation. Also that of a large program is one module.
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

/// The assembly text of `plan`. Also that of a large program is one text.
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
    let machine = Machine::new(options)?.with_unit_strides(plan.has_free_strides());
    let context = Context::create();
    let emitter = Emitter::new(&context, &machine, plan, options);
    emitter.program(interface)?;
    emitter.write_kept();
    emitter.finish_debug();
    emitter.verify()?;
    finish(&machine, &emitter)
}
