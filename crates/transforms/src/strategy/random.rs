//! Random small problems for tests: typical shapes and corner cases.

use super::problem::Edge;
use super::tabulated::{Costs, Operation, Tabulated};
pub(super) use crate::random::Random;

/// Kinds of random costs.
#[derive(Clone, Copy)]
enum CostKind {
    Zero,
    /// 0, 1 or 2: many strategies cost the same, and many rows are equal.
    Ties,
    Wide,
    Fractions,
}

fn cost(random: &mut Random, kind: CostKind) -> f64 {
    match kind {
        CostKind::Zero => 0.0,
        CostKind::Ties => random.below(3) as f64,
        CostKind::Wide => 10_f64.powi(random.below(13) as i32 - 3) * random.fraction(),
        CostKind::Fractions => random.fraction(),
    }
}

/// A problem with at most `max_vertices` vertices and `max_configurations` configurations of each, by its number: a tree,
/// chain, directed acyclic graph, clique, cycle, ladder, graph with several edges between the same vertices and from vertices
/// to themselves, or several of them side by side.
pub(super) fn problem(number: u64, max_vertices: usize, max_configurations: usize) -> Tabulated {
    let mut random = Random::new(number);
    let n = 1 + random.below(max_vertices);
    let kind = [CostKind::Ties, CostKind::Wide, CostKind::Fractions, CostKind::Zero][match random.below(16) {
        0 => 3,
        other => other % 3,
    }];
    let mut pairs = Vec::new();
    match number % 8 {
        0 => (1..n).for_each(|v| pairs.push((random.below(v), v))),
        1 => (1..n).for_each(|v| pairs.push((v - 1, v))),
        2 => {
            for v in 1..n {
                (0..1 + random.below(2)).for_each(|_| pairs.push((random.below(v), v)));
            }
        }
        3 => (0..n).for_each(|v| (0..v).for_each(|u| pairs.push((u, v)))),
        4 => (0..n).for_each(|v| pairs.push((v, (v + 1) % n))),
        5 => (0..n).for_each(|v| {
            if v >= 1 && v % 2 == 1 {
                pairs.push((v, v - 1));
            }
            if v >= 2 {
                pairs.push((v - 2, v));
            }
        }),
        6 => (0..2 * n).for_each(|_| pairs.push((random.below(n), random.below(n)))),
        _ => (0..n / 2).for_each(|_| pairs.push((random.below(n), random.below(n)))),
    }
    let operations: Vec<Operation> = (0..n)
        .map(|v| {
            let size = 1 + random.below(max_configurations);
            Operation {
                name: format!("v{v}"),
                kind: "Random".to_owned(),
                domain: vec![64],
                configurations: (1..=size as u32).map(|parts| vec![parts]).collect(),
                costs: (0..size).map(|_| cost(&mut random, kind)).collect(),
            }
        })
        .collect();
    let edges = pairs
        .into_iter()
        .map(|(source, target)| {
            let (n_rows, n_columns) =
                (operations[source].configurations.len(), operations[target].configurations.len());
            // Some edges tell only few layouts apart.
            let layouts = if random.below(3) == 0 { 2 } else { usize::MAX };
            let few: Vec<f64> = (0..4).map(|_| cost(&mut random, kind)).collect();
            let costs = Costs::from_fn(n_rows, n_columns, |row, column| {
                if layouts == 2 { few[2 * (row % 2) + column % 2] } else { cost(&mut random, kind) }
            });
            (Edge { source, target }, costs)
        })
        .collect();
    Tabulated::new(64, operations, edges).expect("random problems make sense")
}

/// A problem in which each vertex is joined to the `width` ones before it.
pub(super) fn band(n: usize, size: usize, width: usize) -> Tabulated {
    joined(n, size, (1..n).flat_map(|v| (v.saturating_sub(width)..v).map(move |u| (u, v))))
}

/// A problem with these edges, in which no two configurations are the same.
pub(super) fn joined(n: usize, size: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Tabulated {
    let mut random = Random::new((n * size) as u64);
    let operation = |v: usize, random: &mut Random| Operation {
        name: format!("v{v}"),
        kind: "Band".to_owned(),
        domain: vec![1024],
        configurations: (1..=size as u32).map(|parts| vec![parts]).collect(),
        costs: (0..size).map(|_| random.fraction()).collect(),
    };
    let operations = (0..n).map(|v| operation(v, &mut random)).collect();
    let edges = pairs
        .map(|(source, target)| {
            (Edge { source, target }, Costs::from_fn(size, size, |_, _| random.fraction()))
        })
        .collect();
    Tabulated::new(1024, operations, edges).expect("a band makes sense")
}

/// Number of random cases of a test: some, or the number in the variable `SDFG_STRATEGY_CASES`.
pub(super) fn n_cases(usual: u64) -> u64 {
    match std::env::var("SDFG_STRATEGY_CASES") {
        Ok(text) => text.parse().expect("SDFG_STRATEGY_CASES is a number"),
        Err(_) => usual,
    }
}
