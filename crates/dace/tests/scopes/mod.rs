//! Tests of values inside and around scopes: views, tiles, arguments of nested SDFGs and threads, each in its
//! smallest graph, with the values that the graph computes.

use crate::graph::{
    self, Graph, access, assign, edge, end_of, map, memlet, nested, resolved, stream, tasklet, to,
};
use serde_json::{Value as Json, json};

fn transient(kind: &str, shape: &str) -> Json {
    json!({"type": kind, "attributes": {"dtype": "float64", "shape": [shape], "transient": true}})
}

#[test]
fn what_a_scope_copies_into_a_view_does_not_bind_it() {
    let graph = Graph::new()
        .array("A", "float64", &["3"])
        .array("C", "float64", &["3"])
        .with("t", transient("Array", "1"))
        .with("V", transient("View", "3"))
        .nodes(vec![
            access("A"),
            map("i", "0:2:1"),
            tasklet("b = 2 * a", &["a"], &["b"]),
            access("t"),
            end_of("1"),
            access("V"),
            access("C"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:2", "3")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(2, "b", 3, "", memlet("t", "0:0", "1")),
            edge(3, "", 4, "IN_V", memlet("V", "i:i", "1")),
            edge(4, "OUT_V", 5, "", memlet("V", "0:2", "3")),
            edge(5, "views", 6, "", to(memlet("C", "0:2", "3"), "0:2")),
        ]);
    let c = graph.run(&[("A", &[1.0, 2.0, 3.0]), ("C", &[0.0; 3])], "C");
    assert_eq!(c, [2.0, 4.0, 6.0]);
}

#[test]
fn what_a_scope_copies_out_of_a_view_does_not_bind_it() {
    let graph = Graph::new()
        .array("A", "float64", &["4"])
        .array("C", "float64", &["3"])
        .with("t", transient("Array", "1"))
        .with("V", transient("View", "3"))
        .nodes(vec![
            access("A"),
            access("V"),
            map("i", "0:2:1"),
            access("t"),
            tasklet("b = 2 * a", &["a"], &["b"]),
            end_of("2"),
            access("C"),
        ])
        .edges(vec![
            edge(0, "", 1, "views", to(memlet("A", "1:3", "3"), "0:2")),
            edge(1, "", 2, "IN_V", memlet("V", "0:2", "3")),
            edge(2, "OUT_V", 3, "", memlet("V", "i:i", "1")),
            edge(3, "", 4, "a", memlet("t", "0:0", "1")),
            edge(4, "b", 5, "IN_C", memlet("C", "i:i", "1")),
            edge(5, "OUT_C", 6, "", memlet("C", "0:2", "3")),
        ]);
    let c = graph.run(&[("A", &[9.0, 1.0, 2.0, 3.0]), ("C", &[0.0; 3])], "C");
    assert_eq!(c, [2.0, 4.0, 6.0]);
}

#[test]
fn a_view_of_code_is_one_of_the_data_behind_it() {
    // Both memlets name the view; the one to data binds it.
    let graph = Graph::new()
        .array("C", "float64", &["4"])
        .with("V", transient("View", "2"))
        .nodes(vec![tasklet("v[0] = 5\nv[1] = 6", &[], &["v"]), access("V"), access("C")])
        .edges(vec![
            edge(0, "v", 1, "", memlet("V", "0:1", "2")),
            edge(1, "", 2, "", to(memlet("V", "0:1", "2"), "1:2")),
        ]);
    assert_eq!(graph.run(&[("C", &[1.0; 4])], "C"), [1.0, 5.0, 6.0, 1.0]);
}

/// `o[i] = a + 1`, then `o[i] = code` of that, both through the end of the scope.
fn written_twice(code: &str) -> Graph {
    Graph::new()
        .array("A", "float64", &["3"])
        .array("o", "float64", &["3"])
        .with("t", transient("Array", "1"))
        .nodes(vec![
            access("A"),
            map("i", "0:2:1"),
            tasklet("b = a + 1", &["a"], &["b"]),
            access("t"),
            tasklet(code, &["b"], &["c"]),
            end_of("1"),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:2", "3")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(2, "b", 3, "", memlet("t", "0:0", "1")),
            edge(3, "", 5, "IN_1", to(memlet("t", "0:0", "1"), "i:i")),
            edge(3, "", 4, "b", memlet("t", "0:0", "1")),
            edge(4, "c", 5, "IN_2", memlet("o", "i:i", "1")),
            edge(5, "OUT_1", 6, "", memlet("o", "0:2", "3")),
            edge(5, "OUT_2", 6, "", memlet("o", "0:2", "3")),
        ])
}

#[test]
fn the_write_of_a_later_node_is_the_one_that_stays() {
    let inputs: [(&str, &[f64]); 2] = [("A", &[1.0, 2.0, 3.0]), ("o", &[0.0; 3])];
    assert_eq!(written_twice("c = 10 * b").run(&inputs, "o"), [20.0, 30.0, 40.0]);
    // A write that may not happen takes nothing back.
    let text = sdfg::text::print(&graph::read(
        written_twice("if b > 2:\n    c = 10 * b").document().to_string().as_bytes(),
    ));
    assert!(text.contains("m.\"1\": t[0] -> o[i]"), "{text}");
}

#[test]
fn a_write_that_the_scope_may_see_stays() {
    let text = |graph: Graph| sdfg::text::print(&graph::read(graph.document().to_string().as_bytes()));
    assert!(!text(written_twice("c = 10 * b")).contains("m.\"1\""));
    // The second tasklet reads what the first one wrote, in the order of DaCe's code.
    let mut seen = written_twice("c = b + d");
    seen.change(|nodes, edges| {
        nodes.push(access("o"));
        nodes[4] = tasklet("c = b + d", &["b", "d"], &["c"]);
        edges.push(edge(7, "", 1, "IN_o", memlet("o", "0:2", "3")));
        edges.push(edge(1, "OUT_o", 4, "d", memlet("o", "i:i", "1")));
    });
    assert!(text(seen).contains("m.\"1\": t[0] -> o[i]"));
}

/// `o[inner] = 1` in two maps around a tasklet.
fn tiled(inner: &str, outer: &str) -> Graph {
    Graph::new()
        .array("o", "float64", &["8"])
        .nodes(vec![
            map("t", outer),
            map("i", inner),
            tasklet("b = 1", &[], &["b"]),
            end_of("1"),
            end_of("0"),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "", json!({})),
            edge(1, "", 2, "", json!({})),
            edge(2, "b", 3, "IN_o", memlet("o", "i:i", "1")),
            edge(3, "OUT_o", 4, "IN_o", memlet("o", "0:7", "8")),
            edge(4, "OUT_o", 5, "", memlet("o", "0:7", "8")),
        ])
}

