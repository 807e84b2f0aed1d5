//! Entry point of the search: takes a problem and options, returns a strategy with its evidence.

use super::bounds;
use super::certificate::{Certificate, Dominated, Table};
use super::dominance;
use super::dynamic::Dynamic;
use super::error::SearchError;
use super::exhaustive;
use super::observer::Observer;
use super::order::{self, EliminationGraph, OrderRule};
use super::plan::{Plan, Prediction};
use super::problem::{self, Problem};
use super::reduced::Reduced;
use super::table_pruning;

/// Search algorithms. All of them find the same least cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// The dynamic program over an elimination order (document 2): work grows with the size of dependent sets.
    #[default]
    Dynamic,
    /// Strategies that are not locally best are removed from tables over neighbourhoods (documents 1 and 3): for small graphs.
    TablePruning,
    /// Every strategy is looked at: for small graphs.
    Exhaustive,
}

/// When configurations that no optimum needs are left out before tables are filled: those that are too dear, and those that are never
/// better than another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pruning {
    /// If finding them is much less work than the tables, or the tables would not fit.
    #[default]
    WhereItPays,
    /// In any case.
    Always,
    /// Never.
    Never,
}

/// Options of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The search algorithm.
    pub algorithm: Algorithm,
    /// The elimination order.
    pub order: OrderRule,
    /// When configurations that no optimum needs are left out.
    pub pruning: Pruning,
    /// Bytes that tables may take.
    pub memory_limit: u64,
    /// Threads that share the work; the result is the same for any number.
    pub n_threads: usize,
    /// Maximum number of strategies for the exhaustive search, and of partial strategies for table pruning.
    pub strategy_limit: f64,
}

impl Default for Options {
    /// The dynamic program, the best order, 4 GiB, and a thread for each processor.
    fn default() -> Self {
        Options {
            algorithm: Algorithm::Dynamic,
            order: OrderRule::Best,
            pruning: Pruning::WhereItPays,
            memory_limit: 4 << 30,
            n_threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            strategy_limit: 1e8,
        }
    }
}

/// A strategy of least cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The configuration of each vertex.
    pub strategy: Vec<usize>,
    /// Its cost: the sum over vertices and edges, in their order.
    pub cost: f64,
    /// The evidence that no strategy costs less.
    pub certificate: Certificate,
    /// Statistics of the search.
    pub prediction: Prediction,
}

/// Plan of the dynamic program, without running it.
///
/// # Errors
/// If the exact order of a large graph is asked for.
pub fn predict(problem: &dyn Problem, options: &Options) -> Result<Prediction, SearchError> {
    Ok(plan(problem, options)?.prediction(options.n_threads))
}

/// Finds a strategy of least cost.
///
/// # Errors
/// If memory is not enough, a cost is no cost, the observer cancels, or the algorithm does not suit the size.
pub fn search(
    problem: &dyn Problem,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Solution, SearchError> {
    let Pruned { reduced, too_dear, dominated, plan } = prune(problem, options)?;
    // Where memory is short, fewer threads lay out fewer tables at the same time.
    let fits = |n_threads: &usize| plan.prediction(*n_threads).bytes <= options.memory_limit;
    let n_threads = (1..=options.n_threads).rev().find(fits).unwrap_or(1);
    let prediction = plan.prediction(n_threads);
    observer.predicted(&prediction);
    if prediction.bytes > options.memory_limit {
        let (needed, limit) = (prediction.bytes, options.memory_limit);
        return Err(SearchError::Memory { what: "the dynamic program", needed, limit });
    }
    let searched: &dyn Problem = reduced.as_ref().map_or(problem, |reduced| reduced);
    let dynamic = Dynamic::new(searched, &plan, n_threads, observer);
    let own = dynamic.fill()?;
    let strategy = match options.algorithm {
        Algorithm::Dynamic => {
            let mut strategy = dynamic.strategy(&own)?;
            if let Some(reduced) = &reduced {
                strategy.iter_mut().zip(&reduced.kept).for_each(|(c, kept)| *c = kept[*c]);
            }
            strategy
        }
        Algorithm::TablePruning => {
            table_pruning::search(problem, options.memory_limit, options.strategy_limit)?
        }
        Algorithm::Exhaustive => exhaustive::search(problem, options.strategy_limit)?,
    };
    let cost = problem::cost(problem, &strategy);
    if !cost.is_finite() {
        return Err(SearchError::Overflow);
    }
    let tables = dynamic.into_tables();
    let tables = evidence(plan, tables);
    Ok(Solution { strategy, cost, certificate: Certificate { too_dear, dominated, tables }, prediction })
}

/// The remaining problem, and its search.
struct Pruned<'p> {
    /// Nothing if all is left.
    reduced: Option<Reduced<'p>>,
    too_dear: Vec<(usize, usize)>,
    dominated: Vec<Dominated>,
    plan: Plan,
}

