//! DaCe's graphs as typed data, with all defaults filled in and all texts parsed.
//!
//! The model describes a file in DaCe's own terms: memlets name one container and optionally the subset of
//! the other end, exits name their entries, and edges that are tried in order join blocks. The reader lowers
//! the model to our graph, and the writer lifts our graph to the model. Neither accesses JSON.

mod control;
mod dataflow;
mod descriptor;
mod structure;

use std::collections::BTreeSet;

use indexmap::IndexMap;

pub(crate) use control::{Block, BlockKind, InterstateEdge, LoopRegion, Region};
pub(crate) use dataflow::{
    Consume, Edge, Foreign, IN_MEMORY, Map, Memlet, Node, NodeKind, State, opposite, range_of,
};
pub(crate) use descriptor::{Descriptor, DescriptorKind, Dtype, StructType};
use sdfg::ir::FloatMode;
use sdfg::symbolic::Assumptions;
use sdfg::syntax::Expression;
use sdfg::value::Value;
pub(crate) use structure::{Member, Structure, Structures, capacity};

/// One SDFG of a file.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) float_mode: FloatMode,
    /// Arguments in the order of the Python function.
    pub(crate) arg_names: Vec<String>,
    pub(crate) constants: IndexMap<String, Constant>,
    pub(crate) containers: IndexMap<String, Descriptor>,
    /// Structures, until their members become containers.
    pub(crate) structures: Structures,
    pub(crate) symbols: IndexMap<String, Dtype>,
    /// Functions that the caller passes, as symbols of type `callback`.
    pub(crate) callbacks: BTreeSet<String>,
    /// Symbols that C++ code sets when the program starts, with their values.
    pub(crate) initial: Vec<(String, Expression)>,
    pub(crate) body: Region,
    /// C++ code beside the graph with its place in the file.
    pub(crate) globals: Vec<(String, String)>,
    /// Facts about symbols where expressions are written; empty for programs that were read.
    pub(crate) known: Assumptions,
}

/// A compile-time constant.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) descriptor: Descriptor,
    /// Elements in row-major order.
    pub(crate) values: Vec<Value>,
}
