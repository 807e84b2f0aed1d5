//! The checker: it verifies the strategy, the removed configurations, the order, and then each table
//! separately.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::bucket::{self, Bucket, Work};
use super::{Certificate, Limits, Table};
use crate::strategy::problem::{End, Problem};

/// Results of a check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    /// No strategy costs less, up to rounding.
    pub bound: f64,
    /// By how much the strategy's cost and the bound differ for rounding, relative to the cost.
    pub gap: f64,
    /// Number of recomputed minima.
    pub n_minima: usize,
}

/// Why a strategy or its evidence is not accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Rejected {
    /// The strategy has not one configuration for each vertex.
    #[error("the strategy has {found} configurations for {n_vertices} vertices")]
    StrategyLength {
        /// Their number.
        found: usize,
        /// The required number.
        n_vertices: usize,
    },
    /// A vertex has no such configuration.
    #[error("{vertex} has no configuration {configuration}")]
    Configuration {
        /// Its name.
        vertex: String,
        /// Errors of the strategy or the evidence.
        configuration: usize,
    },
    /// The strategy costs something else.
    #[error("the strategy costs {found}, not {claimed}")]
    Cost {
        /// Its cost.
        found: f64,
        /// Its stated cost.
        claimed: f64,
    },
    /// A configuration was left out for its cost although it may be needed.
    #[error("configuration {configuration} of {vertex} is not too dear for a strategy that costs {cost}")]
    TooDear {
        /// The vertex's name.
        vertex: String,
        /// The configuration.
        configuration: usize,
        /// Cost of the strategy.
        cost: f64,
    },
    /// A configuration was left out although it may be needed.
    #[error("configuration {configuration} of {vertex} is not dominated by {by}")]
    Dominance {
        /// The vertex's name.
        vertex: String,
        /// The configuration.
        configuration: usize,
        /// The one that should never be worse.
        by: usize,
    },
    /// The tables are not one for each vertex.
    #[error("the evidence has not one table for each vertex")]
    Order,
    /// A table is not over the vertices, or not as large, as it has to be.
    #[error("the table of {vertex} is not over the vertices that it depends on, or not of their size")]
    Shape {
        /// The vertex's name.
        vertex: String,
    },
    /// A minimum is wrong.
    #[error("entry {entry} of the table of {vertex} is {claimed}, the least cost is {found}")]
    Minimum {
        /// The vertex's name.
        vertex: String,
        /// The entry.
        entry: usize,
        /// The value in the evidence.
        claimed: f64,
        /// The recomputed value.
        found: f64,
    },
    /// Checking a table does not fit.
    #[error(
        "checking the table of {vertex} needs {needed} bytes of memory, the limit is {limit}; raise the limit"
    )]
    Memory {
        /// The name of the vertex whose table needs most.
        vertex: String,
        /// Required bytes.
        needed: u64,
        /// Permitted bytes.
        limit: u64,
    },
    /// There may be a cheaper strategy.
    #[error("the strategy costs {cost}, but only {bound} is proved to be necessary")]
    Gap {
        /// Cost of the strategy.
        cost: f64,
        /// Lower bound of the cost of every strategy.
        bound: f64,
    },
}

/// Remaining configurations of each vertex.
pub(super) type Alive = Vec<Vec<usize>>;

pub(super) fn check(
    certificate: &Certificate,
    problem: &dyn Problem,
    strategy: &[usize],
    cost: f64,
    limits: &Limits,
) -> Result<Checked, Rejected> {
    // Each sum has fewer terms than this, and each term an error of half a unit in the last place.
    let n_terms = problem.n_vertices() + problem.edges().len() + certificate.tables.len() + 8;
    let tolerance = n_terms as f64 * f64::EPSILON;
    check_strategy(problem, strategy, cost, tolerance)?;
    let alive = check_too_dear(certificate, problem, cost, tolerance)?;
    let alive = check_dominated(certificate, problem, alive)?;
    let buckets = check_order(certificate, problem, &alive)?;
    let checker = Checker { certificate, problem, alive: &alive, buckets: &buckets, tolerance, limits };
    checker.check_minima()?;
    let bound = certificate.bound();
    let gap = (cost - bound).abs();
    if exceeds(gap, tolerance * cost) {
        return Err(Rejected::Gap { cost, bound });
    }
    Ok(Checked { bound, gap: if cost > 0.0 { gap / cost } else { 0.0 }, n_minima: certificate.n_minima() })
}

