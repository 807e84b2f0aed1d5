//! Tests of constructs in DaCe's files: each in its smallest graph, with the values that the graph computes.

mod code;
mod functions;
mod graph;
mod hazards;
mod numbers;
mod order;
mod scopes;
mod sizes;
mod spellings;
mod structures;

use std::cell::RefCell;

use graph::{
    Graph, access, assign, consume, edge, end_of, map, memlet, nested, scalar, stream, tasklet, to, vector,
};
use sdfg::interpret::{Arguments, Callbacks, ExternalArgument, Interpreter, Options, Order};
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg::value::Value;
use serde_json::json;

#[test]
fn a_scope_with_chunks_takes_one_element_at_a_time() {
    let graph = Graph::new()
        .with("S", stream("int32"))
        .array("A", "int32", &["3"])
        .array("o", "int32", &["1"])
        .nodes(vec![
            access("A"),
            access("S"),
            consume("2"),
            tasklet("for i in range(__dace_cons_numelems):\n    r = s[i]", &["s"], &["r"]),
            json!({"type": "ConsumeExit", "label": "c", "attributes": {}, "scope_entry": "2"}),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "", memlet("A", "0:2", "3")),
            edge(1, "", 2, "IN_stream", memlet("S", "0:0", "3")),
            edge(2, "OUT_stream", 3, "s", memlet("S", "0:1", "2")),
            edge(3, "r", 4, "IN_o", graph::resolved(memlet("o", "0:0", "1"), "lambda a, b: a + b")),
            edge(4, "OUT_o", 5, "", graph::resolved(memlet("o", "0:0", "3"), "lambda a, b: a + b")),
        ]);
    assert_eq!(graph.run(&[("A", &[2.0, 3.0, 5.0]), ("o", &[1.0])], "o"), [11.0]);
}

#[test]
fn a_vector_at_one_element_is_that_and_its_neighbours() {
    let graph = Graph::new()
        .array("A", "float32", &["4"])
        .array("B", "float32", &["4"])
        .nodes(vec![
            access("A"),
            map("i", "0:3:2"),
            json!({"type": "Tasklet", "label": "t", "attributes": {
                "code": {"string_data": "b = max(a, 0.0)", "language": "Python"},
                "in_connectors": {"a": vector("float32", 2)}, "out_connectors": {"b": vector("float32", 2)}}}),
            end_of("1"),
            access("B"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:3", "4")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(2, "b", 3, "IN_B", memlet("B", "i:i", "1")),
            edge(3, "OUT_B", 4, "", memlet("B", "0:3", "4")),
        ]);
    assert_eq!(graph.run(&[("A", &[1.0, -2.0, 3.0, 4.0]), ("B", &[9.0; 4])], "B"), [1.0, 0.0, 3.0, 4.0]);
}

/// Result of a vectorised map that resolves `a * a` into one of three elements.
fn folded(function: &str) -> Graph {
    Graph::new()
        .array("A", "float32", &["8"])
        .array("B", "float32", &["3"])
        .nodes(vec![
            access("A"),
            map("i", "0:7:4"),
            json!({"type": "Tasklet", "label": "t", "attributes": {
                "code": {"string_data": "s = a * a\nb = s", "language": "Python"},
                "in_connectors": {"a": vector("float32", 4)}, "out_connectors": {"b": vector("float32", 4)}}}),
            end_of("1"),
            access("B"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:7", "8")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i+3", "4")),
            edge(2, "b", 3, "IN_B", graph::resolved(memlet("B", "1:1", "1"), function)),
            edge(3, "OUT_B", 4, "", graph::resolved(memlet("B", "1:1", "2"), function)),
        ])
}

/// As in DaCe's vectorised sums: the lanes do not go to neighbours of the element, as they do without a resolution.
#[test]
fn lanes_that_are_resolved_into_one_element_are_resolved_one_after_the_other() {
    let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    for (function, expected) in
        [("lambda a, b: a + b", 214.0), ("lambda x, y: max(y, x)", 64.0), ("lambda a, b: min(a, b)", 1.0)]
    {
        let found = folded(function).run(&[("A", &numbers), ("B", &[10.0; 3])], "B");
        assert_eq!(found, [10.0, expected, 10.0], "{function}");
    }
    // The same of an element that is a vector.
    let graph = Graph::new()
        .with("A", json!({"type": "Array", "attributes": {"dtype": vector("float32", 2), "shape": ["2"]}}))
        .array("B", "float32", &["2"])
        .nodes(vec![
            access("A"),
            json!({"type": "Tasklet", "label": "t", "attributes": {
                "code": {"string_data": "b = 2 * a", "language": "Python"},
                "in_connectors": {"a": vector("float32", 2)}, "out_connectors": {"b": vector("float32", 2)}}}),
            access("B"),
        ])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", "1:1", "1")),
            edge(1, "b", 2, "", graph::resolved(memlet("B", "0:0", "1"), "lambda a, b: a + b")),
        ]);
    assert_eq!(graph.run(&[("A", &numbers[..4]), ("B", &[10.0; 2])], "B"), [24.0, 10.0]);
    let document = folded("lambda a, b: a - b").document().to_string();
    let refused = sdfg_dace::read(document.as_bytes(), &sdfg_dace::Options::default()).unwrap_err();
    assert!(refused.to_string().contains("4 lanes of `b`"), "{refused}");
}

