//! Tests of symbols that are no integers, and of numbers that control flow and nested programs get, each in its smallest
//! graph.

use crate::graph::{
    self, Graph, access, assign, edge, end_of, map, memlet, nested, read, run, scalar, tasklet, vector,
};
use serde_json::json;

/// A nested SDFG is given an expression over a float, as GT4Py's inlined field operators are; also one that is a constant.
#[test]
fn floats_of_nested_graphs_are_computed() {
    for (value, expected) in [("0.5*dt", 3.0), ("dt", 6.0), ("0.25", 0.25)] {
        let mut inner = Graph::new()
            .array("o", "float64", &["1"])
            .nodes(vec![tasklet("y = half", &[], &["y"]), access("o")])
            .edges(vec![edge(0, "y", 1, "", memlet("o", "0:0", "1"))])
            .document();
        inner["attributes"]["symbols"] = json!({"half": "float64"});
        let mut outer = Graph::new()
            .array("O", "float64", &["3"])
            .nodes(vec![
                map("i", "0:2"),
                nested(inner, json!({"half": value}), &[], &["o"]),
                end_of("0"),
                access("O"),
            ])
            .edges(vec![
                edge(0, "", 1, "", json!({})),
                edge(1, "o", 2, "IN_O", memlet("O", "i:i", "1")),
                edge(2, "OUT_O", 3, "", memlet("O", "0:2", "3")),
            ])
            .document();
        outer["attributes"]["symbols"] = json!({"dt": "float64"});
        let sdfg = read(outer.to_string().as_bytes());
        let inputs: &[(&str, &[f64])] = &[("dt", &[6.0]), ("O", &[0.0; 3])];
        let inputs = if sdfg.find_container("dt").is_some() { inputs } else { &inputs[1..] };
        assert_eq!(run(&sdfg, inputs, "O"), [expected; 3], "{value}");
    }
}

/// DaCe's code keeps the pointer of a view; here the state that computes the number has to bind it again.
#[test]
fn a_number_between_states_is_read_through_a_view() {
    let view = json!({"type": "View", "attributes": {"dtype": "float64", "shape": ["2"], "transient": true}});
    let graph = Graph::new()
        .array("A", "float64", &["4"])
        .array("o", "float64", &["1"])
        .with("V", view)
        .nodes(vec![access("A"), access("V")])
        .edges(vec![edge(0, "", 1, "views", memlet("A", "2:3", "2"))])
        .next()
        .nodes(vec![tasklet("b = 2 * k", &[], &["b"]), access("o")])
        .edges(vec![edge(0, "b", 1, "", memlet("o", "0:0", "1"))]);
    let mut document = graph.document();
    assign(&mut document, 0, json!({"k": "V[1] + 0.5"}));
    let sdfg = graph::read(document.to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("A", &[1.0, 2.0, 3.0, 4.0]), ("o", &[0.0])], "o"), [9.0]);
}

/// The binding depends on a symbol that changes between the state that binds the view and the read.
#[test]
fn a_view_of_elements_that_move_is_not_bound_again() {
    let view = json!({"type": "View", "attributes": {"dtype": "float64", "shape": ["1"], "transient": true}});
    let graph = Graph::new()
        .array("A", "float64", &["4"])
        .array("o", "float64", &["1"])
        .with("V", view)
        .next()
        .nodes(vec![access("A"), access("V")])
        .edges(vec![edge(0, "", 1, "views", memlet("A", "i:i", "1"))])
        .next()
        .nodes(vec![tasklet("b = k", &[], &["b"]), access("o")])
        .edges(vec![edge(0, "b", 1, "", memlet("o", "0:0", "1"))]);
    let mut document = graph.document();
    assign(&mut document, 0, json!({"i": "1"}));
    assign(&mut document, 1, json!({"i": "3", "k": "V[0] + 0.5"}));
    let sdfg = graph::read(document.to_string().as_bytes());
    let rejected = sdfg::validate::validate(sdfg).map(|_| ()).unwrap_err().to_string();
    assert!(rejected.contains("nothing tells here what the view `V` shows"), "{rejected}");
}

#[test]
fn a_number_of_a_nested_program_may_be_a_constant() {
    let inner = Graph::new()
        .array("o", "float64", &["1"])
        .nodes(vec![tasklet("b = 2 * r", &[], &["b"]), access("o")])
        .edges(vec![edge(0, "b", 1, "", memlet("o", "0:0", "1"))]);
    let mut inner = inner.document();
    inner["attributes"]["symbols"] = json!({"r": "float64"});
    let graph = Graph::new()
        .array("o", "float64", &["1"])
        .nodes(vec![nested(inner, json!({"r": "1.50000000000000"}), &[], &["o"]), access("o")])
        .edges(vec![edge(0, "o", 1, "", memlet("o", "0:0", "1"))]);
    assert_eq!(graph.run(&[("o", &[0.0])], "o"), [3.0]);
}