#[test]
fn tiles_that_do_not_meet_write_each_element_once() {
    let text =
        |inner, outer| sdfg::text::print(&graph::read(tiled(inner, outer).document().to_string().as_bytes()));
    assert!(!text("t:Min(t + 3, 7)", "0:7:4").contains("wcr"));
    assert!(!text("t:t", "0:7").contains("wcr"));
    assert!(!text("7 - t:10 - t", "0:4:4").contains("wcr"));
    // Two tiles write the fifth element, any iteration may be the last to write the others.
    assert!(text("t:Min(t + 4, 7)", "0:7:4").contains("wcr(replace)"));
    assert!(text("0:7", "0:7:4").contains("wcr(replace)"));
    assert_eq!(tiled("t:Min(t + 4, 7)", "0:7:4").run(&[("o", &[0.0; 8])], "o"), [1.0; 8]);
}

/// Column `j` of the square that it is given, from the second row on, becomes the sum of the elements above.
fn running_sum(column: &str) -> Json {
    Graph::new()
        .array("A", "float64", &["3", "3"])
        .nodes(vec![
            access("A"),
            tasklet("b = a + c", &["a", "c"], &["b"]),
            access("A"),
            tasklet("b = a + c", &["a", "c"], &["b"]),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", &format!("0:0; {column}:{column}"), "1")),
            edge(0, "", 1, "c", memlet("A", &format!("1:1; {column}:{column}"), "1")),
            edge(1, "b", 2, "", memlet("A", &format!("1:1; {column}:{column}"), "1")),
            edge(2, "", 3, "a", memlet("A", &format!("1:1; {column}:{column}"), "1")),
            edge(2, "", 3, "c", memlet("A", &format!("2:2; {column}:{column}"), "1")),
            edge(3, "b", 4, "", memlet("A", &format!("2:2; {column}:{column}"), "1")),
        ])
        .document()
}

