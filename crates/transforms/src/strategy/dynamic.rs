//! The dynamic program over an elimination order (document 2, corrected): fills the tables, then reads off a
//! strategy.
//!
//! Tables store only the least costs. The way back recomputes the minimising configuration for the chosen
//! combination of dependents, which is cheaper than storing it for all combinations.

mod choice;
mod step;

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::error::SearchError;
use super::observer::{Observer, Progress};
use super::plan::{EliminationStep, Plan};
use super::problem::{End, Problem};
use super::schedule::{self, Schedule};

/// Operations from which threads pay: some hundred microseconds of work.
const PARALLEL: u64 = 1_000_000;

/// Operations between two looks whether to go on: some milliseconds of work.
const BLOCK: u64 = 8_000_000;

/// Separate cost of each step's vertex in each configuration: its own cost, edges to itself, and tables over
/// it alone. In the order of the steps, as they are distributed over threads.
pub(super) struct OwnCosts {
    apart: Vec<Vec<f64>>,
    together: Vec<f64>,
}

/// The dynamic program at work.
pub(super) struct Dynamic<'p> {
    problem: &'p dyn Problem,
    plan: &'p Plan,
    schedule: Schedule,
    n_threads: usize,
    observer: &'p dyn Observer,
    /// The table of each step that is done: least costs, in the mixed radix of its dependents.
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
        let (done, total) = (AtomicU64::new(0), plan.operations());
        let schedule = if n_threads <= 1 || total < PARALLEL {
            Schedule::of_one_thread(plan.steps.len())
        } else {
            let work: Vec<u64> = plan.steps.iter().map(EliminationStep::operations).collect();
            schedule::divide(&plan.parents(), &work, n_threads)
        };
        let cancelled = AtomicBool::new(false);
        Dynamic { problem, plan, schedule, n_threads, observer, tables, done, total, cancelled }
    }

    /// Fills all tables.
    pub(super) fn fill(&self) -> Result<OwnCosts, SearchError> {
        let fill = |steps: &[usize], n_threads| {
            let n = steps.iter().map(|step| self.plan.steps[*step].own.n_configurations()).sum();
            let mut own = Vec::with_capacity(n);
            steps.iter().try_for_each(|step| self.fill_table(*step, n_threads, &mut own)).map(|()| own)
        };
        let apart = side_by_side(&self.schedule.apart, |steps| fill(steps, 1));
        let apart = apart.into_iter().collect::<Result<_, _>>()?;
        Ok(OwnCosts { apart, together: fill(&self.schedule.together, self.n_threads)? })
    }

    /// Fills the table of a step, and adds the costs of its vertex by itself to those of others.
    fn fill_table(&self, index: usize, n_threads: usize, costs: &mut Vec<f64>) -> Result<(), SearchError> {
        let step = &self.plan.steps[index];
        let mut table = vec![f64::INFINITY; step.entries() as usize];
        let first = costs.len();
        self.add_own_costs(index, costs)?;
        let ready = step::Ready::new(self, index, &costs[first..], n_threads)?;
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
        drop(ready);
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

    /// Adds the costs of a step's vertex by itself to the list.
    fn add_own_costs(&self, index: usize, list: &mut Vec<f64>) -> Result<(), SearchError> {
        let vertex = self.plan.steps[index].vertex;
        let first = list.len();
        match self.problem.vertex_costs(vertex) {
            Some(costs) => list.extend_from_slice(costs),
            None => list.extend(
                (0..self.problem.n_configurations(vertex))
                    .map(|configuration| self.problem.vertex_cost(vertex, configuration)),
            ),
        }
        let costs = &mut list[first..];
        if let Some(configuration) = costs.iter().position(|cost| !super::tabulated::is_cost(*cost)) {
            let (vertex, cost) = (self.problem.vertex_name(vertex), costs[configuration]);
            return Err(super::ProblemError::VertexCost { vertex, configuration, cost }.into());
        }
        for &edge in self.plan.loops.of(index) {
            let (rows, columns) =
                (self.problem.layouts(edge, End::Source), self.problem.layouts(edge, End::Target));
            for (configuration, cost) in costs.iter_mut().enumerate() {
                *cost +=
                    step::edge_cost(self.problem, edge, rows.of(configuration), columns.of(configuration))?;
            }
        }
        for &table in self.plan.unary.of(index) {
            let (values, layouts) = (self.table(table), &self.plan.steps[table].dependents[0].layouts);
            match layouts.map() {
                None => super::min_plus::add(costs, values),
                Some(map) => {
                    costs.iter_mut().zip(map).for_each(|(cost, layout)| *cost += values[*layout as usize]);
                }
            }
        }
        Ok(())
    }
}

/// Does something with each list, on a thread each; the results in order.
pub(super) fn side_by_side<L: Sync, R: Send>(lists: &[L], work: impl Fn(&L) -> R + Sync) -> Vec<R> {
    let Some((here, others)) = lists.split_first() else { return Vec::new() };
    if others.is_empty() {
        return vec![work(here)];
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = others.iter().map(|list| scope.spawn(move || work(list))).collect();
        let mut results = vec![work(here)];
        let join = |thread: std::thread::ScopedJoinHandle<'_, R>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        results.extend(threads.into_iter().map(join));
        results
    })
}
