//! The dynamic program over an elimination order (document 2, corrected): fills the tables, then reads off a strategy.
//!
//! Only least costs are stored. Which configuration has it is found again on the way back, for the one combination of
//! dependents that was chosen, which is cheaper than to remember it for all.

mod step;

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::error::SearchError;
use super::observer::{Observer, Progress};
use super::plan::{Factor, Plan};
use super::problem::{End, Problem};
use super::schedule;

/// Operations from which threads pay: some hundred microseconds of work.
const PARALLEL: u64 = 1_000_000;

/// Operations between two looks whether to go on: some milliseconds of work.
const BLOCK: u64 = 8_000_000;

/// The dynamic program at work.
pub(super) struct Dynamic<'p> {
    problem: &'p dyn Problem,
    plan: &'p Plan,
    n_threads: usize,
    observer: &'p dyn Observer,
    /// Least costs of each step, in the mixed radix of its dependents.
    tables: Vec<OnceLock<Vec<f64>>>,
    done: AtomicU64,
    total: u64,
    cancelled: AtomicBool,
}

impl<'p> Dynamic<'p> {
    pub(super) fn new(
        problem: &'p dyn Problem,
        plan: &'p Plan,
        n_threads: usize,
        observer: &'p dyn Observer,
    ) -> Self {
        let mut tables = Vec::new();
        tables.resize_with(plan.steps.len(), OnceLock::new);
        let (done, total) = (AtomicU64::new(0), plan.prediction().operations);
        Dynamic { problem, plan, n_threads, observer, tables, done, total, cancelled: AtomicBool::new(false) }
    }

    /// Fills all tables.
    pub(super) fn fill(&self) -> Result<(), SearchError> {
        if self.n_threads <= 1 || self.total < PARALLEL {
            return (0..self.plan.steps.len()).try_for_each(|step| self.fill_table(step, 1));
        }
        let work: Vec<u64> = self.plan.steps.iter().map(|step| step.operations()).collect();
        let schedule = schedule::divide(&self.plan.parents(), &work, self.n_threads);
        std::thread::scope(|scope| {
            let (here, others) = match schedule.apart.split_first() {
                Some((here, others)) => (here.as_slice(), others),
                None => (&[][..], &[][..]),
            };
            let run = |steps: &[usize]| steps.iter().try_for_each(|step| self.fill_table(*step, 1));
            let threads: Vec<_> = others
                .iter()
                .filter(|steps| !steps.is_empty())
                .map(|steps| scope.spawn(move || run(steps)))
                .collect();
            let mut result = run(here);
            for thread in threads {
                let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                result = result.and(ended);
            }
            result
        })?;
        schedule.together.iter().try_for_each(|step| self.fill_table(*step, self.n_threads))
    }

    fn fill_table(&self, index: usize, n_threads: usize) -> Result<(), SearchError> {
        let step = &self.plan.steps[index];
        let mut table = vec![f64::INFINITY; step.entries() as usize];
        let ready = step::Ready::new(self, index)?;
        let operations = step.operations();
        let n_blocks = operations.div_ceil(BLOCK).max(1) as usize;
        let parts = if operations < PARALLEL { 1 } else { n_threads };
        let share = table.len().div_ceil(parts).max(1);
        let block = table.len().div_ceil(n_blocks).max(1);
        let fill = |first: usize, part: &mut [f64]| -> Result<(), SearchError> {
            for (number, chunk) in part.chunks_mut(block).enumerate() {
                ready.fill(first + number * block, chunk)?;
                self.advance(chunk.len() as u64 * step.own.len() as u64)?;
            }
            Ok(())
        };
        if parts == 1 {
            fill(0, &mut table)?;
        } else {
            std::thread::scope(|scope| {
                let fill = &fill;
                let threads: Vec<_> = table
                    .chunks_mut(share)
                    .enumerate()
                    .map(|(number, part)| scope.spawn(move || fill(number * share, part)))
                    .collect();
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                threads.into_iter().map(join).fold(Ok(()), Result::and)
            })?;
        }
        // Each step is done once, so that nothing can be there.
        let _ = self.tables[index].set(table);
        Ok(())
    }

