//! What is computed from a graph and read by others: scopes, memlet paths, connectors, symbols, accesses.
//!
//! Every analysis is a side table or a free function over a borrowed graph; nothing is cached in the graph, so nothing
//! goes stale. [`Analyses`] keeps tables for as long as the revision of the graph stays. All of them take any graph, also a wrong one, and give partial answers there: validation uses them to
//! find out what is wrong.

pub mod accesses;
mod binding;
mod connectors;
pub mod control_graph;
pub mod cost;
pub mod dependence;
pub mod dominators;
pub mod executions;
mod fixpoint;
pub mod footprint;
mod homes;
pub mod liveness;
pub mod loops;
mod memlet_path;
mod memlet_tree;
pub mod reaching;
pub mod region_graph;
mod scope_tree;
mod state_effects;
pub mod symbols;
mod tables;

pub use accesses::AccessSets;
pub use binding::{bound_alias, bound_dimensions, connector_edges};
pub use connectors::{TaskletConnectors, control_environment};
pub use control_graph::ControlGraph;
pub use cost::{Cost, Costs};
pub use dominators::DominatorTree;
pub use footprint::Footprint;
pub use homes::homes;
pub use liveness::Liveness;
pub use memlet_path::{consumed_by, is_leaf, leaf_edges, memlet_path, memlet_root, outer_segment};
pub(crate) use memlet_path::{inner_segments, outer_segments};
pub use memlet_tree::MemletTrees;
pub use reaching::{ReachingDefinitions, ReachingSymbols};
pub use region_graph::RegionGraph;
pub use scope_tree::ScopeTree;
pub use tables::Analyses;

#[cfg(test)]
mod flow_tests;
#[cfg(test)]
mod tests;
