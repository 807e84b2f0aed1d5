//! Tests of structures: members as containers of their own, each in its smallest graph, with the values that the
//! graph computes.

use crate::graph::{Graph, access, assign, edge, end_of, map, memlet, nested, read, run, tasklet};
use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg::value::Value;
use serde_json::{Value as Json, json};

fn array(dtype: &str, shape: &[&str]) -> Json {
    json!({"type": "Array", "attributes": {"dtype": dtype, "shape": shape}})
}

fn number(dtype: &str) -> Json {
    json!({"type": "Scalar", "attributes": {"dtype": dtype, "shape": ["1"]}})
}

/// A structure, or with another kind a view of one.
fn structure(kind: &str, members: &[(&str, Json)]) -> Json {
    json!({"type": kind, "attributes": {
        "name": "t", "shape": ["1"], "members": members, "transient": kind == "StructureView",
        "dtype": {"type": "pointer", "dtype": {"type": "struct", "name": "t", "data": [], "length": [], "bytes": 8}}}})
}

fn structures(shape: &[&str], members: &[(&str, Json)]) -> Json {
    json!({"type": "ContainerArray", "attributes": {
        "stype": structure("Structure", members), "shape": shape, "strides": ["1"], "total_size": shape[0],
        "dtype": {"type": "pointer", "dtype": {"type": "struct", "name": "t", "data": []}}}})
}

fn view(dtype: &str, shape: &[&str]) -> Json {
    json!({"type": "ArrayView", "attributes": {"dtype": dtype, "shape": shape, "transient": true}})
}

fn refusal(document: &Json) -> String {
    let refused = sdfg_dace::read(document.to_string().as_bytes(), &sdfg_dace::Options::default());
    refused.expect_err("the graph is read").report.to_string()
}

#[test]
fn members_are_read_and_written_through_views_and_by_name() {
    let members = [("x", array("float64", &["3"])), ("n", number("int32"))];
    let graph = Graph::new()
        .with("s", structure("Structure", &members))
        .with("v", view("float64", &["3"]))
        .with("w", view("float64", &["3"]))
        .nodes(vec![
            access("s"),
            access("v"),
            tasklet("b = a + m", &["a", "m"], &["b"]),
            access("w"),
            access("s"),
            access("s.n"),
        ])
        .edges(vec![
            edge(0, "", 1, "views", memlet("s.x", "0:2", "3")),
            edge(1, "", 2, "a", memlet("v", "1:1", "1")),
            edge(5, "", 2, "m", memlet("s.n", "0:0", "1")),
            edge(2, "b", 3, "", memlet("w", "2:2", "1")),
            edge(3, "views", 4, "", memlet("s.x", "0:2", "3")),
        ]);
    assert_eq!(graph.run(&[("s_x", &[1.0, 2.0, 3.0]), ("s_n", &[5.0])], "s_x"), [1.0, 2.0, 7.0]);
}

#[test]
fn views_of_structures_show_members_of_members() {
    let inner = [("x", array("float64", &["2"])), ("y", array("float64", &["2"]))];
    let graph = Graph::new()
        .with("s", structure("Structure", &[("in", structure("Structure", &inner))]))
        .with("p", structure("StructureView", &inner))
        .with("q", structure("StructureView", &inner))
        .nodes(vec![
            access("s"),
            access("p"),
            access("q"),
            tasklet("b = 10 * a", &["a"], &["b"]),
            access("p"),
            access("s"),
        ])
        .edges(vec![
            edge(0, "", 1, "views", memlet("s.in", "0:0", "1")),
            edge(1, "", 2, "views", memlet("p", "0:0", "1")),
            edge(2, "", 3, "a", memlet("q.x", "1:1", "1")),
            edge(3, "b", 4, "", memlet("p.y", "0:0", "1")),
            edge(4, "views", 5, "", memlet("s.in", "0:0", "1")),
        ]);
    assert_eq!(graph.run(&[("s_in_x", &[1.0, 2.0]), ("s_in_y", &[3.0, 4.0])], "s_in_y"), [20.0, 4.0]);
}

