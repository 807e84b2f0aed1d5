//! The checker: the strategy, what was left out, the order, then each table by itself.

use super::bucket::{self, Bucket};
use super::{Certificate, Table};
use crate::strategy::problem::{End, Problem};

/// What was checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    /// No strategy costs less, up to rounding.
    pub bound: f64,
    /// By how much the strategy's cost and the bound differ for rounding, relative to the cost.
    pub gap: f64,
    /// How many minima were computed again.
    pub n_minima: usize,
}

/// Why a strategy or its evidence is not accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Rejected {
    /// The strategy has not one configuration for each vertex.
    #[error("the strategy has {found} configurations for {n_vertices} vertices")]
    StrategyLength {
        /// How many there are.
        found: usize,
        /// How many there have to be.
        n_vertices: usize,
    },
    /// A vertex has no such configuration.
    #[error("{vertex} has no configuration {configuration}")]
    Configuration {
        /// Its name.
        vertex: String,
        /// What the strategy or the evidence says.
        configuration: usize,
    },
    /// The strategy costs something else.
    #[error("the strategy costs {found}, not {claimed}")]
    Cost {
        /// What it costs.
        found: f64,
        /// What it is said to cost.
        claimed: f64,
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
        /// Which entry.
        entry: usize,
        /// What the evidence says.
        claimed: f64,
        /// What it is.
        found: f64,
    },
    /// There may be a cheaper strategy.
    #[error("the strategy costs {cost}, but only {bound} is proved to be necessary")]
    Gap {
        /// Cost of the strategy.
        cost: f64,
        /// What every strategy costs.
        bound: f64,
    },
}

/// Which configurations of each vertex are not dominated.
pub(super) type Alive = Vec<Vec<usize>>;

pub(super) fn check(
    certificate: &Certificate,
    problem: &dyn Problem,
    strategy: &[usize],
    cost: f64,
    n_threads: usize,
) -> Result<Checked, Rejected> {
    // Each sum has fewer terms than this, and each term an error of half a unit in the last place.
    let n_terms = problem.n_vertices() + problem.edges().len() + certificate.tables.len() + 8;
    let tolerance = n_terms as f64 * f64::EPSILON;
    check_strategy(problem, strategy, cost, tolerance)?;
    let alive = check_dominated(certificate, problem)?;
    let buckets = check_order(certificate, problem, &alive)?;
    check_minima(certificate, problem, &alive, &buckets, tolerance, n_threads)?;
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

/// The configurations that are left when those are gone that are never better than another one that is left.
fn check_dominated(certificate: &Certificate, problem: &dyn Problem) -> Result<Alive, Rejected> {
    let mut alive: Vec<Vec<bool>> =
        (0..problem.n_vertices()).map(|vertex| vec![true; problem.n_configurations(vertex)]).collect();
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

/// Tables do not need each other to be checked, so that threads share them, the next one to whoever is free.
fn check_minima(
    certificate: &Certificate,
    problem: &dyn Problem,
    alive: &Alive,
    buckets: &[Bucket],
    tolerance: f64,
    n_threads: usize,
) -> Result<(), Rejected> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    // Enough for each take to be worth it; tables of large graphs are small.
    let taken = buckets.len().div_ceil(64 * n_threads.max(1)).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let first = next.fetch_add(taken, Ordering::Relaxed);
            if first >= buckets.len() {
                return Ok(());
            }
            for (index, bucket) in buckets.iter().enumerate().skip(first).take(taken) {
                check_table(certificate, problem, alive, bucket, index, tolerance)
                    .map_err(|rejected| (index, rejected))?;
            }
        }
    };
    if n_threads <= 1 || certificate.n_minima() < 10_000 {
        return work().map_err(|(_, rejected)| rejected);
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(work)).collect();
        let mut results = vec![work()];
        results.extend(
            others.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        );
        // The first table that is wrong, whoever found it first.
        let first = results.into_iter().filter_map(Result::err).min_by_key(|(index, _)| *index);
        first.map_or(Ok(()), |(_, rejected)| Err(rejected))
    })
}

fn check_table(
    certificate: &Certificate,
    problem: &dyn Problem,
    alive: &Alive,
    bucket: &Bucket,
    index: usize,
    tolerance: f64,
) -> Result<(), Rejected> {
    let table: &Table = &certificate.tables[index];
    let mut seen = vec![false; table.minima.len()];
    let mut wrong = None;
    bucket.minima(certificate, problem, alive, table, |entry, found| {
        seen[entry] = true;
        let claimed = table.minima[entry];
        if exceeds((claimed - found).abs(), tolerance * found) && wrong.is_none() {
            wrong = Some((entry, claimed, found));
        }
    });
    let vertex = || problem.vertex_name(table.vertex);
    match wrong {
        Some((entry, claimed, found)) => Err(Rejected::Minimum { vertex: vertex(), entry, claimed, found }),
        None if seen.contains(&false) => Err(Rejected::Shape { vertex: vertex() }),
        None => Ok(()),
    }
}
