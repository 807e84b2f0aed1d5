//! A problem whose costs are all tabulated, as in a file.

use super::error::ProblemError;
use super::layouts::Layouts;
use super::problem::{Edge, End, Operations, Problem};

/// A vertex of a tabulated problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Its kind, such as `Conv`.
    pub kind: String,
    /// Sizes of its iteration domain.
    pub domain: Vec<u64>,
    /// Into how many parts each dimension is cut, for each configuration.
    pub configurations: Vec<Vec<u32>>,
    /// Cost of each configuration.
    pub costs: Vec<f64>,
}

/// Costs of an edge: a row for each configuration of the source, a column for each of the target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// The rows, one after the other.
    pub(super) values: Vec<f64>,
    /// End of each row in `values`.
    pub(super) row_ends: Vec<usize>,
}

impl Costs {
    /// Costs from rows, whose lengths are checked when a problem is made of them.
    pub fn from_rows(rows: &[Vec<f64>]) -> Self {
        let mut costs = Costs::default();
        for row in rows {
            costs.values.extend_from_slice(row);
            costs.row_ends.push(costs.values.len());
        }
        costs
    }

    /// Costs by configurations.
    pub fn from_fn(n_rows: usize, n_columns: usize, mut cost: impl FnMut(usize, usize) -> f64) -> Self {
        let places = (0..n_rows).flat_map(|row| (0..n_columns).map(move |column| (row, column)));
        Costs {
            values: places.map(|(row, column)| cost(row, column)).collect(),
            row_ends: (1..=n_rows).map(|row| row * n_columns).collect(),
        }
    }

    fn row_lengths(&self) -> impl Iterator<Item = usize> + '_ {
        let starts = std::iter::once(0).chain(self.row_ends.iter().copied());
        starts.zip(&self.row_ends).map(|(start, end)| end.saturating_sub(start))
    }
}

/// A problem with its costs, checked when it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Tabulated {
    /// Name of the computation; may be empty.
    pub model: String,
    n_processors: u32,
    /// Number of samples in one pass, if it is known.
    pub batch: Option<u64>,
    operations: Vec<Operation>,
    edges: Vec<Edge>,
    tables: Vec<EdgeTable>,
}

/// Costs of an edge, of which equal rows and equal columns are kept once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EdgeTable {
    source: Layouts,
    target: Layouts,
    pub(super) values: Vec<f64>,
}

impl Tabulated {
    /// A problem of operations and edges with their costs, for so many processors.
    ///
    /// A configuration may be listed twice if its costs are the same both times.
    ///
    /// # Errors
    /// The first thing that is wrong, in the order operations, edges.
    pub fn new(
        n_processors: u32,
        operations: Vec<Operation>,
        edges: Vec<(Edge, Costs)>,
    ) -> Result<Self, ProblemError> {
        if n_processors == 0 {
            return Err(ProblemError::NoProcessors);
        }
        for operation in &operations {
            check_operation(operation, n_processors)?;
        }
        let (mut ends, mut tables) = (Vec::with_capacity(edges.len()), Vec::with_capacity(edges.len()));
        for (index, (edge, costs)) in edges.into_iter().enumerate() {
            check_edge(index, edge, &costs, &operations)?;
            let size = |vertex: usize| operations[vertex].configurations.len();
            tables.push(EdgeTable::merging(size(edge.source), size(edge.target), costs.values));
            ends.push(edge);
        }
        let problem =
            Tabulated { model: String::new(), n_processors, batch: None, operations, edges: ends, tables };
        problem.check_repeated()?;
        Ok(problem)
    }

    /// The same problem for at most so many processors: configurations with more parts are left out.
    ///
    /// # Errors
    /// If no processor or no configuration is left, or there are not as many processors in the problem: the costs of more
    /// parts are not known.
    pub fn on_processors(&self, n_processors: u32) -> Result<Self, ProblemError> {
        if n_processors > self.n_processors {
            let known = self.n_processors;
            return Err(ProblemError::TooManyProcessors { wanted: n_processors, known });
        }
        let fits = |parts: &[u32]| {
            parts.iter().map(|part| u64::from(*part)).product::<u64>() <= u64::from(n_processors)
        };
        let kept: Vec<Vec<usize>> = self
            .operations
            .iter()
            .map(|one| (0..one.configurations.len()).filter(|c| fits(&one.configurations[*c])).collect())
            .collect();
        let operations = self.operations.iter().zip(&kept).map(|(operation, kept)| Operation {
            configurations: kept.iter().map(|c| operation.configurations[*c].clone()).collect(),
            costs: kept.iter().map(|c| operation.costs[*c]).collect(),
            ..operation.clone()
        });
        let edges = self.edges.iter().enumerate().map(|(index, edge)| {
            let (rows, columns) = (&kept[edge.source], &kept[edge.target]);
            let costs = Costs::from_fn(rows.len(), columns.len(), |row, column| {
                let row = self.layouts(index, End::Source).of(rows[row]);
                self.edge_cost(index, row, self.layouts(index, End::Target).of(columns[column]))
            });
            (*edge, costs)
        });
        let fewer = Tabulated::new(n_processors, operations.collect(), edges.collect())?;
        Ok(Tabulated { model: self.model.clone(), batch: self.batch, ..fewer })
    }