#[test]
fn a_copy_into_a_stream_takes_as_many_elements_as_its_memlet_says() {
    let graph = Graph::new()
        .array("A", "int32", &["4"])
        .with("S", stream("int32"))
        .array("B", "int32", &["4"])
        .nodes(vec![access("A"), access("S"), access("B")])
        .edges(vec![
            edge(0, "", 1, "", memlet("S", "0:0", "2")),
            edge(1, "", 2, "", memlet("B", "0:3", "4")),
        ]);
    assert_eq!(graph.run(&[("A", &[1.0, 2.0, 3.0, 4.0]), ("B", &[9.0; 4])], "B"), [1.0, 2.0, 9.0, 9.0]);
}

#[test]
fn code_names_scalars_without_a_connector() {
    let graph = Graph::new()
        .with("x", scalar("float64"))
        .array("B", "float64", &["3"])
        .nodes(vec![
            map("i", "0:2:1"),
            tasklet("b = x + i", &[], &["b"]),
            json!({"type": "MapExit", "label": "m", "attributes": {}, "scope_entry": "0"}),
            access("B"),
        ])
        .edges(vec![
            edge(0, "", 1, "", json!({})),
            edge(1, "b", 2, "IN_B", memlet("B", "i:i", "1")),
            edge(2, "OUT_B", 3, "", memlet("B", "0:2", "3")),
        ]);
    assert_eq!(graph.run(&[("x", &[0.5]), ("B", &[0.0; 3])], "B"), [0.5, 1.5, 2.5]);
}

#[test]
fn code_may_index_dimensions_of_one_element() {
    let graph = Graph::new()
        .array("A", "float64", &["1", "3", "2"])
        .array("k", "int64", &["1"])
        .nodes(vec![access("k"), tasklet("a[0, n, 1] = 7.0", &["n"], &["a"]), access("A")])
        .edges(vec![
            edge(0, "", 1, "n", memlet("k", "0:0", "1")),
            edge(1, "a", 2, "", graph::dynamic(memlet("A", "0:0; 0:2; 0:1", "1"))),
        ]);
    assert_eq!(graph.run(&[("A", &[0.0; 6]), ("k", &[1.0])], "A"), [0.0, 0.0, 0.0, 7.0, 0.0, 0.0]);
}

/// Result of code on `x` (and `y`), in one tasklet.
fn computed(code: &str, ty: &str, x: f64, y: f64) -> Vec<f64> {
    let graph = Graph::new()
        .array("X", ty, &["1"])
        .array("Y", ty, &["1"])
        .array("O", "float64", &["2"])
        .nodes(vec![access("X"), access("Y"), tasklet(code, &["x", "y"], &["a", "b"]), access("O")])
        .edges(vec![
            edge(0, "", 2, "x", memlet("X", "0:0", "1")),
            edge(1, "", 2, "y", memlet("Y", "0:0", "1")),
            edge(2, "a", 3, "", memlet("O", "0:0", "1")),
            edge(2, "b", 3, "", memlet("O", "1:1", "1")),
        ]);
    graph.run(&[("X", &[x]), ("Y", &[y]), ("O", &[0.0; 2])], "O")
}

#[test]
fn functions_of_the_runtime() {
    assert_eq!(computed("a = gcd(x, y)\nb = lcm(x, y)", "int32", -12.0, 18.0), [6.0, 36.0]);
    assert_eq!(computed("a = gcd(x, y)\nb = lcm(x, y)", "uint32", 0.0, 0.0), [0.0, 0.0]);
    assert_eq!(computed("np_frexp(x, a, b)", "float32", -80.0, 0.0), [-0.625, 7.0]);
    assert_eq!(computed("a = frexp(x)\nb = iround(y)", "float64", 0.1, -2.5), [-3.0, -3.0]);
    assert_eq!(computed("a = dace.math.ifloor(x) / 2\nb = float(y)", "float64", 7.9, -0.5), [3.0, -0.5]);
    assert_eq!(computed("a = Mod_float(x, y)\nb = Modulo_float(x, y)", "float64", -7.5, 2.0), [-1.5, 0.5]);
    assert_eq!(computed("a = Mod(x, y)\nb = Modulo(x, y)", "int32", -7.0, 3.0), [-1.0, 2.0]);
    // Integers are cut off and floats rounded down; the remainder has the sign of the dividend.
    assert_eq!(computed("cpp_divmod(x, y, a, b)", "int64", -7.0, 2.0), [-3.0, -1.0]);
    assert_eq!(computed("cpp_divmod(x - 1, y + 1, a, b)", "float64", -6.5, 1.0), [-4.0, -1.5]);
    assert_eq!(computed("a = b = x + y", "int32", 2.0, 3.0), [5.0, 5.0]);
    assert_eq!(computed("a = max(x, (- 1e309))\nb = min(y, 1e309)", "float64", -7.5, 2.0), [-7.5, 2.0]);
    let lambdas = "f = (lambda p, q: (p - q))\ng = lambda p: f(x, p) * 2\na = f(x, y)\nb = g(f(y, 1))";
    assert_eq!(computed(lambdas, "float64", 7.0, 2.0), [5.0, 12.0]);
    assert_eq!(computed("a = decltype(a)(x) / decltype(a)(2)\nb = x / 2", "int32", 3.0, 0.0), [1.5, 1.0]);
}

