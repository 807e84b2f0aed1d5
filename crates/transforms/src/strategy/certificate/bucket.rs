//! Contents of a vertex's table and the resulting minima, computed by the checker's own method.

use super::check::Alive;
use super::{Certificate, Dominated, Table};
use crate::strategy::problem::{End, Problem, SumBound};

/// The edges and earlier tables whose first vertex to go is the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Bucket {
    edges: Vec<usize>,
    tables: Vec<usize>,
}

/// Puts every edge and every table where it belongs.
pub(super) fn fill(certificate: &Certificate, problem: &dyn Problem, position: &[usize]) -> Vec<Bucket> {
    let mut buckets = vec![Bucket::default(); position.len()];
    for (index, edge) in problem.edges().iter().enumerate() {
        buckets[position[edge.source].min(position[edge.target])].edges.push(index);
    }
    for (index, table) in certificate.tables.iter().enumerate() {
        let first = table.dependents.iter().filter_map(|(vertex, _)| position.get(*vertex)).min();
        // A table over something that went before it is found out by its shape: it is in no bucket where it is joined.
        if let Some(first) = first {
            buckets[*first].tables.push(index);
        }
    }
    buckets
}

/// Maximum loss at the edges of a vertex from exchanging one configuration for another, over remaining
/// configurations of the other ends.
pub(super) fn most_lost(problem: &dyn Problem, alive: &[Vec<bool>], one: &Dominated) -> f64 {
    let mut lost = 0.0;
    for (index, edge) in problem.edges().iter().enumerate() {
        let cost = |row, column| {
            let row = problem.layouts(index, End::Source).of(row);
            problem.edge_cost(index, row, problem.layouts(index, End::Target).of(column))
        };
        if edge.is_loop() && edge.source == one.vertex {
            lost += cost(one.by, one.by) - cost(one.configuration, one.configuration);
        } else if edge.source == one.vertex || edge.target == one.vertex {
            let other = if edge.source == one.vertex { edge.target } else { edge.source };
            let loss = |c: usize| {
                if edge.source == one.vertex {
                    cost(one.by, c) - cost(one.configuration, c)
                } else {
                    cost(c, one.by) - cost(c, one.configuration)
                }
            };
            let others = (0..alive[other].len()).filter(|c| alive[other][*c]);
            lost += others.map(loss).fold(f64::NEG_INFINITY, f64::max);
        }
    }
    lost
}

/// Something that is added: a function of the layouts of some vertices.
struct Term<'t> {
    values: Values<'t>,
    /// Vertices that it is over, with the part of the place in `values` that each of their configurations adds.
    scope: Vec<(usize, Vec<usize>)>,
}

/// The values of a term by their places.
enum Values<'t> {
    Stored(&'t [f64]),
    /// Costs of an edge, that has so many columns.
    Computed {
        problem: &'t dyn Problem,
        edge: usize,
        n_columns: usize,
    },
}

impl Values<'_> {
    fn at(&self, place: usize) -> f64 {
        match *self {
            Values::Stored(values) => values[place],
            Values::Computed { problem, edge, n_columns } => {
                problem.edge_cost(edge, place / n_columns, place % n_columns)
            }
        }
    }

    /// The value at a place as far as it matters to a minimum over sums.
    fn below(&self, place: usize, bound: SumBound) -> f64 {
        match *self {
            Values::Stored(values) => values[place],
            Values::Computed { problem, edge, n_columns } => {
                problem.edge_cost_below(edge, place / n_columns, place % n_columns, bound)
            }
        }
    }
}

impl Bucket {
    /// The vertices that edges and tables of the bucket are over, its own included, in order.
    pub(super) fn scope(&self, certificate: &Certificate, problem: &dyn Problem) -> Vec<usize> {
        let edges = self.edges.iter().flat_map(|edge| {
            let edge = problem.edges()[*edge];
            [edge.source, edge.target]
        });
        let tables = self
            .tables
            .iter()
            .flat_map(|table| certificate.tables[*table].dependents.iter().map(|(vertex, _)| *vertex));
        let mut scope: Vec<usize> = edges.chain(tables).collect();
        scope.sort_unstable();
        scope.dedup();
        scope
    }