    /// The vertices.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Number of costs of edges, and number after equal rows and columns were merged.
    pub fn n_edge_costs(&self) -> (usize, usize) {
        let size = |vertex: usize| self.operations[vertex].configurations.len();
        let all = self.edges.iter().map(|edge| size(edge.source) * size(edge.target)).sum();
        (all, self.tables.iter().map(|table| table.values.len()).sum())
    }

    /// A configuration that is listed twice has to cost the same both times.
    fn check_repeated(&self) -> Result<(), ProblemError> {
        let mut incident: Vec<Vec<(usize, End)>> = vec![Vec::new(); self.operations.len()];
        for (index, edge) in self.edges.iter().enumerate() {
            incident[edge.source].push((index, End::Source));
            incident[edge.target].push((index, End::Target));
        }
        for (operation, incident) in self.operations.iter().zip(&incident) {
            let mut sorted: Vec<usize> = (0..operation.configurations.len()).collect();
            sorted.sort_by_key(|c| &operation.configurations[*c]);
            for pair in sorted.windows(2) {
                let (first, second) = (pair[0], pair[1]);
                if operation.configurations[first] != operation.configurations[second] {
                    continue;
                }
                let contradiction = |edge| ProblemError::Contradiction {
                    vertex: shown(operation),
                    first,
                    second,
                    parts: operation.configurations[first].clone(),
                    edge,
                };
                if operation.costs[first] != operation.costs[second] {
                    return Err(contradiction(None));
                }
                for &(edge, end) in incident {
                    let layouts = self.layouts(edge, end);
                    if layouts.of(first) != layouts.of(second) {
                        return Err(contradiction(Some(edge)));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Problem for Tabulated {
    fn n_vertices(&self) -> usize {
        self.operations.len()
    }

    fn n_configurations(&self, vertex: usize) -> usize {
        self.operations[vertex].configurations.len()
    }

    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64 {
        self.operations[vertex].costs[configuration]
    }

    fn vertex_costs(&self, vertex: usize) -> Option<&[f64]> {
        Some(&self.operations[vertex].costs)
    }

    fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn layouts(&self, edge: usize, end: End) -> &Layouts {
        self.tables[edge].layouts(end)
    }

    fn edge_cost(&self, edge: usize, source_layout: usize, target_layout: usize) -> f64 {
        self.tables[edge].cost(source_layout, target_layout)
    }

    fn edge_table(&self, edge: usize) -> Option<&[f64]> {
        Some(&self.tables[edge].values)
    }

    fn vertex_name(&self, vertex: usize) -> String {
        shown(&self.operations[vertex])
    }
}

impl Operations for Tabulated {
    fn model(&self) -> &str {
        &self.model
    }

    fn n_processors(&self) -> u32 {
        self.n_processors
    }

    fn name(&self, vertex: usize) -> &str {
        &self.operations[vertex].name
    }

    fn kind(&self, vertex: usize) -> &str {
        &self.operations[vertex].kind
    }

    fn domain(&self, vertex: usize) -> &[u64] {
        &self.operations[vertex].domain
    }

    fn configurations(&self, vertex: usize) -> &[Vec<u32>] {
        &self.operations[vertex].configurations
    }
}

impl EdgeTable {
    /// Classes of equal configurations of one end.
    pub(super) fn layouts(&self, end: End) -> &Layouts {
        match end {
            End::Source => &self.source,
            End::Target => &self.target,
        }
    }

    /// The cost between two layouts.
    pub(super) fn cost(&self, source_layout: usize, target_layout: usize) -> f64 {
        self.values[source_layout * self.target.len() + target_layout]
    }

    /// Keeps equal rows and equal columns once. The values have `n_rows * n_columns` entries.
    pub(super) fn merging(n_rows: usize, n_columns: usize, values: Vec<f64>) -> Self {
        let source =
            equal_lines(n_rows, |row| values[row * n_columns..(row + 1) * n_columns].iter().copied());
        let target = equal_lines(n_columns, |column| values.iter().skip(column).step_by(n_columns).copied());
        if source.are_distinct() && target.are_distinct() {
            return EdgeTable { source, target, values };
        }
        let (rows, columns) = (source.representatives(), target.representatives());
        let place = |row: usize| columns.iter().map(move |column| row * n_columns + column);
        let merged = rows.iter().flat_map(|row| place(*row)).map(|place| values[place]).collect();
        EdgeTable { source, target, values: merged }
    }
}

/// Classes of equal lines among `n` lines of numbers.
fn equal_lines<I: Iterator<Item = f64>>(n: usize, line: impl Fn(usize) -> I) -> Layouts {
    // Costs are not negative: their order is that of their bits.
    let bits = |index: usize| line(index).map(f64::to_bits);
    let mut sorted: Vec<usize> = (0..n).collect();
    sorted.sort_by(|a, b| bits(*a).cmp(bits(*b)));
    let mut class = vec![0_usize; n];
    for pair in sorted.windows(2) {
        class[pair[1]] = class[pair[0]] + usize::from(!bits(pair[0]).eq(bits(pair[1])));
    }
    Layouts::by_key(class)
}

fn check_operation(operation: &Operation, n_processors: u32) -> Result<(), ProblemError> {
    let vertex = || shown(operation);
    let Operation { configurations, costs, domain, .. } = operation;
    if configurations.is_empty() {
        return Err(ProblemError::NoConfiguration { vertex: vertex() });
    }
    if configurations.len() != costs.len() {
        let (n_configurations, n_costs) = (configurations.len(), costs.len());
        return Err(ProblemError::CostCount { vertex: vertex(), n_configurations, n_costs });
    }
    for (configuration, parts) in configurations.iter().enumerate() {
        let parts_shown = || parts.clone();
        if parts.len() != domain.len() {
            let (parts, n_dimensions) = (parts_shown(), domain.len());
            return Err(ProblemError::Rank { vertex: vertex(), configuration, parts, n_dimensions });
        }
        if parts.contains(&0) {
            return Err(ProblemError::NoParts { vertex: vertex(), configuration, parts: parts_shown() });
        }
        let product = parts.iter().fold(1_u64, |product, c| product.saturating_mul(u64::from(*c)));
        if product > u64::from(n_processors) {
            let parts = parts_shown();
            return Err(ProblemError::TooManyParts { vertex: vertex(), configuration, parts, n_processors });
        }
    }
    match costs.iter().position(|cost| !is_cost(*cost)) {
        Some(configuration) => {
            Err(ProblemError::VertexCost { vertex: vertex(), configuration, cost: costs[configuration] })
        }
        None => Ok(()),
    }
}

fn check_edge(index: usize, edge: Edge, costs: &Costs, operations: &[Operation]) -> Result<(), ProblemError> {
    let n_vertices = operations.len();
    for end in [End::Source, End::Target] {
        let vertex = edge.vertex(end);
        if vertex >= n_vertices {
            return Err(ProblemError::UnknownVertex { edge: index, end, vertex, n_vertices });
        }
    }
    let (source, target) = (&operations[edge.source], &operations[edge.target]);
    if costs.row_ends.len() != source.configurations.len() {
        let (n_rows, n_configurations) = (costs.row_ends.len(), source.configurations.len());
        return Err(ProblemError::RowCount {
            edge: index,
            source_name: shown(source),
            n_rows,
            n_configurations,
        });
    }
    let n_configurations = target.configurations.len();
    if let Some((row, n_columns)) = costs.row_lengths().enumerate().find(|(_, n)| *n != n_configurations) {
        let target_name = shown(target);
        return Err(ProblemError::RowLength { edge: index, row, target_name, n_columns, n_configurations });
    }
    match costs.values.iter().position(|cost| !is_cost(*cost)) {
        Some(place) => {
            let (row, column) = (place / n_configurations, place % n_configurations);
            Err(ProblemError::EdgeCost { edge: index, row, column, cost: costs.values[place] })
        }
        None => Ok(()),
    }
}

/// Whether a number can be a cost.
pub(super) fn is_cost(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

fn shown(operation: &Operation) -> String {
    format!("operation `{}`", operation.name)
}

#[cfg(test)]
mod tests;