/// Running sums of the columns of a square, by a nested SDFG that is given these parts of it.
fn columns(column: &str, range: &str, read: &str, written: &str) -> Vec<f64> {
    let mapping = if column == "j" { json!({"j": "j"}) } else { json!({}) };
    let mut inside = running_sum(column);
    if column == "j" {
        inside["attributes"]["symbols"] = json!({"j": "int64"});
    }
    Graph::new()
        .array("A", "float64", &["3", "3"])
        .nodes(vec![
            access("A"),
            map("j", range),
            nested(inside, mapping, &["A"], &["A"]),
            end_of("1"),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:2; 0:2", "9")),
            edge(1, "OUT_A", 2, "A", memlet("A", read, "3")),
            edge(2, "A", 3, "IN_A", memlet("A", written, "3")),
            edge(3, "OUT_A", 4, "", memlet("A", "0:2; 0:2", "9")),
        ])
        .run(&[("A", &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0])], "A")
}

#[test]
fn an_argument_is_as_large_as_the_inner_container_says() {
    let sums = [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 3.0, 6.0, 9.0];
    // The inner layout is that of the square, from the first element of the memlet on.
    assert_eq!(columns("j", "0:2", "0:2; 0:j", "0:1; 0:j"), sums);
    assert_eq!(columns("j", "0:2", "0:2; 0:2", "0:2; 0:j"), sums);
    assert_eq!(columns("0", "0:2", "0:1; j:j", "0:2; j:j"), sums);
    // From the second column on, what it says ends behind the square.
    let but_the_first = [1.0, 2.0, 3.0, 1.0, 4.0, 6.0, 1.0, 6.0, 9.0];
    assert_eq!(columns("0", "1:2", "0:1; j:j", "0:2; j:j"), but_the_first);
}

#[test]
fn an_array_that_is_passed_from_its_first_element_on_needs_no_view() {
    let graph = Graph::new()
        .array("A", "float64", &["3", "3"])
        .nodes(vec![access("A"), nested(running_sum("1"), json!({}), &["A"], &["A"]), access("A")])
        .edges(vec![
            edge(0, "", 1, "A", memlet("A", "0:2; 0:1", "6")),
            edge(1, "A", 2, "", memlet("A", "0:2; 0:1", "6")),
        ]);
    let sdfg = crate::graph::read(graph.document().to_string().as_bytes());
    assert_eq!(sdfg.containers().count(), 1);
    let sums = graph.run(&[("A", &[1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0])], "A");
    assert_eq!(sums, [1.0, 2.0, 3.0, 1.0, 4.0, 3.0, 1.0, 6.0, 3.0]);
}

#[test]
fn a_memlet_of_version_2_tells_which_part_of_an_array_is_used() {
    // The inner indices are those of the whole, wherever the memlet begins; before, they count from there.
    let inside = Graph::new()
        .array("A", "float64", &["3", "3"])
        .array("o", "float64", &["1"])
        .nodes(vec![access("A"), tasklet("b = a", &["a"], &["b"]), access("o")])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", "0:0; 1:1", "1")),
            edge(1, "b", 2, "", memlet("o", "0:0", "1")),
        ])
        .document();
    let mut document = Graph::new()
        .array("A", "float64", &["3", "3"])
        .array("o", "float64", &["1"])
        .nodes(vec![access("A"), nested(inside, json!({}), &["A"], &["o"]), access("o")])
        .edges(vec![
            edge(0, "", 1, "A", memlet("A", "0:2; 1:2", "6")),
            edge(1, "o", 2, "", memlet("o", "0:0", "1")),
        ])
        .document();
    for (version, expected) in [("2.0.0b1", 1.0), ("2.0.0a7", 2.0), ("1.0.2", 2.0)] {
        document["dace_version"] = version.into();
        let sdfg = graph::read(document.to_string().as_bytes());
        let numbers: Vec<f64> = (0..9).map(f64::from).collect();
        assert_eq!(graph::run(&sdfg, &[("A", &numbers), ("o", &[0.0])], "o"), [expected], "{version}");
    }
}

