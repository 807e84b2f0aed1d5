//! The reference interpreter: executes a graph by `docs/semantics.md` and nothing else (ADR 0004).
//!
//! It is the oracle of every transformation and back end, and a debugging tool for users. Names are resolved
//! once. Nothing is reordered, fused or omitted, and lowered code never runs here. Every trap of the
//! semantics ends the run with a [`Trap`] that names its place.
//!
//! ```text
//! resolve   names to slots, scopes to bodies         (program: the resolved form)
//! machine   activities and their frames              control, dataflow, scope, call, tasklet, transfer, reduce
//! access    ends of memlets to checked elements      memory, shadow (race detection), stream, conflict
//! ```
#![forbid(unsafe_code)]

mod access;
mod arguments;
mod bind;
mod call;
mod callbacks;
mod conflict;
mod connectors;
mod control;
mod dataflow;
mod evaluate;
mod external;
mod external_nodes;
mod formula;
mod index;
mod iteration;
mod machine;
mod memory;
pub mod npy;
mod options;
mod order;
mod points;
mod program;
mod ranks;
mod reduce;
mod resolve;
mod scope;
mod shadow;
mod stream;
mod stream_order;
mod tasklet;
pub mod tensor;
mod transfer;
mod trap;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use arguments::{ArgumentError, Arguments, queue_names, stream_of, tensors_of};
use bind::{Bound, bind, give_back};
use call::CallFrame;
pub use callbacks::{Callback, Callbacks};
pub use external::{ExternalArgument, ExternalMemory, Externals, Libraries, LibraryOperand};
use machine::{Activity, ActivityFrame, Call, Machine};
use memory::{Binding, Handle, Store};
pub use options::{Moved, Options, Received, Report, TRACE_LIMIT};
pub use order::Order;
use program::Program;
pub use resolve::ResolveError;
use sdfg_graph::ir::Sdfg;
use sdfg_language::symbolic::Symbol;
use sdfg_validate::Validated;
use shadow::Instances;
use thiserror::Error;
pub use trap::{Accessor, Progress, Trap, TrapKind, Waiting};

/// A program that can be run any number of times.
///
/// Transients with lifetime `persistent` keep their contents from run to run, until a run traps or has another number of
/// ranks.
#[derive(Debug)]
pub struct Interpreter {
    source: Sdfg,
    program: Program,
    kept: Kept,
}

/// State that remains between runs.
#[derive(Debug)]
struct Kept {
    store: Store,
    instances: Instances,
    persistent: Vec<Option<Handle>>,
    /// Number of ranks of the memory.
    ranks: u32,
}

/// Why a run did not end.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// The arguments do not fit the program.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// The program trapped.
    #[error(transparent)]
    Trap(#[from] Box<Trap>),
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
        Kept { store: Store::default(), instances: Instances::new(), persistent, ranks: 1 }
    }
}

impl Interpreter {
    /// Resolves a program.
    ///
    /// # Errors
    /// What the interpreter does not support.
    pub fn new(validated: &Validated) -> Result<Self, ResolveError> {
        Interpreter::of(validated.sdfg())
    }

    /// Resolves a graph that is taken to be right; tests also run programs whose traps validation foresees.
    fn of(sdfg: &Sdfg) -> Result<Self, ResolveError> {
        let program = resolve::resolve(sdfg)?;
        let kept = Kept::new(&program);
        Ok(Interpreter { source: sdfg.clone(), program, kept })
    }

    /// Runs the program on the arguments, which hold its results afterwards; also those of a run that trapped.
    ///
    /// # Errors
    /// Arguments that do not fit, or a trap.
    pub fn run(&mut self, arguments: &mut Arguments, options: &Options<'_>) -> Result<Report, RunError> {
        let sdfg = &self.source;
        let symbols = arguments.check(sdfg)?;
        let mut kept = std::mem::replace(&mut self.kept, Kept::new(&self.program));
        let ranks = options.ranks.max(1);
        if kept.ranks != ranks {
            kept = Kept::new(&self.program);
        }
        let store = std::mem::take(&mut kept.store);
        let persistent = std::mem::take(&mut kept.persistent);
        let mut machine = Machine::new(&self.program, options, persistent, store, kept.instances);
        let result =
            bind(sdfg, &symbols, arguments, &mut machine).map_err(RunError::from).and_then(|bound| {
                let result = run(&mut machine, &symbols, &bound);
                for (container, bound) in bound {
                    give_back(sdfg, &mut machine, arguments, container, bound);
                }
                Ok(result?)
            });
        let report = Report::new(&self.program, &machine.counts);
        if !matches!(result, Err(RunError::Trap(_))) {
            let (store, instances, persistent) = machine.into_kept();
            self.kept = Kept { store, instances, persistent, ranks };
        }
        result.map(|()| report)
    }
}

/// Runs the outermost SDFG.
fn run<'p>(
    machine: &mut Machine<'p>,
    symbols: &BTreeMap<Symbol, i64>,
    bound: &[(usize, Bound)],
) -> Result<(), Box<Trap>> {
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
    let mut first = Activity::first(call, ActivityFrame::Call(CallFrame { code: None }));
    machine.enter_region(&mut first, procedure.entry);
    let mut call = machine.run(first)?;
    machine.release_all(&mut call);
    Ok(())
}
