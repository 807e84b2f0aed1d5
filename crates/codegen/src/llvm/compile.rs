//! From a plan to LLVM IR, assembly text or an object file.

use inkwell::context::Context;

use super::emitter::Emitter;
use super::error::LlvmError;
use super::machine::Machine;
use super::options::CompileOptions;
use crate::interface::{Access, Argument, ArgumentKind, Interface, InterfaceError};
use crate::object::{ObjectCode, Requirements};
use crate::plan::Plan;

/// Compiles `plan` to an object file.
///
/// # Errors
/// [`LlvmError`] when the plan asks for what this back end cannot do, or LLVM does not know the processor.
pub fn compile(plan: &Plan, options: &CompileOptions) -> Result<ObjectCode, LlvmError> {
    let interface = interface_of(plan)?;
    with_module(plan, options, &interface, |machine, emitter| {
        machine.optimise(&emitter.module)?;
        let bytes = machine.object(&emitter.module)?;
        let requirements = Requirements { openmp: emitter.uses_openmp(), externals: plan.externals.clone() };
        Ok(ObjectCode { interface: interface.clone(), bytes, requirements })
    })
}

/// The LLVM IR of `plan`, as text: as it was emitted, or after optimisation.
///
/// # Errors
/// As [`compile`].
pub fn llvm_ir(plan: &Plan, options: &CompileOptions, optimised: bool) -> Result<String, LlvmError> {
    with_module(plan, options, &interface_of(plan)?, |machine, emitter| {
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
    with_module(plan, options, &interface_of(plan)?, |machine, emitter| {
        machine.optimise(&emitter.module)?;
        machine.assembly(&emitter.module)
    })
}

/// How the compiled program will be called.
///
/// # Errors
/// [`LlvmError::Interface`] when a name of the program cannot be used in C.
pub fn interface_of(plan: &Plan) -> Result<Interface, LlvmError> {
    let containers = plan.arguments.iter().map(|argument| {
        let access = match (argument.read, argument.written) {
            (_, false) => Access::Read,
            (false, true) => Access::Write,
            (true, true) => Access::ReadWrite,
        };
        // A scalar that is passed by pointer though only read would otherwise be taken for a value.
        let kind = if argument.by_value || (argument.shape.is_empty() && argument.written) {
            ArgumentKind::Scalar { element: argument.element, access }
        } else {
            ArgumentKind::Array {
                element: argument.element,
                shape: argument.shape.clone(),
                elements: argument.size.clone(),
                access,
            }
        };
        Argument { name: argument.name.clone(), kind }
    });
    let symbols = plan.symbols.iter().map(|symbol| Argument {
        name: symbol.name.as_str().to_owned(),
        kind: ArgumentKind::Symbol { ty: symbol.ty },
    });
    let interface: Result<Interface, InterfaceError> =
        Interface::new(&plan.name, containers.chain(symbols).collect());
    Ok(interface?)
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
    emitter.verify()?;
    finish(&machine, &emitter)
}
