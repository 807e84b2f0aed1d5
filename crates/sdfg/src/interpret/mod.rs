//! The reference interpreter: executes a graph by `docs/semantics.md` and nothing else (ADR 0004).
//!
//! It is the oracle that every transformation and back end is held against, and a user's debugging tool. Names are
//! resolved once; nothing is reordered, fused or left out, and lowered code never runs here. Everything that the text
//! calls a trap ends the run with a [`Trap`] that names its place.
//!
//! ```text
//! resolve   names to slots, scopes to bodies         (program: the resolved form)
//! machine   activities and their frames              control, dataflow, scope, call, tasklet, transfer, reduce
//! access    ends of memlets to checked elements      memory, shadow (race detection), stream, conflict
//! ```

mod access;
mod arguments;
mod call;
mod conflict;
mod control;
mod dataflow;
mod evaluate;
mod external;
mod index;
mod machine;
mod memory;
mod options;
mod order;
mod outside;
mod program;
mod reduce;
mod resolve;
mod scope;
mod shadow;
mod stream;
mod tasklet;
mod transfer;
mod trap;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use thiserror::Error;

pub use arguments::{ArgumentError, Arguments};
pub use external::{ExternalArgument, ExternalMemory, Externals, Libraries, LibraryOperand};
pub use options::{Moved, Options, Report};
pub use order::Order;
pub use resolve::ResolveError;
pub use trap::{Accessor, Trap, TrapKind, Waiting};

use crate::ir::{Container, ContainerKind, Layout, Sdfg};
use crate::symbolic::Symbol;
use crate::tensor::Tensor;
use crate::validate::Validated;
use call::CallFrame;
use machine::{Activity, Call, Frame, Machine};
use memory::{Binding, Contents, Dimension, Handle, Store, packed};
use program::Program;
use shadow::Instances;
use stream::Stream;

/// A program that can be run any number of times.
///
/// Transients with lifetime `persistent` keep their contents from run to run, until a run traps.
#[derive(Debug)]
pub struct Interpreter {
    source: Validated,
    program: Program,
    kept: Kept,
}

/// What stays between runs.
#[derive(Debug)]
struct Kept {
    store: Store,
    instances: Instances,
    persistent: Vec<Option<Handle>>,
}

/// Why a run did not end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// The arguments do not fit the program.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The program trapped.
    #[error(transparent)]
    Trap(#[from] Trap),
}

impl RunError {
    /// The trap, if it is one.
    pub fn trap(&self) -> Option<&Trap> {
        match self {
            RunError::Trap(trap) => Some(trap),
            RunError::Arguments(_) => None,
        }
    }
}

impl Kept {
    fn new(program: &Program) -> Self {
        let persistent = vec![None; program.persistent];
        Kept { store: Store::default(), instances: Instances::new(), persistent }
    }
}

impl Interpreter {
    /// Resolves a program.
    ///
    /// # Errors
    /// What the interpreter does not support.
    pub fn new(validated: &Validated) -> Result<Self, ResolveError> {
        let program = resolve::resolve(validated.sdfg())?;
        let kept = Kept::new(&program);
        Ok(Interpreter { source: validated.clone(), program, kept })
    }

    /// Runs the program on the arguments, which hold its results afterwards; also those of a run that trapped.
    ///
    /// # Errors
    /// Arguments that do not fit, or a trap.
    pub fn run(&mut self, arguments: &mut Arguments, options: &Options<'_>) -> Result<Report, RunError> {
        let sdfg = self.source.sdfg();
        let symbols = arguments.check(sdfg)?;
        let mut kept = std::mem::replace(&mut self.kept, Kept::new(&self.program));
        let store = std::mem::take(&mut kept.store);
        let persistent = std::mem::take(&mut kept.persistent);
        let mut machine = Machine::new(&self.program, options, persistent, store, kept.instances);
        let bound = bind(sdfg, &symbols, arguments, &mut machine)?;
        let result = run(&mut machine, &symbols, &bound);
        let report = Report::new(&self.program, &machine.counts);
        for (container, bound) in bound {
            give_back(sdfg, &mut machine, arguments, container, bound);
        }
        if result.is_ok() {
            let (store, instances, persistent) = machine.into_kept();
            self.kept = Kept { store, instances, persistent };
        }
        result?;
        Ok(report)
    }
}

