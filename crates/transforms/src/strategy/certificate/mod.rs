//! Evidence that a strategy has the least cost. Checking it requires no search.
//!
//! The evidence consists of the minima of the tables. For each vertex in elimination order, its table
//! contains the least cost of the eliminated vertices for each combination of layouts of the remaining
//! vertices. If each table follows from its vertex and the earlier tables, the tables without dependents sum
//! to the least cost of all strategies (`docs/strategy.md`, section 4).

mod bucket;
mod check;

use super::layouts::Layouts;
use super::problem::Problem;
use super::search::Options;

pub use check::{Checked, Rejected};

/// The evidence for one problem and strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// Configurations, each with its vertex, that cost no less with the cheapest of each other vertex than the strategy does.
    pub too_dear: Vec<(usize, usize)>,
    /// Of the others those that need not be looked at, in the order in which that follows.
    pub dominated: Vec<Dominated>,
    /// A table for each vertex, in elimination order.
    pub tables: Vec<Table>,
}

/// A configuration that is never better than another one of its vertex, whatever the others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dominated {
    /// The vertex.
    pub vertex: usize,
    /// The configuration that is never better.
    pub configuration: usize,
    /// The one that is never worse.
    pub by: usize,
}

/// The least costs that taking out a vertex leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The vertex that is taken out.
    pub vertex: usize,
    /// Vertices that the minima depend on, with the classes of their remaining configurations.
    pub dependents: Vec<(usize, Layouts)>,
    /// The minima, in the mixed radix of the dependents' layouts, the last dependent going fastest.
    pub minima: Vec<f64>,
}

impl Certificate {
    /// The lower bound on the cost of every strategy that the evidence claims: the minima that depend on nothing.
    pub fn bound(&self) -> f64 {
        let minima =
            self.tables.iter().filter(|table| table.dependents.is_empty()).flat_map(|table| &table.minima);
        minima.fold(0.0, |sum, minimum| sum + minimum)
    }

    /// Number of minima.
    pub fn n_minima(&self) -> usize {
        self.tables.iter().map(|table| table.minima.len()).sum()
    }

    /// Checks that `strategy` has the cost `cost` and that no strategy has less.
    ///
    /// Nothing of the search is used or trusted: every table is computed again from the costs of the problem and the
    /// tables before it. As much work as the search without its choice of an order.
    ///
    /// # Errors
    /// What is wrong with the strategy or the evidence, or how much memory checking it would take.
    pub fn check(
        &self,
        problem: &dyn Problem,
        strategy: &[usize],
        cost: f64,
        limits: &Limits,
    ) -> Result<Checked, Rejected> {
        check::check(self, problem, strategy, cost, limits)
    }
}

/// Limits of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Threads that share the work; the result is the same for any number.
    pub n_threads: usize,
    /// Bytes that it may take on top of the evidence.
    pub memory: u64,
}

impl From<&Options> for Limits {
    /// Those of the search.
    fn from(options: &Options) -> Self {
        Limits { n_threads: options.n_threads, memory: options.memory_limit }
    }
}

#[cfg(test)]
mod tests;
