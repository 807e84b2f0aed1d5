//! The dynamic program over an elimination order (document 2, corrected): fills the tables, then reads off a strategy.
//!
//! Only least costs are stored. Which configuration has it is found again on the way back, for the one combination of
//! dependents that was chosen, which is cheaper than to remember it for all.

mod choice;
mod step;

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::error::SearchError;
use super::observer::{Observer, Progress};
use super::plan::{Plan, Step};
use super::problem::{End, Problem};
use super::schedule::{self, Schedule};

/// Operations from which threads pay: some hundred microseconds of work.
const PARALLEL: u64 = 1_000_000;

/// Operations between two looks whether to go on: some milliseconds of work.
const BLOCK: u64 = 8_000_000;

/// What a step leaves.
struct Filled {
    /// What the vertex costs by itself in each configuration: its own cost, edges to itself, and tables over it alone.
    own: Vec<f64>,
    /// Least costs, in the mixed radix of its dependents.
    minima: Vec<f64>,
}

/// The dynamic program at work.
pub(super) struct Dynamic<'p> {
    problem: &'p dyn Problem,
    plan: &'p Plan,
    schedule: Schedule,
    n_threads: usize,
    observer: &'p dyn Observer,
    /// Of each step that is done.
    filled: Vec<OnceLock<Filled>>,
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
        let mut filled = Vec::new();
        filled.resize_with(plan.steps.len(), OnceLock::new);
        let (done, total) = (AtomicU64::new(0), plan.operations());
        let schedule = if n_threads <= 1 || total < PARALLEL {
            Schedule::of_one_thread(plan.steps.len())
        } else {
            let work: Vec<u64> = plan.steps.iter().map(Step::operations).collect();
            schedule::divide(&plan.parents(), &work, n_threads)
        };
        let cancelled = AtomicBool::new(false);
        Dynamic { problem, plan, schedule, n_threads, observer, filled, done, total, cancelled }
    }

    /// Fills all tables.
    pub(super) fn fill(&self) -> Result<(), SearchError> {
        let fill = |steps: &[usize]| steps.iter().try_for_each(|step| self.fill_table(*step, 1));
        side_by_side(&self.schedule.apart, fill).into_iter().collect::<Result<(), _>>()?;
        self.schedule.together.iter().try_for_each(|step| self.fill_table(*step, self.n_threads))
    }

    fn fill_table(&self, index: usize, n_threads: usize) -> Result<(), SearchError> {
        let step = &self.plan.steps[index];
        let mut table = vec![f64::INFINITY; step.entries() as usize];
        let own = self.own_costs(index)?;
        let ready = step::Ready::new(self, index, &own)?;
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
        let _ = self.filled[index].set(Filled { own, minima: table });
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
        self.filled[step].get().map_or(&[], |filled| &filled.minima)
    }

    /// The tables, in the order of the steps.
    pub(super) fn into_tables(self) -> Vec<Vec<f64>> {
        let minima = |filled: OnceLock<Filled>| filled.into_inner().map(|filled| filled.minima);
        self.filled.into_iter().map(|filled| minima(filled).unwrap_or_default()).collect()
    }

    fn own_costs(&self, index: usize) -> Result<Vec<f64>, SearchError> {
        let step = &self.plan.steps[index];
        let vertex = step.vertex;
        let mut costs = match self.problem.vertex_costs(vertex) {
            Some(costs) => costs.to_vec(),
            None => (0..self.problem.n_configurations(vertex))
                .map(|configuration| self.problem.vertex_cost(vertex, configuration))
                .collect(),
        };
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
}

/// Does something with each list of steps, on a thread each; the results in order.
fn side_by_side<R: Send>(lists: &[Vec<usize>], work: impl Fn(&[usize]) -> R + Sync) -> Vec<R> {
    let Some((here, others)) = lists.split_first() else { return Vec::new() };
    if others.is_empty() {
        return vec![work(here)];
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = others.iter().map(|steps| scope.spawn(move || work(steps))).collect();
        let mut results = vec![work(here)];
        let join = |thread: std::thread::ScopedJoinHandle<'_, R>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        results.extend(threads.into_iter().map(join));
        results
    })
}
