//! Dependence analysis of two accesses of one container: whether iterations may touch the same element, and
//! at which distance.
//!
//! The answer is three-valued ([`Dependence::exists`]), with the distance of each common iteration symbol.
//! *Proved* means that, for all values of the surrounding symbols, two iterations in non-empty ranges share
//! an element. *Refuted* means that no iterations do, for any values. Free symbols, and symbols of loops
//! around a state, are surrounding symbols. Iteration symbols of scopes in the state are unknowns.
//!
//! `problem` writes the question as equations (one for each dimension, so that separable and coupled
//! subscripts are one case) and inequalities (ranges and the order of iterations). `system` decides them: by
//! the GCD test and exact solution of the equations, then by elimination of the unknowns from the
//! inequalities. `strided` splits subscripts with symbolic strides if the inner part provably stays below the
//! stride, or if other dimensions determine the outer part. The symbolic prover compares the remaining
//! subscripts as wholes, which amounts to Banerjee's inequalities under assumptions.

mod access;
mod graph;
mod linear;
mod parts;
mod problem;
mod query;
mod strided;
mod system;

#[cfg(test)]
mod tests;

pub use access::{AccessMode, IteratedAccess, Iterations};
pub use graph::{StateDependence, carried_by_loop};
pub use query::{Iteration, dependence, meets};
use sdfg_language::symbolic::{Expr, Symbol, Truth};

/// Whether two accesses touch a common element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// Whether iterations as asked for touch a common element, for all values of the symbols around.
    pub exists: Truth,
    /// For each iteration symbol that both accesses have in common, outermost first, how far apart the iterations are
    /// that may touch a common element. Empty where the dependence is refuted.
    pub distances: Vec<Distance>,
}

/// Distance of two iterations in one symbol: its value for the second access minus that for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The iteration symbol.
    pub symbol: Symbol,
    /// The distance, where it is the same for all elements that both accesses touch.
    pub exact: Option<Expr>,
    /// Whether the value for the second access may be greater (direction `<`).
    pub greater: bool,
    /// Whether the values may be equal (direction `=`).
    pub equal: bool,
    /// Whether the value for the second access may be less (direction `>`).
    pub less: bool,
}

impl Dependence {
    /// Nothing is shared.
    pub(super) fn none() -> Self {
        Dependence { exists: Truth::Refuted, distances: Vec::new() }
    }

    /// Nothing is known.
    pub(super) fn unknown() -> Self {
        Dependence { exists: Truth::Unknown, distances: Vec::new() }
    }
}
