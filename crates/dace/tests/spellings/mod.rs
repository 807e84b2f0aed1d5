//! Spellings of code by DaCe's front ends of several years and Python versions.

use serde_json::json;

use super::graph::{Graph, access, assign, edge, memlet, read, run, tasklet};

/// Python 3.8 and earlier print indices as a tuple in parentheses.
#[test]
fn indices_are_a_tuple() {
    let graph = Graph::new()
        .array("A", "float64", &["2", "3"])
        .array("at", "int64", &["2", "2"])
        .array("o", "float64", &["2", "2"])
        .next()
        .nodes(vec![
            access("A"),
            access("at"),
            tasklet("o[(0, (1))] = (a[(p[(0, 0)], (p[(1, 1)] - 1))] + k)", &["a", "p"], &["o"]),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 2, "a", memlet("A", "0:1; 0:2", "6")),
            edge(1, "", 2, "p", memlet("at", "0:1; 0:1", "4")),
            edge(2, "o", 3, "", super::graph::dynamic(memlet("o", "0:1; 0:1", "1"))),
        ]);
    let mut document = graph.document();
    assign(&mut document, 0, json!({"k": "(at[(0, 0)] * at[((1), 1)])"}));
    document["edges"][0]["attributes"]["data"]["attributes"]["condition"] =
        json!({"string_data": "(at[(0, 1)] == 0)", "language": "Python"});
    let sdfg = read(document.to_string().as_bytes());
    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let inputs: [(&str, &[f64]); 3] = [("A", &a), ("at", &[1.0, 0.0, 0.0, 3.0]), ("o", &[0.0; 4])];
    // A[1, 3 - 1] + 1 * 3
    assert_eq!(run(&sdfg, &inputs, "o"), [0.0, 9.0, 0.0, 0.0]);
}
