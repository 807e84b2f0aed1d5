//! The table-pruning algorithm of documents 1 and 3, corrected: it removes strategies that are not locally
//! optimal and returns the best remaining one.
//!
//! Each vertex has a table of all combinations of its own and its neighbours' configurations. Vertices are
//! processed by their number of unprocessed neighbours. Of the combinations with the same neighbours, the
//! cheapest remains; of equally cheap ones, the one with the first configuration. The documents leave ties
//! open, which can lose every optimum. Tables over whole neighbourhoods, and the set of locally optimal
//! strategies, are far larger than the tables of the dynamic program.

use super::error::SearchError;
use super::problem::{End, Problem};

/// A strategy of least cost.
///
/// # Errors
/// If the tables do not fit in `memory_limit` bytes, or more than `strategy_limit` parts of strategies have to be looked at.
pub(super) fn search(
    problem: &dyn Problem,
    memory_limit: u64,
    strategy_limit: f64,
) -> Result<Vec<usize>, SearchError> {
    let graph = Graph::of(problem);
    let entries = (0..graph.n()).map(|vertex| graph.size_of(&graph.around(vertex)));
    let needed = entries.fold(0, u64::saturating_add);
    if needed > memory_limit {
        return Err(SearchError::Memory { what: "the table-pruning algorithm", needed, limit: memory_limit });
    }
    let mut tables: Vec<Table> = (0..graph.n())
        .map(|vertex| {
            let scope = graph.around(vertex);
            let alive = vec![true; graph.size_of(&scope) as usize];
            Table { scope, alive }
        })
        .collect();
    let mut unprocessed: Vec<Option<usize>> = graph.neighbours.iter().map(|list| Some(list.len())).collect();
    let mut order = Vec::with_capacity(graph.n());
    let next = |unprocessed: &[Option<usize>]| {
        let left = unprocessed.iter().enumerate().filter_map(|(vertex, n)| n.map(|n| (n, vertex)));
        left.min().map(|(_, vertex)| vertex)
    };
    while let Some(vertex) = next(&unprocessed) {
        keep_best(&graph, vertex, &mut tables[vertex]);
        for &other in &graph.neighbours[vertex] {
            let common: Vec<usize> =
                graph.around(vertex).into_iter().filter(|one| graph.around(other).contains(one)).collect();
            let possible = tables[vertex].projected(&graph, &common);
            tables[other].restrict(&graph, &common, &possible);
            unprocessed[other] = unprocessed[other].map(|n| n - 1);
        }
        unprocessed[vertex] = None;
        order.push(vertex);
    }
    order.reverse();
    best_valid(&graph, &tables, &order, strategy_limit)
}

/// The graph with the costs of all configurations.
struct Graph<'p> {
    problem: &'p dyn Problem,
    /// Cost of each vertex by itself, edges to itself included.
    own: Vec<Vec<f64>>,
    /// Sorted, without the vertex itself: a vertex that is its own neighbour would never be minimised over.
    neighbours: Vec<Vec<usize>>,
    /// Edges of each vertex to others, with its end.
    edges: Vec<Vec<(usize, End)>>,
}

/// Combinations of configurations of some vertices, in their mixed radix, the last vertex going fastest.
struct Table {
    scope: Vec<usize>,
    alive: Vec<bool>,
}

impl<'p> Graph<'p> {
    fn of(problem: &'p dyn Problem) -> Self {
        let n = problem.n_vertices();
        let own =
            |vertex| (0..problem.n_configurations(vertex)).map(|c| problem.vertex_cost(vertex, c)).collect();
        let mut graph = Graph {
            problem,
            own: (0..n).map(own).collect(),
            neighbours: vec![Vec::new(); n],
            edges: vec![Vec::new(); n],
        };
        for (index, edge) in problem.edges().iter().enumerate() {
            if edge.is_loop() {
                for c in 0..graph.own[edge.source].len() {
                    graph.own[edge.source][c] += graph.edge_cost(index, c, c);
                }
                continue;
            }
            for end in [End::Source, End::Target] {
                graph.neighbours[edge.vertex(end)].push(edge.vertex(end.other()));
                graph.edges[edge.vertex(end)].push((index, end));
            }
        }
        for list in &mut graph.neighbours {
            list.sort_unstable();
            list.dedup();
        }
        graph
    }

    fn n(&self) -> usize {
        self.own.len()
    }

    fn edge_cost(&self, edge: usize, source: usize, target: usize) -> f64 {
        let layout = |end, configuration| self.problem.layouts(edge, end).of(configuration);
        self.problem.edge_cost(edge, layout(End::Source, source), layout(End::Target, target))
    }

    /// The neighbours of a vertex, then the vertex itself.
    fn around(&self, vertex: usize) -> Vec<usize> {
        [self.neighbours[vertex].as_slice(), &[vertex]].concat()
    }

    fn size_of(&self, scope: &[usize]) -> u64 {
        scope.iter().fold(1, |size: u64, vertex| size.saturating_mul(self.own[*vertex].len() as u64))
    }

    /// Writes the configurations of an entry of a table over `scope` into a strategy.
    fn decode(&self, scope: &[usize], mut entry: usize, strategy: &mut [usize]) {
        for &vertex in scope.iter().rev() {
            strategy[vertex] = entry % self.own[vertex].len();
            entry /= self.own[vertex].len();
        }
    }

