//! Dataflow of the model: nodes, edges and memlets of one state, as in the file.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use sdfg::ir::Schedule;
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{Expression, Lambda};

use super::{Dtype, Program};
use crate::wire::{Json, Path};

/// A dataflow graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
}

/// A node; its id is its position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) label: String,
    pub(crate) kind: NodeKind,
    /// Input connectors; a type is there only where the file has one.
    pub(crate) inputs: IndexMap<String, Option<Dtype>>,
    pub(crate) outputs: IndexMap<String, Option<Dtype>>,
    /// Position in the file.
    pub(crate) path: Path,
}

/// A property of library nodes that were calls of BLAS: `transA` and `transB` are about matrices as they lie in memory, and
/// not as their memlets have them.
pub(crate) const IN_MEMORY: &str = "transposed in memory";

/// The kinds of nodes.
#[derive(Clone, Debug)]
pub(crate) enum NodeKind {
    Access {
        data: String,
        /// The transient is zero when it is allocated.
        setzero: bool,
    },
    Tasklet {
        code: String,
        /// Python, CPP, ...
        language: String,
        /// Whether the code means the same in the arithmetic of Python and was written in it.
        is_pythonic: bool,
        /// Requirements of C++ code besides its text.
        foreign: Foreign,
    },
    MapEntry(Map),
    /// The end of the scope that the node of this id begins.
    MapExit(usize),
    ConsumeEntry(Consume),
    ConsumeExit(usize),
    Nested {
        program: Box<Program>,
        mapping: Vec<(String, String)>,
    },
    Library {
        /// The Python class without its module.
        class: String,
        properties: IndexMap<String, Json>,
    },
}

/// Requirements of a C++ tasklet's code besides its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Foreign {
    /// C++ code that stands before all functions.
    pub(crate) global: String,
    /// Connectors that are declared as pointers.
    pub(crate) pointers: BTreeSet<String>,
}

/// A map scope.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) params: Vec<Symbol>,
    pub(crate) ranges: Subset,
    pub(crate) schedule: Schedule,
    /// Its iterations are the threads of a team, which share the iterations of maps within.
    pub(crate) is_persistent: bool,
}

/// A consume scope.
#[derive(Clone, Debug)]
pub(crate) struct Consume {
    pub(crate) element: Symbol,
    pub(crate) elements: Expr,
    pub(crate) chunk: Expr,
    pub(crate) condition: Option<Expression>,
    pub(crate) schedule: Schedule,
}

/// An edge.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) src: usize,
    pub(crate) src_connector: Option<String>,
    pub(crate) dst: usize,
    pub(crate) dst_connector: Option<String>,
    pub(crate) memlet: Memlet,
    /// Position in the file.
    pub(crate) path: Path,
}

/// The memlet of an edge.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memlet {
    /// The container that `subset` is about; without one the edge moves nothing, or one value between code.
    pub(crate) data: Option<String>,
    pub(crate) subset: Option<Subset>,
    /// Of the container at the other end.
    pub(crate) other_subset: Option<Subset>,
    /// `None` if the file does not say.
    pub(crate) volume: Option<Expr>,
    pub(crate) dynamic: bool,
    pub(crate) resolution: Option<Lambda>,
    /// Elements out of bounds may be named, as long as code does not use them.
    pub(crate) allow_out_of_bounds: bool,
    /// Settles copies within one container.
    pub(crate) is_data_src: Option<bool>,
}

/// The part of the other side of a copy, of this shape, that a memlet with this subset does not name: it begins at 0 and has the
/// same extents. Where that is no part of the shape, which has as many elements, it is all of it, in order.
pub(crate) fn opposite(subset: &Subset, shape: &[Expr]) -> Subset {
    let long = |sizes: Vec<Expr>| -> Vec<Expr> { sizes.into_iter().filter(|size| !size.is_one()).collect() };
    let wanted = long(subset.sizes());
    if long(shape.to_vec()) == wanted || shape.is_empty() {
        return Subset::full(shape);
    }
    if shape.len() == subset.rank() {
        return subset.sizes().into_iter().map(|size| range_of(&size)).collect();
    }
    let elements = |sizes: &[Expr]| sizes.iter().fold(Expr::one(), |product, size| &product * size);
    if elements(&wanted) == elements(shape) {
        return Subset::full(shape);
    }
    // Extents of one are left out on both sides; what remains is aligned at the last dimension.
    let mut sizes = wanted.into_iter().rev();
    let mut ranges: Vec<Range> = shape
        .iter()
        .rev()
        .map(|extent| {
            if extent.is_one() {
                Range::index(0)
            } else {
                sizes.next().map_or_else(|| Range::index(0), |size| range_of(&size))
            }
        })
        .collect();
    ranges.reverse();
    Subset(ranges)
}

/// The first elements of a dimension, this many.
pub(crate) fn range_of(size: &Expr) -> Range {
    if size.is_one() { Range::index(0) } else { Range::new(0, size.clone()) }
}
