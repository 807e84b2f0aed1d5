//! A complete lowered program.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::FloatMode;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::ExternalOrigin;

use super::arena::Slot;
use super::buffer::{Buffer, BufferId};
use super::capture::Captures;
use super::debug::DebugInfo;
use super::loops::{Level, Loop};
use super::profile::Profile;
use super::statement::Statement;
use super::walk::any_statement;
use crate::interface::Callback;

/// A lowered program.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name of the compiled function.
    pub name: String,
    /// The floating-point mode.
    pub float_mode: FloatMode,
    /// Whether native code looks for what has no meaning: accesses out of bounds, reads of what was never written, indices
    /// without a value. Then it ends with a status instead of doing anything.
    pub checked: bool,
    /// Arguments of which any two may overlap; others do not overlap if one of them is written.
    pub overlapping: BTreeSet<BufferId>,
    /// Containers that the caller passes, in signature order.
    pub arguments: Vec<Argument>,
    /// Symbols that the caller passes, after the containers.
    pub symbols: Vec<SymbolArgument>,
    /// Memory.
    pub buffers: Vec<Buffer>,
    /// The arena of the handle, from its start on.
    pub slots: Vec<Slot>,
    /// Every variable with its type, in order of first use: symbol arguments, loop variables, symbols of the program.
    ///
    /// A variable of an index expression is converted to a 64-bit signed integer. Names are unique.
    pub variables: IndexMap<Symbol, ScalarType>,
    /// The statements of a run.
    pub body: Vec<Statement>,
    /// Captures of the function of the body.
    pub captures: Captures,
    /// Innermost iterations from which on a team is started for a loop.
    pub threshold: u64,
    /// Command streams of the device; 0 if the host waits for each copy, and all commands go to one stream.
    pub command_streams: u32,
    /// Events that order them.
    pub events: u32,
    /// Sources of the functions of external tasklets, in order of first use, each once.
    pub externals: Vec<ExternalOrigin>,
    /// Functions that the caller passes, in order of first use.
    pub callbacks: Vec<Callback>,
    /// Timers; without, the code has none.
    pub profile: Option<Profile>,
    /// Source locations; without, the code has no debug information.
    pub debug: Option<DebugInfo>,
}

/// Kind of a container that the caller passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassedAs {
    /// An array.
    Array,
    /// A scalar.
    Scalar,
    /// A stream, by its queues in row-major order.
    Queue,
}

/// A container that the caller passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name in the signature.
    pub name: String,
    /// Type of one element.
    pub element: ElementType,
    /// Shape over symbol arguments; empty for a scalar and for one queue.
    pub shape: Vec<Expr>,
    /// Elements between neighbours along each dimension.
    pub strides: Vec<Expr>,
    /// Position of the element with all indices zero.
    pub offset: Expr,
    /// Elements, or queues, that the caller has to provide.
    pub size: Expr,
    /// Its kind.
    pub kind: PassedAs,
    /// Whether it is passed by value: a scalar of one component that is only read. Others are passed as pointers.
    pub by_value: bool,
    /// Whether the program may read it.
    pub read: bool,
    /// Whether the program may write it.
    pub written: bool,
    /// Its buffer.
    pub buffer: BufferId,
}

/// A symbol that the caller passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolArgument {
    /// Name in the signature and in [`Plan::variables`].
    pub name: Symbol,
    /// Its type.
    pub ty: ScalarType,
    /// Whether it must not be negative: it is in the shape of an argument.
    pub non_negative: bool,
}

impl Plan {
    /// Innermost steps that are worth a team of threads, which takes a few microseconds to start.
    pub const DEFAULT_THRESHOLD: u64 = 4096;

    /// A program that does nothing.
    pub fn new(name: impl Into<String>, float_mode: FloatMode) -> Self {
        Plan {
            name: name.into(),
            float_mode,
            checked: false,
            overlapping: BTreeSet::new(),
            arguments: Vec::new(),
            symbols: Vec::new(),
            buffers: Vec::new(),
            slots: Vec::new(),
            variables: IndexMap::new(),
            body: Vec::new(),
            captures: Captures::default(),
            threshold: Plan::DEFAULT_THRESHOLD,
            command_streams: 0,
            events: 0,
            externals: Vec::new(),
            callbacks: Vec::new(),
            profile: None,
            debug: None,
        }
    }

    /// Whether an argument has a stride that is a symbol of its own, not an extent: the caller may pass one there.
    pub fn has_free_strides(&self) -> bool {
        self.arguments.iter().any(|argument| {
            let is_extent =
                |symbol: &Symbol| argument.shape.iter().any(|extent| extent.free_symbols().contains(symbol));
            let mut strides = argument.strides.iter().filter_map(Expr::as_symbol);
            strides.any(|symbol| !is_extent(symbol))
        })
    }

    /// Whether a device runs a part of the program: a loop of level grid.
    pub fn has_kernels(&self) -> bool {
        any_statement(&self.body, &|statement| {
            matches!(statement, Statement::Loop(Loop { level: Level::Grid(_), .. }))
        })
    }

    /// Whether a run needs a device: for kernels, or for memory.
    pub fn uses_device(&self) -> bool {
        let mut spaces = self.buffers.iter().map(|buffer| buffer.space);
        spaces.any(|space| space == super::Space::DeviceGlobal) || self.has_kernels()
    }

    /// The buffer.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.index()]
    }
}
