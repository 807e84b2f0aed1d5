//! What is computed from a graph and read by others: scopes, memlet paths, connectors, symbols, accesses.
//!
//! Every analysis is a side table or a free function over a borrowed graph; nothing is cached in the graph, so nothing
//! goes stale. [`Analyses`] keeps tables for as long as the revision of the graph stays. All of them take any graph, also a wrong one, and give partial answers there: validation uses them to
//! find out what is wrong.

pub mod accesses;
mod binding;
mod connectors;
pub mod dominators;
pub mod loops;
mod memlet_path;
pub mod region_graph;
mod scope_tree;
pub mod symbols;
mod tables;

pub use accesses::AccessSets;
pub use binding::{bound_dimensions, connector_edges};
pub use connectors::{TaskletConnectors, control_environment};
pub use dominators::DominatorTree;
pub use memlet_path::{is_leaf, leaf_edges, memlet_path, memlet_root, outer_segment};
pub use region_graph::RegionGraph;
pub use scope_tree::ScopeTree;
pub use tables::Analyses;

#[cfg(test)]
mod tests;
