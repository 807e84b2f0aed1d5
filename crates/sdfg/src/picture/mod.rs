//! Pictures of a graph: Graphviz source and SVG.
//!
//! Pictures show any graph, including invalid ones, and equal graphs give equal bytes. They are separate from
//! the text form, because nothing reads them back.

pub mod dot;
mod element_counts;
mod label;
mod layered;
mod palette;
pub mod svg;

#[cfg(test)]
mod tests;
