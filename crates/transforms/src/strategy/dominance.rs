//! Removes configurations that are never better than another one of their vertex.
//!
//! A configuration is dominated if another one costs no more, even when the other end of each edge favours
//! the first one as much as possible. Exchanging the two never makes a strategy more expensive, so some
//! optimum does without the dominated one. The remaining problem has fewer combinations, and more equal rows
//! and columns. Finding dominated configurations costs more than solving a chain, so the search uses it for
//! large dependent sets only.

use super::certificate::Dominated;
use super::layouts::Layouts;
use super::problem::{Edge, End, Problem};

/// Number of rounds over all vertices: removals at one vertex may enable others at its neighbours.
const ROUNDS: usize = 3;

/// Maximum number of cost differences that [`needed`] computes in a round, to estimate whether it pays off.
pub(super) fn price(problem: &dyn Problem) -> f64 {
    let edge = |(index, edge): (usize, &Edge)| {
        let [rows, columns] = [End::Source, End::Target].map(|end| problem.layouts(index, end).len() as f64);
        if edge.is_loop() { 0.0 } else { rows * columns * (rows + columns) }
    };
    problem.edges().iter().enumerate().map(edge).sum()
}

/// The configurations of each vertex that are not dominated, and those that are, in the order in which that followed.
pub(super) fn needed(problem: &dyn Problem) -> (Vec<Vec<usize>>, Vec<Dominated>) {
    let n = problem.n_vertices();
    let mut incident = vec![Vec::new(); n];
    for (index, edge) in problem.edges().iter().enumerate() {
        incident[edge.source].push((index, End::Source));
        if !edge.is_loop() {
            incident[edge.target].push((index, End::Target));
        }
    }
    let mut kept: Vec<Vec<usize>> = (0..n).map(|v| (0..problem.n_configurations(v)).collect()).collect();
    let mut dominated = Vec::new();
    let mut changed = vec![true; n];
    for _ in 0..ROUNDS {
        let looked_at = std::mem::replace(&mut changed, vec![false; n]);
        for vertex in (0..n).filter(|vertex| looked_at[*vertex]) {
            let before = dominated.len();
            leave_out(problem, vertex, &incident[vertex], &mut kept, &mut dominated);
            if dominated.len() > before {
                for &(edge, end) in &incident[vertex] {
                    changed[problem.edges()[edge].vertex(end.other())] = true;
                }
            }
        }
    }
    (kept, dominated)
}

/// Leaves out the dominated configurations of one vertex; of equal ones the first stays.
fn leave_out(
    problem: &dyn Problem,
    vertex: usize,
    incident: &[(usize, End)],
    kept: &mut [Vec<usize>],
    dominated: &mut Vec<Dominated>,
) {
    let losses: Vec<Losses> =
        incident.iter().map(|(edge, end)| Losses::of(problem, *edge, *end, kept)).collect();
    let costs: Vec<f64> = kept[vertex].iter().map(|c| problem.vertex_cost(vertex, *c)).collect();
    let mut alive = vec![true; costs.len()];
    for one in (0..costs.len()).rev() {
        let is_no_worse = |by: &usize| {
            // In the order in which the checker adds, so that both round alike.
            let lost = losses.iter().fold(0.0, |lost, losses| lost + losses.at(*by, one));
            costs[*by] + lost <= costs[one]
        };
        let by = (0..costs.len()).filter(|by| alive[*by] && *by != one).find(is_no_worse);
        if let Some(by) = by {
            alive[one] = false;
            let (configuration, by) = (kept[vertex][one], kept[vertex][by]);
            dominated.push(Dominated { vertex, configuration, by });
        }
    }
    let mut index = 0;
    kept[vertex].retain(|_| {
        index += 1;
        alive[index - 1]
    });
}

/// Maximum loss at an edge from exchanging one configuration for another.
struct Losses {
    /// The edge's layouts of the configurations that are left.
    layouts: Layouts,
    /// From the column's layout to the row's.
    most: Vec<f64>,
}

impl Losses {
    fn of(problem: &dyn Problem, edge: usize, end: End, kept: &[Vec<usize>]) -> Self {
        let ends = problem.edges()[edge];
        let vertex = ends.vertex(end);
        if ends.is_loop() {
            let layout = |end, c| problem.layouts(edge, end).of(c);
            let both = |c: &usize| (layout(End::Source, *c), layout(End::Target, *c));
            let costs: Vec<f64> = kept[vertex]
                .iter()
                .map(both)
                .map(|(row, column)| problem.edge_cost(edge, row, column))
                .collect();
            let most = costs.iter().flat_map(|to| costs.iter().map(move |from| to - from)).collect();
            return Losses { layouts: Layouts::distinct(costs.len()), most };
        }
        let representatives = |end: End| {
            let kept = &kept[ends.vertex(end)];
            let layouts = Layouts::by_key(kept.iter().map(|c| problem.layouts(edge, end).of(*c)));
            let chosen =
                layouts.representatives().into_iter().map(|place| problem.layouts(edge, end).of(kept[place]));
            (chosen.collect::<Vec<usize>>(), layouts)
        };
        let ((own, layouts), (others, _)) = (representatives(end), representatives(end.other()));
        let cost = |own, other| match end {
            End::Source => problem.edge_cost(edge, own, other),
            End::Target => problem.edge_cost(edge, other, own),
        };
        let rows: Vec<Vec<f64>> =
            own.iter().map(|own| others.iter().map(|other| cost(*own, *other)).collect()).collect();
        let most = rows.iter().flat_map(|to| rows.iter().map(|from| most_more(to, from))).collect();
        Losses { layouts, most }
    }

    fn at(&self, to: usize, from: usize) -> f64 {
        self.most[self.layouts.of(to) * self.layouts.len() + self.layouts.of(from)]
    }
}

/// By how much an element of one row is more than that of another, at most.
fn most_more(row: &[f64], other: &[f64]) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; 8];
    let ((a, a_rest), (b, b_rest)) = (row.as_chunks::<8>(), other.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            let more = a[lane] - b[lane];
            lanes[lane] = if more > lanes[lane] { more } else { lanes[lane] };
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a - b);
    lanes.into_iter().chain(rest).fold(f64::NEG_INFINITY, f64::max)
}
