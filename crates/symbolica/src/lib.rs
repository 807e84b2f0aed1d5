//! An optional bridge between the symbolic expressions of SDFGs and Symbolica: [`to_symbolica`] and
//! [`from_symbolica`], for users who want to factor or solve sizes and costs.
//!
//! The bridge is a separate crate and workspace, because nothing else may depend on it:
//!
//! - **Terms.** Symbolica is not open source. Its Source-Available License permits a product to depend on an
//!   unmodified copy, and this crate does nothing else. The right to *run* Symbolica is not part of that
//!   permission and is not passed on here. Whoever builds or runs this crate must qualify for Symbolica's
//!   free, non-commercial use, or hold a licence (<https://symbolica.io/license/>). The licence also forbids
//!   using Symbolica, or knowledge of its inner workings, to build other symbolic algebra. This crate was
//!   written from the public documentation alone, and its results are never compared with those of
//!   `sdfg::symbolic`.
//! - **Behaviour.** Without a key, version 3.0.0 ends a second process or thread of the same user with
//!   `SIGABRT`. Two compilations, parallel tests or MPI ranks cannot run at once. Therefore the tests of this
//!   crate run on one thread.
//! - **Cost.** The crate builds for minutes. Only `cargo xtask symbolica` builds it.
//!
//! Operations that Symbolica does not have, such as floor division, become functions in a separate namespace.
//! They convert back to the original operations.
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