/// Result of the function of a module in MLIR on `x`.
fn computed_by_mlir(ty: &str, function: &str, x: f64) -> Vec<f64> {
    let mut code = tasklet(&format!("module {{\n  func @mlir_entry{function}\n  }}\n}}"), &["x"], &["o"]);
    code["attributes"]["code"]["language"] = "MLIR".into();
    let graph = Graph::new()
        .array("X", ty, &["1"])
        .array("O", ty, &["1"])
        .nodes(vec![access("X"), code, access("O")])
        .edges(vec![
            edge(0, "", 1, "x", memlet("X", "0:0", "1")),
            edge(1, "o", 2, "", memlet("O", "0:0", "1")),
        ]);
    graph.run(&[("X", &[x]), ("O", &[0.0])], "O")
}

#[test]
fn arithmetic_in_mlir() {
    let twice = "(%x: i32) -> i32 {\n %0 = addi %x, %x : i32\n return %0 : i32";
    assert_eq!(computed_by_mlir("int32", twice, 21.0), [42.0]);
    // Integers wrap, as MLIR's do.
    assert_eq!(computed_by_mlir("int32", twice, 1_500_000_000.0), [-1_294_967_296.0]);
    let line = "(%x: f64) -> f64 {\n %c = constant 2.5e-01 : f64\n %0 = divf %x, %c : f64\n %1 = negf %0 : f64\n \
                return %1 : f64";
    assert_eq!(computed_by_mlir("float64", line, 3.0), [-12.0]);
}

/// DaCe's views of columns have a size as if they had no strides.
#[test]
fn the_size_of_a_view_binds_nobody() {
    let view = json!({"type": "View", "attributes": {
        "dtype": "float64", "shape": ["3"], "strides": ["2"], "total_size": "3", "transient": true}});
    let graph = Graph::new()
        .array("A", "float64", &["3", "2"])
        .array("B", "float64", &["3"])
        .with("V", view)
        .nodes(vec![access("A"), access("V"), access("B")])
        .edges(vec![
            edge(0, "", 1, "views", memlet("A", "0:2; 1:1", "3")),
            edge(1, "", 2, "", memlet("V", "0:2", "3")),
        ]);
    let found = graph.run(&[("A", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), ("B", &[0.0; 3])], "B");
    assert_eq!(found, [2.0, 4.0, 6.0]);
}

