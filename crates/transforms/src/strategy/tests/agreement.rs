//! All algorithms and orders find the same least cost on random graphs, and prove it.

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
        let found = search(&problem, &Options { order, ..small() }, &()).unwrap();
        assert_near(found.cost, expected.cost, &format!("case {number}, {order:?}"));
        accepted(&problem, &found);
        let pruning = Options { algorithm: Algorithm::TablePruning, ..small() };
        let pruned = search(&problem, &pruning, &()).unwrap();
        assert_near(pruned.cost, expected.cost, &format!("case {number}, table pruning"));
        accepted(&problem, &pruned);
    }
}

#[test]
fn threads_and_repetition_change_nothing() {
    for number in 0..40 {
        let problem = random::problem(number, 12, 8);
        let first = search(&problem, &small(), &()).unwrap();
        for n_threads in [1, 2, 5] {
            let options = Options { n_threads, ..small() };
            assert_eq!(search(&problem, &options, &()).unwrap(), first, "case {number}");
        }
    }
}