fn check_strategy(
    problem: &dyn Problem,
    strategy: &[usize],
    claimed: f64,
    tolerance: f64,
) -> Result<(), Rejected> {
    let n_vertices = problem.n_vertices();
    if strategy.len() != n_vertices {
        return Err(Rejected::StrategyLength { found: strategy.len(), n_vertices });
    }
    for (vertex, &configuration) in strategy.iter().enumerate() {
        if configuration >= problem.n_configurations(vertex) {
            return Err(Rejected::Configuration { vertex: problem.vertex_name(vertex), configuration });
        }
    }
    let mut found = 0.0;
    for (vertex, &configuration) in strategy.iter().enumerate() {
        found += problem.vertex_cost(vertex, configuration);
    }
    for (index, edge) in problem.edges().iter().enumerate() {
        let row = problem.layouts(index, End::Source).of(strategy[edge.source]);
        let column = problem.layouts(index, End::Target).of(strategy[edge.target]);
        found += problem.edge_cost(index, row, column);
    }
    if exceeds((found - claimed).abs(), tolerance * found) {
        return Err(Rejected::Cost { found, claimed });
    }
    Ok(())
}

/// Whether a number is not known to be within a limit: NaN is no proof.
fn exceeds(number: f64, limit: f64) -> bool {
    number.is_nan() || number > limit
}

/// The configurations that are left when those are gone that no strategy of less than the cost has: edges cost nothing at least, and
/// each other vertex its least.
fn check_too_dear(
    certificate: &Certificate,
    problem: &dyn Problem,
    cost: f64,
    tolerance: f64,
) -> Result<Vec<Vec<bool>>, Rejected> {
    let mut alive: Vec<Vec<bool>> =
        (0..problem.n_vertices()).map(|vertex| vec![true; problem.n_configurations(vertex)]).collect();
    if certificate.too_dear.is_empty() {
        return Ok(alive);
    }
    let least = |vertex| {
        (0..problem.n_configurations(vertex))
            .map(|c| problem.vertex_cost(vertex, c))
            .fold(f64::INFINITY, f64::min)
    };
    let least: Vec<f64> = (0..problem.n_vertices()).map(least).collect();
    let all: f64 = least.iter().sum();
    for &(vertex, configuration) in &certificate.too_dear {
        let wrong = || Rejected::TooDear { vertex: format!("vertex {vertex}"), configuration, cost };
        let left =
            alive.get_mut(vertex).filter(|left| left.get(configuration) == Some(&true)).ok_or_else(wrong)?;
        let bound = all - least[vertex] + problem.vertex_cost(vertex, configuration);
        if exceeds(cost * (1.0 - tolerance), bound) {
            return Err(wrong());
        }
        left[configuration] = false;
        if !left.contains(&true) {
            return Err(wrong());
        }
    }
    Ok(alive)
}

/// The configurations that are left when those are gone that are never better than another one that is left.
fn check_dominated(
    certificate: &Certificate,
    problem: &dyn Problem,
    mut alive: Vec<Vec<bool>>,
) -> Result<Alive, Rejected> {
    for one in &certificate.dominated {
        let wrong = || Rejected::Dominance {
            vertex: format!("vertex {}", one.vertex),
            configuration: one.configuration,
            by: one.by,
        };
        let is_alive = |c: usize| alive.get(one.vertex).and_then(|all| all.get(c)).copied().unwrap_or(false);
        if !is_alive(one.configuration) || !is_alive(one.by) || one.configuration == one.by {
            return Err(wrong());
        }
        let better = problem.vertex_cost(one.vertex, one.configuration);
        let worse = problem.vertex_cost(one.vertex, one.by) + bucket::most_lost(problem, &alive, one);
        if exceeds(worse, better) {
            return Err(wrong());
        }
        alive[one.vertex][one.configuration] = false;
    }
    let listed = |all: &Vec<bool>| (0..all.len()).filter(|c| all[*c]).collect();
    Ok(alive.iter().map(listed).collect())
}

/// Every vertex has a table, over the vertices that are joined to it when it goes. What belongs to each.
fn check_order(
    certificate: &Certificate,
    problem: &dyn Problem,
    alive: &Alive,
) -> Result<Vec<Bucket>, Rejected> {
    let n = problem.n_vertices();
    let mut position = vec![None; n];
    for (index, table) in certificate.tables.iter().enumerate() {
        match position.get_mut(table.vertex) {
            Some(place @ None) => *place = Some(index),
            Some(Some(_)) | None => return Err(Rejected::Order),
        }
    }
    let Some(position) = position.into_iter().collect::<Option<Vec<usize>>>() else {
        return Err(Rejected::Order);
    };
    let buckets = bucket::fill(certificate, problem, &position);
    for (table, bucket) in certificate.tables.iter().zip(&buckets) {
        let shape = || Rejected::Shape { vertex: problem.vertex_name(table.vertex) };
        let mut joined = bucket.scope(certificate, problem);
        joined.retain(|vertex| *vertex != table.vertex);
        let mut claimed: Vec<usize> = table.dependents.iter().map(|(vertex, _)| *vertex).collect();
        claimed.sort_unstable();
        let fits = |(vertex, layouts): &(usize, crate::strategy::Layouts)| {
            alive.get(*vertex).is_some_and(|alive| alive.len() == layouts.n_configurations())
        };
        let size =
            table.dependents.iter().try_fold(1_usize, |size, (_, layouts)| size.checked_mul(layouts.len()));
        if joined != claimed || !table.dependents.iter().all(fits) || size != Some(table.minima.len()) {
            return Err(shape());
        }
    }
    Ok(buckets)
}

