//! Native runs of a program on arguments.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use sdfg::interpret::{Arguments, stream_of};
use sdfg::tensor::Tensor;
use sdfg_codegen::interface::{ArgumentKind, Interface};
use sdfg_codegen::load::{CallError, Library, PreparedCall};

use crate::failure::Failure;

/// Runs a program on the tensors in place, and gives the time that it took. `after` gets the call after the run, with whether it
/// failed.
pub(crate) fn call(
    library: &Library,
    arguments: &mut Arguments,
    threads: Option<NonZeroU32>,
    after: impl FnOnce(&mut PreparedCall<'_, '_>, bool) -> Result<(), Failure>,
) -> Result<Duration, Failure> {
    let interface = library.interface();
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    let given: Vec<String> = arguments.tensors().map(|(name, _)| name.to_owned()).collect();
    for name in given {
        if interface.position(stream_of(&name).unwrap_or(&name)).is_some()
            && let Some(tensor) = arguments.take(&name)
        {
            tensors.push((name, tensor));
        }
    }
    let mut call = library.call();
    if let Some(threads) = threads {
        call = call.threads(threads);
    }
    for (name, value) in arguments.symbols() {
        if is_symbol(interface, name) {
            call = call.symbol(name, value);
        }
    }
    for (name, tensor) in &mut tensors {
        call = call.tensor(name, tensor);
    }
    let start = Instant::now();
    let mut prepared = call.prepare().map_err(Failure::usage)?;
    // SAFETY: a user who runs a program natively vouches for it, as the documentation of the command says. Nothing else in this
    // process depends on what it does.
    let result = unsafe { prepared.run() };
    let taken = start.elapsed();
    after(&mut prepared, result.is_err())?;
    drop(prepared);
    result.map_err(|error| match error {
        CallError::Failed { .. } => Failure::program(error),
        _ => Failure::usage(error),
    })?;
    for (name, tensor) in tensors {
        arguments.set(name, tensor);
    }
    Ok(taken)
}

fn is_symbol(interface: &Interface, name: &str) -> bool {
    let argument = interface.position(name).map(|position| &interface.arguments()[position].kind);
    matches!(argument, Some(ArgumentKind::Symbol { .. }))
}
