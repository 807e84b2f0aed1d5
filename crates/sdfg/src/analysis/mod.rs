//! What is computed from a graph and read by others: scopes, memlet paths, connectors, symbols, accesses.
//!
//! Every analysis is a side table or a free function over a borrowed graph; nothing is cached in the graph, so nothing
//! goes stale. All of them take any graph, also a wrong one, and give partial answers there: validation uses them to
//! find out what is wrong.

pub mod accesses;
mod binding;
mod connectors;
pub mod loops;
mod memlet_path;
mod scope_tree;
pub mod symbols;

pub use accesses::AccessSets;
pub use binding::{bound_dimensions, connector_edges};
pub use connectors::{TaskletConnectors, control_environment};
pub use memlet_path::{is_leaf, leaf_edges, memlet_path, memlet_root, outer_segment};
pub use scope_tree::ScopeTree;

#[cfg(test)]
mod tests;
