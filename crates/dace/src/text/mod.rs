//! DaCe's texts: symbolic expressions, conditions, lambdas and tasklet code, as trees of our grammar.
//!
//! Both grammars are subsets of Python's, so our parser reads the texts. Other spellings are rewritten in the
//! tree. A few forms that our Python subset lacks are rewritten in the text beforehand.

mod bits;
mod code;
mod cpp;
mod functions;
mod label;
mod lane_calls;
mod lines;
mod members;
mod mlir;
mod modern;
mod numbers;
mod quotient;
mod runtime;
mod structs;
mod symbolic;

pub(crate) use sdfg::syntax::{map_block, map_expression};

pub(crate) use code::{CONVERSION, expression, is_function, lambda, resolution, statements};
pub(crate) use cpp::{assignments, call_arguments, free_names};
pub(crate) use label::{from_name, to_name};
pub(crate) use lines::is_print;
pub(crate) use members::{Named, flattened, with_members};
pub(crate) use mlir::assigned;
pub(crate) use modern::plain;
pub(crate) use quotient::{as_remainder, joined, rounded_down};
pub(crate) use structs::Structs;
pub(crate) use symbolic::symbolic;