#[test]
fn a_view_may_begin_before_its_container() {
    let view = json!({"type": "View", "attributes": {"dtype": "float64", "shape": ["2"], "transient": true}});
    let graph = Graph::new()
        .array("A", "float64", &["4"])
        .array("B", "float64", &["4"])
        .with("V", view)
        .nodes(vec![
            access("A"),
            map("i", "0:3:1"),
            access("V"),
            tasklet("if i >= 1:\n    o = v[0]\nelse:\n    o = v[1]", &["v"], &["o"]),
            end_of("1"),
            access("B"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:3", "4")),
            edge(1, "OUT_A", 2, "views", memlet("A", "i - 1:i", "2")),
            edge(2, "", 3, "v", memlet("V", "0:1", "2")),
            edge(3, "o", 4, "IN_B", memlet("B", "i:i", "1")),
            edge(4, "OUT_B", 5, "", memlet("B", "0:3", "4")),
        ]);
    let (a, b) = ([1.0, 2.0, 3.0, 4.0], [0.0; 4]);
    assert_eq!(graph.run(&[("A", &a), ("B", &b)], "B"), [1.0, 1.0, 2.0, 3.0]);
}

/// Functions of Python are called; objects of Python, and functions as values, are refused by name.
#[test]
fn functions_of_python_are_called_and_their_objects_refused() {
    let callback = json!({"type": "callback", "arguments": [], "returntypes": []});
    let object = json!({"type": "opaque", "ctype": "pyobject"});
    let graph = Graph::new()
        .with("__return", json!({"type": "Scalar", "attributes": {"dtype": object}}))
        .with("f", json!({"type": "Scalar", "attributes": {"dtype": callback}}));
    let mut document = graph.nodes(vec![access("__return")]).document();
    document["attributes"]["symbols"] = json!({"numpy_clip": callback});
    let refused =
        sdfg_dace::read(document.to_string().as_bytes(), &sdfg_dace::Options::default()).unwrap_err();
    let told: Vec<String> = refused.report.errors().map(|found| format!("{found:?}")).collect();
    assert!(told[0].contains("called back") && told[1].contains("function of Python"), "{told:?}");
    assert_eq!(told.len(), 2, "{told:?}");

    // As DaCe's front end makes them: it passes a scalar from one call to the next, which nothing else uses.
    let call = |code: &str, inputs: serde_json::Value, outputs: serde_json::Value| {
        json!({"type": "Tasklet", "label": "callback", "attributes": {
            "code": {"string_data": code, "language": "Python"}, "side_effects": true,
            "in_connectors": inputs, "out_connectors": outputs,
        }})
    };
    let state = || access("__pystate");
    let graph = Graph::new()
        .array("A", "float64", &["3"])
        .array("B", "float64", &["3"])
        .with("__pystate", json!({"type": "Scalar", "attributes": {"shape": ["1"], "transient": true}}))
        .nodes(vec![
            access("A"),
            call("seen(a)", json!({"a": null, "__istate": "int32"}), json!({"__ostate": "int32"})),
            state(),
            state(),
            call(
                "__out = twice(b)",
                json!({"b": null, "__istate": "int32"}),
                json!({"__out": null, "__ostate": "int32"}),
            ),
            state(),
            access("B"),
        ])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", "0:2", "3")),
            edge(2, "", 1, "__istate", memlet("__pystate", "0:0", "1")),
            edge(1, "__ostate", 3, "", memlet("__pystate", "0:0", "1")),
            edge(3, "", 4, "__istate", memlet("__pystate", "0:0", "1")),
            edge(0, "", 4, "b", memlet("A", "1:1", "1")),
            edge(4, "__ostate", 5, "", memlet("__pystate", "0:0", "1")),
            edge(4, "__out", 6, "", memlet("B", "2:2", "1")),
        ]);
    let mut document = graph.document();
    document["attributes"]["symbols"] = json!({"seen": callback, "twice": callback});
    document["attributes"]["callback_mapping"] = json!({"seen": "looked_at"});
    let program = validate(graph::read(document.to_string().as_bytes())).unwrap();
    // In random orders, in which calls without an order would change places.
    for seed in 0..8 {
        let calls = RefCell::new(Vec::new());
        let callbacks = Callbacks::new()
            .with("seen", |_, memory| {
                calls.borrow_mut().push(format!("seen {}", memory[0].data.len()));
                Ok(None)
            })
            .with("twice", |arguments, _| {
                let [ExternalArgument::Value(Value::F64(x))] = arguments else {
                    return Err("no number".into());
                };
                calls.borrow_mut().push(format!("twice {x}"));
                Ok(Some(Value::F64(2.0 * x)))
            });
        let mut arguments =
            Arguments::new().with("A", Tensor::vector(&[1.0, 2.0, 3.0])).with("B", Tensor::vector(&[0.0; 3]));
        let options =
            Options { externals: Some(&callbacks), order: Order::Random(seed), ..Options::default() };
        Interpreter::new(&program).unwrap().run(&mut arguments, &options).unwrap();
        assert_eq!(arguments.get("B").unwrap().to_vec::<f64>().unwrap(), [0.0, 0.0, 4.0]);
        assert_eq!(*calls.borrow(), ["seen 24", "twice 2"]);
    }
}

#[test]
fn tasklets_without_code_and_memory_from_outside() {
    let graph = Graph::new()
        .array("A", "float64", &["2"])
        .with("T", json!({"type": "Array", "attributes": {"dtype": "float64", "shape": ["2"], "transient": true, "lifetime": "External"}}))
        .nodes(vec![
            access("A"),
            access("T"),
            json!({"type": "Tasklet", "label": "nothing", "attributes": {"in_connectors": {"t": null}}}),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "", memlet("A", "0:1", "2")),
            edge(1, "", 2, "t", memlet("T", "0:0", "1")),
            edge(1, "", 3, "", graph::to(memlet("T", "1:1", "1"), "0:0")),
        ]);
    assert_eq!(graph.run(&[("A", &[1.0, 2.0])], "A"), [2.0, 2.0]);
}

