//! Tests on random graphs: all algorithms and orders find the same least cost, and prove it.

use super::super::random;
use super::*;

fn orders() -> [OrderRule; 7] {
    [
        OrderRule::Best,
        OrderRule::Greedy(Greedy::SortNodes),
        OrderRule::Greedy(Greedy::DependentSets),
        OrderRule::Greedy(Greedy::MinFill),
        OrderRule::Greedy(Greedy::MinVolume),
        OrderRule::RandomRestarts { n: 3, seed: 1 },
        OrderRule::Exact,
    ]
}

#[track_caller]
fn assert_near(found: f64, expected: f64, case: &str) {
    assert!((found - expected).abs() <= 1e-12 * expected, "{case}: {found} is not {expected}");
}

#[test]
fn all_algorithms_find_what_exhaustive_search_finds() {
    for number in 0..random::n_cases(600) {
        let problem = random::problem(number, 6, 4);
        let exhaustive = Options { algorithm: Algorithm::Exhaustive, ..small() };
        let expected = search(&problem, &exhaustive, &()).unwrap();
        accepted(&problem, &expected);
        let order = orders()[number as usize % orders().len()];
        for pruning in [Pruning::Never, Pruning::Always] {
            let found = search(&problem, &Options { order, pruning, ..small() }, &()).unwrap();
            assert_near(found.cost, expected.cost, &format!("case {number}, {order:?}, {pruning:?}"));
            accepted(&problem, &found);
        }
        let pruning = Options { algorithm: Algorithm::TablePruning, ..small() };
        let pruned = search(&problem, &pruning, &()).unwrap();
        assert_near(pruned.cost, expected.cost, &format!("case {number}, table pruning"));
        accepted(&problem, &pruned);
    }
}

/// All of a solution but the memory that it took.
fn result(solution: &Solution) -> (&[usize], f64, &Certificate) {
    (&solution.strategy, solution.cost, &solution.certificate)
}

#[test]
fn threads_and_repetition_change_nothing() {
    for number in 0..40 {
        let problem = random::problem(number, 12, 8);
        let first = search(&problem, &small(), &()).unwrap();
        for n_threads in [1, 2, 5] {
            let options = Options { n_threads, ..small() };
            let found = search(&problem, &options, &()).unwrap();
            assert_eq!(result(&found), result(&first), "case {number}");
        }
    }
}

/// Orders are chosen by what they are thought to cost: it is what the plan then finds, where nothing merges.
#[test]
fn the_volume_of_an_order_is_that_of_its_tables() {
    // A cycle with chords: taking a vertex out joins others.
    let problem = random::joined(12, 5, (0..12).flat_map(|v| [(v, (v + 1) % 12), (v, (v + 5) % 12)]));
    let graph = EliminationGraph::of(&problem);
    for rule in orders() {
        let volume = graph.volume(&order(&graph, rule).unwrap());
        let prediction = predict(&problem, &Options { order: rule, ..small() }).unwrap();
        let found = (prediction.entries as f64, prediction.operations as f64);
        assert_eq!((volume.entries, volume.operations), found, "{rule:?}");
    }
}

/// A chain and a band, large enough that threads share subtrees and entries of tables.
#[test]
fn threads_change_nothing_where_they_are_used() {
    for (n, size, width) in [(400, 60, 1), (6, 110, 2)] {
        let problem = random::band(n, size, width);
        let first = search(&problem, &small(), &()).unwrap();
        assert!(first.prediction.operations > 1_000_000, "{:?}", first.prediction);
        for n_threads in [2, 3] {
            let found = search(&problem, &Options { n_threads, ..Options::default() }, &()).unwrap();
            assert_eq!(result(&found), result(&first));
            let Solution { strategy, cost, certificate, .. } = &found;
            certificate.check(&problem, strategy, *cost, &Limits { n_threads, memory: 1 << 30 }).unwrap();
        }
    }
}

/// Vertices that cost far too much in most configurations: without them the tables fit. Where edges cost much, too, that is not seen by
/// what vertices cost, but by comparing.
#[test]
fn needless_configurations_are_left_out_where_tables_would_not_fit() {
    let band = random::band(10, 12, 3);
    let operations: Vec<Operation> = band
        .operations()
        .iter()
        .map(|one| Operation {
            costs: one.costs.iter().enumerate().map(|(c, cost)| cost + 9.0 * (c / 4) as f64).collect(),
            ..one.clone()
        })
        .collect();
    for (raised, are_too_dear) in [(0.0, true), (100.0, false)] {
        let edge = |(index, edge): (usize, &Edge)| {
            (*edge, Costs::from_fn(12, 12, |row, column| raised + band.edge_cost(index, row, column)))
        };
        let edges = band.edges().iter().enumerate().map(edge).collect();
        let problem = Tabulated::new(1024, operations.clone(), edges).unwrap();
        let whole = search(&problem, &Options { pruning: Pruning::Never, ..small() }, &()).unwrap();
        let memory_limit = whole.prediction.bytes / 8;
        let found = search(&problem, &Options { memory_limit, ..small() }, &()).unwrap();
        assert!(found.prediction.bytes <= memory_limit);
        assert_near(found.cost, whole.cost, "without needless configurations");
        let Certificate { too_dear, dominated, .. } = &found.certificate;
        let (n, none) = if are_too_dear { (too_dear.len(), 0) } else { (dominated.len(), too_dear.len()) };
        assert!(n >= 70 && none == 0, "{} {}", too_dear.len(), dominated.len());
        accepted(&problem, &found);
    }
}

