//! Extents and strides of arguments: which of them count.

use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg::value::Value;
use serde_json::json;

use crate::graph::{Graph, access, assign, edge, memlet, nested, read, tasklet};

/// Fortran's arrays that a program allocates are arguments of DaCe, with a size that the program computes.
#[test]
fn an_argument_keeps_its_extents_when_the_program_changes_their_symbol() {
    let graph = |strides: &[&str]| {
        let argument = json!({"type": "Array", "attributes": {
            "dtype": "float64", "shape": ["1", "N"], "strides": strides, "total_size": "N"}});
        let states = Graph::new().with("A", argument).array("o", "float64", &["1"]).next();
        let sum = tasklet("r = a + N", &["a"], &["r"]);
        let mut document = states
            .nodes(vec![access("A"), sum, access("o")])
            .edges(vec![
                edge(0, "", 1, "a", memlet("A", "0:0; N:N", "1")),
                edge(1, "r", 2, "", memlet("o", "0:0", "1")),
            ])
            .document();
        document["attributes"]["symbols"] = json!({"N": "int32"});
        assign(&mut document, 0, json!({"N": "2"}));
        document
    };
    let sdfg = read(graph(&["1", "1"]).to_string().as_bytes());
    let symbols: Vec<&str> = sdfg.symbols().map(|(symbol, _)| symbol.as_str()).collect();
    assert_eq!(symbols, ["__N_at_call"]);
    let mut arguments = Arguments::new();
    arguments.set("A", Tensor::new(&[1, 4], &[1.0, 2.0, 3.0, 4.0]).unwrap());
    arguments.set("o", Tensor::new(&[1], &[0.0]).unwrap());
    let program = validate(sdfg).unwrap();
    Interpreter::new(&program).unwrap().run(&mut arguments, &Options::default()).unwrap();
    assert_eq!(arguments.get("o").unwrap().values().collect::<Vec<_>>(), [Value::F64(5.0)]);
    // Strides would change with the symbol.
    let changed = read(graph(&["N", "1"]).to_string().as_bytes());
    assert!(validate(changed).unwrap_err().to_string().contains("V107"));
}

/// The strides of what is called count, for square arguments, too.
#[test]
fn an_argument_that_is_transposed_counts_from_its_first_element() {
    let inner = Graph::new()
        .with(
            "T",
            json!({"type": "Array", "attributes": {
                "dtype": "float64", "shape": ["N", "M"], "strides": ["1", "N"], "total_size": "N*M"}}),
        )
        .array("o", "float64", &["1"])
        .nodes(vec![access("T"), tasklet("r = t", &["t"], &["r"]), access("o")])
        .edges(vec![
            edge(0, "", 1, "t", memlet("T", "0:0; 1:1", "1")),
            edge(1, "r", 2, "", memlet("o", "0:0", "1")),
        ]);
    let mut document = Graph::new()
        .array("A", "float64", &["M", "N"])
        .array("o", "float64", &["1"])
        .nodes(vec![
            access("A"),
            nested(inner.document(), json!({"N": "N", "M": "M"}), &["T"], &["o"]),
            access("o"),
        ])
        .edges(vec![
            edge(0, "", 1, "T", memlet("A", "0:M - 1; 0:N - 1", "M*N")),
            edge(1, "o", 2, "", memlet("o", "0:0", "1")),
        ])
        .document();
    document["attributes"]["symbols"] = json!({"N": "int32", "M": "int32"});
    let program = validate(read(document.to_string().as_bytes())).unwrap();
    for (m, n) in [(2, 2), (2, 3), (3, 2)] {
        let numbers: Vec<f64> = (0..m * n).map(|number| number as f64).collect();
        let mut arguments = Arguments::new();
        arguments.set("A", Tensor::new(&[m, n], &numbers).unwrap());
        arguments.set("o", Tensor::new(&[1], &[0.0]).unwrap());
        Interpreter::new(&program).unwrap().run(&mut arguments, &Options::default()).unwrap();
        assert_eq!(arguments.get("o").unwrap().values().collect::<Vec<_>>(), [Value::F64(n as f64)]);
    }
    let compiled = sdfg::text::print(program.sdfg());
    assert!(compiled.contains("bind A -> T_inside: A[0, 0]"), "{compiled}");
}
