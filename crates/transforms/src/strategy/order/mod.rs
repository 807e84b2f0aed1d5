//! Elimination orders: the order in which the dynamic program eliminates vertices.
//!
//! Eliminating a vertex creates a table over all vertices that are adjacent to it at that time, its
//! *dependents*, and joins them to each other (fill-in). The order determines the sizes of the tables.
//! Finding the best order is NP-hard. Several heuristics run, and the one with the least predicted work is
//! used.

mod exact;
mod graph;
mod greedy;

pub use graph::EliminationGraph;
pub use greedy::Greedy;

use exact::MAX_EXACT;

/// Methods of finding an elimination order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderRule {
    /// Greedy rules first, then, while the predicted work is worth it, random restarts and the exact order.
    #[default]
    Best,
    /// One greedy rule.
    Greedy(Greedy),
    /// The best of this many orders by the least volume with noise, from this seed.
    RandomRestarts {
        /// Their number.
        n: u32,
        /// Seed of the noise.
        seed: u64,
    },
    /// The order of least work, for at most 16 vertices that are not in trees.
    Exact,
}

/// Work below which no more time is spent on a better order, for each vertex and for all: about what it takes to find one.
const CHEAP: (f64, f64) = (4e3, 2e5);

/// Cost of eliminating all vertices in an order, counted in configurations, before equal ones are merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume {
    /// Entries of all tables.
    pub entries: f64,
    /// Sums that are compared to fill them.
    pub operations: f64,
}

/// An elimination order, every vertex once, by the rule; nothing if the rule is [`OrderRule::Exact`] and the graph is too
/// large for it. The order is a function of its arguments.
pub fn order(graph: &EliminationGraph, rule: OrderRule) -> Option<Vec<usize>> {
    match rule {
        OrderRule::Greedy(rule) => Some(greedy::order(graph, rule, None)),
        OrderRule::RandomRestarts { n, seed } => Some(restarts(graph, n, seed)),
        OrderRule::Exact => exact::order(graph),
        OrderRule::Best => Some(best(graph)),
    }
}

fn restarts(graph: &EliminationGraph, n: u32, seed: u64) -> Vec<usize> {
    let first = greedy::order(graph, Greedy::MinVolume, None);
    let others = (0..n).map(|i| {
        greedy::order(graph, Greedy::MinVolume, Some(seed.wrapping_mul(1 << 20).wrapping_add(u64::from(i))))
    });
    cheapest(graph, std::iter::once(first).chain(others))
}

fn best(graph: &EliminationGraph) -> Vec<usize> {
    let trees = graph.trees();
    if trees.len() == graph.n_vertices() {
        return trees;
    }
    let mut found = greedy::order(graph, Greedy::MinVolume, None);
    let cheap = CHEAP.1 + CHEAP.0 * graph.n_vertices() as f64;
    if graph.volume(&found).operations <= cheap {
        return found;
    }
    let rules = [Greedy::MinFill, Greedy::DependentSets, Greedy::SortNodes];
    let others = rules.into_iter().map(|rule| greedy::order(graph, rule, None));
    found = cheapest(graph, std::iter::once(found).chain(others));
    if graph.n_on_cycles() <= MAX_EXACT {
        let operations = graph.volume(&found).operations;
        // The exact order costs about as much as this many operations.
        let price = (1_u64 << graph.n_on_cycles()) as f64 * 100.0;
        return if operations > price { exact::order(graph).unwrap_or(found) } else { found };
    }
    // A tenth of the work is spent on restarts.
    let price = CHEAP.0 * graph.n_vertices() as f64;
    let n = (0.1 * graph.volume(&found).operations / price).min(1000.0) as u32;
    cheapest(graph, [found, restarts(graph, n, 0)])
}

/// The first order of least work.
fn cheapest(graph: &EliminationGraph, orders: impl IntoIterator<Item = Vec<usize>>) -> Vec<usize> {
    let mut best: Option<(f64, Vec<usize>)> = None;
    for order in orders {
        let work = graph.volume(&order).operations;
        if best.as_ref().is_none_or(|(least, _)| work < *least) {
            best = Some((work, order));
        }
    }
    best.map_or_else(Vec::new, |(_, order)| order)
}

#[cfg(test)]
mod tests;
