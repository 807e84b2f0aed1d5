//! Traps: events after which a program has no meaning, each with its place (`docs/semantics.md`, "Traps").

use std::fmt;

use sdfg_graph::diagnostic::ElementPath;
use sdfg_language::symbolic::EvalError;
use thiserror::Error;

/// Path of an element of the program, by name.
pub(super) type Site = std::sync::Arc<ElementPath>;

/// Why an execution stopped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}\n  at {path}{}", Bindings(.iteration))]
pub struct Trap {
    /// Kind of the trap.
    pub kind: TrapKind,
    /// The edge, node, transition or block that was being executed.
    pub path: ElementPath,
    /// The iteration of the scopes around it: their parameters, from the outside in, as far as they are known.
    pub iteration: Vec<(String, i64)>,
    /// How far the run came.
    pub progress: Progress,
}

/// Work that a run had done before a trap. The one with more blocks came further, and of equal ones that with more steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Progress {
    /// Blocks that were executed, each counted once.
    pub blocks: u64,
    /// Steps, as in [`Report::steps`](crate::Report::steps).
    pub steps: u64,
}

/// Values of symbols, as the end of a sentence.
struct Bindings<'a>(&'a [(String, i64)]);

impl fmt::Display for Bindings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{} {name} = {value}", if i == 0 { ", with" } else { "," })?;
        }
        Ok(())
    }
}

/// One of two accesses that conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accessor {
    /// Whether it writes.
    pub writes: bool,
    /// The memlet as text.
    pub memlet: String,
    /// Its edge, or the transition or block whose expression reads.
    pub path: ElementPath,
    /// The iteration of the scopes around it, as in [`Trap::iteration`].
    pub iteration: Vec<(String, i64)>,
}

impl fmt::Display for Accessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.writes { "write" } else { "read" };
        write!(f, "{verb} of `{}` at {}{}", self.memlet, self.path, Bindings(&self.iteration))
    }
}

/// Something that waits when nothing can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The waiting node.
    pub path: ElementPath,
    /// The symbols of the scopes around it with their values.
    pub symbols: Vec<(String, i64)>,
    /// For which stream.
    pub stream: String,
    /// For which of its queues, counted in row-major order.
    pub queue: usize,
    /// Whether it waits for room; otherwise for an element.
    pub to_push: bool,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.to_push { "room" } else { "an element" };
        let (queue, symbols) = (self.queue, Bindings(&self.symbols));
        write!(f, "{} waits for {what} in queue {queue} of `{}`{symbols}", self.path, self.stream)
    }
}

