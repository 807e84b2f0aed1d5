//! What belongs to the table of a vertex, and the minima that follow from it, computed in the checker's own way.

use super::check::Alive;
use super::{Certificate, Dominated, Table};
use crate::strategy::problem::{End, Problem};

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

/// What going from one configuration to another loses at most at the edges of its vertex, over configurations of the
/// other ends that are still alive.
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
    values: std::borrow::Cow<'t, [f64]>,
    /// Vertices that it is over, with the part of the place in `values` that each of their configurations adds.
    scope: Vec<(usize, Vec<usize>)>,
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
            let values = match problem.edge_table(index) {
                Some(table) => table.into(),
                None => (0..rows.len() * columns.len())
                    .map(|place| problem.edge_cost(index, place / columns.len(), place % columns.len()))
                    .collect(),
            };
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
            Term { values: table.minima.as_slice().into(), scope }
        });
        edges.chain(tables).collect()
    }

    /// Computes the minima of a table of the right shape; tells each, with its entry in the table.
    ///
    /// Configurations of a dependent are taken together that add the same to every term and to the entry.
    pub(super) fn minima(
        &self,
        certificate: &Certificate,
        problem: &dyn Problem,
        alive: &Alive,
        table: &Table,
        mut tell: impl FnMut(usize, f64),
    ) {
        let terms = self.terms(certificate, problem, alive);
        let mut own: Vec<f64> =
            alive[table.vertex].iter().map(|c| problem.vertex_cost(table.vertex, *c)).collect();
        let (alone, shared): (Vec<_>, Vec<_>) =
            terms.into_iter().partition(|term| term.scope.iter().all(|(vertex, _)| *vertex == table.vertex));
        for term in alone {
            for (c, cost) in own.iter_mut().enumerate() {
                *cost += term.values[term.scope.iter().map(|(_, places)| places[c]).sum::<usize>()];
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
        let last_of: Vec<Option<usize>> = shared
            .iter()
            .map(|term| dimensions.iter().rposition(|one| term.scope.iter().any(|(v, _)| *v == one.vertex)))
            .collect();
        walk(
            &Walk {
                shared: &shared,
                own: &own_groups,
                least: &least,
                dimensions: &dimensions,
                last_of: &last_of,
            },
            &mut tell,
        );
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
        let entry = |c: usize| entries.map_or(0, |entries| entries[c]);
        let key = |c: &usize| -> Vec<usize> {
            terms.iter().map(|term| part(term, *c)).chain(std::iter::once(entry(*c))).collect()
        };
        let mut sorted: Vec<(Vec<usize>, usize)> = (0..n).map(|c| (key(&c), c)).collect();
        sorted.sort_unstable();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut previous: Option<&[usize]> = None;
        for (key, c) in &sorted {
            match members.last_mut() {
                Some(last) if previous == Some(key) => last.push(*c),
                Some(_) | None => members.push(vec![*c]),
            }
            previous = Some(key);
        }
        let places = terms.iter().map(|term| members.iter().map(|m| part(term, m[0])).collect()).collect();
        let entries = members.iter().map(|m| entry(m[0])).collect();
        Groups { vertex, members, places, entries }
    }

    fn len(&self) -> usize {
        self.members.len()
    }
}

/// What [`walk`] goes over.
struct Walk<'w> {
    shared: &'w [Term<'w>],
    own: &'w Groups,
    least: &'w [f64],
    dimensions: &'w [Groups],
    /// The last dimension that each term is over: there it is added.
    last_of: &'w [Option<usize>],
}

/// Goes over all combinations of groups of the dimensions, the last going fastest. A row of sums over the vertex's own groups
/// is kept for each dimension, so that a term is added once for what goes faster than it.
fn walk(of: &Walk<'_>, tell: &mut impl FnMut(usize, f64)) {
    let n = of.least.len();
    let depth = of.dimensions.len();
    let mut rows: Vec<Vec<f64>> = vec![of.least.to_vec(); depth + 1];
    let mut digits = vec![0_usize; depth];
    let mut changed = 0;
    loop {
        for dimension in changed..depth {
            let (before, after) = rows.split_at_mut(dimension + 1);
            let row = &mut after[0];
            row.copy_from_slice(&before[dimension]);
            for (index, term) in of.shared.iter().enumerate() {
                if of.last_of[index] == Some(dimension) {
                    let fixed: usize =
                        (0..=dimension).map(|d| of.dimensions[d].places[index][digits[d]]).sum();
                    let own = &of.own.places[index];
                    for group in 0..n {
                        row[group] += term.values[fixed + own[group]];
                    }
                }
            }
        }
        let entry = (0..depth).map(|d| of.dimensions[d].entries[digits[d]]).sum();
        tell(entry, rows[depth].iter().copied().fold(f64::INFINITY, f64::min));
        let Some(next) = (0..depth).rev().find(|d| digits[*d] + 1 < of.dimensions[*d].len()) else { return };
        digits[next] += 1;
        digits[next + 1..].fill(0);
        changed = next;
    }
}
