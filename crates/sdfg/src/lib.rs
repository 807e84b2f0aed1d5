//! Stateful dataflow multigraphs (SDFGs): the intermediate representation, its text and JSON forms,
//! validation, memlet propagation, analyses and the reference interpreter.
//!
//! The reading order follows the data: element types, symbolic expressions, subsets, the tasklet language,
//! the graph, and then everything computed from it.
//!
//! This crate contains the builder, the pictures and atomic output files. It re-exports the other modules from `sdfg-language`,
//! `sdfg-graph`, `sdfg-validate`, `sdfg-edit` and `sdfg-interpret`. Depend on this crate alone.
#![forbid(unsafe_code)]

pub mod builder;
pub mod file;
pub mod picture;
#[cfg(test)]
mod tests;

#[doc(inline)]
pub use sdfg_edit::{control, edit, minimize};
#[doc(inline)]
pub use sdfg_graph::{analysis, diagnostic, ir, json, path, propagate, text};
#[doc(inline)]
pub use sdfg_interpret::{npy, tensor};
#[doc(inline)]
pub use sdfg_language::{dtype, subset, symbolic, syntax, tasklet, value};

/// Validation: the rules that make a graph a program, and the proof that a graph keeps them.
pub mod validate {
    #[doc(inline)]
    pub use sdfg_validate::{Rejected, Validated, Warnings, validate};
}

/// The reference interpreter: the semantics of `docs/semantics.md`, executable.
pub mod interpret {
    #[doc(inline)]
    pub use sdfg_interpret::{
        Accessor, ArgumentError, Arguments, Callback, Callbacks, ExternalArgument, ExternalMemory, Externals,
        Interpreter, Libraries, LibraryOperand, Moved, Options, Order, Progress, Report, ResolveError,
        RunError, TRACE_LIMIT, Trap, TrapKind, Waiting, queue_names, stream_of, tensors_of,
    };
}