#[test]
fn each_iteration_has_a_transient_of_its_own_also_where_control_flow_decides_its_size() {
    let mut document = Graph::new()
        .array("A", "float64", &["3"])
        .array("o", "float64", &["3"])
        .with("t", transient("Array", "k"))
        .next()
        .nodes(vec![
            access("A"),
            map("i", "0:2"),
            tasklet("b[1] = 2 * a", &["a"], &["b"]),
            access("t"),
            tasklet("b = a + 1", &["a"], &["b"]),
            end_of("1"),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:2", "3")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(2, "b", 3, "", memlet("t", "0:k - 1", "k")),
            edge(3, "", 4, "a", memlet("t", "1:1", "1")),
            edge(4, "b", 5, "IN_o", memlet("o", "i:i", "1")),
            edge(5, "OUT_o", 6, "", memlet("o", "0:2", "3")),
        ])
        .document();
    assign(&mut document, 0, json!({"k": "2"}));
    let sdfg = graph::read(document.to_string().as_bytes());
    let found = graph::run(&sdfg, &[("A", &[1.0, 2.0, 3.0]), ("o", &[0.0; 3])], "o");
    assert_eq!(found, [3.0, 5.0, 7.0]);
}

#[test]
fn a_transient_is_filled_with_zeros_where_its_size_is_known() {
    let mut document = Graph::new()
        .array("A", "float64", &["3"])
        .array("o", "float64", &["1"])
        .with("t", transient("Array", "k"))
        .next()
        .nodes(vec![
            access("A"),
            map("i", "0:2"),
            tasklet("b = a", &["a"], &["b"]),
            end_of("1"),
            access("t"),
            tasklet("b = a", &["a"], &["b"]),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:2", "3")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(2, "b", 3, "IN_t", resolved(memlet("t", "1:1", "1"), "lambda x, y: x + y")),
            edge(3, "OUT_t", 4, "", resolved(memlet("t", "1:1", "1"), "lambda x, y: x + y")),
            edge(4, "", 5, "a", memlet("t", "1:1", "1")),
            edge(5, "b", 6, "", memlet("o", "0:0", "1")),
        ])
        .document();
    assign(&mut document, 0, json!({"k": "2"}));
    let sdfg = graph::read(document.to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("A", &[1.0, 2.0, 3.0]), ("o", &[0.0])], "o"), [6.0]);
}

#[test]
fn a_copy_between_shapes_of_as_many_elements_takes_all_of_them() {
    for named in ["t", "o"] {
        let subset = if named == "t" { "0:5" } else { "0:1; 0:2" };
        let graph = Graph::new()
            .array("t", "float64", &["6"])
            .array("o", "float64", &["2", "3"])
            .nodes(vec![access("t"), access("o")])
            .edges(vec![edge(0, "", 1, "", memlet(named, subset, "6"))]);
        let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(graph.run(&[("t", &numbers), ("o", &[0.0; 6])], "o"), numbers, "{named}");
    }
}

#[test]
fn an_argument_has_as_many_elements_as_it_is_given() {
    let inside = Graph::new()
        .array("a", "float64", &["2"])
        .nodes(vec![access("a"), tasklet("b = 2 * a", &["a"], &["b"]), access("a")])
        .edges(vec![
            edge(0, "", 1, "a", memlet("a", "0:0", "1")),
            edge(1, "b", 2, "", memlet("a", "3:3", "1")),
        ]);
    let graph = Graph::new()
        .array("A", "float64", &["3", "4"])
        .nodes(vec![access("A"), nested(inside.document(), json!({}), &["a"], &["a"]), access("A")])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", "1:1; 0:3", "4")),
            edge(1, "a", 2, "", memlet("A", "1:1; 0:3", "4")),
        ]);
    let mut a = [3.0; 12];
    let inputs = a;
    a[7] = 6.0;
    assert_eq!(graph.run(&[("A", &inputs)], "A"), a);
}

