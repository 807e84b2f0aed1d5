//! Pictures of a graph, for eyes: Graphviz source and drawn SVG.
//!
//! Pictures show any graph, also one that does not validate, and are the same bytes for the same graph. Apart from the
//! text form, because nothing is read back from them.

mod census;
pub mod dot;
mod label;
mod layered;
mod palette;
pub mod svg;

#[cfg(test)]
mod tests;
