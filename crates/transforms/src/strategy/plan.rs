//! Plan of the dynamic program before it runs: its steps and the size of each table.

use super::layouts::Layouts;
use super::problem::{End, Problem};

/// The steps of the dynamic program, one for each vertex, in elimination order.
///
/// What belongs to each step is in one list for all of them: ten thousand small steps would spend their time in lists of
/// their own.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<EliminationStep>,
    /// Edges from the vertex to itself.
    pub(super) loops: Lists<usize>,
    /// Steps whose table is over the vertex alone.
    pub(super) unary: Lists<usize>,
    /// Edges and earlier tables over the vertex and others.
    pub(super) joint: Lists<Factor>,
}

/// A vertex is taken out: the least cost of it, and of what was taken out before and depends on it, becomes a table over
/// the vertices that are still in.
#[derive(Clone, Debug)]
pub(super) struct EliminationStep {
    pub(super) vertex: usize,
    /// Classes of the vertex's configurations that all joint factors treat alike; without any, each is its
    /// own.
    pub(super) own: Layouts,
    /// Vertices of the new table, of which the first to be eliminated is the last.
    pub(super) dependents: Vec<Dependent>,
}

/// A summand of a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Factor {
    /// An edge, and its end at the vertex that is taken out.
    Edge { edge: usize, end: End },
    /// The table of an earlier step.
    Table(usize),
}

/// A vertex that a table is over.
#[derive(Clone, Debug)]
pub(super) struct Dependent {
    pub(super) vertex: usize,
    /// Classes of its configurations that the table treats alike.
    pub(super) layouts: Layouts,
}

impl EliminationStep {
    /// Entries of the table.
    pub(super) fn entries(&self) -> u64 {
        self.dependents.iter().fold(1, |product, one| product.saturating_mul(one.layouts.len() as u64))
    }

    /// Sums that are compared to fill it.
    pub(super) fn operations(&self) -> u64 {
        self.entries().saturating_mul(self.own.len() as u64)
    }

    /// The entry of the table for the layouts of these configurations, one for each vertex of the problem.
    pub(super) fn entry(&self, strategy: &[usize]) -> usize {
        let digits =
            self.dependents.iter().map(|one| (one.layouts.of(strategy[one.vertex]), one.layouts.len()));
        digits.fold(0, |entry, (layout, n)| entry * n + layout)
    }

    /// The step that needs the table.
    fn next(&self, position: &[usize]) -> Option<usize> {
        self.dependents.last().map(|dependent| position[dependent.vertex])
    }
}

impl Plan {
    /// The plan of an order with every vertex once.
    pub(super) fn new(problem: &dyn Problem, order: &[usize]) -> Self {
        let n = order.len();
        let mut position = vec![0; n];
        for (index, vertex) in order.iter().enumerate() {
            position[*vertex] = index;
        }
        let edges = || problem.edges().iter().enumerate();
        let loops =
            edges().filter(|(_, edge)| edge.is_loop()).map(|(index, edge)| (position[edge.source], index));
        let between = edges().filter(|(_, edge)| !edge.is_loop()).map(|(index, edge)| {
            let (source, target) = (position[edge.source], position[edge.target]);
            let end = if source < target { End::Source } else { End::Target };
            (source.min(target), Factor::Edge { edge: index, end })
        });
        let (loops, between) = (Lists::new(n, loops), Lists::new(n, between));
        let mut steps: Vec<EliminationStep> = Vec::with_capacity(n);
        // The tables that each step needs, as lists that go from each table to the next one.
        let mut tables = Chains::new(n);
        let (mut unary, mut joint) = (Vec::new(), Vec::new());
        for (index, vertex) in order.iter().enumerate() {
            let factors = || between.of(index).iter().copied().chain(tables.of(index).map(Factor::Table));
            let step = EliminationStep::new(problem, *vertex, &steps, factors(), &position);
            joint.extend(factors().map(|factor| (index, factor)));
            if let Some(next) = step.next(&position) {
                if step.dependents.len() == 1 {
                    unary.push((next, index));
                } else {
                    tables.push(next, index);
                }
            }
            steps.push(step);
        }
        Plan {
            steps,
            loops,
            unary: Lists::new(n, unary.iter().copied()),
            joint: Lists::new(n, joint.iter().copied()),
        }
    }

