//! Baseline strategies that need no search, for comparison.

use super::problem::Operations;

/// Everything on one processor; nothing if an operation has no such configuration.
pub fn serial(problem: &dyn Operations) -> Option<Vec<usize>> {
    let serial = |vertex: usize| {
        problem.configurations(vertex).iter().position(|parts| parts.iter().all(|part| *part == 1))
    };
    (0..problem.n_vertices()).map(serial).collect()
}

/// Data parallelism: only the first dimension of each operation is cut, into as many parts as it may be; nothing if an
/// operation has no such configuration.
pub fn data_parallel(problem: &dyn Operations) -> Option<Vec<usize>> {
    let widest = |vertex: usize| {
        let only_first = |parts: &Vec<u32>| parts.iter().skip(1).all(|part| *part == 1);
        let fitting =
            problem.configurations(vertex).iter().enumerate().filter(|(_, parts)| only_first(parts));
        // Of equals the first.
        fitting.rev().max_by_key(|(_, parts)| parts.first().copied()).map(|(configuration, _)| configuration)
    };
    (0..problem.n_vertices()).map(widest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::{Operation, Tabulated};

    fn problem(configurations: &[[u32; 2]]) -> Tabulated {
        let operation = Operation {
            name: "a".to_owned(),
            kind: "Test".to_owned(),
            domain: vec![8, 8],
            configurations: configurations.iter().map(|parts| parts.to_vec()).collect(),
            costs: vec![1.0; configurations.len()],
        };
        Tabulated::new(4, vec![operation], vec![]).unwrap()
    }

    #[test]
    fn baselines_are_found_where_they_are() {
        let all = problem(&[[1, 4], [2, 1], [1, 1], [4, 1], [2, 2]]);
        assert_eq!((serial(&all), data_parallel(&all)), (Some(vec![2]), Some(vec![3])));
        let some = problem(&[[1, 4], [2, 2]]);
        assert_eq!((serial(&some), data_parallel(&some)), (None, None));
    }
}
