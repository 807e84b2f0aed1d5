//! Analyses: facts computed from a graph, such as scopes, memlet paths, connectors, symbols and accesses.
//!
//! Every analysis is a side table or a free function over a borrowed graph. The graph caches nothing, so
//! nothing becomes stale. [`Analyses`] keeps tables while the revision of the graph stays the same, and
//! untouched tables through series of edits. All analyses accept any graph, including invalid ones, and then
//! give partial answers: validation uses them to find errors.
//!
//! | question | answer |
//! |---|---|
//! | which scope is a node in, what ends a scope | [`ScopeTree`], [`State::exit_of`](crate::ir::State::exit_of) |
//! | what is behind a node or block | [`reached`], [`leads_to`], [`node_leads_to`] |
//! | where is a container used | [`Uses`] |
//! | what is known of symbols at a place | [`SymbolFacts`], [`symbol_facts_at`] |
//! | what runs a node | [`device_of`] |
//! | which edges carry one datum through scopes | [`memlet_path`], [`MemletTrees`] |
//!
//! ```
//! # use sdfg_graph as sdfg;
//! use sdfg::analysis::Analyses;
//!
//! let text = "sdfg p {
//!   array A: f64[4]
//!
//!   state s {
//!     access A
//!     map m [i = 0:4] {
//!       tasklet t () -> (y) { y = 1 }
//!       t.y -> m.A: A[i]
//!     }
//!     m.A -> A
//!   }
//! }";
//! let program = sdfg::text::parse("p.sdft", text).expect("a program");
//! let (id, state) = program.states().next().expect("a state");
//! let (entry, tasklet) = (state.find("m").expect("a map"), state.find("t").expect("a tasklet"));
//! let mut analyses = Analyses::new();
//! let scopes = analyses.scopes(&program, id);
//! assert_eq!(scopes.scope_of(tasklet), Some(entry));
//! // Asked again, it is the same table, for as long as the state stays as it is.
//! assert!(std::sync::Arc::ptr_eq(&scopes, &analyses.scopes(&program, id)));
//! ```

pub mod accesses;
mod binding;
pub mod callbacks;
pub(crate) mod changed_parts;
pub(crate) mod connectors;
pub mod control_graph;
pub mod cost;
pub mod dependence;
mod device;
pub mod dominators;
pub mod executions;
mod filling;
mod fixpoint;
pub mod footprint;
mod integers;
pub(crate) mod known;
pub mod liveness;
pub mod loops;
pub(crate) mod memlet_path;
mod memlet_tree;
mod own_parts;
mod owning_scopes;
mod reachability;
pub mod reaching;
pub mod region_graph;
mod scope_tree;
mod state_effects;
mod symbol_uses;
pub mod symbols;
mod tables;
mod uses;

pub use accesses::AccessSets;
pub use binding::{bound_alias, bound_dimensions, connector_edges};
pub use changed_parts::ChangedParts;
pub use connectors::{TaskletConnectors, control_environment, control_environment_of};
pub use control_graph::ControlGraph;
pub use cost::{Cost, Costs, work_of_iterations};
pub use device::{Device, device_in, device_of};
pub use dominators::DominatorTree;
pub use filling::{FILLING, fills_output};
pub use footprint::Footprint;
pub use integers::{computes_in_i64, control_code_of, integer_of};
pub(crate) use known::{Sizes, enter_scope};
pub use known::{SymbolFacts, symbol_facts_at};
pub use liveness::{Live, Liveness};
pub use memlet_path::{consumed_by, is_leaf, leaf_edges, memlet_path, memlet_root, outer_segment};
pub use memlet_tree::MemletTrees;
pub use own_parts::{HaloRead, halo_reads, owned_part, part_start, reads_own_elements};
pub use owning_scopes::owning_scopes;
pub use reachability::{ancestors, followers, leads_to, node_leads_to, reached};
pub use reaching::{ReachingDefinitions, ReachingSymbols};
pub use region_graph::RegionGraph;
pub use scope_tree::{ScopeTree, scope_around};
pub use symbol_uses::SymbolUses;
pub use tables::Analyses;
pub use uses::{Use, Uses};

#[cfg(test)]
mod tests;