/// Adds 1 to `o[t]` in a scope that each of these threads runs.
fn persistent(threads: Json, inside: Json) -> Json {
    let mut entry = map("t", "0:0");
    entry["attributes"]["schedule"] = "CPU_Persistent".into();
    entry["attributes"]["omp_num_threads"] = threads;
    let sum = |subset, volume| resolved(memlet("o", subset, volume), "lambda a, b: a + b");
    let graph = Graph::new()
        .array("o", "float64", &["3"])
        .nodes(vec![entry, inside, end_of("0"), access("o")])
        .edges(vec![
            edge(0, "", 1, "", json!({})),
            edge(1, "b", 2, "IN_o", sum("t:t", "1")),
            edge(2, "OUT_o", 3, "", sum("0:2", "3")),
        ]);
    graph.document()
}

#[test]
fn iterations_of_a_persistent_scope_are_its_threads() {
    let one = || tasklet("b = 1", &[], &["b"]);
    let sdfg = graph::read(persistent(json!(2), one()).to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("o", &[1.0; 3])], "o"), [2.0, 2.0, 1.0]);

    let refusal = |document: Json| {
        let read = sdfg_dace::read(document.to_string().as_bytes(), &sdfg_dace::Options::default());
        read.unwrap_err().report.to_string()
    };
    let inner = |nodes: Vec<Json>, edges: Vec<Json>| {
        let graph = Graph::new().array("b", "float64", &["1"]).nodes(nodes).edges(edges);
        nested(graph.document(), json!({}), &[], &["b"])
    };
    let sum = |volume| resolved(memlet("b", "0:0", volume), "lambda a, b: a + b");
    let shared = inner(
        vec![map("i", "0:4"), one(), end_of("0"), access("b")],
        vec![
            edge(0, "", 1, "", json!({})),
            edge(1, "b", 2, "IN_b", sum("1")),
            edge(2, "OUT_b", 3, "", sum("5")),
        ],
    );
    let text = refusal(persistent(json!(2), shared));
    assert!(text.contains("share the iterations"), "{text}");
    // Each thread runs all of an SDFG without maps.
    let own = inner(vec![one(), access("b")], vec![edge(0, "b", 1, "", sum("1"))]);
    let sdfg = graph::read(persistent(json!(2), own).to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("o", &[1.0; 3])], "o"), [2.0, 2.0, 1.0]);
}

/// The environment gives the number of threads, which may be one.
#[test]
fn a_persistent_scope_without_a_number_of_threads_runs_once() {
    let one = tasklet("b = 1", &[], &["b"]);
    let document = persistent(json!(0), one).to_string();
    let import = sdfg_dace::read(document.as_bytes(), &sdfg_dace::Options::default()).unwrap();
    assert!(import.report.to_string().contains("as with one thread"), "{}", import.report);
    assert_eq!(graph::run(&import.sdfg, &[("o", &[1.0; 3])], "o"), [2.0, 1.0, 1.0]);
    // A map inside shares its iterations among the threads: each runs once.
    let inner = Graph::new()
        .array("b", "float64", &["1"])
        .nodes(vec![map("i", "0:4"), tasklet("b = 1", &[], &["b"]), end_of("0"), access("b")])
        .edges(vec![
            edge(0, "", 1, "", json!({})),
            edge(1, "b", 2, "IN_b", resolved(memlet("b", "0:0", "1"), "lambda a, b: a + b")),
            edge(2, "OUT_b", 3, "", resolved(memlet("b", "0:0", "5"), "lambda a, b: a + b")),
        ]);
    let inner = nested(inner.document(), json!({}), &[], &["b"]);
    let sdfg = graph::read(persistent(json!(0), inner).to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("o", &[1.0; 3])], "o"), [6.0, 1.0, 1.0]);
}

/// A number from data that the range of a map never uses.
#[test]
fn a_number_that_a_map_does_not_use_may_be_no_integer() {
    let graph = |range: &str| {
        Graph::new()
            .array("c", "float64", &["1"])
            .array("o", "float64", &["4"])
            .nodes(vec![
                access("c"),
                map("i", range),
                tasklet("b = i", &[], &["b"]),
                end_of("1"),
                access("o"),
            ])
            .edges(vec![
                edge(0, "", 1, "n", memlet("c", "0:0", "1")),
                edge(1, "", 2, "", json!({})),
                edge(2, "b", 3, "IN_o", memlet("o", "i:i", "1")),
                edge(3, "OUT_o", 4, "", memlet("o", "0:3", "4")),
            ])
    };
    assert_eq!(graph("1:3").run(&[("c", &[0.5]), ("o", &[9.0; 4])], "o"), [9.0, 1.0, 2.0, 3.0]);
    let sdfg = graph::read(graph("1:n").document().to_string().as_bytes());
    let rejected = sdfg::validate::validate(sdfg).map(|_| ()).unwrap_err().to_string();
    assert!(rejected.contains("a symbol is an integer"), "{rejected}");
}

