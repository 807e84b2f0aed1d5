//! What no path orders runs in the order of DaCe's code.

use serde_json::{Value as Json, json};

use crate::graph::{self, Graph, access, edge, end_of, map, memlet, nested, tasklet};

/// One tasklet copies `A[0]` to `B[0]`, another one sets an element of `A`; whichever stands first runs first.
fn two(writer_first: bool, element: &str) -> Graph {
    let copies = [access("A"), tasklet("b = a", &["a"], &["b"]), access("B")];
    let sets = [tasklet("o = 5.0", &[], &["o"]), access("A")];
    let (nodes, [copy, set]) = if writer_first {
        (sets.into_iter().chain(copies).collect(), [2, 0])
    } else {
        (copies.into_iter().chain(sets).collect(), [0, 3])
    };
    Graph::new().array("A", "float64", &["2"]).array("B", "float64", &["1"]).nodes(nodes).edges(vec![
        edge(copy, "", copy + 1, "a", memlet("A", "0:0", "1")),
        edge(copy + 1, "b", copy + 2, "", memlet("B", "0:0", "1")),
        edge(set, "o", set + 1, "", memlet("A", element, "1")),
    ])
}

#[test]
fn what_stands_first_runs_first() {
    let run = |graph: &Graph| graph.run(&[("A", &[1.0, 2.0]), ("B", &[0.0])], "B");
    assert_eq!(run(&two(false, "0:0")), [1.0]);
    assert_eq!(run(&two(true, "0:0")), [5.0]);
}

#[test]
fn what_touches_other_elements_stays_unordered() {
    let orders = |graph: &Graph| {
        let sdfg = graph::read(graph.document().to_string().as_bytes());
        sdfg::text::print(&sdfg).matches("order ").count()
    };
    assert_eq!([orders(&two(false, "0:0")), orders(&two(false, "1:1"))], [1, 0]);
}

#[test]
fn iterations_of_fused_maps_read_before_they_write() {
    // The edges of the map's begin say who runs first, not the order of the nodes.
    let graph = |first: usize, second: usize| {
        Graph::new()
            .array("A", "float64", &["3"])
            .array("B", "float64", &["3"])
            .array("C", "float64", &["3"])
            .nodes(vec![
                access("A"),
                access("C"),
                map("i", "0:2:1"),
                tasklet("o = 2 * c", &["c"], &["o"]),
                tasklet("b = a", &["a"], &["b"]),
                end_of("2"),
                access("A"),
                access("B"),
            ])
            .edges({
                let inner = [
                    edge(2, "OUT_A", 4, "a", memlet("A", "i:i", "1")),
                    edge(2, "OUT_C", 3, "c", memlet("C", "i:i", "1")),
                ];
                let mut edges = vec![
                    edge(0, "", 2, "IN_A", memlet("A", "0:2", "3")),
                    edge(1, "", 2, "IN_C", memlet("C", "0:2", "3")),
                    inner[first].clone(),
                    inner[second].clone(),
                ];
                edges.extend([
                    edge(3, "o", 5, "IN_A", memlet("A", "i:i", "1")),
                    edge(4, "b", 5, "IN_B", memlet("B", "i:i", "1")),
                    edge(5, "OUT_A", 6, "", memlet("A", "0:2", "3")),
                    edge(5, "OUT_B", 7, "", memlet("B", "0:2", "3")),
                ]);
                edges
            })
    };
    let inputs: [(&str, &[f64]); 3] = [("A", &[1.0, 2.0, 3.0]), ("C", &[4.0, 5.0, 6.0]), ("B", &[0.0; 3])];
    assert_eq!(graph(0, 1).run(&inputs, "B"), [1.0, 2.0, 3.0]);
    assert_eq!(graph(1, 0).run(&inputs, "B"), [8.0, 10.0, 12.0]);
}

/// Adds `A[0]` to `B[0]`.
fn adds() -> Json {
    Graph::new()
        .array("A", "float64", &["2"])
        .array("B", "float64", &["1"])
        .nodes(vec![access("A"), tasklet("b = a", &["a"], &["b"]), access("B")])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", "0:0", "1")),
            edge(1, "b", 2, "", memlet("B", "0:0", "1")),
        ])
        .document()
}

#[test]
fn memlets_around_calls_do_not_say_what_they_touch() {
    // The memlet at the begin of the map leaves out what the nested SDFG reads.
    let graph = Graph::new()
        .array("A", "float64", &["3"])
        .array("B", "float64", &["1"])
        .nodes(vec![
            access("A"),
            map("i", "0:0:1"),
            nested(adds(), json!({}), &["A"], &["B"]),
            end_of("1"),
            access("B"),
            tasklet("o = 5.0", &[], &["o"]),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "2:2", "1")),
            edge(1, "OUT_A", 2, "A", memlet("A", "0:1", "2")),
            edge(2, "B", 3, "IN_B", memlet("B", "0:0", "1")),
            edge(3, "OUT_B", 4, "", memlet("B", "0:0", "1")),
            edge(5, "o", 6, "", memlet("A", "0:0", "1")),
        ]);
    assert_eq!(graph.run(&[("A", &[1.0, 2.0, 3.0]), ("B", &[0.0])], "B"), [1.0]);
}
