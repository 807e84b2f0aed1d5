//! Tests of accesses that no path orders: they run in the order of DaCe's code.

use serde_json::{Value as Json, json};

use crate::graph::{self, Graph, access, edge, end_of, map, memlet, nested, resolved, tasklet, to};

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

/// Number of order edges of a graph after reading.
fn orders(graph: &Graph) -> usize {
    let sdfg = graph::read(graph.document().to_string().as_bytes());
    sdfg::text::print(&sdfg).matches("order ").count()
}

#[test]
fn what_stands_first_runs_first() {
    let run = |graph: &Graph| graph.run(&[("A", &[1.0, 2.0]), ("B", &[0.0])], "B");
    assert_eq!(run(&two(false, "0:0")), [1.0]);
    assert_eq!(run(&two(true, "0:0")), [5.0]);
}

#[test]
fn what_touches_other_elements_stays_unordered() {
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

/// Copies `A[0]` to `B[0]`.
fn copies() -> Json {
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
            nested(copies(), json!({}), &["A"], &["B"]),
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

fn vectors(names: &[&str]) -> Graph {
    names.iter().fold(Graph::new(), |graph, name| graph.array(name, "float64", &["2"]))
}

/// Parts of a state that do not meet run one after the other, although what begins them alternates in the file.
#[test]
fn one_part_runs_after_the_other() {
    let graph = vectors(&["A", "B", "C", "D"])
        .nodes(vec![
            access("A"),
            access("D"),
            access("C"),
            tasklet("b = a + c", &["a", "c"], &["b"]),
            access("B"),
            tasklet("o = d", &["d"], &["o"]),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 3, "a", memlet("A", "0:0", "1")),
            edge(2, "", 3, "c", memlet("C", "0:0", "1")),
            edge(3, "b", 4, "", memlet("B", "0:0", "1")),
            edge(1, "", 5, "d", memlet("D", "0:0", "1")),
            edge(5, "o", 6, "", memlet("A", "0:0", "1")),
        ]);
    let inputs: [(&str, &[f64]); 4] =
        [("A", &[1.0; 2]), ("B", &[0.0; 2]), ("C", &[10.0; 2]), ("D", &[5.0; 2])];
    assert_eq!(graph.run(&inputs, "B"), [11.0, 0.0]);
}

/// A part that begins early and meets one that begins late runs when that does.
#[test]
fn parts_that_meet_run_last() {
    let graph = vectors(&["A", "B"])
        .nodes(vec![
            access("A"),
            tasklet("b = a", &["a"], &["b"]),
            access("B"),
            tasklet("o = 5.0", &[], &["o"]),
            access("A"),
            tasklet("q = 9.0", &[], &["q"]),
        ])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", "0:0", "1")),
            edge(1, "b", 2, "", memlet("B", "0:0", "1")),
            edge(3, "o", 4, "", memlet("A", "0:0", "1")),
            edge(5, "q", 2, "", memlet("B", "1:1", "1")),
        ]);
    assert_eq!(graph.run(&[("A", &[1.0; 2]), ("B", &[0.0; 2])], "B"), [5.0, 9.0]);
}

#[test]
fn copies_run_where_they_begin() {
    // `A` is saved before it is set, although something else joins what it is saved in later.
    let graph = vectors(&["A", "B", "C"])
        .nodes(vec![
            access("A"),
            tasklet("o = 5.0", &[], &["o"]),
            access("A"),
            tasklet("o = 7.0", &[], &["o"]),
            access("B"),
            tasklet("c = a + b", &["a", "b"], &["c"]),
            access("C"),
        ])
        .edges(vec![
            edge(0, "", 4, "", to(memlet("A", "0:0", "1"), "0:0")),
            edge(1, "o", 2, "", memlet("A", "0:0", "1")),
            edge(3, "o", 4, "", memlet("B", "1:1", "1")),
            edge(2, "", 5, "a", memlet("A", "0:0", "1")),
            edge(4, "", 5, "b", memlet("B", "0:0", "1")),
            edge(5, "c", 6, "", memlet("C", "0:0", "1")),
        ]);
    let inputs: [(&str, &[f64]); 3] = [("A", &[1.0; 2]), ("B", &[0.0; 2]), ("C", &[0.0; 2])];
    assert_eq!(graph.run(&inputs, "C"), [6.0, 0.0]);
    // The edge of the copy comes last, and yet it is made before what reads the same node.
    let graph = vectors(&["A", "B"])
        .nodes(vec![
            tasklet("o = 1.0", &[], &["o"]),
            access("A"),
            tasklet("b = a + 1", &["a"], &["b"]),
            access("A"),
            access("B"),
        ])
        .edges(vec![
            edge(0, "o", 1, "", memlet("A", "0:0", "1")),
            edge(1, "", 2, "a", memlet("A", "0:0", "1")),
            edge(2, "b", 3, "", memlet("A", "0:0", "1")),
            edge(1, "", 4, "", to(memlet("A", "0:0", "1"), "0:0")),
        ]);
    assert_eq!(graph.run(&[("A", &[0.0; 2]), ("B", &[0.0; 2])], "B"), [1.0, 0.0]);
    // In version 2 it is made after what overwrites `A`, which no edge here can say.
    let mut document = graph.document();
    document["dace_version"] = json!("2.0.0");
    let refused = sdfg::validate::validate(graph::read(document.to_string().as_bytes())).unwrap_err();
    assert!(refused.to_string().contains("V701"), "{refused}");
}

/// DaCe expands them first, and what they become stands behind all other nodes.
#[test]
fn library_nodes_run_after_others() {
    let sum = json!({"type": "LibraryNode", "label": "sum", "classpath": "dace.libraries.standard.nodes.reduce.Reduce",
        "attributes": {"name": "sum", "wcr": "lambda a, b: a + b", "axes": [0], "identity": "0",
            "in_connectors": {}, "out_connectors": {}}});
    let graph = vectors(&["A", "B"])
        .nodes(vec![access("A"), sum, access("B"), tasklet("b = a + 10", &["a"], &["b"]), access("A")])
        .edges(vec![
            edge(0, "", 1, "", memlet("A", "0:1", "2")),
            edge(1, "", 2, "", memlet("B", "0:0", "1")),
            edge(0, "", 3, "a", memlet("A", "0:0", "1")),
            edge(3, "b", 4, "", memlet("A", "0:0", "1")),
        ]);
    assert_eq!(graph.run(&[("A", &[1.0, 2.0]), ("B", &[0.0; 2])], "B"), [13.0, 0.0]);
}

/// Any value may stay of those that replace each other, but DaCe's is the last one.
#[test]
fn the_last_replacement_stays() {
    let graph = |last: &str| {
        vectors(&["A"])
            .nodes(vec![
                tasklet("o = 5.0", &[], &["o"]),
                access("A"),
                tasklet("o = 7.0", &[], &["o"]),
                access("A"),
            ])
            .edges(vec![
                edge(0, "o", 1, "", resolved(memlet("A", "0:0", "1"), "lambda a, b: b")),
                edge(2, "o", 3, "", resolved(memlet("A", last, "1"), "lambda a, b: b")),
            ])
    };
    assert_eq!([orders(&graph("0:0")), orders(&graph("1:1"))], [1, 0]);
    assert_eq!(graph("0:0").run(&[("A", &[0.0; 2])], "A"), [7.0, 0.0]);
    assert_eq!(graph("1:1").run(&[("A", &[0.0; 2])], "A"), [5.0, 7.0]);
}