#[test]
fn what_is_only_added_to_begins_at_zero() {
    let graph = Graph::new()
        .array("A", "float64", &["3"])
        .with("t", json!({"type": "Scalar", "attributes": {"dtype": "float64", "transient": true}}))
        .array("o", "float64", &["1"])
        .nodes(vec![
            access("A"),
            map("i", "0:2:1"),
            tasklet("b = a", &["a"], &["b"]),
            end_of("1"),
            access("t"),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:2", "3")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(2, "b", 3, "IN_t", graph::resolved(memlet("t", "0:0", "1"), "lambda a, b: a + b")),
            edge(3, "OUT_t", 4, "", graph::resolved(memlet("t", "0:0", "3"), "lambda a, b: a + b")),
            edge(4, "", 5, "", memlet("t", "0:0", "1")),
        ]);
    assert_eq!(graph.run(&[("A", &[1.0, 2.0, 4.0]), ("o", &[0.0])], "o"), [7.0]);
}

/// Adds 1 to what it is given of `A`, elements `begin` to `last`.
fn inside(extent: &str, begin: &str, last: &str) -> serde_json::Value {
    Graph::new()
        .array("A", "float64", &[extent])
        .nodes(vec![
            access("A"),
            map("j", &format!("{begin}:{last}:1")),
            tasklet("b = a + 1", &["a"], &["b"]),
            end_of("1"),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:3", "4")),
            edge(1, "OUT_A", 2, "a", memlet("A", "j:j", "1")),
            edge(2, "b", 3, "IN_A", memlet("A", "j:j", "1")),
            edge(3, "OUT_A", 4, "", memlet("A", "0:3", "4")),
        ])
        .document()
}

