//! One step of the dynamic program: the least costs of a vertex for each combination of its dependents'
//! layouts.

use std::borrow::Cow;

use super::{Dynamic, side_by_side};
use crate::strategy::error::{ProblemError, SearchError};
use crate::strategy::layouts::Layouts;
use crate::strategy::min_plus;
use crate::strategy::plan::{EliminationStep, Factor};
use crate::strategy::problem::{End, Problem, SumBound};
use crate::strategy::tabulated::is_cost;

/// Configurations from which on some of them are passed over in blocks.
const LONG: usize = 4 * min_plus::BLOCK;

/// Costs of edges that threads compute together: some milliseconds of work.
const COMPUTED: usize = 10_000;

/// Columns that are lowered together, so that they stay in the nearest cache.
const COLUMNS: usize = 1024;

/// A step whose factors are at hand.
pub(super) struct Ready<'d> {
    step: &'d EliminationStep,
    problem: &'d dyn Problem,
    /// Least cost of the vertex by itself in each of its layouts.
    own: Cow<'d, [f64]>,
    factors: Factors<'d>,
}

/// The other summands.
enum Factors<'d> {
    /// None: the table has one entry.
    None,
    /// One edge alone, whose costs are stored.
    Stored { end: End, costs: &'d [f64] },
    /// One edge alone, whose costs are computed when they are needed. Layouts of the vertex that cost less by themselves
    /// come first.
    Computed { edge: usize, end: End, cheapest_first: Vec<usize> },
    /// Some that are laid out alike.
    LaidOut(Vec<LaidOut<'d>>),
}

/// A factor in the layouts of the step, in the mixed radix of those of its vertices that are dependents, with the vertex
/// itself as the last.
struct LaidOut<'d> {
    values: Cow<'d, [f64]>,
    /// The least element of each block of each row over the vertex, if rows are long.
    minima: Vec<f64>,
    /// Distance of the next layout of each dependent; 0 for those that the factor does not depend on.
    strides: Vec<usize>,
}

impl<'d> Ready<'d> {
    /// A step, with what its vertex costs by itself in each configuration.
    pub(super) fn new(
        dynamic: &'d Dynamic<'_>,
        index: usize,
        own: &'d [f64],
        n_threads: usize,
    ) -> Result<Self, SearchError> {
        let (problem, step) = (dynamic.problem, &dynamic.plan.steps[index]);
        let own = merge(own, &step.own);
        let factors = match *dynamic.plan.joint.of(index) {
            [] => Factors::None,
            [Factor::Edge { edge, end }] => match problem.edge_table(edge) {
                Some(costs) => Factors::Stored { end, costs },
                None => {
                    let mut cheapest_first: Vec<usize> = (0..own.len()).collect();
                    cheapest_first.sort_by(|a, b| own[*a].total_cmp(&own[*b]));
                    Factors::Computed { edge, end, cheapest_first }
                }
            },
            _ => {
                let joint = dynamic.plan.joint.of(index).iter();
                let laid_out = joint.map(|factor| lay_out(dynamic, step, *factor, n_threads));
                Factors::LaidOut(laid_out.collect::<Result<_, _>>()?)
            }
        };
        Ok(Ready { step, problem, own, factors })
    }

    /// Fills the entries of the table from the `first` on.
    pub(super) fn fill(&self, first: usize, entries: &mut [f64]) -> Result<(), SearchError> {
        match &self.factors {
            Factors::None => entries.fill(min_plus::least(&self.own)),
            Factors::Stored { end: End::Target, costs } => {
                let n = self.own.len();
                least_sums(&self.own, &costs[first * n..(first + entries.len()) * n], entries);
            }
            Factors::Stored { end: End::Source, costs } => {
                let n_columns = self.step.dependents[0].layouts.len();
                for (number, columns) in entries.chunks_mut(COLUMNS).enumerate() {
                    let start = first + number * COLUMNS;
                    for (own, row) in self.own.iter().zip(costs.chunks_exact(n_columns)) {
                        min_plus::lower(columns, *own, &row[start..start + columns.len()]);
                    }
                }
            }
            Factors::Computed { edge, end, cheapest_first } => {
                // The next layout is best with much the same one of the vertex.
                let mut best = cheapest_first.first().copied().unwrap_or_default();
                for (place, entry) in entries.iter_mut().enumerate() {
                    (*entry, best) =
                        self.least_computed((*edge, *end), cheapest_first, first + place, best)?;
                }
            }
            Factors::LaidOut(factors) => self.fill_joint(factors, first, entries),
        }
        Ok(())
    }

