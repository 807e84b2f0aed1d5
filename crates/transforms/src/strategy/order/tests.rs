//! Tests of orders: each contains every vertex once, the exact order is the best of all, and predicted work
//! equals actual work.

use proptest::prelude::*;

use super::*;

/// A random graph with so many vertices, and sizes.
fn graphs(max: usize) -> impl Strategy<Value = EliminationGraph> {
    (1..=max).prop_flat_map(|n| {
        let sizes = prop::collection::vec((1_u8..6).prop_map(f64::from), n);
        let pairs = prop::collection::vec((0..n, 0..n), 0..3 * n);
        (sizes, pairs).prop_map(|(sizes, pairs)| joined(&pairs, sizes))
    })
}

fn joined(pairs: &[(usize, usize)], sizes: Vec<f64>) -> EliminationGraph {
    let different = pairs.iter().filter(|(a, b)| a != b);
    EliminationGraph::new(different.flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect(), sizes)
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for next in 0..n {
        all = all
            .iter()
            .flat_map(|order: &Vec<usize>| {
                (0..=order.len()).map(|place| {
                    let mut longer = order.clone();
                    longer.insert(place, next);
                    longer
                })
            })
            .collect();
    }
    all
}

fn rules() -> Vec<OrderRule> {
    let greedy = [Greedy::SortNodes, Greedy::DependentSets, Greedy::MinFill, Greedy::MinVolume];
    let mut rules: Vec<OrderRule> = greedy.map(OrderRule::Greedy).to_vec();
    rules.extend([OrderRule::Best, OrderRule::RandomRestarts { n: 5, seed: 7 }]);
    rules
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_order_has_every_vertex_once(graph in graphs(24)) {
        for rule in rules() {
            let mut order = order(&graph, rule).unwrap();
            order.sort_unstable();
            prop_assert_eq!(order, (0..graph.n_vertices()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_exact_order_is_the_best_of_all(graph in graphs(6)) {
        let found = graph.volume(&order(&graph, OrderRule::Exact).unwrap()).operations;
        let all = permutations(graph.n_vertices()).into_iter();
        let least = all.map(|order| graph.volume(&order).operations).fold(f64::INFINITY, f64::min);
        prop_assert_eq!(found, least);
        for rule in rules() {
            prop_assert!(graph.volume(&order(&graph, rule).unwrap()).operations >= least);
        }
    }
}

#[test]
fn a_grid_is_eliminated_along_its_short_side() {
    let (rows, columns) = (3, 30);
    let mut pairs = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let vertex = row * columns + column;
            if row + 1 < rows {
                pairs.push((vertex, vertex + columns));
            }
            if column + 1 < columns {
                pairs.push((vertex, vertex + 1));
            }
        }
    }
    let graph = joined(&pairs, vec![10.0; rows * columns]);
    let volume = graph.volume(&order(&graph, OrderRule::Best).unwrap());
    assert!(volume.operations <= 90.0 * 1e4, "{volume:?}");
}

#[test]
fn a_chain_is_worked_on_from_both_ends() {
    let graph = joined(&[(0, 1), (1, 2), (2, 3), (3, 4)], vec![5.0; 5]);
    assert_eq!(order(&graph, OrderRule::Best).unwrap(), [0, 4, 1, 3, 2]);
}
