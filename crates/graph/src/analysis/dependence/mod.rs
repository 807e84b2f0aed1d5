//! Dependence between two accesses of one container: may iterations touch the same element, and how far apart are they?
//!
//! The answer is three-valued ([`Dependence::exists`]), with the distance of each common iteration symbol. *Proved* names,
//! in effect, two iterations in non-empty ranges that share an element, for all values of the symbols around; *refuted*
//! says that there are none, for any values. Free symbols and symbols of loops around a state are such symbols; iteration
//! symbols of the scopes in it are unknowns.
//!
//! `problem` writes the question as equations (one for each dimension, so that separable and coupled subscripts are one
//! case) and inequalities (ranges and the order of iterations), `system` decides them: by the GCD test and exact solution
//! of the equations, then by elimination of the unknowns from the inequalities. `strided` splits subscripts with symbolic strides
//! where the inner part provably stays below the stride, or other dimensions tell the outer one. What remains undecided is compared as a whole by the symbolic
//! prover, which amounts to Banerjee's inequalities under assumptions.

mod access;
mod graph;
mod linear;
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

/// How far apart two iterations are in one symbol: its value for the second access less that for the first.
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
