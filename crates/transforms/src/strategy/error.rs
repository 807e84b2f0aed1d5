//! Errors in a problem, and reasons for a search to end without a strategy.

use super::problem::End;

/// A problem that does not make sense. Each error says which vertex or edge, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// The number of processors is 0.
    #[error("the number of processors is 0; it has to be at least 1")]
    NoProcessors,
    /// More processors than the costs are for.
    #[error(
        "the costs are for {known} processors, not for {wanted}; make costs for {wanted}, or ask for at most {known}"
    )]
    TooManyProcessors {
        /// The requested number.
        wanted: u32,
        /// The number that the costs are for.
        known: u32,
    },
    /// A vertex cannot be configured in any way.
    #[error("{vertex} has no configuration; give it at least one, (1, .., 1) being serial")]
    NoConfiguration {
        /// Its name.
        vertex: String,
    },
    /// A vertex has more or fewer costs than configurations.
    #[error(
        "{vertex} has {n_configurations} configurations and {n_costs} costs; each configuration needs one cost"
    )]
    CostCount {
        /// Its name.
        vertex: String,
        /// Number of its configurations.
        n_configurations: usize,
        /// Number of its costs.
        n_costs: usize,
    },
    /// A configuration has more or fewer parts than the domain has dimensions.
    #[error(
        "configuration {configuration} of {vertex} is {parts:?}, its domain has {n_dimensions} dimensions"
    )]
    Rank {
        /// The vertex's name.
        vertex: String,
        /// The configuration, counted from 0.
        configuration: usize,
        /// Its value.
        parts: Vec<u32>,
        /// Number of dimensions of the domain.
        n_dimensions: usize,
    },
    /// A configuration cuts a dimension into no parts.
    #[error("configuration {configuration} of {vertex} is {parts:?}; each number of parts is at least 1")]
    NoParts {
        /// The vertex's name.
        vertex: String,
        /// The configuration, counted from 0.
        configuration: usize,
        /// Its value.
        parts: Vec<u32>,
    },
    /// A configuration has more parts than there are processors.
    #[error(
        "configuration {configuration} of {vertex}, {parts:?}, has more parts than there are processors, {n_processors}"
    )]
    TooManyParts {
        /// The vertex's name.
        vertex: String,
        /// The configuration, counted from 0.
        configuration: usize,
        /// Its value.
        parts: Vec<u32>,
        /// Number of processors.
        n_processors: u32,
    },
    /// A configuration is listed twice, with different costs.
    #[error("configurations {first} and {second} of {vertex} are both {parts:?} but differ in cost{}; leave out one", at_edge(*edge))]
    Contradiction {
        /// The vertex's name.
        vertex: String,
        /// The configuration, counted from 0.
        first: usize,
        /// The same once more.
        second: usize,
        /// Both values.
        parts: Vec<u32>,
        /// The edge whose costs differ, counted from 0; nothing for the vertex's own.
        edge: Option<usize>,
    },
    /// A vertex cost that is no cost.
    #[error(
        "the cost of configuration {configuration} of {vertex} is {cost}; costs are finite and not negative"
    )]
    VertexCost {
        /// The vertex's name.
        vertex: String,
        /// The configuration, counted from 0.
        configuration: usize,
        /// Its cost.
        cost: f64,
    },
    /// An edge cost that is no cost.
    #[error(
        "the cost of edge {edge} in row {row}, column {column} is {cost}; costs are finite and not negative"
    )]
    EdgeCost {
        /// The edge, counted from 0.
        edge: usize,
        /// A layout or configuration of its source, counted from 0.
        row: usize,
        /// A layout or configuration of its target, counted from 0.
        column: usize,
        /// The cost.
        cost: f64,
    },
    /// An edge whose end is no vertex.
    #[error("the {} of edge {edge} is vertex {vertex}, but there are {n_vertices} vertices, counted from 0", end_name(*end))]
    UnknownVertex {
        /// The edge, counted from 0.
        edge: usize,
        /// The end.
        end: End,
        /// The vertex that is not there.
        vertex: usize,
        /// Number of vertices.
        n_vertices: usize,
    },
    /// The costs of an edge have more or fewer rows than its source has configurations.
    #[error(
        "the costs of edge {edge} have {n_rows} rows; its source, {source_name}, has {n_configurations} configurations"
    )]
    RowCount {
        /// The edge, counted from 0.
        edge: usize,
        /// The name of its source.
        source_name: String,
        /// Number of rows.
        n_rows: usize,
        /// Required number of rows.
        n_configurations: usize,
    },
    /// A row of the costs of an edge has more or fewer columns than its target has configurations.
    #[error(
        "row {row} of the costs of edge {edge} has {n_columns} columns; its target, {target_name}, has {n_configurations} configurations"
    )]
    RowLength {
        /// The edge, counted from 0.
        edge: usize,
        /// The row, counted from 0.
        row: usize,
        /// The name of the edge's target.
        target_name: String,
        /// Number of columns in the row.
        n_columns: usize,
        /// Required number of columns.
        n_configurations: usize,
    },
}

fn at_edge(edge: Option<usize>) -> String {
    edge.map_or(String::new(), |edge| format!(" at edge {edge}"))
}

fn end_name(end: End) -> &'static str {
    match end {
        End::Source => "source",
        End::Target => "target",
    }
}

/// Why a problem was not read from a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read the graph: {0}")]
    Io(#[from] std::io::Error),
    /// The file is not a graph in JSON.
    #[error("the graph is no JSON of this format: {error}{hint}", error = .0, hint = numbers(.0))]
    Json(#[from] serde_json::Error),
    /// The graph makes no sense.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

/// Possible errors of a number, as other tools may write them.
fn numbers(error: &serde_json::Error) -> &'static str {
    if error.is_syntax() {
        " (costs are finite and not negative; JSON has no NaN and no Infinity)"
    } else {
        ""
    }
}

/// Why a search ends without a strategy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SearchError {
    /// A cost that was asked for is no cost.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The tables do not fit.
    #[error(
        "{what} needs {needed} bytes of memory, the limit is {limit}; raise the limit, or give operations fewer configurations"
    )]
    Memory {
        /// The object that does not fit.
        what: &'static str,
        /// Required bytes.
        needed: u64,
        /// Permitted bytes.
        limit: u64,
    },
    /// The graph has more strategies than can be looked at one by one.
    #[error(
        "there are {strategies:.3e} strategies to look at, the limit is {limit:.3e}; use the dynamic program"
    )]
    TooManyStrategies {
        /// Their number, or a lower bound of it.
        strategies: f64,
        /// Permitted number.
        limit: f64,
    },
    /// The best order of a large graph was asked for.
    #[error("{n_vertices} vertices are too many for the exact elimination order; use another rule")]
    OrderTooLarge {
        /// Number of vertices.
        n_vertices: usize,
    },
    /// All that the table-pruning algorithm left contradicts itself.
    #[error(
        "rounding errors made the comparisons of the table-pruning algorithm contradict each other; use the dynamic program"
    )]
    Rounding,
    /// Sums of costs exceed what floating-point numbers hold.
    #[error("the costs are so large that their sum is infinite; use a larger unit")]
    Overflow,
    /// The observer said so.
    #[error("the search was cancelled")]
    Cancelled,
}
