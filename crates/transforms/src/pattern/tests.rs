//! Monomorphisms against all assignments, on random multigraphs.

use proptest::prelude::*;

use super::{Host, Shape, monomorphisms};

/// All assignments of five nodes that are monomorphisms, by trying every one. Edges are counted in their list.
fn by_trying(host: &[(u8, u8)], shape: &Shape, colours: &[bool]) -> Vec<Vec<u8>> {
    let mut assignments = vec![Vec::new()];
    for node in 0..shape.nodes {
        let extend = |found: &Vec<u8>| {
            let found = found.clone();
            let free = (0..5).filter(|at| fits(colours, node, *at)).collect::<Vec<_>>();
            let new = free.into_iter().filter(|at| !found.contains(at)).collect::<Vec<_>>();
            new.into_iter()
                .map(move |at| found.iter().copied().chain([at]).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        assignments = assignments.iter().flat_map(extend).collect();
    }
    assignments.retain(|found| {
        (0..shape.nodes).all(|src| {
            (0..shape.nodes).all(|dst| {
                let wanted = shape.edges.iter().filter(|edge| **edge == (src, dst)).count();
                host.iter().filter(|edge| **edge == (found[src], found[dst])).count() >= wanted
            })
        })
    });
    assignments
}

/// Nodes of the pattern at even positions stand for nodes of one colour.
fn fits(colours: &[bool], node: usize, at: u8) -> bool {
    node % 2 == 1 || colours[usize::from(at)]
}

proptest! {
    #[test]
    fn the_search_finds_what_trying_all_assignments_finds(
        colours in prop::collection::vec(any::<bool>(), 5),
        edges in prop::collection::vec((0..5u8, 0..5u8), 0..14),
        nodes in 1..4usize,
        wanted in prop::collection::vec((0..3usize, 0..3usize), 0..4),
    ) {
        let host = Host::new(0..5, edges.clone());
        let shape = Shape::new(nodes, wanted.into_iter().filter(|(a, b)| *a < nodes && *b < nodes).collect());
        let mut found = monomorphisms(&host, &shape, &|node, at| fits(&colours, node, at));
        let mut expected = by_trying(&edges, &shape, &colours);
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn parallel_edges_of_a_pattern_need_parallel_edges() {
    let pair = Shape::new(2, vec![(0, 1), (0, 1)]);
    let once = Host::new([1, 2], [(1, 2)]);
    let twice = Host::new([1, 2], [(1, 2), (1, 2)]);
    assert!(monomorphisms(&once, &pair, &|_, _| true).is_empty());
    assert_eq!(monomorphisms(&twice, &pair, &|_, _| true), [[1, 2]]);
}

#[test]
fn further_edges_between_matched_nodes_do_not_matter() {
    let path = Shape::new(3, vec![(0, 1), (1, 2)]);
    let triangle = Host::new([1, 2, 3], [(1, 2), (2, 3), (1, 3)]);
    assert_eq!(monomorphisms(&triangle, &path, &|_, _| true), [[1, 2, 3]]);
}