    /// The least sum with one layout of the other end, and the layout of the vertex that has it. It is looked for at `begin` first.
    fn least_computed(
        &self,
        (edge, end): (usize, End),
        cheapest_first: &[usize],
        other: usize,
        begin: usize,
    ) -> Result<(f64, usize), SearchError> {
        let mut found = (f64::INFINITY, begin);
        for &layout in std::iter::once(&begin).chain(cheapest_first) {
            let base = self.own[layout];
            // A cost is not negative: where the vertex alone is no better, the edge need not be asked for.
            if base >= found.0 {
                break;
            }
            let (row, column) = if end == End::Source { (layout, other) } else { (other, layout) };
            let bound = SumBound { base, least: found.0 };
            let sum = base + edge_cost_below(self.problem, edge, (row, column), bound)?;
            if sum < found.0 {
                found = (sum, layout);
            }
        }
        Ok(found)
    }

    /// Several factors: those that do not depend on the last dependent are added once for all of its layouts.
    fn fill_joint(&self, factors: &[LaidOut<'_>], first: usize, entries: &mut [f64]) {
        let (inner, outer): (Vec<_>, Vec<_>) =
            factors.iter().partition(|factor| factor.strides.last().is_some_and(|stride| *stride > 0));
        let sizes: Vec<usize> = self.step.dependents.iter().map(|one| one.layouts.len()).collect();
        let Some((&n_last, sizes)) = sizes.split_last() else { return };
        let n = self.own.len();
        let mut sums = vec![0.0; n];
        let mut starts = vec![0; inner.len()];
        let mut done = 0;
        while done < entries.len() {
            let (outside, from) = ((first + done) / n_last, (first + done) % n_last);
            let count = (n_last - from).min(entries.len() - done);
            sums.copy_from_slice(&self.own);
            for factor in &outer {
                let start = factor.place(outside, sizes);
                min_plus::add(&mut sums, &factor.values[start..start + n]);
            }
            for (start, factor) in starts.iter_mut().zip(&inner) {
                *start = factor.place(outside, sizes) + from * n;
            }
            let entries = &mut entries[done..done + count];
            if n < LONG {
                least_over_last(&sums, &inner, &starts, entries);
            } else {
                least_in_blocks(&sums, &inner, &starts, entries);
            }
            done += count;
        }
    }
}

/// The least sum of a row with each of several rows that lie one after the other.
fn least_sums(row: &[f64], rows: &[f64], entries: &mut [f64]) {
    let n = row.len();
    let (fours, rest) = entries.as_chunks_mut::<4>();
    for (four, rows) in fours.iter_mut().zip(rows.chunks_exact(4 * n)) {
        *four =
            min_plus::least_sums_of_four(row, [0, 1, 2, 3].map(|index| &rows[index * n..(index + 1) * n]));
    }
    let behind = rows.chunks_exact(n).skip(4 * fours.len());
    rest.iter_mut().zip(behind).for_each(|(entry, other)| *entry = min_plus::least_sum(row, other));
}

/// The least costs for one layout of the last dependent after the other. The rows of each factor begin at its start.
fn least_over_last(sums: &[f64], factors: &[&LaidOut<'_>], starts: &[usize], entries: &mut [f64]) {
    let n = sums.len();
    let rows = |index: usize| factors[index].values[starts[index]..].chunks_exact(n);
    match factors.len() {
        1 => {
            let rows = &factors[0].values[starts[0]..starts[0] + entries.len() * n];
            least_sums(sums, rows, entries);
        }
        2 => {
            for (entry, (a, b)) in entries.iter_mut().zip(rows(0).zip(rows(1))) {
                *entry = min_plus::least_sum_of_three(sums, a, b);
            }
        }
        _ => {
            let mut sum = vec![0.0; n];
            for (last, entry) in entries.iter_mut().enumerate() {
                sum.copy_from_slice(sums);
                for (factor, start) in factors.iter().zip(starts) {
                    min_plus::add(&mut sum, &factor.values[start + last * n..start + (last + 1) * n]);
                }
                *entry = min_plus::least(&sum);
            }
        }
    }
}

/// The same where rows are long; as soon as that turns out to pass over few blocks, as before.
fn least_in_blocks(sums: &[f64], factors: &[&LaidOut<'_>], starts: &[usize], entries: &mut [f64]) {
    /// Entries after which it is known whether blocks are passed over.
    const TRIED: usize = 32;
    let n = sums.len();
    let n_blocks = n.div_ceil(min_plus::BLOCK);
    let minima = min_plus::block_minima(sums, n);
    let mut rows: Vec<(&[f64], &[f64])> = Vec::with_capacity(factors.len() + 1);
    let (mut begin, mut n_passed) = (0, 0);
    for last in 0..entries.len() {
        if last == TRIED && 2 * n_passed < TRIED * n_blocks {
            let starts: Vec<usize> = starts.iter().map(|start| start + last * n).collect();
            return least_over_last(sums, factors, &starts, &mut entries[last..]);
        }
        rows.clear();
        rows.push((sums, &minima));
        rows.extend(factors.iter().zip(starts).map(|(factor, start)| {
            let row = start / n + last;
            (&factor.values[row * n..(row + 1) * n], &factor.minima[row * n_blocks..(row + 1) * n_blocks])
        }));
        let found = min_plus::least_sum_in_blocks(&rows, n, begin);
        // The next layout is best with much the same configurations.
        (entries[last], begin) = (found.least, found.block);
        n_passed += found.n_passed;
    }
}

impl<'d> LaidOut<'d> {
    /// Values in rows over `n` layouts of the vertex.
    fn new(values: Cow<'d, [f64]>, strides: Vec<usize>, n: usize) -> Self {
        let minima = if n < LONG { Vec::new() } else { min_plus::block_minima(&values, n) };
        LaidOut { values, minima, strides }
    }

    /// Starts of the rows for a combination of all dependents except the last.
    fn place(&self, mut combination: usize, sizes: &[usize]) -> usize {
        let mut place = 0;
        for (size, stride) in sizes.iter().zip(&self.strides).rev() {
            place += combination % size * stride;
            combination /= size;
        }
        place
    }
}

/// The least of the costs of configurations with the same layout.
fn merge<'c>(costs: &'c [f64], layouts: &Layouts) -> Cow<'c, [f64]> {
    let Some(map) = layouts.map() else { return Cow::Borrowed(costs) };
    let mut merged = vec![f64::INFINITY; layouts.len()];
    for (cost, layout) in costs.iter().zip(map) {
        let least = &mut merged[*layout as usize];
        *least = least.min(*cost);
    }
    Cow::Owned(merged)
}

/// Brings a factor into the layouts of a step, without copying where it is in them already.
fn lay_out<'d>(
    dynamic: &'d Dynamic<'_>,
    step: &EliminationStep,
    factor: Factor,
    n_threads: usize,
) -> Result<LaidOut<'d>, SearchError> {
    // The factor's vertices: the dependents among them in the order of the step, then the vertex itself. Of each, the
    // step's layouts, those of the factor, and how far the factor's next layout is.
    let scope = dynamic.plan.scope(dynamic.problem, factor);
    let mut strides = vec![0; scope.len()];
    let mut stride = 1;
    for (place, (_, layouts)) in scope.iter().enumerate().rev() {
        strides[place] = stride;
        stride *= layouts.len();
    }
    let of = |vertex: usize| scope.iter().position(|(other, _)| *other == vertex);
    let mut dimensions = Vec::with_capacity(scope.len());
    for (place, one) in step.dependents.iter().enumerate() {
        if let Some(index) = of(one.vertex) {
            dimensions.push((Some(place), &one.layouts, scope[index].1, strides[index]));
        }
    }
    if let Some(index) = of(step.vertex) {
        dimensions.push((None, &step.own, scope[index].1, strides[index]));
    }
    let mut step_strides = vec![0; step.dependents.len()];
    let mut size = 1;
    let mut as_it_is = true;
    for (place, layouts, factors_layouts, stride) in dimensions.iter().rev() {
        as_it_is &= *stride == size && layouts.len() == factors_layouts.len();
        if let Some(place) = place {
            step_strides[*place] = size;
        }
        size *= layouts.len();
    }
    let stored = match factor {
        Factor::Table(table) => Some(dynamic.table(table)),
        Factor::Edge { edge, .. } => dynamic.problem.edge_table(edge),
    };
    if as_it_is && let Some(values) = stored {
        return Ok(LaidOut::new(Cow::Borrowed(values), step_strides, step.own.len()));
    }
    let offsets: Vec<Vec<usize>> = dimensions
        .iter()
        .map(|(_, layouts, factors_layouts, stride)| {
            let of = |configuration| factors_layouts.of(configuration) * stride;
            layouts.representatives().into_iter().map(of).collect()
        })
        .collect();
    let mut values = Vec::with_capacity(size);
    match (stored, factor) {
        (Some(stored), _) => values.extend(Places::new(&offsets).map(|place| stored[place])),
        (None, Factor::Edge { edge, .. }) => {
            let n_parts = if size < COMPUTED { 1 } else { n_threads };
            for part in computed(dynamic.problem, edge, &offsets, n_parts) {
                values.extend(part?);
            }
        }
        (None, Factor::Table(_)) => values.resize(size, f64::INFINITY),
    }
    Ok(LaidOut::new(Cow::Owned(values), step_strides, step.own.len()))
}

