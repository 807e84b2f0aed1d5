//! Search problems: a graph of operations with configurations, and the costs of choosing them.
//!
//! Vertices, edges and configurations are numbered from 0, in the order of the problem. The direction of an
//! edge only determines the orientation of its table. Costs add up, so the search ignores the direction.

use super::layouts::Layouts;

/// An edge between two vertices: a tensor that one operation leaves for another.
///
/// Several edges may join the same vertices, and both ends may be the same vertex: all of their costs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The vertex whose configurations are the rows of the edge's costs.
    pub source: usize,
    /// The vertex whose configurations are the columns of the edge's costs.
    pub target: usize,
}

impl Edge {
    /// The vertex at one end.
    pub fn vertex(&self, end: End) -> usize {
        match end {
            End::Source => self.source,
            End::Target => self.target,
        }
    }

    /// Whether both ends are the same vertex.
    pub fn is_loop(&self) -> bool {
        self.source == self.target
    }
}

/// One of the two ends of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The rows.
    Source,
    /// The columns.
    Target,
}

impl End {
    /// The end across the edge.
    pub fn other(self) -> End {
        match self {
            End::Source => End::Target,
            End::Target => End::Source,
        }
    }
}

/// The sums of interest to a minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumBound {
    /// The summand that is known; not negative.
    pub base: f64,
    /// The least sum so far. Sums that are no less need not be known.
    pub least: f64,
}

impl SumBound {
    /// Whether a cost of at least this adds up to no less than the least sum. Rounding preserves the order of sums, so every higher
    /// cost does, too.
    pub fn is_reached(self, cost: f64) -> bool {
        self.base + cost >= self.least
    }
}

/// A computation graph with costs: the input of every search.
///
/// The cost of a strategy, one configuration for each vertex, is the sum of the costs of its vertices and edges
/// (`strategy-search` document 3, section 1). Costs are finite and not negative, in any unit. Asking twice gives
/// the same. The search asks for what it needs when it needs it, so that costs may be computed when they are asked for.
pub trait Problem: Sync {
    /// Number of vertices.
    fn n_vertices(&self) -> usize;

    /// Number of configurations of a vertex; at least one.
    fn n_configurations(&self, vertex: usize) -> usize;

    /// Cost of a vertex in one of its configurations.
    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64;

    /// Costs of all configurations of a vertex, where they are at hand.
    fn vertex_costs(&self, _vertex: usize) -> Option<&[f64]> {
        None
    }

    /// All edges.
    fn edges(&self) -> &[Edge];

    /// Classes of configurations of one end that an edge does not distinguish.
    fn layouts(&self, edge: usize, end: End) -> &Layouts;

    /// Cost of an edge between two layouts.
    fn edge_cost(&self, edge: usize, source_layout: usize, target_layout: usize) -> f64;

    /// The cost of an edge, as far as it matters to a minimum over sums: where `base` and the cost add up to no less than `least`, the
    /// result may be any lower number with which they do, too. It is never higher than the cost.
    ///
    /// Without an implementation, it is the cost.
    fn edge_cost_below(
        &self,
        edge: usize,
        source_layout: usize,
        target_layout: usize,
        _bound: SumBound,
    ) -> f64 {
        self.edge_cost(edge, source_layout, target_layout)
    }

    /// All costs of an edge, a row for each layout of the source and a column for each of the target, where they are at hand.
    fn edge_table(&self, _edge: usize) -> Option<&[f64]> {
        None
    }

    /// Name of a vertex in messages.
    fn vertex_name(&self, vertex: usize) -> String {
        format!("vertex {vertex}")
    }
}

/// A problem whose vertices are operations on iteration domains: what strategies tell beside costs.
pub trait Operations: Problem {
    /// Name of the computation; may be empty.
    fn model(&self) -> &str;

    /// Number of processors that the configurations are for.
    fn n_processors(&self) -> u32;

    /// Name of an operation.
    fn name(&self, vertex: usize) -> &str;

    /// Kind of an operation, such as `Conv`.
    fn kind(&self, vertex: usize) -> &str;

    /// Sizes of its iteration domain.
    fn domain(&self, vertex: usize) -> &[u64];

    /// Into how many parts each dimension is cut, for each configuration.
    fn configurations(&self, vertex: usize) -> &[Vec<u32>];
}

/// Cost of a strategy: the costs of all vertices, then those of all edges, added in their order.
///
/// The strategy has a configuration for each vertex of the problem.
pub fn cost(problem: &dyn Problem, strategy: &[usize]) -> f64 {
    let vertices = strategy.iter().enumerate().map(|(vertex, c)| problem.vertex_cost(vertex, *c));
    let edges = (0..problem.edges().len()).map(|edge| edge_cost(problem, edge, strategy));
    // Nothing costs 0, and not -0, from which sums begin.
    vertices.chain(edges).fold(0.0, |sum, cost| sum + cost)
}

/// Cost of one edge in a strategy.
pub fn edge_cost(problem: &dyn Problem, edge: usize, strategy: &[usize]) -> f64 {
    let Edge { source, target } = problem.edges()[edge];
    let layout = |end, vertex: usize| problem.layouts(edge, end).of(strategy[vertex]);
    problem.edge_cost(edge, layout(End::Source, source), layout(End::Target, target))
}