/// An argument in memory.
struct Bound {
    binding: Binding,
    shape: Vec<i64>,
}

/// Moves the tensors of the arguments into memory.
fn bind(
    sdfg: &Sdfg,
    symbols: &BTreeMap<Symbol, i64>,
    arguments: &mut Arguments,
    machine: &mut Machine<'_>,
) -> Result<Vec<(usize, Bound)>, ArgumentError> {
    let mut layouts = Vec::new();
    for (number, (_, container)) in sdfg.containers().enumerate() {
        if container.is_argument() {
            layouts.push((number, container, strides(container, symbols)?));
        }
    }
    let mut bound = Vec::new();
    for (number, container, layout) in layouts {
        let Some(tensor) = arguments.take(&container.name) else { continue };
        let shape = tensor.shape().to_vec();
        let (size, checked) = (container.element.size(), machine.options.check_conflicts);
        let (data, defined) = tensor.into_parts();
        let count = data.len() / size;
        let memory = machine.program.procedures[0].containers[number].memory;
        let binding = match (&container.kind, layout) {
            (ContainerKind::Stream { .. }, _) => {
                let mut stream = Stream::new(1, size, None);
                data.chunks_exact(size).for_each(|element| stream.push(0, element));
                Binding::Queues(machine.store.allocate_stream(stream))
            }
            (_, Some((dims, offset, total))) => {
                let (data, defined) = spread(&data, defined, size, &dims, offset, total);
                let contents = Contents::Bytes(data, Some(defined));
                let handle = machine.store.allocate(size, total, contents, memory, checked);
                Binding::Elements(handle.with(offset, dims))
            }
            (_, None) => {
                let contents = Contents::Bytes(data, defined);
                let handle = machine.store.allocate(size, count, contents, memory, checked);
                let dims = if container.shape().is_empty() { Vec::new() } else { packed(&shape) };
                Binding::Elements(handle.with(0, dims))
            }
        };
        bound.push((number, Bound { binding, shape }));
    }
    Ok(bound)
}

type Strided = (Vec<Dimension>, i64, usize);

/// The layout of an argument that is not packed, with its values.
fn strides(container: &Container, symbols: &BTreeMap<Symbol, i64>) -> Result<Option<Strided>, ArgumentError> {
    let Some(layout) = container.kind.layout().filter(|layout| !Layout::is_packed(layout)) else {
        return Ok(None);
    };
    let value = |expr: &crate::symbolic::Expr| {
        let error = |error| ArgumentError::BadShape { name: container.name.clone(), error };
        expr.eval(&|symbol| symbols.get(symbol).copied()).map_err(error)
    };
    let mut dims = Vec::with_capacity(layout.shape.len());
    let (mut least, mut most) = (value(&layout.offset)?, value(&layout.offset)?);
    for (extent, stride) in layout.shape.iter().zip(&layout.strides) {
        let (extent, stride) = (value(extent)?, value(stride)?);
        let reach = (extent - 1).max(0).saturating_mul(stride);
        least = least.saturating_add(reach.min(0));
        most = most.saturating_add(reach.max(0));
        dims.push(Dimension { extent, stride });
    }
    let total = value(&layout.total_size)?;
    let is_inside = dims.iter().any(|dim| dim.extent == 0) || least >= 0 && most < total;
    match usize::try_from(total) {
        Ok(size) if is_inside && total < 1 << 40 => Ok(Some((dims, value(&layout.offset)?, size))),
        Ok(_) | Err(_) => {
            let what = "an array whose strides lead out of its size";
            Err(ArgumentError::Unsupported { name: container.name.clone(), what })
        }
    }
}

