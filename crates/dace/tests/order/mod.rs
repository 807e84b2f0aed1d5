//! Tests of maps that DaCe runs in order although their schedule does not say so.

use crate::graph::{Graph, access, edge, end_of, map, memlet, nested, tasklet};
use serde_json::{Value as Json, json};

/// A map over `i` that overwrites the sum in `s` with the next one, in an iteration of a map over `j`.
fn sums(outer: &str) -> Graph {
    let inner = Graph::new()
        .array("x", "float64", &["3"])
        .array("s", "float64", &["1"])
        .nodes(vec![
            access("x"),
            access("s"),
            map("i", "0:2"),
            tasklet("r = 10 * t + v", &["t", "v"], &["r"]),
            end_of("2"),
            access("s"),
        ])
        .edges(vec![
            edge(0, "", 2, "IN_x", memlet("x", "0:2", "3")),
            edge(1, "", 2, "IN_s", memlet("s", "0:0", "1")),
            edge(2, "OUT_x", 3, "v", memlet("x", "i:i", "1")),
            edge(2, "OUT_s", 3, "t", memlet("s", "0:0", "1")),
            edge(3, "r", 4, "IN_s", memlet("s", "0:0", "1")),
            edge(4, "OUT_s", 5, "", memlet("s", "0:0", "3")),
        ]);
    let mut entry = map("j", "0:1");
    entry["attributes"]["schedule"] = outer.into();
    Graph::new()
        .array("A", "float64", &["2", "3"])
        .array("S", "float64", &["2"])
        .nodes(vec![
            access("A"),
            access("S"),
            entry,
            nested(inner.document(), json!({}), &["x", "s"], &["s"]),
            end_of("2"),
            access("S"),
        ])
        .edges(vec![
            edge(0, "", 2, "IN_A", memlet("A", "0:1; 0:2", "6")),
            edge(1, "", 2, "IN_S", memlet("S", "0:1", "2")),
            edge(2, "OUT_A", 3, "x", memlet("A", "j:j; 0:2", "3")),
            edge(2, "OUT_S", 3, "s", memlet("S", "j:j", "1")),
            edge(3, "s", 4, "IN_S", memlet("S", "j:j", "1")),
            edge(4, "OUT_S", 5, "", memlet("S", "0:1", "2")),
        ])
}

/// DaCe generates threads for the outer map only.
#[test]
fn a_map_within_a_map_runs_in_order() {
    let inputs: [(&str, &[f64]); 2] = [("A", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), ("S", &[0.0; 2])];
    for outer in ["Default", "CPU_Multicore", "Sequential"] {
        assert_eq!(sums(outer).run(&inputs, "S"), [123.0, 456.0], "{outer}");
    }
    // The map within an unrolled one has threads.
    let within = |outer: &str| {
        let bytes = sums(outer).document().to_string();
        sdfg::text::print(&crate::graph::read(bytes.as_bytes())).contains("[i = 0:3]")
    };
    assert!(within("Unrolled") && !within("CPU_Multicore"));
}

/// Iteration `k` sets the elements `k` and `k + 1` of its argument, one after the other.
fn overlapping(schedule: &str) -> Json {
    let write = |index: &str| {
        (
            vec![tasklet("o = 10 * k + 1", &[], &["o"]), access("x")],
            vec![edge(0, "o", 1, "", memlet("x", &format!("{index}:{index}"), "1"))],
        )
    };
    let (first, second) = (write("k"), write("k + 1"));
    let inner = Graph::new()
        .array("x", "float64", &["4"])
        .nodes(first.0)
        .edges(first.1)
        .next()
        .nodes(second.0)
        .edges(second.1);
    let mut inner = inner.document();
    inner["attributes"]["symbols"] = json!({"k": "int64"});
    let mut entry = map("k", "0:2");
    entry["attributes"]["schedule"] = schedule.into();
    Graph::new()
        .array("A", "float64", &["4"])
        .nodes(vec![entry, nested(inner, json!({"k": "k"}), &[], &["x"]), end_of("0"), access("A")])
        .edges(vec![
            edge(0, "", 1, "", json!({})),
            edge(1, "x", 2, "IN_A", memlet("A", "0:3", "4")),
            edge(2, "OUT_A", 3, "", memlet("A", "0:3", "4")),
        ])
        .document()
}

#[test]
fn an_unrolled_map_runs_in_order() {
    let sdfg = crate::graph::read(overlapping("Unrolled").to_string().as_bytes());
    let found = crate::graph::run(&sdfg, &[("A", &[0.0; 4])], "A");
    assert_eq!(found, [1.0, 11.0, 21.0, 21.0]);
}

/// All iterations of a map pass the same array to a call whose code writes one value.
#[test]
fn calls_in_all_iterations_may_write_one_element() {
    let graph = |code: &str, index: &str| {
        let inner = Graph::new()
            .array("x", "float64", &["3"])
            .nodes(vec![tasklet(code, &[], &["o"]), access("x")])
            .edges(vec![edge(0, "o", 1, "", memlet("x", &format!("{index}:{index}"), "1"))]);
        let mut inner = inner.document();
        inner["attributes"]["symbols"] = json!({"k": "int64"});
        Graph::new()
            .array("A", "float64", &["3"])
            .nodes(vec![
                map("k", "0:2"),
                nested(inner, json!({"k": "k"}), &[], &["x"]),
                end_of("0"),
                access("A"),
            ])
            .edges(vec![
                edge(0, "", 1, "", json!({})),
                edge(1, "x", 2, "IN_A", memlet("A", "0:2", "3")),
                edge(2, "OUT_A", 3, "", memlet("A", "0:2", "3")),
            ])
    };
    let notes = |graph: &Graph| {
        let bytes = graph.document().to_string();
        let import = sdfg_dace::read(bytes.as_bytes(), &sdfg_dace::Options::default()).unwrap();
        import.report.to_string()
    };
    let one = graph("o = 7", "1");
    assert_eq!(one.run(&[("A", &[0.0; 3])], "A"), [0.0, 7.0, 0.0]);
    assert!(notes(&one).contains("any of the values stays"), "{}", notes(&one));
    let each = graph("o = k", "k");
    assert_eq!(each.run(&[("A", &[5.0; 3])], "A"), [0.0, 1.0, 2.0]);
    assert!(!notes(&each).contains("any of the values stays"), "{}", notes(&each));
}