#[test]
fn the_last_tile_ends_with_its_container() {
    let graph = Graph::new()
        .array("A", "float64", &["6"])
        .nodes(vec![
            access("A"),
            map("i", "0:5:4"),
            nested(inside("4", "0", "Min(3, 5 - i)"), json!({"i": "i"}), &["A"], &["A"]),
            end_of("1"),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:5", "8")),
            edge(1, "OUT_A", 2, "A", memlet("A", "i:i + 3", "4")),
            edge(2, "A", 3, "IN_A", memlet("A", "i:i + 3", "4")),
            edge(3, "OUT_A", 4, "", memlet("A", "0:5", "8")),
        ]);
    assert_eq!(graph.run(&[("A", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])], "A"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

/// After strip mining, where a memlet ends with the container while what is called declares a whole tile, and passes that on.
#[test]
fn a_tile_may_be_larger_than_all_there_is() {
    let of_three = |mut document: serde_json::Value| {
        document["attributes"]["_arrays"]["A"]["attributes"]["total_size"] = json!("3");
        document
    };
    let called = of_three(inside("4", "0", "Min(3, 2 - i)"));
    let calls = Graph::new()
        .array("A", "float64", &["4"])
        .nodes(vec![access("A"), nested(called.clone(), json!({"i": "i"}), &["A"], &["A"]), access("A")])
        .edges(vec![
            edge(0, "", 1, "A", memlet("A", "0:3", "4")),
            edge(1, "A", 2, "", memlet("A", "0:3", "4")),
        ]);
    for callee in [called, of_three(calls.document())] {
        let graph = Graph::new()
            .array("A", "float64", &["3"])
            .nodes(vec![
                access("A"),
                map("i", "0:2:4"),
                nested(callee, json!({"i": "i"}), &["A"], &["A"]),
                end_of("1"),
                access("A"),
            ])
            .edges(vec![
                edge(0, "", 1, "IN_A", memlet("A", "0:2", "3")),
                edge(1, "OUT_A", 2, "A", memlet("A", "i:Min(2, i + 3)", "4")),
                edge(2, "A", 3, "IN_A", memlet("A", "i:Min(2, i + 3)", "4")),
                edge(3, "OUT_A", 4, "", memlet("A", "0:2", "3")),
            ]);
        assert_eq!(graph.run(&[("A", &[0.0, 1.0, 2.0])], "A"), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn an_argument_has_no_more_elements_than_are_left() {
    let graph = Graph::new()
        .array("A", "float64", &["6"])
        .nodes(vec![access("A"), nested(inside("4", "0", "1"), json!({}), &["A"], &["A"]), access("A")])
        .edges(vec![
            edge(0, "", 1, "A", memlet("A", "4:5", "2")),
            edge(1, "A", 2, "", memlet("A", "4:5", "2")),
        ]);
    assert_eq!(graph.run(&[("A", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])], "A"), [0.0, 1.0, 2.0, 3.0, 5.0, 6.0]);
}

#[test]
fn bounds_name_scalars_with_the_values_that_they_have_then() {
    let transient = json!({"type": "Scalar", "attributes": {"dtype": "int64", "transient": true}});
    let filled = |graph: Graph| {
        graph
            .nodes(vec![
                map("i", "0:n - 1"),
                tasklet("b = 1.0", &[], &["b"]),
                json!({"type": "MapExit", "label": "m", "attributes": {}, "scope_entry": "0"}),
                access("B"),
            ])
            .edges(vec![
                edge(0, "", 1, "", json!({})),
                edge(1, "b", 2, "IN_B", memlet("B", "i:i", "1")),
                edge(2, "OUT_B", 3, "", memlet("B", "0:3", "4")),
            ])
    };
    let computed = |graph: Graph| {
        graph.nodes(vec![access("A"), tasklet("o = a + 1", &["a"], &["o"]), access("n")]).edges(vec![
            edge(0, "", 1, "a", memlet("A", "0:0", "1")),
            edge(1, "o", 2, "", memlet("n", "0:0", "1")),
        ])
    };
    let graph = Graph::new().array("A", "int64", &["1"]).array("B", "float64", &["4"]).with("n", transient);
    let graph = filled(computed(graph).next());
    assert_eq!(graph.run(&[("A", &[2.0]), ("B", &[0.0; 4])], "B"), [1.0, 1.0, 1.0, 0.0]);
}

/// Complex factors, as Python prints them in a property of any type and SymPy in a symbolic one.
#[test]
fn factors_may_be_complex() {
    for (text, expected) in [
        ("(1+2j)", "1 + 2.0j"),
        ("1.0 + 2.0*I", "1.0 + 2.0 * complex(0, 1)"),
        ("-I", "-complex(0, 1)"),
        ("2j", "2.0j"),
    ] {
        let product = json!({"type": "LibraryNode", "label": "p", "classpath": "dace.libraries.blas.nodes.gemv.Gemv",
            "attributes": {"name": "p", "alpha": text, "in_connectors": {"_A": null, "_x": null}, "out_connectors": {"_y": null}}});
        let document = Graph::new()
            .array("A", "complex128", &["2", "2"])
            .array("x", "complex128", &["2"])
            .array("y", "complex128", &["2"])
            .nodes(vec![access("A"), access("x"), product, access("y")])
            .edges(vec![
                edge(0, "", 2, "_A", memlet("A", "0:1; 0:1", "4")),
                edge(1, "", 2, "_x", memlet("x", "0:1", "2")),
                edge(2, "_y", 3, "", memlet("y", "0:1", "2")),
            ])
            .document();
        let read = |document: &serde_json::Value| {
            let import = sdfg_dace::read(document.to_string().as_bytes(), &sdfg_dace::Options::default());
            sdfg::text::print(&import.unwrap_or_else(|refused| panic!("{}", refused.report)).sdfg)
        };
        let printed = read(&document);
        assert!(printed.contains(&format!("alpha = {expected} }}")), "{printed}");
        // A symbol of this name is one.
        let mut with_symbol = document.clone();
        with_symbol["attributes"]["symbols"] = json!({"I": "int64"});
        if text == "-I" {
            assert!(read(&with_symbol).contains("alpha = -I }"));
        }
    }
}

#[test]
fn types_of_locals_are_written_as_dace_spells_them() {
    let graph = Graph::new()
        .array("A", "float64", &["1"])
        .nodes(vec![
            access("A"),
            tasklet(
                "s: dace.float32\ns = a\nb = s\nif a > 0:\n    t: dace.int32 = 7\n    b = s + t",
                &["a"],
                &["b"],
            ),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "a", memlet("A", "0:0", "1")),
            edge(1, "b", 2, "", memlet("A", "0:0", "1")),
        ]);
    assert_eq!(graph.run(&[("A", &[0.5])], "A"), [7.5]);
    let sdfg = graph::read(graph.document().to_string().as_bytes());
    let written = String::from_utf8(sdfg_dace::write(&sdfg, sdfg_dace::Form::Plain).unwrap()).unwrap();
    assert!(written.contains("s: dace.float32 = ") && written.contains("t: dace.int32 = 7"), "{written}");
}

#[test]
fn a_call_gives_parameters_that_are_left_within() {
    // DaCe's simplification names the arguments in the mapping, and leaves some of the function's code with the parameters.
    let function = Graph::new()
        .array("o", "int64", &["1"])
        .nodes(vec![tasklet("b = left - n", &[], &["b"]), access("o")])
        .edges(vec![edge(0, "b", 1, "", memlet("o", "0:0", "1"))])
        .document();
    let mut document = Graph::new()
        .array("o", "int64", &["1"])
        .nodes(vec![nested(function, json!({"n": "5"}), &[], &["o"]), access("o")])
        .edges(vec![edge(0, "o", 1, "", memlet("o", "0:0", "1"))])
        .document();
    let group = json!({
        "type": "NamedRegion", "label": "g", "id": 0, "attributes": {},
        "nodes": document["nodes"], "edges": document["edges"],
    });
    let call = json!({
        "type": "FunctionCallRegion", "label": "f", "id": 0,
        "attributes": {"arguments": {"left": "3 * 4", "n": "1", "unused": "nothing"}},
        "nodes": [group], "edges": [],
    });
    document["nodes"] = json!([call]);
    let sdfg = graph::read(document.to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("o", &[0.0])], "o"), [7.0]);
}

#[test]
fn a_size_that_is_assigned_does_not_end_what_control_flow_reads() {
    // `t` is as large as a symbol that one transition assigns, and the next one reads it.
    let value = |code: &str| tasklet(code, &[], &["b"]);
    let graph = Graph::new()
        .with(
            "t",
            json!({"type": "Array", "attributes": {"dtype": "int64", "shape": ["N"], "transient": true}}),
        )
        .array("o", "int64", &["1"])
        .next()
        .nodes(vec![value("b = 2"), access("t")])
        .edges(vec![edge(0, "b", 1, "", memlet("t", "0:0", "1"))])
        .next()
        .nodes(vec![value("b = 10 * N"), access("o")])
        .edges(vec![edge(0, "b", 1, "", memlet("o", "0:0", "1"))]);
    let mut document = graph.document();
    for (at, value) in ["1", "t[0] + 1"].into_iter().enumerate() {
        assign(&mut document, at, json!({"N": value}));
    }
    let sdfg = graph::read(document.to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("o", &[0.0])], "o"), [30.0]);
}