#[test]
fn a_copy_of_elements_to_where_they_are_moves_nothing() {
    let graph = Graph::new()
        .array("A", "float64", &["2"])
        .nodes(vec![access("A"), access("A"), tasklet("b = 2 * a", &["a"], &["b"]), access("A")])
        .edges(vec![
            edge(0, "", 1, "", to(memlet("A", "0:1", "2"), "0:1")),
            edge(1, "", 2, "a", memlet("A", "0:0", "1")),
            edge(2, "b", 3, "", memlet("A", "1:1", "1")),
        ]);
    assert_eq!(graph.run(&[("A", &[3.0, 1.0])], "A"), [3.0, 6.0]);
    let text = sdfg::text::print(&graph::read(graph.document().to_string().as_bytes()));
    assert!(text.contains("order A -> A_1"), "{text}");
}

#[test]
fn a_copy_through_a_border_to_the_same_elements_is_an_order() {
    let whole = || to(memlet("A", "0:2", "3"), "0:2");
    let graph = Graph::new()
        .array("A", "float64", &["3"])
        .array("o", "float64", &["1"])
        .nodes(vec![
            access("A"),
            map("i", "0:2:1"),
            access("A"),
            tasklet("b = i", &[], &["b"]),
            access("A"),
            end_of("1"),
            access("A"),
            tasklet("b = a[0] + a[1] + a[2]", &["a"], &["b"]),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", whole()),
            edge(1, "OUT_A", 2, "", whole()),
            edge(2, "", 3, "", json!({})),
            edge(3, "b", 4, "", memlet("A", "i:i", "1")),
            edge(4, "", 5, "IN_A", whole()),
            edge(5, "OUT_A", 6, "", whole()),
            edge(6, "", 7, "a", memlet("A", "0:2", "3")),
            edge(7, "b", 8, "", memlet("o", "0:0", "1")),
        ]);
    assert_eq!(graph.run(&[("A", &[9.0; 3]), ("o", &[0.0])], "o"), [3.0]);
    let text = sdfg::text::print(&graph::read(graph.document().to_string().as_bytes()));
    for order in ["order A -> m", "order m -> A_1", "order A_2 -> m", "order m -> A_3"] {
        assert!(text.contains(order), "no `{order}` in\n{text}");
    }
}

#[test]
fn a_stream_that_may_be_empty_is_not_filled() {
    let mut argument = graph::stream("float64");
    argument["attributes"]["transient"] = false.into();
    let pushes = Graph::new()
        .with("a", graph::scalar("float64"))
        .with("s", argument)
        .next()
        .nodes(vec![access("a"), access("s")])
        .edges(vec![edge(0, "", 1, "", graph::dynamic(memlet("s", "0:0", "1")))])
        .next();
    let mut pushes = pushes.document();
    let under = |text: &str| json!({"condition": {"string_data": text, "language": "Python"}});
    pushes["edges"][0]["attributes"]["data"]["attributes"] = under("a > 1");
    let mut past = pushes["edges"][0].clone();
    past["dst"] = "2".into();
    past["attributes"]["data"]["attributes"] = under("not (a > 1)");
    pushes["edges"].as_array_mut().unwrap().push(past);
    let graph = Graph::new()
        .array("A", "float64", &["3"])
        .with("S", graph::stream("float64"))
        .array("o", "float64", &["3"])
        .nodes(vec![
            access("A"),
            map("i", "0:2:1"),
            nested(pushes, json!({}), &["a"], &["s"]),
            end_of("1"),
            access("S"),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:2", "3")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(2, "s", 3, "IN_S", graph::dynamic(memlet("S", "0:0", "1"))),
            edge(3, "OUT_S", 4, "", graph::dynamic(memlet("S", "0:0", "3"))),
            edge(4, "", 5, "", memlet("S", "0:0", "1")),
        ]);
    assert_eq!(graph.run(&[("A", &[2.0, 1.0, 2.0]), ("o", &[7.0; 3])], "o"), [2.0, 2.0, 7.0]);
}