/// Row-major elements at the places of a layout; what lies between is undefined.
fn spread(
    data: &[u8],
    defined: Option<Vec<bool>>,
    size: usize,
    dims: &[Dimension],
    offset: i64,
    total: usize,
) -> (Vec<u8>, Vec<bool>) {
    let (mut bytes, mut known) = (vec![0; total * size], vec![false; total]);
    for (k, element) in data.chunks_exact(size).enumerate() {
        let place = place(k as i64, dims, offset);
        bytes[place * size..(place + 1) * size].copy_from_slice(element);
        known[place] = defined.as_ref().is_none_or(|defined| defined[k]);
    }
    (bytes, known)
}

/// Where the `k`-th element in row-major order lies.
fn place(mut k: i64, dims: &[Dimension], offset: i64) -> usize {
    let mut place = offset;
    for dim in dims.iter().rev() {
        place += k % dim.extent * dim.stride;
        k /= dim.extent;
    }
    usize::try_from(place).unwrap_or(0)
}

/// Moves an argument out of memory again.
fn give_back(
    sdfg: &Sdfg,
    machine: &mut Machine<'_>,
    arguments: &mut Arguments,
    container: usize,
    bound: Bound,
) {
    let Some((_, container)) = sdfg.containers().nth(container) else { return };
    let (element, size) = (container.element, container.element.size());
    let tensor = match &bound.binding {
        Binding::Elements(handle) => {
            let (data, defined) = machine.store.take(handle);
            let count: i64 = bound.shape.iter().product();
            if data.len() == count as usize * size && container.kind.layout().is_none_or(Layout::is_packed) {
                Tensor::from_parts(element, bound.shape, data, defined)
            } else {
                let places: Vec<usize> = (0..count).map(|k| place(k, &handle.dims, handle.offset)).collect();
                let bytes = places.iter().flat_map(|at| data[at * size..(at + 1) * size].to_vec()).collect();
                let known =
                    defined.map(|defined| places.iter().map(|at| defined[*at]).collect::<Vec<bool>>());
                let known = known.filter(|known| known.contains(&false));
                Tensor::from_parts(element, bound.shape, bytes, known)
            }
        }
        Binding::Queues(handle) => {
            let (mut data, mut next) = (Vec::new(), Vec::new());
            while machine.store.stream(handle).is_ok_and(|stream| stream.pop(0, &mut next)) {
                data.extend_from_slice(&next);
            }
            machine.store.release_stream(handle);
            Tensor::from_parts(element, vec![(data.len() / size) as i64], data, None)
        }
        Binding::Nothing => return,
    };
    arguments.set(container.name.clone(), tensor);
}

/// Runs the outermost SDFG.
fn run<'p>(
    machine: &mut Machine<'p>,
    symbols: &BTreeMap<Symbol, i64>,
    bound: &[(usize, Bound)],
) -> Result<(), Trap> {
    let procedure = &machine.program.procedures[0];
    let mut call = Call {
        procedure: 0,
        symbols: vec![None; procedure.symbols.len()],
        bindings: vec![Binding::Nothing; procedure.containers.len()],
        registers: vec![Vec::new(); procedure.registers],
        ..Call::default()
    };
    for &slot in &procedure.globals {
        let (name, _) = &procedure.symbols[slot as usize];
        let value = symbols.iter().find(|(symbol, _)| symbol.as_str() == name);
        call.symbols[slot as usize] = value.map(|(_, value)| *value);
    }
    for (container, bound) in bound {
        call.bindings[*container] = bound.binding.clone();
    }
    for &container in &procedure.allocate {
        machine.allocate(&mut call, container)?;
    }
    let mut first = Activity::first(call, Frame::Call(CallFrame { code: None }));
    machine.enter_region(&mut first, procedure.entry);
    let mut call = machine.run(first)?;
    machine.release_all(&mut call);
    Ok(())
}
