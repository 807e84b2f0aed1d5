//! Tests of statements in the code of tasklets, each in its smallest graph, with the values that the graph
//! computes.

use crate::graph::{Graph, access, edge, end_of, map, memlet, tasklet};
use serde_json::json;

#[test]
fn an_expression_alone_does_nothing() {
    let graph = |code: &str| {
        Graph::new()
            .array("A", "float64", &["3"])
            .array("o", "float64", &["1"])
            .nodes(vec![access("A"), tasklet(code, &["a"], &["r"]), access("o")])
            .edges(vec![
                edge(0, "", 1, "a", memlet("A", "0:2", "3")),
                edge(1, "r", 2, "", memlet("o", "0:0", "1")),
            ])
    };
    let code = "(a[1] < 6)\nfor i in range(2):\n    math.sin(a[i])\nr = a[2]\na[0]";
    assert_eq!(graph(code).run(&[("A", &[1.0, 2.0, 3.0]), ("o", &[0.0])], "o"), [3.0]);
    let document = graph("send(a[0])\nr = a[2]").document().to_string();
    let refused = sdfg_dace::read(document.as_bytes(), &sdfg_dace::Options::default()).unwrap_err();
    assert!(refused.to_string().contains("an expression alone has no effect"), "{refused}");
}

/// C++ code has a pointer to the memlet, and a table of constants.
#[test]
fn one_index_counts_all_elements_in_cpp() {
    let mut inner = tasklet("constexpr double T[6] = {1, 2, 3, 4, 5, 6};\no[5 - i] = T[i];", &[], &["o"]);
    inner["attributes"]["code"]["language"] = "CPP".into();
    let graph = Graph::new()
        .array("A", "float64", &["3", "2"])
        .nodes(vec![map("i", "0:5"), inner, end_of("0"), access("A")])
        .edges(vec![
            edge(0, "", 1, "", json!({})),
            edge(1, "o", 2, "IN_A", memlet("A", "0:2; 0:1", "6")),
            edge(2, "OUT_A", 3, "", memlet("A", "0:2; 0:1", "6")),
        ]);
    assert_eq!(graph.run(&[("A", &[0.0; 6])], "A"), [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
}

/// DaCe's code has a pointer there, which is never null; Fortran's `ALLOCATED` is such a comparison.
#[test]
fn an_input_of_several_elements_is_there_whatever_they_are() {
    let compared = |subset: &str, volume: &str, code: &str| {
        Graph::new()
            .array("A", "float64", &["3"])
            .array("o", "int64", &["1"])
            .nodes(vec![access("A"), tasklet(code, &["a"], &["r"]), access("o")])
            .edges(vec![
                edge(0, "", 1, "a", memlet("A", subset, volume)),
                edge(1, "r", 2, "", memlet("o", "0:0", "1")),
            ])
            .run(&[("A", &[0.0, 0.0, 0.0]), ("o", &[7.0])], "o")
    };
    assert_eq!(compared("0:2", "3", "r = 1 if a == 0 else 2"), [2.0]);
    assert_eq!(compared("0:2", "3", "r = 1 if 0 != a else 2"), [1.0]);
    // One element is a number.
    assert_eq!(compared("0:0", "1", "r = 1 if a == 0 else 2"), [1.0]);
}