#[test]
fn a_write_through_one_view_comes_before_a_read_through_another() {
    let members = [("x", array("float64", &["1"]))];
    // Without the way through the structure, nodes would run in the order of the file.
    let graph = Graph::new()
        .with("s", structure("Structure", &members))
        .array("o", "float64", &["1"])
        .with("p", structure("StructureView", &members))
        .with("q", structure("StructureView", &members))
        .nodes(vec![
            access("q"),
            tasklet("d = c", &["c"], &["d"]),
            access("o"),
            tasklet("b = 4.0", &[], &["b"]),
            access("p"),
            access("s"),
        ])
        .edges(vec![
            edge(0, "", 1, "c", memlet("q.x", "0:0", "1")),
            edge(1, "d", 2, "", memlet("o", "0:0", "1")),
            edge(3, "b", 4, "", memlet("p.x", "0:0", "1")),
            edge(4, "views", 5, "", memlet("s", "0:0", "1")),
            edge(5, "", 0, "views", memlet("s", "0:0", "1")),
        ]);
    assert_eq!(graph.run(&[("s_x", &[1.0]), ("o", &[0.0])], "o"), [4.0]);
}

#[test]
fn conditions_and_values_name_members_of_members_and_their_elements() {
    let inner = [("last", array("int32", &["4"])), ("n", number("int32"))];
    let graph = Graph::new()
        .with(
            "p",
            structure("Structure", &[("edges", structure("Structure", &inner)), ("k", number("int32"))]),
        )
        .array("o", "int32", &["2"])
        .nodes(Vec::new())
        .next()
        .nodes(vec![tasklet("b = i + 10 * j", &[], &["b"]), access("o")])
        .edges(vec![edge(0, "b", 1, "", memlet("o", "1:1", "1"))]);
    let mut document = graph.document();
    assign(
        &mut document,
        0,
        json!({"i": "p[0].edges.last[p.edges[0].n - 1]", "j": "(p.k + p[0].edges.last[(p.k)])"}),
    );
    let sdfg = read(document.to_string().as_bytes());
    let inputs: &[(&str, &[f64])] = &[
        ("p_edges_last", &[2.0, 3.0, 5.0, 7.0]),
        ("p_edges_n", &[4.0]),
        ("p_k", &[1.0]),
        ("o", &[0.0, 0.0]),
    ];
    assert_eq!(run(&sdfg, inputs, "o"), [0.0, 47.0]);
}

#[test]
fn elements_of_arrays_of_structures_are_selected_by_subsets_and_code() {
    let members = [("x", array("float64", &["2"])), ("c", number("float64"))];
    let graph = Graph::new()
        .with("a", structures(&["3"], &members))
        .with("p", structure("StructureView", &members))
        .array("o", "float64", &["2"])
        .nodes(vec![
            access("a"),
            access("p"),
            tasklet("b = x + i.c + i.x[1]", &["x", "i"], &["b"]),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "views", memlet("a", "2:2", "1")),
            edge(1, "", 2, "x", memlet("p.x", "0:0", "1")),
            edge(0, "", 2, "i", memlet("a", "1:1", "1")),
            edge(2, "b", 3, "", memlet("o", "0:0", "1")),
        ]);
    let inputs: &[(&str, &[f64])] =
        &[("a_x", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), ("a_c", &[10.0, 20.0, 30.0]), ("o", &[0.0, 0.0])];
    assert_eq!(graph.run(inputs, "o"), [29.0, 0.0]);
}

