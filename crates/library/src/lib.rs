//! Library nodes and their expansions.
//!
//! A library node, like a [`Reduce`](sdfg::ir::Reduce), has one meaning and several implementations.
//! [`expand()`] replaces each by a nested SDFG with the same meaning that code generation can lower. The
//! crate is separate from `sdfg`, so that the graph does not depend on implementations. It is separate from
//! code generation, so that transformations see the expanded graph.
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
mod logical;
mod operand;
mod operation;
mod pages;
mod properties;
mod reduce;
mod registry;
mod select;
mod shift;
mod solve;
mod sparse;
mod stencil;
mod sum;
mod template;
mod transformation;
mod values;

pub use blas::Blas;
pub use error::{ExpandError, ExpandErrorKind};
pub use expand::{expand, expand_all, expand_library_nodes};
pub use operation::operations;
pub use pages::PAGES;
pub use registry::{BuiltIn, Context, Pure, Registry};
pub use transformation::{ExpandLibrary, transformations};