/// Context of checking tables.
struct Checker<'c> {
    certificate: &'c Certificate,
    problem: &'c dyn Problem,
    alive: &'c Alive,
    buckets: &'c [Bucket],
    tolerance: f64,
    limits: &'c Limits,
}

impl Checker<'_> {
    /// Tables do not need each other to be checked, so that threads share them, the next one to whoever is free.
    fn check_minima(&self) -> Result<(), Rejected> {
        let (n, n_threads) = (self.buckets.len(), self.limits.n_threads);
        // Enough for each take to be worth it; tables of large graphs are small.
        let taken = n.div_ceil(64 * n_threads.max(1)).max(1);
        let next = AtomicUsize::new(0);
        let memory = Memory { limit: self.limits.memory, used: Mutex::new(0), freed: Condvar::new() };
        let work = || {
            loop {
                let first = next.fetch_add(taken, Ordering::Relaxed);
                if first >= n {
                    return Ok(());
                }
                for index in first..n.min(first + taken) {
                    self.check_table(index, &memory).map_err(|rejected| (index, rejected))?;
                }
            }
        };
        if n_threads <= 1 || self.certificate.n_minima() < 10_000 {
            return work().map_err(|(_, rejected)| rejected);
        }
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(work)).collect();
            let mut results = vec![work()];
            results.extend(
                others
                    .into_iter()
                    .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            );
            // The first table that is wrong, whoever found it first.
            let first = results.into_iter().filter_map(Result::err).min_by_key(|(index, _)| *index);
            first.map_or(Ok(()), |(_, rejected)| Err(rejected))
        })
    }

    fn work(&self, index: usize) -> (&Table, Work<'_>) {
        let table = &self.certificate.tables[index];
        (table, self.buckets[index].work(self.certificate, self.problem, self.alive, table))
    }

    fn check_table(&self, index: usize, memory: &Memory) -> Result<(), Rejected> {
        let (table, work) = self.work(index);
        let bytes = work.bytes().saturating_add(table.minima.len() as u64);
        let Some(_taken) = memory.take(bytes) else { return Err(self.too_large()) };
        let mut seen = vec![false; table.minima.len()];
        let mut wrong = None;
        work.minima(|entry, found| {
            seen[entry] = true;
            let claimed = table.minima[entry];
            if exceeds((claimed - found).abs(), self.tolerance * found) && wrong.is_none() {
                wrong = Some((entry, claimed, found));
            }
        });
        let vertex = || self.problem.vertex_name(table.vertex);
        match wrong {
            Some((entry, claimed, found)) => {
                Err(Rejected::Minimum { vertex: vertex(), entry, claimed, found })
            }
            None if seen.contains(&false) => Err(Rejected::Shape { vertex: vertex() }),
            None => Ok(()),
        }
    }

    /// Memory requirement of all tables.
    fn too_large(&self) -> Rejected {
        let bytes = |index| {
            let (table, work) = self.work(index);
            (work.bytes().saturating_add(table.minima.len() as u64), table.vertex)
        };
        // Of equals the first.
        let (needed, vertex) =
            (0..self.buckets.len()).rev().map(bytes).max_by_key(|(needed, _)| *needed).unwrap_or_default();
        Rejected::Memory { vertex: self.problem.vertex_name(vertex), needed, limit: self.limits.memory }
    }
}

/// Memory that threads share.
struct Memory {
    limit: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

/// Some of it, given back when it goes.
struct Taken<'m> {
    memory: &'m Memory,
    bytes: u64,
}

impl Memory {
    /// Takes some, once others have given back enough; nothing if it is more than there is.
    fn take(&self, bytes: u64) -> Option<Taken<'_>> {
        if bytes > self.limit {
            return None;
        }
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |used: &mut u64| *used > self.limit - bytes;
        let mut used = self.freed.wait_while(used, is_full).unwrap_or_else(PoisonError::into_inner);
        *used += bytes;
        Some(Taken { memory: self, bytes })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.memory.used.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.memory.freed.notify_all();
    }
}