/// The kinds of traps.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TrapKind {
    /// An element outside the shape of its container.
    #[error("out of bounds: {}", outside(index, container, shape))]
    OutOfBounds {
        /// The container.
        container: String,
        /// The index, one number for each dimension.
        index: Vec<i64>,
        /// The extent of each dimension.
        shape: Vec<i64>,
    },
    /// A read of an element that was never written.
    #[error("undefined read: element {index:?} of `{container}` was never written")]
    UndefinedRead {
        /// The container.
        container: String,
        /// The index.
        index: Vec<i64>,
    },
    /// Two accesses of one element that nothing orders.
    #[error(
        "conflict: nothing orders two accesses of element {index:?} of `{container}`\n  first: {first}\n  second: {second}"
    )]
    Conflict {
        /// The container.
        container: String,
        /// The index.
        index: Vec<i64>,
        /// The access that happened to be first.
        first: Box<Accessor>,
        /// The other one.
        second: Box<Accessor>,
    },
    /// Nothing can run and something waits.
    #[error("deadlock: nothing can run{}", .waiting.iter().map(|w| format!("\n  {w}")).collect::<String>())]
    Deadlock {
        /// Waiting nodes and their queues, at most [`Waiting::LIMIT`] of them.
        waiting: Vec<Waiting>,
    },
    /// An index, size or bound that does not fit 64 bits.
    #[error("index overflow: an index, size or bound does not fit 64 bits")]
    IndexOverflow,
    /// An index, size or bound without a value: a division by zero, a fraction, a symbol that was never assigned.
    #[error("undefined index: {0}")]
    UndefinedIndex(EvalError),
    /// A symbol that was never assigned.
    #[error("undefined symbol: `{symbol}` has no value here")]
    UndefinedSymbol {
        /// The symbol.
        symbol: String,
    },
    /// An extent below zero.
    #[error("negative extent: dimension {dimension} of `{container}` has extent {extent}")]
    NegativeExtent {
        /// The container.
        container: String,
        /// The dimension, from 0.
        dimension: usize,
        /// Its extent.
        extent: i64,
    },
    /// A container that is larger than memory.
    #[error("out of memory: `{container}` would take {elements} elements")]
    OutOfMemory {
        /// The container.
        container: String,
        /// Its size in elements.
        elements: i128,
    },
    /// An exact write that a tasklet left out.
    #[error("missing output: connector `{connector}` was not assigned as often as its memlet says")]
    MissingOutput {
        /// The connector.
        connector: String,
    },
    /// An access outside an outer memlet that was declared.
    #[error("outside declared memlet: element {index:?} of `{container}` is not in `{container}{declared}`")]
    OutsideDeclared {
        /// The container.
        container: String,
        /// The index.
        index: Vec<i64>,
        /// The declared subset with its values.
        declared: String,
    },
    /// An access to memory that the processor which runs the code does not reach.
    #[error("unreachable memory: `{container}` is in memory that this schedule does not reach")]
    UnreachableMemory {
        /// The container.
        container: String,
    },
    /// An access to an element that the rank which runs the code does not hold.
    #[error(
        "remote element: {} cannot access element {index:?} of `{container}`, which {}; copy it",
        .by.map_or("code that all ranks run".to_owned(), |rank| format!("rank {rank} alone")),
        .owner.map_or("is not on one rank".to_owned(), |rank| format!("is on rank {rank}"))
    )]
    RemoteElement {
        /// The container.
        container: String,
        /// The index; empty for a stream.
        index: Vec<i64>,
        /// The rank that accesses it; `None` for all of them.
        by: Option<u32>,
        /// The rank that holds it; `None` where several have copies or elements of their own.
        owner: Option<u32>,
    },
    /// A read of a rank's copy of an element that its owner wrote, before a copy set it.
    #[error(
        "stale copy: rank {by} has a copy of element {index:?} of `{container}` that no copy set since rank {owner} wrote it; copy it"
    )]
    StaleCopy {
        /// The container.
        container: String,
        /// The index.
        index: Vec<i64>,
        /// The rank that reads it.
        by: u32,
        /// The rank that owns it.
        owner: u32,
    },
    /// A distribution that does not give each element one owner.
    #[error("bad distribution: `{container}` is not distributed: {what}")]
    BadDistribution {
        /// The container.
        container: String,
        /// The reason.
        what: String,
    },
    /// A copy or reduction between parts of different size.
    #[error("size mismatch: {found} elements cannot fill {expected}")]
    SizeMismatch {
        /// Required number of elements.
        expected: i64,
        /// Available number of elements.
        found: i64,
    },
    /// Persistent memory whose shape is not that of the run before.
    #[error(
        "persistent memory: `{container}` has the shape {found:?}, in the run before it had {kept:?}; use an interpreter for each size"
    )]
    PersistentSize {
        /// The container.
        container: String,
        /// The shape that it was allocated with.
        kept: Vec<i64>,
        /// The shape in this run.
        found: Vec<i64>,
    },
    /// A use of a view or reference that names nothing, or memory that is no longer there.
    #[error("unbound: `{container}` names no memory here")]
    Unbound {
        /// The container.
        container: String,
    },
    /// More memory than the options allow.
    #[error("memory limit: the program needs more than {limit} bytes")]
    MemoryLimit {
        /// The limit.
        limit: u64,
    },
    /// More steps than the options allow.
    #[error("step limit: {limit} steps were made")]
    StepLimit {
        /// The limit.
        limit: u64,
    },
    /// An external function or library node for which nothing was supplied, or that failed.
    #[error("`{name}` cannot be called: {reason}")]
    External {
        /// The function or operation.
        name: String,
        /// Why.
        reason: String,
    },
}

fn outside(index: &[i64], container: &str, shape: &[i64]) -> String {
    if index.is_empty() {
        return format!("`{container}` stands for an element outside of the container that it is bound to");
    }
    format!("index {index:?} of `{container}`, whose shape is {shape:?}")
}

impl Waiting {
    /// Maximum number of waiting activities in a deadlock.
    pub const LIMIT: usize = 16;
}