    /// The entry of a table over `scope` that holds what a strategy chooses.
    fn encode(&self, scope: &[usize], strategy: &[usize]) -> usize {
        scope.iter().fold(0, |entry, vertex| entry * self.own[*vertex].len() + strategy[*vertex])
    }

    /// Everything in the cost of a strategy that depends on one vertex.
    fn local_cost(&self, vertex: usize, strategy: &[usize]) -> Sum {
        let mut sum = Sum::default();
        sum.add(self.own[vertex][strategy[vertex]]);
        for &(edge, _) in &self.edges[vertex] {
            let ends = self.problem.edges()[edge];
            sum.add(self.edge_cost(edge, strategy[ends.source], strategy[ends.target]));
        }
        sum
    }
}

impl Table {
    /// Combinations of `common`, a part of the scope, that are possible in some entry.
    fn projected(&self, graph: &Graph<'_>, common: &[usize]) -> Vec<bool> {
        let mut possible = vec![false; graph.size_of(common) as usize];
        let mut strategy = vec![0; graph.n()];
        for (entry, _) in self.alive.iter().enumerate().filter(|(_, alive)| **alive) {
            graph.decode(&self.scope, entry, &mut strategy);
            possible[graph.encode(common, &strategy)] = true;
        }
        possible
    }

    /// Removes the entries whose combination of `common` is not possible.
    fn restrict(&mut self, graph: &Graph<'_>, common: &[usize], possible: &[bool]) {
        let mut strategy = vec![0; graph.n()];
        for (entry, alive) in self.alive.iter_mut().enumerate().filter(|(_, alive)| **alive) {
            graph.decode(&self.scope, entry, &mut strategy);
            *alive = possible[graph.encode(common, &strategy)];
        }
    }
}

/// Of the entries with the same configurations of the neighbours, the cheapest one stays, and of equals the first.
fn keep_best(graph: &Graph<'_>, vertex: usize, table: &mut Table) {
    let n = graph.own[vertex].len();
    let mut strategy = vec![0; graph.n()];
    for (cell, alive) in table.alive.chunks_mut(n).enumerate() {
        let mut best: Option<(Sum, usize)> = None;
        for configuration in (0..n).filter(|c| alive[*c]) {
            graph.decode(&table.scope, cell * n + configuration, &mut strategy);
            let cost = graph.local_cost(vertex, &strategy);
            if best.is_none_or(|(least, _)| cost.is_less(least)) {
                best = Some((cost, configuration));
            }
        }
        for (configuration, alive) in alive.iter_mut().enumerate() {
            *alive = best.is_some_and(|(_, best)| best == configuration);
        }
    }
}

/// The cheapest strategy that is in all tables (ValidStrategies): vertices get their configurations in this order, one that no
/// table has, or that costs too much already, being given up.
fn best_valid(
    graph: &Graph<'_>,
    tables: &[Table],
    order: &[usize],
    limit: f64,
) -> Result<Vec<usize>, SearchError> {
    let n = order.len();
    let mut position = vec![0; n];
    order.iter().enumerate().for_each(|(place, vertex)| position[*vertex] = place);
    // The tables all of whose vertices have a configuration as soon as one place has.
    let mut complete = vec![Vec::new(); n];
    for table in tables {
        if let Some(last) = table.scope.iter().map(|vertex| position[*vertex]).max() {
            complete[last].push(table);
        }
    }
    let mut strategy = vec![0; n];
    let mut best: Option<(f64, Vec<usize>)> = None;
    // Cost of the vertices before each place, and the next configuration to try there.
    let mut before = vec![0.0; n + 1];
    let mut next = vec![0; n + 1];
    let (mut place, mut looked_at) = (0, 0.0);
    loop {
        if place == n {
            best = Some((before[n], strategy.clone()));
        }
        if place == n || next[place] == graph.own[order[place]].len() {
            next[place] = 0;
            match place.checked_sub(1) {
                Some(previous) => place = previous,
                None => break,
            }
            continue;
        }
        let vertex = order[place];
        strategy[vertex] = next[place];
        next[place] += 1;
        looked_at += 1.0;
        if looked_at > limit {
            return Err(SearchError::TooManyStrategies { strategies: looked_at, limit });
        }
        let mut cost = before[place] + graph.own[vertex][strategy[vertex]];
        for &(edge, end) in &graph.edges[vertex] {
            let ends = graph.problem.edges()[edge];
            if position[ends.vertex(end.other())] < place {
                cost += graph.edge_cost(edge, strategy[ends.source], strategy[ends.target]);
            }
        }
        let valid = |table: &&Table| table.alive[graph.encode(&table.scope, &strategy)];
        if best.as_ref().is_none_or(|(least, _)| cost < *least) && complete[place].iter().all(valid) {
            before[place + 1] = cost;
            place += 1;
        }
    }
    best.map(|(_, strategy)| strategy).ok_or(SearchError::Rounding)
}

/// A sum of two floating-point numbers, so that rounding does not decide ties (Neumaier, 1974).
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    fn add(&mut self, addend: f64) {
        let sum = self.high + addend;
        let (large, small) = if self.high >= addend { (self.high, addend) } else { (addend, self.high) };
        self.low += (large - sum) + small;
        self.high = sum;
    }

    fn is_less(self, other: Sum) -> bool {
        (self.high - other.high) + (self.low - other.low) < 0.0
    }
}