    fn terms<'t>(
        &self,
        certificate: &'t Certificate,
        problem: &'t dyn Problem,
        alive: &Alive,
    ) -> Vec<Term<'t>> {
        let edges = self.edges.iter().map(|&index| {
            let edge = problem.edges()[index];
            let (rows, columns) = (problem.layouts(index, End::Source), problem.layouts(index, End::Target));
            let computed = Values::Computed { problem, edge: index, n_columns: columns.len() };
            let values = problem.edge_table(index).map_or(computed, Values::Stored);
            let of_rows = alive[edge.source].iter().map(|c| rows.of(*c) * columns.len()).collect();
            let of_columns = alive[edge.target].iter().map(|c| columns.of(*c)).collect();
            Term { values, scope: vec![(edge.source, of_rows), (edge.target, of_columns)] }
        });
        let tables = self.tables.iter().map(|&index| {
            let table = &certificate.tables[index];
            let mut scope = Vec::new();
            let mut stride = 1;
            for (vertex, layouts) in table.dependents.iter().rev() {
                scope.push((
                    *vertex,
                    (0..layouts.n_configurations()).map(|c| layouts.of(c) * stride).collect(),
                ));
                stride *= layouts.len();
            }
            Term { values: Values::Stored(&table.minima), scope }
        });
        edges.chain(tables).collect()
    }

    /// Inputs of the minima of a table of the right shape.
    ///
    /// Configurations of a dependent are taken together that add the same to every term and to the entry.
    pub(super) fn work<'t>(
        &self,
        certificate: &'t Certificate,
        problem: &'t dyn Problem,
        alive: &Alive,
        table: &Table,
    ) -> Work<'t> {
        let terms = self.terms(certificate, problem, alive);
        let mut own: Vec<f64> =
            alive[table.vertex].iter().map(|c| problem.vertex_cost(table.vertex, *c)).collect();
        let (alone, shared): (Vec<_>, Vec<_>) =
            terms.into_iter().partition(|term| term.scope.iter().all(|(vertex, _)| *vertex == table.vertex));
        for term in alone {
            for (c, cost) in own.iter_mut().enumerate() {
                *cost += term.values.at(term.scope.iter().map(|(_, places)| places[c]).sum::<usize>());
            }
        }
        let own_groups = Groups::of(own.len(), &shared, table.vertex, None);
        let least: Vec<f64> = own_groups
            .members
            .iter()
            .map(|members| members.iter().map(|c| own[*c]).fold(f64::INFINITY, f64::min))
            .collect();
        let mut stride = table.minima.len();
        let mut dimensions = Vec::new();
        for (vertex, layouts) in &table.dependents {
            stride /= layouts.len().max(1);
            let entries: Vec<usize> =
                (0..layouts.n_configurations()).map(|c| layouts.of(c) * stride).collect();
            dimensions.push(Groups::of(entries.len(), &shared, *vertex, Some(&entries)));
        }
        Work { terms: shared, least, own: own_groups, dimensions }
    }
}

/// Inputs of the minima of a table.
pub(super) struct Work<'t> {
    /// All that depend on other vertices than the table's own.
    terms: Vec<Term<'t>>,
    /// Least cost of the vertex by itself in each group of its configurations.
    least: Vec<f64>,
    own: Groups,
    /// Of each dependent.
    dimensions: Vec<Groups>,
}