/// Ends the search as soon as so many operations are done.
struct Until(u64);

impl Observer for Until {
    fn progress(&self, progress: Progress) -> std::ops::ControlFlow<()> {
        assert!(progress.done <= progress.total);
        if progress.done >= self.0 {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    }
}

#[test]
fn a_search_that_is_cancelled_or_too_large_says_so() {
    let problem = random::band(40, 20, 2);
    for n_threads in [1, 2] {
        let options = Options { n_threads, ..Options::default() };
        assert_eq!(search(&problem, &options, &Until(1000)), Err(SearchError::Cancelled));
    }
    let prediction = predict(&problem, &small()).unwrap();
    let never = Options { pruning: Pruning::Never, ..small() };
    let limited = |memory_limit| search(&problem, &Options { memory_limit, ..never.clone() }, &());
    assert!(limited(prediction.bytes).is_ok());
    let needed = prediction.bytes;
    match limited(needed - 1) {
        Err(SearchError::Memory { needed: told, limit, .. }) => {
            assert_eq!((told, limit), (needed, needed - 1))
        }
        other => panic!("{other:?}"),
    }
    let exhaustive = Options { algorithm: Algorithm::Exhaustive, ..small() };
    assert!(matches!(search(&problem, &exhaustive, &()), Err(SearchError::TooManyStrategies { .. })));
    let pruning = Options { algorithm: Algorithm::TablePruning, memory_limit: 1 << 20, ..small() };
    assert!(matches!(search(&problem, &pruning, &()), Err(SearchError::Memory { .. })));
    let exact = Options { order: OrderRule::Exact, ..small() };
    assert_eq!(search(&problem, &exact, &()), Err(SearchError::OrderTooLarge { n_vertices: 40 }));
}

/// A problem whose costs are computed when they are asked for, with layouts, and one that is wrong.
struct Computed {
    edges: Vec<Edge>,
    layouts: Layouts,
    wrong: f64,
}

impl Problem for Computed {
    fn n_vertices(&self) -> usize {
        4
    }

    fn n_configurations(&self, _vertex: usize) -> usize {
        6
    }

    fn vertex_cost(&self, vertex: usize, configuration: usize) -> f64 {
        ((vertex * 5 + configuration * 7) % 11) as f64
    }

    fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn layouts(&self, _edge: usize, _end: End) -> &Layouts {
        &self.layouts
    }

    fn edge_cost(&self, edge: usize, source_layout: usize, target_layout: usize) -> f64 {
        match (edge, source_layout, target_layout) {
            (0, 2, 2) => self.wrong,
            _ => ((edge * 3 + source_layout * 5 + target_layout * 2) % 7) as f64,
        }
    }

    /// Costs are whole numbers: of those that are too high, the lowest that is.
    fn edge_cost_below(
        &self,
        edge: usize,
        source_layout: usize,
        target_layout: usize,
        bound: SumBound,
    ) -> f64 {
        let cost = self.edge_cost(edge, source_layout, target_layout);
        if bound.is_reached(cost) { (bound.least - bound.base).max(0.0) } else { cost }
    }
}

#[test]
fn computed_costs_give_what_stored_ones_do_and_are_checked() {
    let chain = [(0, 1), (2, 1), (3, 2)];
    for pairs in [&chain[..], &[(0, 1), (1, 2), (2, 0), (3, 0), (3, 2), (1, 1)]] {
        let edges: Vec<Edge> =
            pairs.iter().map(|(source, target)| Edge { source: *source, target: *target }).collect();
        let computed =
            |wrong| Computed { edges: edges.clone(), layouts: Layouts::by_key([0, 1, 0, 2, 1, 2]), wrong };
        let right = computed(0.5);
        let expected = search(&right, &Options { algorithm: Algorithm::Exhaustive, ..small() }, &()).unwrap();
        let found = search(&right, &small(), &()).unwrap();
        assert_near(found.cost, expected.cost, "computed costs");
        accepted(&right, &found);
        for wrong in [f64::NAN, -1.0] {
            let answer = search(&computed(wrong), &Options { order: OrderRule::Exact, ..small() }, &());
            match answer {
                Err(SearchError::Problem(ProblemError::EdgeCost { edge: 0, row: 2, column: 2, .. })) => {}
                // It was never needed.
                Ok(solution) => assert_eq!(solution.cost, expected.cost),
                Err(other) => panic!("{other}"),
            }
        }
    }
}