/// A map whose iterations DaCe runs one after the other.
fn sequential(param: &str, range: &str) -> Json {
    let mut entry = map(param, range);
    entry["attributes"]["schedule"] = "Sequential".into();
    entry
}

#[test]
fn sequential_iterations_that_depend_on_each_other_are_loops() {
    // The last value stays, from the highest index down.
    let last = Graph::new().array("A", "float64", &["4"]).array("o", "float64", &["1"]).nodes(vec![
        access("A"),
        sequential("i", "3:1:-1"),
        tasklet("b = 2 * a", &["a"], &["b"]),
        end_of("1"),
        access("o"),
    ]);
    let last = last.edges(vec![
        edge(0, "", 1, "IN_A", memlet("A", "0:3", "4")),
        edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
        edge(2, "b", 3, "IN_o", memlet("o", "0:0", "1")),
        edge(3, "OUT_o", 4, "", memlet("o", "0:0", "1")),
    ]);
    let text = sdfg::text::print(&graph::read(last.document().to_string().as_bytes()));
    assert!(text.contains("for \"m.i0\": i = 3:0:-1"), "{text}");
    assert_eq!(last.run(&[("A", &[1.0, 2.0, 3.0, 4.0]), ("o", &[0.0])], "o"), [4.0]);

    // Running sums of columns; what is written is named within the inner scope, and by a node before it.
    let sums = |schedule: &dyn Fn(&str, &str) -> Json| {
        let empty = json!({});
        Graph::new()
            .array("A", "float64", &["3", "2"])
            .nodes(vec![
                access("A"),
                access("A"),
                map("j", "0:1"),
                schedule("i", "0:1"),
                tasklet("b = a + c", &["a", "c"], &["b"]),
                end_of("3"),
                end_of("2"),
            ])
            .edges(vec![
                edge(1, "", 2, "IN_A", memlet("A", "0:2; 0:1", "6")),
                edge(2, "OUT_A", 3, "IN_A", memlet("A", "0:2; j:j", "3")),
                edge(3, "OUT_A", 4, "a", memlet("A", "i:i; j:j", "1")),
                edge(3, "OUT_A", 4, "c", memlet("A", "i + 1:i + 1; j:j", "1")),
                edge(4, "b", 0, "", memlet("A", "i + 1:i + 1; j:j", "1")),
                edge(0, "", 5, "", empty.clone()),
                edge(5, "", 6, "", empty),
            ])
    };
    let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(sums(&sequential).run(&[("A", &numbers)], "A"), [1.0, 2.0, 4.0, 6.0, 9.0, 12.0]);
    // Without an order, it is not valid.
    let unordered = graph::read(sums(&map).document().to_string().as_bytes());
    assert!(sdfg::validate::validate(unordered).is_err());
}

