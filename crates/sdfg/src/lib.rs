//! Stateful dataflow multigraphs (SDFGs): the intermediate representation, its text and JSON forms,
//! validation, memlet propagation, analyses and the reference interpreter.
//!
//! The reading order is the order of the modules below: element types, symbolic expressions, subsets,
//! the tasklet language, the graph itself, then what is computed from it.
#![forbid(unsafe_code)]

pub mod analysis;
pub mod builder;
pub mod control;
pub mod diagnostic;
pub mod dtype;
pub mod edit;
pub mod interpret;
pub mod ir;
pub mod json;
pub mod npy;
pub mod path;
pub mod picture;
pub mod propagate;
pub mod reduce;
pub mod subset;
pub mod symbolic;
pub mod syntax;
pub mod tasklet;
pub mod tensor;
pub mod text;
pub mod validate;
pub mod value;
