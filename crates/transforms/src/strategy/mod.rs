//! Optimal parallelization strategies: one configuration for each operation of a computation graph, of least
//! total cost.
//!
//! The library searches a [`Problem`] and has no side effects. `docs/strategy.md` describes the method, its
//! proof, and the errors in its sources.

mod baseline;
mod bounds;
mod certificate;
mod configurations;
mod dominance;
mod dynamic;
mod error;
mod exhaustive;
mod file;
mod layouts;
mod min_plus;
pub mod model;
mod observer;
mod order;
mod picture;
mod plan;
mod problem;
mod reduced;
mod schedule;
mod search;
pub(crate) mod strategy_file;
mod table_pruning;
mod tabulated;

pub use baseline::{data_parallel, serial};
pub use certificate::{Certificate, Checked, Dominated, Limits, Rejected, Table};
pub use configurations::{ConfigurationRule, PartCounts};
pub use error::{ProblemError, ReadError, SearchError};
pub use layouts::Layouts;
pub use observer::{Observer, Progress};
pub use order::{EliminationGraph, Greedy, OrderRule, Volume, order};
pub use picture::{dot, svg};
pub use plan::Prediction;
pub use problem::{Edge, End, Operations, Problem, SumBound, cost, edge_cost};
pub use search::{Algorithm, Options, Pruning, Solution, predict, search};
pub use strategy_file::{ContainerLayout, Cut, OperationStrategy, Proof, StrategyFile, StrategyFileError};
pub use tabulated::{Costs, Operation, Tabulated};

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
