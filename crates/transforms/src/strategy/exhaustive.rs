//! Exhaustive search over all strategies: the oracle of the other algorithms, for small graphs.

use super::error::SearchError;
use super::problem::{self, Problem};

/// The first strategy of least cost in lexicographic order.
///
/// # Errors
/// If there are more strategies than `limit`.
pub(super) fn search(problem: &dyn Problem, limit: f64) -> Result<Vec<usize>, SearchError> {
    let n = problem.n_vertices();
    let sizes: Vec<usize> = (0..n).map(|vertex| problem.n_configurations(vertex)).collect();
    let strategies: f64 = sizes.iter().map(|size| *size as f64).product();
    if strategies > limit {
        return Err(SearchError::TooManyStrategies { strategies, limit });
    }
    let mut strategy = vec![0; n];
    let mut best = (f64::INFINITY, strategy.clone());
    loop {
        let cost = problem::cost(problem, &strategy);
        if cost < best.0 {
            best = (cost, strategy.clone());
        }
        // The next one: the last vertex that has a next configuration takes it, those behind begin again.
        let Some(vertex) = (0..n).rev().find(|vertex| strategy[*vertex] + 1 < sizes[*vertex]) else {
            return Ok(best.1);
        };
        strategy[vertex] += 1;
        strategy[vertex + 1..].fill(0);
    }
}