#[test]
fn nested_programs_get_the_members_that_they_use_through_scopes() {
    let members =
        [("x", array("float64", &["4"])), ("y", array("float64", &["4"])), ("z", number("float64"))];
    let inner = Graph::new()
        .with("t", structure("Structure", &members))
        .nodes(vec![access("t.x"), tasklet("b = a * a", &["a"], &["b"]), access("t.y")])
        .edges(vec![
            edge(0, "", 1, "a", memlet("t.x", "i:i", "1")),
            edge(1, "b", 2, "", memlet("t.y", "i:i", "1")),
        ]);
    let graph = Graph::new()
        .with("s", structure("Structure", &members))
        .nodes(vec![
            access("s"),
            map("i", "0:3:1"),
            nested(inner.document(), json!({"i": "i"}), &["t"], &["t"]),
            end_of("1"),
            access("s"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_s", memlet("s", "0:0", "1")),
            edge(1, "OUT_s", 2, "t", memlet("s", "0:0", "1")),
            edge(2, "t", 3, "IN_s", memlet("s", "0:0", "1")),
            edge(3, "OUT_s", 4, "", memlet("s", "0:0", "1")),
        ]);
    let found = graph.run(&[("s_x", &[1.0, 2.0, 3.0, 4.0]), ("s_y", &[0.0; 4])], "s_y");
    assert_eq!(found, [1.0, 4.0, 9.0, 16.0]);
}

#[test]
fn a_member_has_another_name_where_its_own_is_taken() {
    let graph = Graph::new()
        .with("s", structure("Structure", &[("x", number("float64"))]))
        .array("s_x", "float64", &["1"])
        .nodes(vec![access("s.x"), access("s_x")])
        .edges(vec![edge(0, "", 1, "", memlet("s.x", "0:0", "1"))]);
    assert_eq!(graph.run(&[("s_x_", &[6.0]), ("s_x", &[0.0])], "s_x"), [6.0]);
}

#[test]
fn the_message_names_the_access_that_prevents_flattening() {
    let members = [("x", number("float64"))];
    let copied = Graph::new()
        .with("s", structure("Structure", &members))
        .array("o", "float64", &["1"])
        .nodes(vec![access("s"), access("o")])
        .edges(vec![edge(0, "", 1, "", memlet("s", "0:0", "1"))]);
    let told = refusal(&copied.document());
    assert!(told.contains("D102"), "{told}");
    assert!(told.contains("not flattened because of `s`: a structure is copied as a whole"), "{told}");
    // Between structures, such a copy was taken for the edge of a view, and moved nothing.
    let between = Graph::new()
        .with("s", structure("Structure", &members))
        .with("t", structure("Structure", &members))
        .nodes(vec![access("s"), access("t")])
        .edges(vec![edge(0, "", 1, "", memlet("s", "0:0", "1"))]);
    let told = refusal(&between.document());
    assert!(told.contains("not flattened because of `s`: a structure is copied as a whole"), "{told}");
    let all = Graph::new()
        .with("a", structures(&["3"], &members))
        .array("o", "float64", &["1"])
        .nodes(vec![access("a"), access("o")])
        .edges(vec![edge(0, "", 1, "", memlet("a.x", "0:0", "1"))]);
    let told = refusal(&all.document());
    assert!(told.contains("`a.x`: it names a member of all elements of an array of structures"), "{told}");
    let mut unknown = Graph::new().with("s", structure("Structure", &members)).next().document();
    assign(&mut unknown, 0, json!({"i": "s.y + 1"}));
    let told = refusal(&unknown);
    assert!(told.contains("`s.y`: the structure has no such member"), "{told}");
    let deep = format!("{}0{}", "s.x[".repeat(20_000), "]".repeat(20_000));
    assign(&mut unknown, 0, json!({"i": deep}));
    let told = refusal(&unknown);
    assert!(told.contains("its indices are nested too deeply"), "{}", &told[told.len() - 100..]);
}

#[test]
fn code_that_sets_symbols_from_members_when_the_program_starts_is_read() {
    let members = [("x", array("float64", &["n"])), ("n", number("int32")), ("first", number("int32"))];
    let graph = Graph::new()
        .with("s", structure("Structure", &members))
        .array("o", "float64", &["1"])
        .nodes(vec![access("s.x"), access("o")])
        .edges(vec![edge(0, "", 1, "", memlet("s.x", "5 - first:5 - first", "1"))]);
    let mut document = graph.document();
    let frame = |text: &str| json!({"frame": {"string_data": text, "language": "CPP"}});
    document["attributes"]["symbols"] = json!({"n": "int32", "first": "int32"});
    document["attributes"]["global_code"] = frame("int n;\nint first;\n");
    document["attributes"]["init_code"] = frame("n = s->n;\nfirst = s->first;\n");
    let sdfg = read(document.to_string().as_bytes());
    let arguments: Vec<&str> = sdfg.arguments().map(|(_, found)| found.name.as_str()).collect();
    assert_eq!(arguments, ["o", "s_first", "s_x"], "an extent comes with the array");
    let program = sdfg::validate::validate(sdfg).unwrap();
    let mut arguments = sdfg::interpret::Arguments::new()
        .with("s_x", sdfg::tensor::Tensor::vector(&[1.0, 2.0, 3.0, 4.0]))
        .with("s_first", sdfg::tensor::Tensor::scalar(3_i32))
        .with("o", sdfg::tensor::Tensor::vector(&[0.0]));
    let options = sdfg::interpret::Options::default();
    sdfg::interpret::Interpreter::new(&program).unwrap().run(&mut arguments, &options).unwrap();
    assert_eq!(arguments.get("o").unwrap().to_vec::<f64>().unwrap(), [3.0]);
    document["attributes"]["init_code"] = frame("n = s->n;\nfirst = s->gone;\n");
    let sdfg = read(document.to_string().as_bytes());
    let symbols: Vec<&str> = sdfg.symbols().map(|(name, _)| name.as_str()).collect();
    assert_eq!(symbols, ["first", "n"], "a member that is not described leaves its symbol to the caller");
    document["attributes"]["init_code"] = frame("n = s->n;\nfirst = compute(s);\n");
    assert!(refusal(&document).contains("D106"));
}

#[test]
fn an_array_is_allocated_whatever_its_elements_are() {
    let members = [("x", array("float64", &["2"])), ("one", array("int32", &["1"]))];
    let graph = Graph::new()
        .with("s", structure("Structure", &members))
        .array("o", "int32", &["1"])
        .nodes(Vec::new())
        .next()
        .nodes(vec![tasklet("b = i + 10 * j + 100 * k", &[], &["b"]), access("o")])
        .edges(vec![edge(0, "b", 1, "", memlet("o", "0:0", "1"))]);
    let mut document = graph.document();
    let values =
        json!({"i": "1 if s.x != 0 else 0", "j": "1 if (0 == s.x) else 0", "k": "1 if s.one != 0 else 0"});
    assign(&mut document, 0, values);
    let sdfg = read(document.to_string().as_bytes());
    let arguments: Vec<&str> = sdfg.arguments().map(|(_, found)| found.name.as_str()).collect();
    let given: Vec<(&str, &[f64])> = [("s_x", &[0.0, 0.0][..]), ("s_one", &[0.0][..]), ("o", &[7.0][..])]
        .into_iter()
        .filter(|(name, _)| arguments.contains(name))
        .collect();
    assert_eq!(run(&sdfg, &given, "o"), [1.0]);
}

/// The value of an expression of two numbers of a type.
fn of_bits(expression: &str, dtype: &str, value: f64, position: f64) -> f64 {
    let graph = Graph::new()
        .array("a", dtype, &["1"])
        .array("p", "int32", &["1"])
        .array("o", dtype, &["1"])
        .nodes(vec![
            access("a"),
            access("p"),
            tasklet(&format!("r = {expression}"), &["v", "k"], &["r"]),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 2, "v", memlet("a", "0:0", "1")),
            edge(1, "", 2, "k", memlet("p", "0:0", "1")),
            edge(2, "r", 3, "", memlet("o", "0:0", "1")),
        ]);
    graph.run(&[("a", &[value]), ("p", &[position]), ("o", &[0.0])], "o")[0]
}

