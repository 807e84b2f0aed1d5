//! Symbolic integer expressions: sizes, bounds and indices over named symbols.
//!
//! [`Expr`] is the expression in canonical form. [`Atom`], [`Term`] and [`View`] show its structure to code
//! that lowers it. Answers about all values of the symbols are three-valued ([`Truth`]).
//!
//! `docs/adr/` describes the form and its reasons. Files correspond to operations. `polynomial` holds the
//! representation and its invariants. `arithmetic`, `division` and `extremum` are the operations that
//! preserve the canonical form. `limits` bounds sizes and effort. `eval`, `display` and `parse` convert to
//! and from values and texts. `prove`, `compare`, `bounds` and `direction` derive facts under assumptions.
//! `sum`, `simplify` and `integrality` are derived operations.

mod arithmetic;
mod assumptions;
mod bounds;
mod compare;
mod direction;
mod display;
mod division;
mod eval;
mod examples;
mod expr;
mod extremum;
mod integer;
mod integrality;
mod limits;
mod parse;
mod polynomial;
pub(crate) mod proof_cache;
mod prove;
mod simplify;
mod sum;
mod symbol;
mod truth;

pub use assumptions::Assumptions;
pub use bounds::Bounds;
pub use compare::Sign;
pub use eval::{Environment, EvalError};
pub use expr::{Expr, View};
pub use integer::{Integer, Rational};
pub use limits::{SIZE_LIMIT, TERM_LIMIT};
pub use parse::{NotPure, NotPureKind, ParseExprError};
pub use polynomial::{Atom, Term};
pub use proof_cache::with_proof_cache;
pub use symbol::{InvalidSymbol, Symbol};
pub use truth::Truth;

#[cfg(test)]
mod tests;