#[test]
fn sequential_iterations_may_meet_in_many_ways() {
    // A tasklet in a map over `i`, with what it reads of `A` and writes to `A`; the text of the graph, and `A`.
    let found = |read: &str, written: &str, code: &str| {
        let graph = Graph::new().array("A", "float64", &["6"]).nodes(vec![
            access("A"),
            sequential("i", "0:2"),
            tasklet(code, &["a"], &["b"]),
            end_of("1"),
            access("A"),
        ]);
        let graph = graph.edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:5", "6")),
            edge(1, "OUT_A", 2, "a", memlet("A", read, "1")),
            edge(2, "b", 3, "IN_A", memlet("A", written, "1")),
            edge(3, "OUT_A", 4, "", memlet("A", "0:5", "6")),
        ]);
        let text = sdfg::text::print(&graph::read(graph.document().to_string().as_bytes()));
        (text.contains("for \"m.i0\""), graph.run(&[("A", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])], "A"))
    };
    let plain = "b = 10 * a";
    assert_eq!(found("i:i", "i + 1:i + 1", plain), (true, vec![1.0, 10.0, 100.0, 1000.0, 5.0, 6.0]));
    assert_eq!(found("i:i", "Mod(i, 2):Mod(i, 2)", plain), (true, vec![30.0, 20.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(found("5:5", "5:5", "b = a + 1"), (true, vec![1.0, 2.0, 3.0, 4.0, 5.0, 9.0]));
    assert_eq!(found("i:i", "5:5", "b[0] = b[0] + a"), (true, vec![1.0, 2.0, 3.0, 4.0, 5.0, 12.0]));
    assert_eq!(found("i:i", "i:i", plain), (false, vec![10.0, 20.0, 30.0, 4.0, 5.0, 6.0]));
    assert_eq!(found("2*i:2*i", "2*i + 1:2*i + 1", plain), (false, vec![1.0, 10.0, 3.0, 30.0, 5.0, 50.0]));
}

#[test]
fn a_stream_in_a_sequential_scope_is_that_of_an_iteration() {
    let graph = Graph::new()
        .array("A", "float64", &["4"])
        .with("S", stream("float64"))
        .nodes(vec![
            access("A"),
            sequential("i", "0:2"),
            tasklet("b = a + 1\nb = 100", &["a"], &["b"]),
            access("S"),
            tasklet("b = a", &["a"], &["b"]),
            end_of("1"),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:3", "4")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(2, "b", 3, "", memlet("S", "0:0", "2")),
            edge(3, "", 4, "a", memlet("S", "0:0", "1")),
            edge(4, "b", 5, "IN_A", memlet("A", "i + 1:i + 1", "1")),
            edge(5, "OUT_A", 6, "", memlet("A", "0:3", "4")),
        ]);
    assert_eq!(graph.run(&[("A", &[1.0, 0.0, 0.0, 0.0])], "A"), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn sequential_iterations_that_do_not_depend_on_each_other_stay_a_map() {
    let graph = |read: &str, written: &str| {
        let graph = Graph::new()
            .array("A", "float64", &["2", "8"])
            .nodes(vec![
                access("A"),
                sequential("t", "0:7:4"),
                map("i", "t:t + 3"),
                tasklet("b = 2 * a", &["a"], &["b"]),
                end_of("2"),
                end_of("1"),
                access("A"),
            ])
            .edges(vec![
                edge(0, "", 1, "IN_A", memlet("A", "0:1; 0:7", "16")),
                edge(1, "OUT_A", 2, "IN_A", memlet("A", "0:1; t:t + 3", "8")),
                edge(2, "OUT_A", 3, "a", memlet("A", read, "1")),
                edge(3, "b", 4, "IN_A", memlet("A", written, "1")),
                edge(4, "OUT_A", 5, "IN_A", memlet("A", "0:1; t:t + 3", "8")),
                edge(5, "OUT_A", 6, "", memlet("A", "0:1; 0:7", "16")),
            ]);
        sdfg::text::print(&graph::read(graph.document().to_string().as_bytes()))
    };
    assert!(graph("0:0; i:i", "0:0; i:i").contains("map m [t = 0:8:4] schedule(sequential)"));
    assert!(graph("1:1; 7 - i:7 - i", "0:0; i:i").contains("map m [t = 0:8:4] schedule(sequential)"));
    assert!(graph("0:0; 7 - i:7 - i", "0:0; i:i").contains("for \"m.t0\": t = 0:8:4"));
}

#[test]
fn schedules_and_storages_of_accelerators_are_called_so() {
    let mut entry = map("i", "0:3");
    entry["attributes"]["schedule"] = "SoftHier_Device".into();
    let local = json!({"type": "Array", "attributes": {
        "dtype": "float64", "shape": ["4"], "transient": true, "storage": "SoftHier_TCDM"}});
    let graph = Graph::new()
        .with("t", local)
        .nodes(vec![entry, tasklet("b = 1", &[], &["b"]), end_of("0"), access("t")])
        .edges(vec![
            edge(0, "", 1, "", json!({})),
            edge(1, "b", 2, "IN_t", memlet("t", "i:i", "1")),
            edge(2, "OUT_t", 3, "", memlet("t", "0:3", "4")),
        ]);
    let read = sdfg_dace::read(graph.document().to_string().as_bytes(), &sdfg_dace::Options::default());
    let text = read.unwrap_err().report.to_string();
    assert!(
        text.contains("`SoftHier_TCDM` is not supported: it is one of an accelerator (SoftHier)"),
        "{text}"
    );
}
