//! An optional bridge between the symbolic expressions of SDFGs and Symbolica: [`to_symbolica`] and
//! [`from_symbolica`], for users who want to factor or solve sizes and costs.
//!
//! It is a crate and a workspace of its own because nothing else may depend on it:
//!
//! - **Terms.** Symbolica is not open source. Its Source-Available License lets a product depend on an unmodified
//!   copy, and this crate does no more; the right to *run* it is not part of that and is not passed on here. Whoever
//!   builds or runs this crate must qualify for Symbolica's free, non-commercial use, or hold a licence
//!   (<https://symbolica.io/license/>). The licence also forbids to use Symbolica, or what is learnt from its inner
//!   workings, for building other symbolic algebra. This crate is written against the public documentation alone,
//!   and its results are never compared with those of `sdfg::symbolic`.
//! - **Behaviour.** Without a key, version 3.0.0 ends a second process or thread of the same user with `SIGABRT`: no
//!   two compilations, parallel tests or MPI ranks. Tests of this crate therefore run on one thread.
//! - **Cost.** It builds for minutes. `cargo xtask symbolica` does it, and nothing else does.
//!
//! Operations that Symbolica does not have, such as floor division, become functions in a namespace of their own, so
//! that they come back as what they were.
#![forbid(unsafe_code)]

mod from_atom;
mod to_atom;

#[cfg(test)]
mod tests;

pub use from_atom::{FromSymbolicaError, from_symbolica};
pub use to_atom::{ToSymbolicaError, to_symbolica};

/// The namespace of symbols of expressions.
const SYMBOLS: &str = "sdfg";
/// The namespace of opaque functions of expressions.
const CALLS: &str = "sdfg_call";
/// The namespace of the operations below.
const OPERATIONS: &str = "sdfg_operation";

/// Operations of expressions that are functions to Symbolica.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max,
}

impl Operation {
    const ALL: [Operation; 5] =
        [Operation::FloorDiv, Operation::CeilDiv, Operation::Mod, Operation::Min, Operation::Max];

    fn name(self) -> &'static str {
        match self {
            Operation::FloorDiv => "floor_div",
            Operation::CeilDiv => "ceil_div",
            Operation::Mod => "mod",
            Operation::Min => "min",
            Operation::Max => "max",
        }
    }
}