    /// The vertices that a factor is over, with what is the same to it.
    pub(super) fn scope<'a>(&'a self, problem: &'a dyn Problem, factor: Factor) -> Vec<(usize, &'a Layouts)> {
        match factor {
            Factor::Edge { edge, .. } => {
                let ends = problem.edges()[edge];
                [End::Source, End::Target].map(|end| (ends.vertex(end), problem.layouts(edge, end))).to_vec()
            }
            Factor::Table(step) => {
                self.steps[step].dependents.iter().map(|one| (one.vertex, &one.layouts)).collect()
            }
        }
    }

    /// The step that needs the table of each step.
    pub(super) fn parents(&self) -> Vec<Option<usize>> {
        let mut position = vec![0; self.steps.len()];
        for (index, step) in self.steps.iter().enumerate() {
            position[step.vertex] = index;
        }
        self.steps.iter().map(|step| step.next(&position)).collect()
    }

    /// Work of so many threads.
    pub(super) fn prediction(&self, n_threads: usize) -> Prediction {
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
        let entries = sum(&mut self.steps.iter().map(EliminationStep::entries));
        // Each thread may be at one of the largest steps.
        let mut laid_out: Vec<u64> = (0..self.steps.len()).map(|step| self.laid_out(step)).collect();
        laid_out.sort_unstable_by_key(|numbers| std::cmp::Reverse(*numbers));
        let own = sum(&mut self.steps.iter().map(|step| step.own.n_configurations() as u64));
        let numbers = sum(&mut laid_out.into_iter().take(n_threads.max(1)).chain([entries, own]));
        Prediction {
            n_tables: self.steps.len(),
            entries,
            bytes: numbers.saturating_mul(size_of::<f64>() as u64),
            operations: self.operations(),
            largest_dependent_set: self.steps.iter().map(|step| step.dependents.len()).max().unwrap_or(0),
        }
    }

    /// Number of compared sums. Saturates.
    pub(super) fn operations(&self) -> u64 {
        self.steps.iter().map(EliminationStep::operations).fold(0, u64::saturating_add)
    }

    /// Maximum number of values of a step's factors that are rearranged while it runs.
    fn laid_out(&self, index: usize) -> u64 {
        let (step, joint) = (&self.steps[index], self.joint.of(index));
        let size = |vertex: usize| {
            let found = step.dependents.iter().find(|one| one.vertex == vertex);
            found.map_or(step.own.len(), |one| one.layouts.len()) as u64
        };
        let entries = |factor: &Factor| match *factor {
            // With one dependent the edges are read where they are.
            Factor::Edge { .. } if joint.len() == 1 => 0,
            Factor::Edge { .. } => {
                step.dependents.iter().map(|one| one.layouts.len()).max().unwrap_or(0) as u64
                    * step.own.len() as u64
            }
            Factor::Table(table) => {
                let dependents = &self.steps[table].dependents;
                dependents.iter().fold(1, |product: u64, one| product.saturating_mul(size(one.vertex)))
            }
        };
        joint.iter().map(entries).fold(0, u64::saturating_add)
    }
}

impl EliminationStep {
    /// Takes out a vertex with these factors, given the steps before.
    fn new(
        problem: &dyn Problem,
        vertex: usize,
        before: &[EliminationStep],
        factors: impl Iterator<Item = Factor>,
        position: &[usize],
    ) -> Self {
        let mut own: Option<Layouts> = None;
        let mut dependents: Vec<Dependent> = Vec::new();
        let mut take = |of: usize, layouts: &Layouts| {
            let known = if of == vertex {
                own.as_mut()
            } else {
                dependents.iter_mut().find(|one| one.vertex == of).map(|one| &mut one.layouts)
            };
            match known {
                Some(known) => *known = known.refined(layouts),
                None if of == vertex => own = Some(layouts.clone()),
                None => dependents.push(Dependent { vertex: of, layouts: layouts.clone() }),
            }
        };
        for factor in factors {
            match factor {
                Factor::Edge { edge, .. } => {
                    let ends = problem.edges()[edge];
                    [End::Source, End::Target]
                        .into_iter()
                        .for_each(|end| take(ends.vertex(end), problem.layouts(edge, end)));
                }
                Factor::Table(table) => {
                    before[table].dependents.iter().for_each(|one| take(one.vertex, &one.layouts));
                }
            }
        }
        dependents.sort_by_key(|one| std::cmp::Reverse(position[one.vertex]));
        let own = own.unwrap_or_else(|| Layouts::distinct(problem.n_configurations(vertex)));
        EliminationStep { vertex, own, dependents }
    }
}

/// Lists one after the other in one array.
#[derive(Clone, Debug)]
pub(super) struct Lists<T> {
    /// Start of each list, and end of the last one.
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// `n` lists from items, each with the number of its list, where they keep their order.
    fn new(n: usize, items: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut starts = vec![0; n + 1];
        items.clone().for_each(|(list, _)| starts[list + 1] += 1);
        for list in 0..n {
            starts[list + 1] += starts[list];
        }
        let mut places = starts.clone();
        let mut placed: Vec<(usize, T)> = Vec::with_capacity(starts[n]);
        for (list, item) in items {
            placed.push((places[list], item));
            places[list] += 1;
        }
        if !placed.is_sorted_by_key(|(place, _)| *place) {
            placed.sort_unstable_by_key(|(place, _)| *place);
        }
        Lists { starts, items: placed.into_iter().map(|(_, item)| item).collect() }
    }

    /// The items of a list.
    pub(super) fn of(&self, list: usize) -> &[T] {
        &self.items[self.starts[list]..self.starts[list + 1]]
    }
}

/// Lists of numbers, each number in one list at most, that grow in turns.
struct Chains {
    /// The first and the last number of each list.
    ends: Vec<Option<(usize, usize)>>,
    /// Successor of each number in its list.
    next: Vec<Option<usize>>,
}

impl Chains {
    fn new(n: usize) -> Self {
        Chains { ends: vec![None; n], next: vec![None; n] }
    }

    fn push(&mut self, list: usize, number: usize) {
        match &mut self.ends[list] {
            Some((_, last)) => {
                self.next[*last] = Some(number);
                *last = number;
            }
            empty @ None => *empty = Some((number, number)),
        }
    }

    fn of(&self, list: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.ends[list].map(|(first, _)| first), |number| self.next[*number])
    }
}

/// Plan of the dynamic program before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// Number of its tables: one for each vertex.
    pub n_tables: usize,
    /// Number of entries of all tables. All of them are kept as evidence. Saturates.
    pub entries: u64,
    /// Bytes of memory for them, for the costs of vertices, and for what is laid out anew while the largest ones are filled.
    /// Saturates.
    pub bytes: u64,
    /// Number of compared sums to fill them. Saturates.
    pub operations: u64,
    /// The most vertices that a table is over.
    pub largest_dependent_set: usize,
}