/// Leaves out what no optimum needs, where that pays.
fn prune<'p>(problem: &'p dyn Problem, options: &Options) -> Result<Pruned<'p>, SearchError> {
    let mut plan = plan(problem, options)?;
    let (mut reduced, mut too_dear, mut dominated) = (None, Vec::new(), Vec::new());
    if pays(bounds::price(problem), options, &plan.prediction(1)) {
        let (kept, found) = bounds::needed(problem);
        if !found.is_empty() {
            too_dear = found;
            plan = self::plan(reduced.insert(Reduced::new(problem, kept)), options)?;
        }
    }
    let left: &dyn Problem = reduced.as_ref().map_or(problem, |reduced| reduced);
    if pays(dominance::price(left), options, &plan.prediction(1)) {
        let (mut kept, found) = dominance::needed(left);
        if !found.is_empty() {
            let of = |vertex: usize, c: usize| reduced.as_ref().map_or(c, |reduced| reduced.kept[vertex][c]);
            let one = |Dominated { vertex, configuration, by }| Dominated {
                vertex,
                configuration: of(vertex, configuration),
                by: of(vertex, by),
            };
            dominated = found.into_iter().map(one).collect();
            for (vertex, kept) in kept.iter_mut().enumerate() {
                kept.iter_mut().for_each(|c| *c = of(vertex, *c));
            }
            plan = self::plan(reduced.insert(Reduced::new(problem, kept)), options)?;
        }
    }
    Ok(Pruned { reduced, too_dear, dominated, plan })
}

/// Whether something is to be looked for that takes so many sums and may leave out configurations.
fn pays(price: f64, options: &Options, prediction: &Prediction) -> bool {
    /// Minimum ratio of the tables' work to the work of removing configurations: few may turn out to be
    /// needless.
    const MUCH: f64 = 8.0;
    /// Sums that take some seconds: more of them are not tried, because nothing tells how far they are.
    const TOO_MANY: f64 = 4e9;
    match options.pruning {
        Pruning::Always => true,
        Pruning::Never => false,
        Pruning::WhereItPays => {
            let fits = prediction.bytes <= options.memory_limit;
            price < TOO_MANY && (prediction.operations as f64 > MUCH * price || !fits)
        }
    }
}

fn plan(problem: &dyn Problem, options: &Options) -> Result<Plan, SearchError> {
    let graph = EliminationGraph::of(problem);
    let n_vertices = graph.n_vertices();
    let order = order::order(&graph, options.order).ok_or(SearchError::OrderTooLarge { n_vertices })?;
    Ok(Plan::new(problem, &order))
}

/// The tables of the dynamic program are the evidence.
fn evidence(plan: Plan, tables: Vec<Vec<f64>>) -> Vec<Table> {
    let table = |(step, minima): (super::plan::EliminationStep, Vec<f64>)| Table {
        vertex: step.vertex,
        dependents: step.dependents.into_iter().map(|one| (one.vertex, one.layouts)).collect(),
        minima,
    };
    plan.steps.into_iter().zip(tables).map(table).collect()
}
