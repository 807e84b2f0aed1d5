//! A problem without the configurations that no optimum needs.

use super::layouts::Layouts;
use super::problem::{Edge, End, Problem, SumBound};
use super::tabulated::EdgeTable;

/// The remaining problem.
pub(super) struct Reduced<'p> {
    problem: &'p dyn Problem,
    /// The configurations that are left of each vertex.
    pub(super) kept: Vec<Vec<usize>>,
    costs: Vec<Vec<f64>>,
    tables: Vec<Left>,
}

/// The remaining costs of an edge.
enum Left {
    /// Costs that are at hand: more rows and columns may be equal now.
    Table(EdgeTable),
    /// Costs that are computed: the layouts that are left, of both ends, with their numbers in the problem.
    Computed([(Layouts, Vec<usize>); 2]),
}

impl<'p> Reduced<'p> {
    pub(super) fn new(problem: &'p dyn Problem, kept: Vec<Vec<usize>>) -> Self {
        let cost =
            |(v, kept): (usize, &Vec<usize>)| kept.iter().map(|c| problem.vertex_cost(v, *c)).collect();
        let costs = kept.iter().enumerate().map(cost).collect();
        let tables = problem.edges().iter().enumerate().map(|(index, edge)| {
            let layout = |end: End, c: usize| problem.layouts(index, end).of(c);
            let of = |end: End| &kept[edge.vertex(end)];
            if problem.edge_table(index).is_none() {
                return Left::Computed([End::Source, End::Target].map(|end| {
                    let layouts = Layouts::by_key(of(end).iter().map(|c| layout(end, *c)));
                    let numbers = layouts.representatives().into_iter().map(|one| layout(end, of(end)[one]));
                    let numbers = numbers.collect();
                    (layouts, numbers)
                }));
            }
            let (rows, columns) = (of(End::Source), of(End::Target));
            let values = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
            let values = values.map(|(row, column)| {
                problem.edge_cost(index, layout(End::Source, *row), layout(End::Target, *column))
            });
            Left::Table(EdgeTable::merging(rows.len(), columns.len(), values.collect()))
        });
        let tables = tables.collect();
        Reduced { problem, costs, tables, kept }
    }
}

impl Problem for Reduced<'_> {
    fn n_vertices(&self) -> usize {
        self.costs.len()
    }

    fn n_configurations(&self, vertex: usize) -> usize {
        self.costs[vertex].len()
    }

    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64 {
        self.costs[vertex][configuration]
    }

    fn vertex_costs(&self, vertex: usize) -> Option<&[f64]> {
        Some(&self.costs[vertex])
    }

    fn edges(&self) -> &[Edge] {
        self.problem.edges()
    }

    fn layouts(&self, edge: usize, end: End) -> &Layouts {
        match &self.tables[edge] {
            Left::Table(table) => table.layouts(end),
            Left::Computed(ends) => &ends[usize::from(end == End::Target)].0,
        }
    }

    fn edge_cost(&self, edge: usize, source_layout: usize, target_layout: usize) -> f64 {
        match &self.tables[edge] {
            Left::Table(table) => table.cost(source_layout, target_layout),
            Left::Computed([(_, rows), (_, columns)]) => {
                self.problem.edge_cost(edge, rows[source_layout], columns[target_layout])
            }
        }
    }

    fn edge_cost_below(
        &self,
        edge: usize,
        source_layout: usize,
        target_layout: usize,
        bound: SumBound,
    ) -> f64 {
        match &self.tables[edge] {
            Left::Table(table) => table.cost(source_layout, target_layout),
            Left::Computed([(_, rows), (_, columns)]) => {
                self.problem.edge_cost_below(edge, rows[source_layout], columns[target_layout], bound)
            }
        }
    }

    fn edge_table(&self, edge: usize) -> Option<&[f64]> {
        match &self.tables[edge] {
            Left::Table(table) => Some(&table.values),
            Left::Computed(_) => None,
        }
    }

    fn vertex_name(&self, vertex: usize) -> String {
        self.problem.vertex_name(vertex)
    }
}