#[test]
fn functions_of_bits_compute_in_the_type_of_the_value() {
    let cases: [(&str, &str, f64, f64, f64); 14] = [
        ("__bitwise_and(v, __left_shift(1, k))", "int32", 13.0, 3.0, 8.0),
        ("__int_floor(v, 4)", "int32", 13.0, 0.0, 3.0),
        ("bitwise_set(v, k)", "int32", 5.0, 3.0, 13.0),
        ("bitwise_set(v, 31)", "int32", 0.0, 0.0, -2_147_483_648.0),
        ("bitwise_set(v, k)", "int64", 0.0, 40.0, 1_099_511_627_776.0),
        ("bitwise_clear(v, k)", "int32", 13.0, 3.0, 5.0),
        ("bitwise_clear(v, k)", "int64", 1_099_511_627_777.0, 40.0, 1.0),
        ("1 if bitwise_test(v, k) == 1 else 0", "int32", -1.0, 31.0, 1.0),
        ("1 if bitwise_test(v, k) == 1 else 0", "int32", 4.0, 1.0, 0.0),
        ("bitwise_extract(v, k, 4)", "int32", 0b1011_0100 as f64, 2.0, 0b1101 as f64),
        ("bitwise_extract(v, 0, 29)", "int32", -1.0, 0.0, 536_870_911.0),
        ("bitwise_shift(v, k)", "int32", 5.0, 2.0, 20.0),
        ("bitwise_shift(v, k)", "int32", -20.0, -2.0, -5.0),
        ("bitwise_shift(bitwise_extract(v, 0, 29), -1)", "int32", 9.0, 0.0, 4.0),
    ];
    for (expression, dtype, value, position, expected) in cases {
        assert_eq!(
            of_bits(expression, dtype, value, position),
            expected,
            "{expression} of {value} and {position}"
        );
    }
}