#[test]
fn a_nested_program_may_see_numbers_as_vectors() {
    let of_vectors = json!({"type": "Array", "attributes": {"dtype": vector("float32", 2), "shape": ["3"]}});
    let inner = Graph::new()
        .with("a", of_vectors.clone())
        .with("b", of_vectors)
        .nodes(vec![
            access("a"),
            map("i", "0:2"),
            tasklet("y = x + x", &["x"], &["y"]),
            end_of("1"),
            access("b"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_a", memlet("a", "0:2", "3")),
            edge(1, "OUT_a", 2, "x", memlet("a", "i:i", "1")),
            edge(2, "y", 3, "IN_b", memlet("b", "i:i", "1")),
            edge(3, "OUT_b", 4, "", memlet("b", "0:2", "3")),
        ]);
    let graph = Graph::new()
        .array("A", "float32", &["6"])
        .array("B", "float32", &["6"])
        .nodes(vec![access("A"), nested(inner.document(), json!({}), &["a"], &["b"]), access("B")])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", "0:5", "6")),
            edge(1, "b", 2, "", memlet("B", "0:5", "6")),
        ]);
    let found = graph.run(&[("A", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), ("B", &[0.0; 6])], "B");
    assert_eq!(found, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
}

#[test]
fn a_symbol_with_its_assumptions_names_a_scalar() {
    // The inner scalar takes a symbol that is no integer, as GT4Py's graphs have them.
    let inside = Graph::new()
        .with("s", scalar("float64"))
        .array("o", "float64", &["1"])
        .nodes(vec![access("s"), tasklet("b = 2 * a", &["a"], &["b"]), access("o")])
        .edges(vec![
            edge(0, "", 1, "a", memlet("s", "0:0", "1")),
            edge(1, "b", 2, "", memlet("o", "0:0", "1")),
        ])
        .document();
    let mapping = json!({"s": "symbol($s, dtype=dace.float64, finite=True, real=True)"});
    let mut document = Graph::new()
        .array("o", "float64", &["1"])
        .nodes(vec![nested(inside, mapping, &[], &["o"]), access("o")])
        .edges(vec![edge(0, "o", 1, "", memlet("o", "0:0", "1"))])
        .document();
    document["attributes"]["symbols"] = json!({"s": "float64"});
    let sdfg = graph::read(document.to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("s", &[1.25]), ("o", &[0.0])], "o"), [2.5]);
}

/// Fortran's front end declares bounds of loops as floats; DaCe's code compares them with integers.
#[test]
fn floats_whose_values_are_integers_are_bounds() {
    let graph = |value: &str, range: &str| {
        let mut document = Graph::new()
            .array("o", "float64", &["8"])
            .with("K", scalar("int32"))
            .nodes(vec![access("o")])
            .next()
            .nodes(vec![map("i", range), tasklet("b = 1", &[], &["b"]), end_of("0"), access("o")])
            .edges(vec![
                edge(0, "", 1, "", json!({})),
                edge(1, "b", 2, "IN_o", memlet("o", "i:i", "1")),
                edge(2, "OUT_o", 3, "", memlet("o", "0:7", "8")),
            ])
            .document();
        assign(&mut document, 0, json!({ "first": value }));
        document["attributes"]["symbols"] = json!({"first": "float64"});
        document.to_string()
    };
    let sdfg = read(graph("(K - 2)", "Max(3, first):7").as_bytes());
    for (k, first) in [(1.0, 3), (7.0, 5)] {
        let found = run(&sdfg, &[("K", &[k]), ("o", &[0.0; 8])], "o");
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6, 7].map(|at| f64::from(u8::from(at >= first))));
    }
    // Quotients of floats are no integers, in the value or in the range.
    for (value, range) in
        [("(K / 2)", "first:7"), ("(K - 2)", "int_floor(first, 2):7"), ("(K - 2.5)", "first:7")]
    {
        let refused = sdfg_dace::read(graph(value, range).as_bytes(), &sdfg_dace::Options::default());
        let message = refused.unwrap_err().report.to_string();
        assert!(
            message.contains("`first` stands in an index, size or bound, and is no integer"),
            "{message}"
        );
    }
}
