//! Removes configurations that are too expensive for any optimal strategy.
//!
//! A quick heuristic finds a cheap strategy. Edges have non-negative costs. Therefore a strategy with a given
//! configuration costs at least as much as that configuration plus the cheapest configuration of each other
//! vertex. If this bound exceeds the cost of the cheap strategy, no optimum contains the configuration.

use super::problem::{self, End, Problem, SumBound};

/// Number of tried strategies.
const STARTS: usize = 16;

/// Number of improvement passes over the vertices of a strategy.
const ROUNDS: usize = 4;

/// Of how many configurations one has to be too dear, so that it is worth going on.
const FEW: usize = 16;

/// By what factor a bound has to exceed the cost of a strategy, so that rounding does not matter.
const MARGIN: f64 = 1.0 + 1e-9;

/// About how many sums finding a strategy takes, to tell whether it is worth it. Costs of edges that are computed take longer.
pub(super) fn price(problem: &dyn Problem) -> f64 {
    let computed = |edge| if problem.edge_table(edge).is_some() { 1.0 } else { 20.0 };
    let layouts = |edge| [End::Source, End::Target].map(|end| problem.layouts(edge, end).len() as f64);
    let edge = |edge: usize| computed(edge) * layouts(edge).iter().sum::<f64>();
    let sums = (0..problem.edges().len()).map(edge).sum::<f64>();
    (STARTS * (ROUNDS + 1)) as f64 * sums
}

/// The configurations of each vertex that may be needed, and those that are too dear.
pub(super) fn needed(problem: &dyn Problem) -> (Vec<Vec<usize>>, Vec<(usize, usize)>) {
    let n = problem.n_vertices();
    let costs: Vec<Vec<f64>> = (0..n)
        .map(|v| (0..problem.n_configurations(v)).map(|c| problem.vertex_cost(v, c)).collect())
        .collect();
    let least: Vec<f64> =
        costs.iter().map(|costs| costs.iter().copied().fold(f64::INFINITY, f64::min)).collect();
    let floor: f64 = least.iter().sum();
    let is_too_dear = |vertex: usize, cost: f64, found: f64| floor - least[vertex] + cost > found * MARGIN;
    let is_of_use = |found: f64| {
        let too_dear = |(v, costs): (usize, &Vec<f64>)| {
            costs.iter().filter(|cost| is_too_dear(v, **cost, found)).count()
        };
        let n_too_dear: usize = costs.iter().enumerate().map(too_dear).sum();
        n_too_dear * FEW > costs.iter().map(Vec::len).sum()
    };
    let found = Tries::new(problem, &costs).cost(is_of_use);
    let (mut kept, mut too_dear) = (vec![Vec::new(); n], Vec::new());
    for (vertex, costs) in costs.iter().enumerate() {
        for (configuration, cost) in costs.iter().enumerate() {
            // What is no number is needed, and found out later.
            if is_too_dear(vertex, *cost, found) {
                too_dear.push((vertex, configuration));
            } else {
                kept[vertex].push(configuration);
            }
        }
    }
    (kept, too_dear)
}

/// Strategies that are good at each vertex.
struct Tries<'p> {
    problem: &'p dyn Problem,
    costs: &'p [Vec<f64>],
    /// Configurations of each vertex, the cheapest first, of equals the first.
    cheapest_first: Vec<Vec<usize>>,
    incident: Vec<Vec<(usize, End)>>,
}

impl<'p> Tries<'p> {
    fn new(problem: &'p dyn Problem, costs: &'p [Vec<f64>]) -> Self {
        let sorted = |costs: &Vec<f64>| {
            let mut sorted: Vec<usize> = (0..costs.len()).collect();
            sorted.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]));
            sorted
        };
        let mut incident = vec![Vec::new(); costs.len()];
        for (index, edge) in problem.edges().iter().enumerate() {
            incident[edge.source].push((index, End::Source));
            if !edge.is_loop() {
                incident[edge.target].push((index, End::Target));
            }
        }
        Tries { problem, costs, cheapest_first: costs.iter().map(sorted).collect(), incident }
    }

    /// Cost of the cheapest strategy found. Ends early if that is useless.
    fn cost(&self, is_of_use: impl Fn(f64) -> bool) -> f64 {
        let mut best = f64::INFINITY;
        // The first and the last, which cut other dimensions, tell whether the others may be of use.
        for (tried, start) in [0, STARTS - 1].into_iter().chain(1..STARTS - 1).enumerate() {
            if tried == 2 && !is_of_use(best) {
                break;
            }
            let mut strategy: Vec<Option<usize>> = vec![None; self.costs.len()];
            for vertex in 0..strategy.len() {
                let is_first = self.incident[vertex]
                    .iter()
                    .all(|(edge, end)| strategy[self.problem.edges()[*edge].vertex(end.other())].is_none());
                strategy[vertex] =
                    if is_first { self.start(vertex, start) } else { self.best(vertex, &strategy) };
            }
            for _ in 0..ROUNDS {
                let before = strategy.clone();
                for vertex in 0..strategy.len() {
                    strategy[vertex] = self.best(vertex, &strategy);
                }
                if strategy == before {
                    break;
                }
            }
            if let Some(strategy) = strategy.into_iter().collect::<Option<Vec<usize>>>() {
                best = best.min(problem::cost(self.problem, &strategy));
            }
        }
        best
    }

    /// A configuration among those that cost hardly more than the cheapest, another one for each start.
    fn start(&self, vertex: usize, start: usize) -> Option<usize> {
        let (costs, sorted) = (&self.costs[vertex], &self.cheapest_first[vertex]);
        let first = costs[*sorted.first()?];
        let n_cheap = sorted.iter().take_while(|c| costs[**c] <= 1.1 * first).count().max(1);
        sorted.get(start * (n_cheap - 1) / (STARTS - 1)).copied()
    }

    /// The best configuration beside those that are chosen.
    fn best(&self, vertex: usize, strategy: &[Option<usize>]) -> Option<usize> {
        let mut best = (f64::INFINITY, None);
        for &configuration in &self.cheapest_first[vertex] {
            let mut cost = self.costs[vertex][configuration];
            if cost >= best.0 {
                break;
            }
            for &(edge, end) in &self.incident[vertex] {
                let ends = self.problem.edges()[edge];
                let chosen =
                    if ends.is_loop() { Some(configuration) } else { strategy[ends.vertex(end.other())] };
                let Some(other) = chosen else { continue };
                let layout = |end, configuration| self.problem.layouts(edge, end).of(configuration);
                let (row, column) = match end {
                    End::Source => (layout(End::Source, configuration), layout(End::Target, other)),
                    End::Target => (layout(End::Source, other), layout(End::Target, configuration)),
                };
                let bound = SumBound { base: cost, least: best.0 };
                cost += self.problem.edge_cost_below(edge, row, column, bound);
                if cost >= best.0 {
                    break;
                }
            }
            if cost < best.0 {
                best = (cost, Some(configuration));
            }
        }
        // Costs that are no numbers are found out later.
        best.1.or(self.cheapest_first[vertex].first().copied())
    }
}
