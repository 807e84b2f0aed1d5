//! How a write treats the value that was there before.

use sdfg::ir::ConflictResolution;
use sdfg::tasklet::TypedExpressionCode;

/// What a write does to the old value.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolved {
    /// Replaces it.
    Store,
    /// Combines it with the new value.
    Combine {
        /// How.
        resolution: ConflictResolution,
        /// The function of a custom resolution, typed: a tree over two value inputs, the old value (connector 0) and the new one (connector 1).
        custom: Option<Box<TypedExpressionCode>>,
        /// Against whom it must be safe.
        realisation: Realisation,
    },
}

/// How the combination of an old and a new value is made safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Realisation {
    /// Load, combine, store: no other thread writes the element meanwhile.
    Plain,
    /// One atomic step; other threads combine into the same element.
    Atomic,
}
