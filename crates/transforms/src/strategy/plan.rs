//! What the dynamic program will do, known before it does it: its steps, and how large each table is.

use super::layouts::Layouts;
use super::problem::{End, Problem};

/// The steps of the dynamic program, one for each vertex, in elimination order.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
}

/// A vertex is taken out: the least cost of it, and of what was taken out before and depends on it, becomes a table over
/// the vertices that are still in.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) vertex: usize,
    /// Edges from the vertex to itself.
    pub(super) loops: Vec<usize>,
    /// Steps whose table is over the vertex alone.
    pub(super) unary: Vec<usize>,
    /// Edges and earlier tables over the vertex and others.
    pub(super) joint: Vec<Factor>,
    /// Which of the vertex's configurations are the same to all of `joint`; without any, each is its own.
    pub(super) own: Layouts,
    /// Which vertices the new table is over, the one that is taken out first being the last.
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
    /// Which of its configurations are the same to the table.
    pub(super) layouts: Layouts,
}

impl Step {
    /// Entries of the table.
    pub(super) fn entries(&self) -> u64 {
        self.dependents.iter().fold(1, |product, one| product.saturating_mul(one.layouts.len() as u64))
    }

    /// Sums that are compared to fill it.
    pub(super) fn operations(&self) -> u64 {
        self.entries().saturating_mul(self.own.len() as u64)
    }

    /// The step that needs the table.
    fn next(&self, position: &[usize]) -> Option<usize> {
        self.dependents.last().map(|dependent| position[dependent.vertex])
    }
}

impl Plan {
    /// The plan of an order with every vertex once.
    pub(super) fn new(problem: &dyn Problem, order: &[usize]) -> Self {
        let mut position = vec![0; order.len()];
        for (index, vertex) in order.iter().enumerate() {
            position[*vertex] = index;
        }
        let mut plan = Plan { steps: order.iter().map(|vertex| Step::empty(problem, *vertex)).collect() };
        for (index, edge) in problem.edges().iter().enumerate() {
            let (source, target) = (position[edge.source], position[edge.target]);
            if edge.is_loop() {
                plan.steps[source].loops.push(index);
            } else {
                let end = if source < target { End::Source } else { End::Target };
                plan.steps[source.min(target)].joint.push(Factor::Edge { edge: index, end });
            }
        }
        for index in 0..plan.steps.len() {
            plan.gather(problem, index, &position);
            let step = &plan.steps[index];
            if let Some(next) = step.next(&position) {
                if step.dependents.len() == 1 {
                    plan.steps[next].unary.push(index);
                } else {
                    plan.steps[next].joint.push(Factor::Table(index));
                }
            }
        }
        plan
    }

    /// Finds what a step depends on, and the layouts of all.
    fn gather(&mut self, problem: &dyn Problem, index: usize, position: &[usize]) {
        let step = &self.steps[index];
        let vertex = step.vertex;
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
        for factor in &step.joint {
            match *factor {
                Factor::Edge { edge, .. } => {
                    let ends = problem.edges()[edge];
                    [End::Source, End::Target]
                        .into_iter()
                        .for_each(|end| take(ends.vertex(end), problem.layouts(edge, end)));
                }
                Factor::Table(table) => {
                    self.steps[table].dependents.iter().for_each(|one| take(one.vertex, &one.layouts));
                }
            }
        }
        dependents.sort_by_key(|one| std::cmp::Reverse(position[one.vertex]));
        let step = &mut self.steps[index];
        step.dependents = dependents;
        if let Some(own) = own {
            step.own = own;
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

    /// How much so many threads have to do.
    pub(super) fn prediction(&self, n_threads: usize) -> Prediction {
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
        let entries = sum(&mut self.steps.iter().map(Step::entries));
        // Each thread may be at one of the largest steps.
        let mut laid_out: Vec<u64> = self.steps.iter().map(|step| self.laid_out(step)).collect();
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

    /// How many sums are compared. Saturates.
    pub(super) fn operations(&self) -> u64 {
        self.steps.iter().map(Step::operations).fold(0, u64::saturating_add)
    }

    /// How many numbers of a step's factors may have to be laid out anew while it runs.
    fn laid_out(&self, step: &Step) -> u64 {
        let size = |vertex: usize| {
            let found = step.dependents.iter().find(|one| one.vertex == vertex);
            found.map_or(step.own.len(), |one| one.layouts.len()) as u64
        };
        let entries = |factor: &Factor| match *factor {
            // With one dependent the edges are read where they are.
            Factor::Edge { .. } if step.joint.len() == 1 => 0,
            Factor::Edge { .. } => {
                step.dependents.iter().map(|one| one.layouts.len()).max().unwrap_or(0) as u64
                    * step.own.len() as u64
            }
            Factor::Table(table) => {
                let dependents = &self.steps[table].dependents;
                dependents.iter().fold(1, |product: u64, one| product.saturating_mul(size(one.vertex)))
            }
        };
        step.joint.iter().map(entries).fold(0, u64::saturating_add)
    }
}

impl Step {
    fn empty(problem: &dyn Problem, vertex: usize) -> Self {
        let own = Layouts::distinct(problem.n_configurations(vertex));
        Step { vertex, loops: Vec::new(), unary: Vec::new(), joint: Vec::new(), own, dependents: Vec::new() }
    }
}

/// What the dynamic program is going to do, known before it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prediction {
    /// How many tables it fills: one for each vertex.
    pub n_tables: usize,
    /// How many entries they have, all together. All of them are kept, as evidence. Saturates.
    pub entries: u64,
    /// Bytes of memory for them, for the costs of vertices, and for what is laid out anew while the largest ones are filled.
    /// Saturates.
    pub bytes: u64,
    /// How many sums are compared to fill them. Saturates.
    pub operations: u64,
    /// The most vertices that a table is over.
    pub largest_dependent_set: usize,
}