impl Work<'_> {
    /// Bytes that computing the minima takes.
    pub(super) fn bytes(&self) -> u64 {
        let n = self.least.len() as u64;
        let addend = |term: &Term<'_>| {
            let over = self.dimensions.iter().filter(|one| term.is_over(one.vertex));
            over.fold(n, |product, one| product.saturating_mul(one.len() as u64))
        };
        let scopes = self
            .terms
            .iter()
            .flat_map(|term| &term.scope)
            .map(|(_, places)| places.len() as u64)
            .sum::<u64>();
        let addends =
            if self.is_computed() { 0 } else { self.terms.iter().map(addend).fold(0, u64::saturating_add) };
        let rows = n.saturating_mul(self.dimensions.len() as u64 + 1);
        addends.saturating_add(scopes).saturating_add(rows).saturating_mul(size_of::<f64>() as u64)
    }

    /// Whether the only term is an edge whose costs are computed: then they are not laid out, and most not asked for.
    fn is_computed(&self) -> bool {
        matches!(self.terms.as_slice(), [Term { values: Values::Computed { .. }, .. }])
            && self.dimensions.len() == 1
    }

    /// Computes the minima; tells each, with its entry in the table.
    pub(super) fn minima(&self, mut tell: impl FnMut(usize, f64)) {
        if let ([term], [dimension], true) =
            (self.terms.as_slice(), self.dimensions.as_slice(), self.is_computed())
        {
            let mut cheapest_first: Vec<usize> = (0..self.least.len()).collect();
            cheapest_first.sort_by(|a, b| self.least[*a].total_cmp(&self.least[*b]));
            let mut best = cheapest_first.first().copied();
            for (place, entry) in dimension.places[0].iter().zip(&dimension.entries) {
                let sum = |group: usize, least: f64| {
                    let base = self.least[group];
                    base + term.values.below(place + self.own.places[0][group], SumBound { base, least })
                };
                // The group that was best before is good again, so that most costs need not be known.
                let mut found =
                    best.map_or(f64::INFINITY, |group| f64::INFINITY.min(sum(group, f64::INFINITY)));
                for &group in &cheapest_first {
                    // An edge costs nothing at least: what is as dear without it is not less with it.
                    if self.least[group] >= found {
                        break;
                    }
                    let sum = sum(group, found);
                    if sum < found {
                        (found, best) = (sum, Some(group));
                    }
                }
                tell(*entry, found);
            }
            return;
        }
        let addends: Vec<Addend> = self
            .terms
            .iter()
            .enumerate()
            .map(|(index, term)| Addend::of(term, index, &self.dimensions, &self.own))
            .collect();
        walk(&self.least, &self.dimensions, &addends, &mut tell);
    }
}

impl Term<'_> {
    fn is_over(&self, vertex: usize) -> bool {
        self.scope.iter().any(|(of, _)| *of == vertex)
    }
}

/// Configurations of a vertex that add the same places to every term, and to the entry.
struct Groups {
    vertex: usize,
    members: Vec<Vec<usize>>,
    /// For each term and group, what it adds to the place.
    places: Vec<Vec<usize>>,
    /// For each group, what it adds to the entry.
    entries: Vec<usize>,
}

impl Groups {
    fn of(n: usize, terms: &[Term<'_>], vertex: usize, entries: Option<&[usize]>) -> Self {
        let part = |term: &Term<'_>, c: usize| -> usize {
            term.scope.iter().filter(|(of, _)| *of == vertex).map(|(_, places)| places[c]).sum()
        };
        // Groups are split by one term after the other: sorted by group and place, equal neighbours stay together.
        let mut group = vec![0_usize; n];
        let mut sorted: Vec<usize> = (0..n).collect();
        let mut split = |by: &dyn Fn(usize) -> usize| {
            let keys: Vec<(usize, usize)> =
                group.iter().enumerate().map(|(c, group)| (*group, by(c))).collect();
            sorted.sort_unstable_by_key(|c| (keys[*c], *c));
            let mut number = 0;
            for (place, c) in sorted.iter().enumerate() {
                number += usize::from(place > 0 && keys[sorted[place - 1]] != keys[*c]);
                group[*c] = number;
            }
        };
        for term in terms.iter().filter(|term| term.is_over(vertex)) {
            split(&|c| part(term, c));
        }
        if let Some(entries) = entries {
            split(&|c| entries[c]);
        }
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); group.iter().max().map_or(0, |last| last + 1)];
        group.iter().enumerate().for_each(|(c, group)| members[*group].push(c));
        let places = terms.iter().map(|term| members.iter().map(|m| part(term, m[0])).collect()).collect();
        let entries = members.iter().map(|m| entries.map_or(0, |entries| entries[m[0]])).collect();
        Groups { vertex, members, places, entries }
    }

    fn len(&self) -> usize {
        self.members.len()
    }
}

/// A term in groups instead of configurations, a row over the vertex's own groups for each combination of others.
struct Addend {
    rows: Vec<f64>,
    /// The least element of each part of each row, if it goes fastest.
    lows: Vec<f64>,
    /// Row distance of the next group of each dimension; 0 for dimensions that the term does not depend on.
    strides: Vec<usize>,
    /// The last dimension that the term is over: there it is added.
    last: usize,
}