#[test]
fn a_remainder_in_an_assignment_is_an_integer() {
    let graph = Graph::new()
        .array("o", "int64", &["1"])
        .next()
        .nodes(vec![tasklet("b = 10 * k", &[], &["b"]), access("o")])
        .edges(vec![edge(0, "b", 1, "", memlet("o", "0:0", "1"))]);
    let mut document = graph.document();
    // As version 2 writes what C does: the sign is that of the dividend.
    assign(&mut document, 0, json!({"k": "1 + CMod(0 - 7, 4)"}));
    let sdfg = graph::read(document.to_string().as_bytes());
    assert_eq!(graph::run(&sdfg, &[("o", &[0.0])], "o"), [-20.0]);
}

#[test]
fn code_reads_what_it_wrote_to_an_output() {
    // The rows of `o` are written and read back, and so is `t`, which each iteration has for itself.
    let graph = Graph::new()
        .array("A", "float64", &["2"])
        .array("o", "float64", &["2", "3"])
        .array("p", "float64", &["2"])
        .with(
            "t",
            json!({"type": "Array", "attributes": {"dtype": "float64", "shape": ["2"], "transient": true}}),
        )
        .nodes(vec![
            access("A"),
            map("i", "0:1"),
            tasklet("r[0] = a\nr[1] = r[0] * 2\nif a > 1:\n    r[2] += r[1]", &["a"], &["r"]),
            tasklet("u[0] = a\nu[1] = u[0] + 1\nu[0] -= 3", &["a"], &["u"]),
            access("t"),
            tasklet("b = v[0] + 10 * v[1]", &["v"], &["b"]),
            end_of("1"),
            access("o"),
            access("p"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_A", memlet("A", "0:1", "2")),
            edge(1, "OUT_A", 2, "a", memlet("A", "i:i", "1")),
            edge(1, "OUT_A", 3, "a", memlet("A", "i:i", "1")),
            edge(2, "r", 6, "IN_o", memlet("o", "i:i; 0:2", "3")),
            edge(3, "u", 4, "", memlet("t", "0:1", "2")),
            edge(4, "", 5, "v", memlet("t", "0:1", "2")),
            edge(5, "b", 6, "IN_p", memlet("p", "i:i", "1")),
            edge(6, "OUT_o", 7, "", memlet("o", "0:1; 0:2", "6")),
            edge(6, "OUT_p", 8, "", memlet("p", "0:1", "2")),
        ]);
    let inputs: [(&str, &[f64]); 3] =
        [("A", &[1.0, 2.0]), ("o", &[0.0, 0.0, 5.0, 0.0, 0.0, 7.0]), ("p", &[0.0, 0.0])];
    assert_eq!(graph.run(&inputs, "o"), [1.0, 2.0, 5.0, 2.0, 4.0, 11.0]);
    assert_eq!(graph.run(&inputs, "p"), [18.0, 29.0]);
}

#[test]
fn elements_that_data_picks_may_be_behind_the_end_of_a_memlet() {
    // From version 2 on, `A[at] = ...` has a memlet as long as `at`.
    let mut document = Graph::new()
        .array("at", "int64", &["2"])
        .array("A", "float64", &["5", "2"])
        .nodes(vec![
            access("at"),
            map("i", "0:1"),
            tasklet("b[k] = 10 * k + 1", &["k"], &["b"]),
            end_of("1"),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 1, "IN_at", memlet("at", "0:1", "2")),
            edge(1, "OUT_at", 2, "k", memlet("at", "i:i", "1")),
            edge(2, "b", 3, "IN_A", memlet("A", "0:1; i:i", "2")),
            edge(3, "OUT_A", 4, "", memlet("A", "0:1; 0:1", "4")),
        ])
        .document();
    document["dace_version"] = "2.0.0b1".into();
    let sdfg = graph::read(document.to_string().as_bytes());
    let found = graph::run(&sdfg, &[("at", &[4.0, 1.0]), ("A", &[0.0; 10])], "A");
    assert_eq!(found, [0.0, 0.0, 0.0, 11.0, 0.0, 0.0, 0.0, 0.0, 41.0, 0.0]);
}