/// An array of structs of C with a pointer.
fn records(shape: &[&str]) -> Json {
    let fields =
        json!([["n", "int32"], ["data", {"type": "pointer", "dtype": "float64"}], ["scale", "float64"]]);
    json!({"type": "Array", "attributes": {"shape": shape, "dtype": {
        "type": "struct", "name": "rows", "data": fields, "length": [["data", "n"]], "bytes": 24}}})
}

/// A map over the elements of `s` and `r`, with a tasklet that has both.
fn of_records(code: &str, language: &str) -> Graph {
    let mut inner = tasklet(code, &["a"], &["b"]);
    inner["attributes"]["code"]["language"] = language.into();
    Graph::new()
        .with("s", records(&["2"]))
        .with("r", records(&["2"]))
        .nodes(vec![access("s"), map("i", "0:1"), inner, end_of("1"), access("r")])
        .edges(vec![
            edge(0, "", 1, "IN_s", memlet("s", "0:1", "2")),
            edge(1, "OUT_s", 2, "a", memlet("s", "i:i", "1")),
            edge(2, "b", 3, "IN_r", memlet("r", "i:i", "1")),
            edge(3, "OUT_r", 4, "", memlet("r", "0:1", "2")),
        ])
}

/// Runs a graph of records whose pointers lead to three elements at most, and gives those of `r`.
fn run_records(graph: &Graph) -> Vec<f64> {
    let sdfg = read(graph.document().to_string().as_bytes());
    let program = validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
    let doubles = |shape: &[i64], values: &[f64]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor::from_bytes(ScalarType::F64.into(), shape.to_vec(), bytes).unwrap()
    };
    let mut arguments = Arguments::new();
    for (symbol, _) in program.sdfg().symbols() {
        assert!(["s_data_size", "r_data_size"].contains(&symbol.as_str()), "{symbol}");
        arguments.set_symbol(symbol.as_str(), 3);
    }
    for (_, container) in program.sdfg().arguments() {
        arguments.set(
            &container.name,
            match container.name.as_str() {
                "s_n" => {
                    let bytes = [2_i32, 3].iter().flat_map(|value| value.to_le_bytes()).collect();
                    Tensor::from_bytes(ScalarType::I32.into(), vec![2], bytes).unwrap()
                }
                "s_data" => doubles(&[2, 3], &[1.0, 2.0, 9.0, 4.0, 5.0, 6.0]),
                "s_scale" => doubles(&[2], &[10.0, 100.0]),
                "r_data" => doubles(&[2, 3], &[0.0; 6]),
                other => panic!("{other} is not used"),
            },
        );
    }
    Interpreter::new(&program).unwrap().run(&mut arguments, &Options::default()).unwrap();
    let as_float = |value| match value {
        Value::F64(number) => number,
        other => panic!("{other:?}"),
    };
    arguments.get("r_data").unwrap().values().map(as_float).collect()
}

#[test]
fn structs_with_pointers_are_members_with_a_capacity() {
    let code = "for j in range(a.n):\n    b.data[j] = a.scale * a.data[j]";
    assert_eq!(run_records(&of_records(code, "Python")), [10.0, 20.0, 0.0, 400.0, 500.0, 600.0]);
    let code = "b->data[1] = a.data[0] + a.scale;";
    assert_eq!(run_records(&of_records(code, "CPP")), [0.0, 11.0, 0.0, 0.0, 104.0, 0.0]);
}