impl Addend {
    fn of(term: &Term<'_>, index: usize, dimensions: &[Groups], own: &Groups) -> Self {
        let is_over = |one: &Groups| term.is_over(one.vertex);
        let mut strides = vec![0; dimensions.len()];
        let mut starts = vec![0];
        for (stride, dimension) in strides.iter_mut().zip(dimensions).rev().filter(|(_, one)| is_over(one)) {
            *stride = starts.len();
            let parts = &dimension.places[index];
            starts = parts.iter().flat_map(|part| starts.iter().map(move |start| part + start)).collect();
        }
        let (own, values) = (&own.places[index], &term.values);
        let row = |start: usize| own.iter().map(move |place| values.at(start + place));
        let rows: Vec<f64> = starts.into_iter().flat_map(row).collect();
        let last = dimensions.iter().rposition(is_over).unwrap_or(0);
        let lows = if last + 1 == dimensions.len() { lows(&rows, own.len()) } else { Vec::new() };
        Addend { rows, lows, strides, last }
    }

    /// The row for these groups, with the least element of each of its parts.
    fn row(&self, digits: &[usize], n: usize) -> (&[f64], &[f64]) {
        let at: usize = self.strides.iter().zip(digits).map(|(stride, digit)| stride * digit).sum();
        let (row, n_parts) = (&self.rows[at * n..(at + 1) * n], n.div_ceil(PART));
        (row, self.lows.get(at * n_parts..(at + 1) * n_parts).unwrap_or(&[]))
    }
}

/// Number of elements of a row that are skipped together.
const PART: usize = 32;

/// The least element of each part of each row of `n` elements.
fn lows(rows: &[f64], n: usize) -> Vec<f64> {
    rows.chunks_exact(n.max(1)).flat_map(|row| row.chunks(PART).map(minimum)).collect()
}

/// Goes over all combinations of groups of the dimensions, the last going fastest. A row of sums over the vertex's own groups
/// is kept for each dimension but the last, so that a term is added once for what goes faster than it.
fn walk(least: &[f64], dimensions: &[Groups], addends: &[Addend], tell: &mut impl FnMut(usize, f64)) {
    let (n, depth) = (least.len(), dimensions.len());
    let Some(last) = depth.checked_sub(1) else { return tell(0, minimum(least)) };
    let mut rows: Vec<Vec<f64>> = vec![least.to_vec(); depth];
    let mut low = lows(least, n);
    let mut digits = vec![0_usize; depth];
    let of = |dimension: usize| addends.iter().filter(move |addend| addend.last == dimension);
    let mut changed = 0;
    loop {
        for dimension in changed..last {
            let (before, after) = rows.split_at_mut(dimension + 1);
            after[0].copy_from_slice(&before[dimension]);
            for addend in of(dimension) {
                let (row, _) = addend.row(&digits, n);
                after[0].iter_mut().zip(row).for_each(|(sum, cost)| *sum += cost);
            }
            low = lows(&after[0], n);
        }
        let entry = (0..depth).map(|d| dimensions[d].entries[digits[d]]).sum();
        let all: Vec<(&[f64], &[f64])> = std::iter::once((rows[last].as_slice(), low.as_slice()))
            .chain(of(last).map(|addend| addend.row(&digits, n)))
            .collect();
        tell(entry, least_sum(&all, n));
        let Some(next) = (0..depth).rev().find(|d| digits[*d] + 1 < dimensions[*d].len()) else { return };
        digits[next] += 1;
        digits[next + 1..].fill(0);
        changed = next;
    }
}

/// The least sum of some rows. Parts whose least elements add up to no less than what was found have nothing less: rounding keeps the
/// order of sums.
fn least_sum(rows: &[(&[f64], &[f64])], n: usize) -> f64 {
    let mut found = f64::INFINITY;
    for (part, first) in (0..n).step_by(PART).enumerate() {
        let low = rows.iter().fold(0.0, |sum, (_, low)| sum + low[part]);
        if low >= found {
            continue;
        }
        let mut sums = [0.0; PART];
        let sums = &mut sums[..PART.min(n - first)];
        for (row, _) in rows {
            sums.iter_mut().zip(&row[first..]).for_each(|(sum, cost)| *sum += cost);
        }
        let least = minimum(sums);
        // What is no number is no minimum.
        found = if least >= found { found } else { least };
    }
    found
}

/// The least of a row, in lanes that a processor compares side by side.
fn minimum(row: &[f64]) -> f64 {
    let (chunks, rest) = row.as_chunks::<8>();
    let mut lanes = [f64::INFINITY; 8];
    for chunk in chunks {
        for (lane, cost) in lanes.iter_mut().zip(chunk) {
            *lane = if *cost < *lane { *cost } else { *lane };
        }
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(f64::INFINITY, f64::min)
}
