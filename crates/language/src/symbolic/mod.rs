//! Symbolic integer expressions: sizes, bounds and indices over named symbols.
//!
//! [`Expr`] is the expression in canonical form; [`Atom`], [`Term`] and [`View`] show its structure to code that
//! lowers it. Answers about all values of the symbols are three-valued ([`Truth`]).
//!
//! The form, and why it is ours, is described in `docs/adr/`. The files follow the operations: `polynomial` holds
//! the representation and its invariants, `arithmetic`, `division` and `extremum` the operations that keep it
//! canonical, `limits` how large it may grow and how long an answer may take, `eval`, `display` and `parse` the way to
//! values and texts and back, `prove`, `compare`, `bounds` and `direction` what is shown under assumptions, `sum`, `simplify`
//! and `integrality` what is derived.

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
pub(crate) mod memory;
mod parse;
mod polynomial;
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
pub use symbol::{InvalidSymbol, Symbol};
pub use truth::Truth;

#[cfg(test)]
mod tests;
