//! Library nodes and their expansions.
//!
//! A library node and a [`Reduce`](sdfg::ir::Reduce) have one meaning and several ways to be carried out. [`expand()`] replaces each by a
//! nested SDFG that means the same and that code generation knows how to lower. Apart from `sdfg`, so that the graph does not know
//! how its operations are carried out, and apart from code generation, so that transformations see the expanded graph.
#![forbid(unsafe_code)]

mod blas;
mod cholesky;
mod contraction;
mod error;
mod expand;
mod extents;
mod fill;
mod fourier;
mod lapack;
mod operand;
mod operation;
mod properties;
mod reduce;
mod registry;
mod select;
mod shift;
mod solve;
mod sparse;
mod stencil;
mod template;
mod values;

pub use blas::Blas;
pub use error::{ExpandError, ExpandErrorKind};
pub use expand::{expand, expand_library_nodes};
pub use operation::operations;
pub use registry::{BuiltIn, Context, Pure, Registry};