/// DaCe's automatic differentiation adds gradients by ONNX's operator, whose node describes itself in an object.
#[test]
fn onnx_sums_are_library_nodes() {
    let node = json!({"type": "LibraryNode", "label": "s", "classpath": "dace.libraries.onnx.nodes.onnx_op.ONNXSum",
        "attributes": {"label": "s", "name": "s", "schema": {"name": "Sum", "inputs": [{"name": "data_0"}]},
            "in_connectors": {"data_0__0": null, "data_0__1": null}, "out_connectors": {"sum": null}}});
    let graph = Graph::new()
        .array("A", "float64", &["2"])
        .array("B", "float64", &["2"])
        .array("o", "float64", &["2"])
        .nodes(vec![access("A"), access("B"), node, access("o")])
        .edges(vec![
            edge(0, "", 2, "data_0__0", memlet("A", "0:1", "2")),
            edge(1, "", 2, "data_0__1", memlet("B", "0:1", "2")),
            edge(2, "sum", 3, "", memlet("o", "0:1", "2")),
        ]);
    let text = sdfg::text::print(&graph::read(graph.document().to_string().as_bytes()));
    assert!(text.contains("library s: Sum (data_0__0, data_0__1) -> (sum)"), "{text}");
}

#[test]
fn properties_of_library_nodes_may_name_scalars() {
    let node = json!({"type": "LibraryNode", "label": "r", "classpath": "dace.libraries.standard.nodes.cshift.CShift",
        "attributes": {"dim": 1, "shift": "s + 1", "direction": "NUMPY",
            "in_connectors": {"_x": null}, "out_connectors": {"_out": null}}});
    let graph = Graph::new()
        .with("s", scalar("int64"))
        .array("A", "float64", &["3"])
        .array("B", "float64", &["3"])
        .nodes(vec![access("A"), node, access("B")])
        .edges(vec![
            edge(0, "", 1, "_x", memlet("A", "0:2", "3")),
            edge(1, "_out", 2, "", memlet("B", "0:2", "3")),
        ]);
    let text = sdfg::text::print(&graph::read(graph.document().to_string().as_bytes()));
    assert!(text.contains("with (__value_of_s = s)") && text.contains("shift = __value_of_s + 1"), "{text}");
}

#[test]
fn code_writes_through_the_pointer_of_an_input() {
    let graph = Graph::new()
        .array("A", "float64", &["2", "3"])
        .array("x", "float64", &["1"])
        .nodes(vec![
            access("A"),
            access("x"),
            tasklet("p[(1, 2)] = v\nif v > 1:\n    p[(0, 1)] += p[(1, 2)]", &["p", "v"], &["__out"]),
            access("A"),
        ])
        .edges(vec![
            edge(0, "", 2, "p", memlet("A", "0:1; 0:2", "6")),
            edge(1, "", 2, "v", memlet("x", "0:0", "1")),
            edge(2, "__out", 3, "", memlet("A", "0:1; 0:2", "6")),
        ]);
    let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(graph.run(&[("A", &a), ("x", &[7.0])], "A"), [1.0, 9.0, 3.0, 4.0, 5.0, 7.0]);
}

#[test]
fn a_transient_that_nothing_writes_is_zero() {
    let graph = Graph::new()
        .with(
            "t",
            json!({"type": "Array", "attributes": {"dtype": "float64", "shape": ["2"], "transient": true}}),
        )
        .array("o", "float64", &["2"])
        .nodes(vec![access("t"), access("o")])
        .edges(vec![edge(0, "", 1, "", to(memlet("t", "0:1", "2"), "0:1"))]);
    let import =
        sdfg_dace::read(graph.document().to_string().as_bytes(), &sdfg_dace::Options::default()).unwrap();
    assert!(
        import.report.to_string().contains("`t` is read and nothing writes it; it is zero"),
        "{}",
        import.report
    );
    assert_eq!(graph.run(&[("o", &[1.0; 2])], "o"), [0.0, 0.0]);
}

/// Graphs of a part of a program declare columns with a size as if they had no strides.
#[test]
fn an_argument_has_room_for_all_of_its_elements() {
    let column = json!({"type": "Array", "attributes": {
        "dtype": "float64", "shape": ["3"], "strides": ["4"], "total_size": "3"}});
    let graph = Graph::new()
        .with("A", column)
        .array("B", "float64", &["3"])
        .nodes(vec![access("A"), access("B")])
        .edges(vec![edge(0, "", 1, "", memlet("A", "0:2", "3"))]);
    assert_eq!(graph.run(&[("A", &[1.0, 2.0, 3.0]), ("B", &[0.0; 3])], "B"), [1.0, 2.0, 3.0]);
}