/// The costs of an edge at all sums of one offset of each list, in parts that threads compute side by side.
fn computed(
    problem: &dyn Problem,
    edge: usize,
    offsets: &[Vec<usize>],
    n_parts: usize,
) -> Vec<Result<Vec<f64>, SearchError>> {
    let Some((first, others)) = offsets.split_first() else { return Vec::new() };
    let parts: Vec<&[usize]> = first.chunks(first.len().div_ceil(n_parts).max(1)).collect();
    let n_columns = problem.layouts(edge, End::Target).len();
    side_by_side(&parts, |part| {
        let offsets: Vec<Vec<usize>> = std::iter::once(part.to_vec()).chain(others.iter().cloned()).collect();
        Places::new(&offsets)
            .map(|place| edge_cost(problem, edge, place / n_columns, place % n_columns))
            .collect()
    })
}

/// Sums of one offset of each list, the last list going fastest.
struct Places<'o> {
    offsets: &'o [Vec<usize>],
    digits: Vec<usize>,
    /// Nothing when all are done.
    next: Option<usize>,
}

impl<'o> Places<'o> {
    fn new(offsets: &'o [Vec<usize>]) -> Self {
        let next = offsets.iter().map(|list| list.first().copied()).sum();
        Places { offsets, digits: vec![0; offsets.len()], next }
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let place = self.next?;
        let mut following = place;
        for (digit, list) in self.digits.iter_mut().zip(self.offsets).rev() {
            following -= list[*digit];
            *digit += 1;
            if let Some(offset) = list.get(*digit) {
                self.next = Some(following + offset);
                return Some(place);
            }
            *digit = 0;
            following += list[0];
        }
        self.next = None;
        Some(place)
    }
}

/// The cost of an edge between two layouts as far as it matters, checked.
fn edge_cost_below(
    problem: &dyn Problem,
    edge: usize,
    (row, column): (usize, usize),
    bound: SumBound,
) -> Result<f64, SearchError> {
    let cost = problem.edge_cost_below(edge, row, column, bound);
    if is_cost(cost) { Ok(cost) } else { Err(ProblemError::EdgeCost { edge, row, column, cost }.into()) }
}

/// The cost of an edge between two layouts, checked: it may have been computed just now.
pub(super) fn edge_cost(
    problem: &dyn Problem,
    edge: usize,
    row: usize,
    column: usize,
) -> Result<f64, SearchError> {
    let cost = problem.edge_cost(edge, row, column);
    if is_cost(cost) { Ok(cost) } else { Err(ProblemError::EdgeCost { edge, row, column, cost }.into()) }
}