    /// Tells how far the work is and whether it goes on.
    fn advance(&self, operations: u64) -> Result<(), SearchError> {
        let done = self.done.fetch_add(operations, Ordering::Relaxed) + operations;
        let flow = self.observer.progress(Progress { done, total: self.total });
        if flow == ControlFlow::Break(()) {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        if self.cancelled.load(Ordering::Relaxed) { Err(SearchError::Cancelled) } else { Ok(()) }
    }

    /// The table of a step that is done.
    fn table(&self, step: usize) -> &[f64] {
        self.tables[step].get().map_or(&[], Vec::as_slice)
    }

    /// The tables, in the order of the steps.
    pub(super) fn into_tables(self) -> Vec<Vec<f64>> {
        self.tables.into_iter().map(|table| table.into_inner().unwrap_or_default()).collect()
    }

    /// What a vertex costs by itself in each configuration: its own cost, edges to itself, and tables over it alone.
    fn own_costs(&self, index: usize) -> Result<Vec<f64>, SearchError> {
        let step = &self.plan.steps[index];
        let vertex = step.vertex;
        let n = self.problem.n_configurations(vertex);
        let mut costs: Vec<f64> = (0..n).map(|c| self.problem.vertex_cost(vertex, c)).collect();
        if let Some(configuration) = costs.iter().position(|cost| !super::tabulated::is_cost(*cost)) {
            let (vertex, cost) = (self.problem.vertex_name(vertex), costs[configuration]);
            return Err(super::ProblemError::VertexCost { vertex, configuration, cost }.into());
        }
        for &edge in &step.loops {
            let (rows, columns) =
                (self.problem.layouts(edge, End::Source), self.problem.layouts(edge, End::Target));
            for (configuration, cost) in costs.iter_mut().enumerate() {
                *cost +=
                    step::edge_cost(self.problem, edge, rows.of(configuration), columns.of(configuration))?;
            }
        }
        for &table in &step.unary {
            let (values, layouts) = (self.table(table), &self.plan.steps[table].dependents[0].layouts);
            match layouts.map() {
                None => super::min_plus::add(&mut costs, values),
                Some(map) => {
                    costs.iter_mut().zip(map).for_each(|(cost, layout)| *cost += values[*layout as usize]);
                }
            }
        }
        Ok(costs)
    }

    /// The strategy that the tables' minima belong to; of equal configurations the first one, later steps first.
    pub(super) fn strategy(&self) -> Result<Vec<usize>, SearchError> {
        let mut strategy = vec![0; self.plan.steps.len()];
        for (index, step) in self.plan.steps.iter().enumerate().rev() {
            let mut costs = self.own_costs(index)?;
            for factor in &step.joint {
                self.add_chosen(&mut costs, step.vertex, *factor, &strategy)?;
            }
            let mut best = 0;
            for (configuration, cost) in costs.iter().enumerate() {
                if *cost < costs[best] {
                    best = configuration;
                }
            }
            strategy[step.vertex] = best;
        }
        Ok(strategy)
    }

    /// Adds a factor to the cost of each configuration of a vertex, all others being chosen.
    fn add_chosen(
        &self,
        costs: &mut [f64],
        vertex: usize,
        factor: Factor,
        strategy: &[usize],
    ) -> Result<(), SearchError> {
        match factor {
            Factor::Edge { edge, end } => {
                let chosen = self.problem.edges()[edge].vertex(end.other());
                let chosen = self.problem.layouts(edge, end.other()).of(strategy[chosen]);
                let layouts = self.problem.layouts(edge, end);
                let n_columns = self.problem.layouts(edge, End::Target).len();
                for (configuration, cost) in costs.iter_mut().enumerate() {
                    let own = layouts.of(configuration);
                    let (row, column) = if end == End::Source { (own, chosen) } else { (chosen, own) };
                    *cost += match self.problem.edge_table(edge) {
                        Some(table) => table[row * n_columns + column],
                        None => step::edge_cost(self.problem, edge, row, column)?,
                    };
                }
            }
            Factor::Table(table) => {
                let values = self.table(table);
                let (mut stride, mut place, mut own) =
                    (1, 0, (1, &self.plan.steps[table].dependents[0].layouts));
                for one in self.plan.steps[table].dependents.iter().rev() {
                    if one.vertex == vertex {
                        own = (stride, &one.layouts);
                    } else {
                        place += stride * one.layouts.of(strategy[one.vertex]);
                    }
                    stride *= one.layouts.len();
                }
                for (configuration, cost) in costs.iter_mut().enumerate() {
                    *cost += values[place + own.0 * own.1.of(configuration)];
                }
            }
        }
        Ok(())
    }
}
