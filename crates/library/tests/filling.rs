//! Operations that fill their outputs: what was there before does not matter, and nothing of it is left. Analyses take loops and
//! states apart with this.

use std::collections::BTreeSet;

use sdfg::analysis::{FILLING, fills_output};
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::edit::Editor;
use sdfg::interpret::{Arguments, Interpreter, Options, Order};
use sdfg::ir::{LibraryNode, NodeKind, Sdfg};
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg_library::{BuiltIn, Pure, expand, operations};
use sdfg_transforms::rewrites::LoopToMap;
use sdfg_transforms::{Transformation, apply, places};

/// A node, the types and extents of its inputs, and of its outputs.
type Case = (&'static str, &'static [Operand], &'static [Operand]);

type Operand = (&'static str, &'static str, &'static [i64]);

const SQUARE: &[i64] = &[3, 3];

/// Every operation that fills its outputs, some of them over nothing.
const FILL: &[Case] = &[
    (
        "Axpy (_x, _y) -> (_res) { a = 2 }",
        &[("_x", "f64", &[4]), ("_y", "f64", &[4])],
        &[("_res", "f64", &[4])],
    ),
    (
        "BatchedMatMul (_a, _b) -> (_c) {}",
        &[("_a", "f64", &[2, 3, 3]), ("_b", "f64", &[2, 3, 3])],
        &[("_c", "f64", &[2, 3, 3])],
    ),
    ("All (_mask) -> (_out) {}", &[("_mask", "i32", &[4])], &[("_out", "i32", &[])]),
    ("All (_mask) -> (_out) { dim = 2 }", &[("_mask", "i32", &[2, 3])], &[("_out", "i32", &[2])]),
    ("Any (_mask) -> (_out) {}", &[("_mask", "i32", &[2, 3])], &[("_out", "i32", &[1])]),
    ("Broadcast (_src) -> (_dst) {}", &[("_src", "f64", &[3])], &[("_dst", "f64", &[2, 3])]),
    (
        "CSRMM (_a_rows, _a_cols, _a_vals, _b) -> (_c) {}",
        &[
            ("_a_rows", "i32", &[4]),
            ("_a_cols", "i32", &[2]),
            ("_a_vals", "f64", &[2]),
            ("_b", "f64", &[3, 2]),
        ],
        &[("_c", "f64", &[3, 2])],
    ),
    (
        "CSRMV (_a_rows, _a_cols, _a_vals, _b) -> (_c) { beta = 0 }",
        &[("_a_rows", "i32", &[4]), ("_a_cols", "i32", &[2]), ("_a_vals", "f64", &[2]), ("_b", "f64", &[3])],
        &[("_c", "f64", &[3])],
    ),
    ("CShift (_x) -> (_out) { shift = 1 }", &[("_x", "f64", &[4])], &[("_out", "f64", &[4])]),
    ("Cholesky (_a) -> (_b) {}", &[("_a", "f64", SQUARE)], &[("_b", "f64", SQUARE)]),
    ("Copy (_cpy_in) -> (_cpy_out) {}", &[("_cpy_in", "f64", &[2, 3])], &[("_cpy_out", "f64", &[2, 3])]),
    ("Dot (_x, _y) -> (_result) {}", &[("_x", "f64", &[4]), ("_y", "f64", &[4])], &[("_result", "f64", &[])]),
    ("Dot (_x, _y) -> (_result) {}", &[("_x", "f64", &[0]), ("_y", "f64", &[0])], &[("_result", "f64", &[])]),
    (
        "Einsum (p, q) -> (r) { einsum_str = ij_kj_to_ki }",
        &[("p", "f64", &[2, 3]), ("q", "f64", &[4, 3])],
        &[("r", "f64", &[4, 2])],
    ),
    ("FFT (_inp) -> (_out) {}", &[("_inp", "complex128", &[12])], &[("_out", "complex128", &[12])]),
    ("FFT (_inp) -> (_out) {}", &[("_inp", "complex128", &[3, 4])], &[("_out", "complex128", &[3, 4])]),
    ("Fill () -> (_fill_out) { value = 7 }", &[], &[("_fill_out", "f64", &[2, 3])]),
    (
        "Gemm (_a, _b) -> (_c) { transB = True; beta = 0.0 }",
        &[("_a", "f64", &[2, 3]), ("_b", "f64", &[4, 3])],
        &[("_c", "f64", &[2, 4])],
    ),
    ("Gemv (_A, _x) -> (_y) {}", &[("_A", "f64", &[2, 3]), ("_x", "f64", &[3])], &[("_y", "f64", &[2])]),
    (
        "Ger (_x, _y, _A) -> (_res) {}",
        &[("_x", "f64", &[2]), ("_y", "f64", &[3]), ("_A", "f64", &[2, 3])],
        &[("_res", "f64", &[2, 3])],
    ),
    (
        "Getrf (_xin) -> (_xout, _ipiv, _res) {}",
        &[("_xin", "f64", SQUARE)],
        &[("_xout", "f64", SQUARE), ("_ipiv", "i32", &[3]), ("_res", "i32", &[])],
    ),
    (
        "Getri (_xin, _ipiv) -> (_xout, _res) {}",
        &[("_xin", "f64", SQUARE), ("_ipiv", "i32", &[3])],
        &[("_xout", "f64", SQUARE), ("_res", "i32", &[])],
    ),
    (
        "Getrs (_a, _rhs_in, _ipiv) -> (_rhs_out, _res) {}",
        &[("_a", "f64", SQUARE), ("_rhs_in", "f64", &[3, 2]), ("_ipiv", "i32", &[3])],
        &[("_rhs_out", "f64", &[3, 2]), ("_res", "i32", &[])],
    ),
    ("IFFT (_inp) -> (_out) {}", &[("_inp", "complex128", &[11])], &[("_out", "complex128", &[11])]),
    ("Inv (_ain) -> (_aout) {}", &[("_ain", "f64", SQUARE)], &[("_aout", "f64", SQUARE)]),
    (
        "MatMul (_a, _b) -> (_c) {}",
        &[("_a", "f64", &[2, 3]), ("_b", "f64", &[3, 4])],
        &[("_c", "f64", &[2, 4])],
    ),
    (
        "MatMul (_a, _b) -> (_c) {}",
        &[("_a", "f64", &[2, 0]), ("_b", "f64", &[0, 4])],
        &[("_c", "f64", &[2, 4])],
    ),
    ("Memset () -> (_mset_out) {}", &[], &[("_mset_out", "f64", &[2, 3])]),
    (
        "Merge (_mrg_t, _mrg_f, _mrg_mask) -> (_mrg_out) {}",
        &[("_mrg_t", "f64", &[4]), ("_mrg_f", "f64", &[4]), ("_mrg_mask", "i32", &[4])],
        &[("_mrg_out", "f64", &[4])],
    ),
    (
        "Potrf (_xin) -> (_xout, _res) {}",
        &[("_xin", "f64", SQUARE)],
        &[("_xout", "f64", SQUARE), ("_res", "i32", &[])],
    ),
    (
        "Solve (_ain, _bin) -> (_bout) {}",
        &[("_ain", "f64", SQUARE), ("_bin", "f64", &[3])],
        &[("_bout", "f64", &[3])],
    ),
    (
        "Sum (data_0__0, data_0__1) -> (sum) {}",
        &[("data_0__0", "f64", &[4]), ("data_0__1", "f64", &[4])],
        &[("sum", "f64", &[4])],
    ),
    (
        "TensorDot (_left_tensor, _right_tensor) -> (_out_tensor) { left_axes_0 = 1; right_axes_0 = 0 }",
        &[("_left_tensor", "f64", &[2, 3]), ("_right_tensor", "f64", &[3, 4])],
        &[("_out_tensor", "f64", &[2, 4])],
    ),
    (
        "TensorTranspose (_inp_tensor) -> (_out_tensor) { axes_0 = 1; axes_1 = 0 }",
        &[("_inp_tensor", "f64", &[2, 3])],
        &[("_out_tensor", "f64", &[3, 2])],
    ),
    ("Transpose (_inp) -> (_out) {}", &[("_inp", "f64", &[2, 3])], &[("_out", "f64", &[3, 2])]),
];

/// Nodes that read what their outputs held, or leave some of it.
const KEEP: &[Case] = &[
    (
        "Gemm (_a, _b) -> (_c) { beta = 1 }",
        &[("_a", "f64", &[2, 3]), ("_b", "f64", &[3, 4])],
        &[("_c", "f64", &[2, 4])],
    ),
    (
        "Gemv (_A, _x) -> (_y) { beta = -0.5 }",
        &[("_A", "f64", &[2, 3]), ("_x", "f64", &[3])],
        &[("_y", "f64", &[2])],
    ),
    ("Stencil (a) -> (b) { code_b = a[-1] }", &[("a", "f64", &[4])], &[("b", "f64", &[4])]),
];

fn program((node, inputs, outputs): &Case) -> String {
    let mut text = String::new();
    let mut state = format!("library node: {node}\n");
    for (name, element, shape) in inputs.iter().chain(*outputs) {
        let extents: Vec<String> = shape.iter().map(i64::to_string).collect();
        match shape {
            [] => text.push_str(&format!("scalar {name}: {element}\n")),
            _ => text.push_str(&format!("array {name}: {element}[{}]\n", extents.join(", "))),
        }
        state.push_str(&format!("access {name}\n"));
    }
    inputs.iter().for_each(|(name, ..)| state.push_str(&format!("{name} -> node.{name}\n")));
    outputs.iter().for_each(|(name, ..)| state.push_str(&format!("node.{name} -> {name}\n")));
    format!("sdfg p {{\n{text}state main {{\n{state}}}\n}}")
}

fn parsed(text: &str) -> Sdfg {
    sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

/// A tensor of numbers.
fn tensor((_, element, shape): &Operand, number: impl Fn(usize) -> f64) -> Tensor {
    let count = shape.iter().product::<i64>() as usize;
    let numbers = (0..count).map(number);
    let (ty, bytes) = match *element {
        "f64" => (ScalarType::F64, numbers.flat_map(f64::to_le_bytes).collect()),
        "i32" => (ScalarType::I32, numbers.flat_map(|number| (number as i32).to_le_bytes()).collect()),
        "complex128" => {
            let parts = numbers.flat_map(|number| [number, 0.5]);
            (ScalarType::Complex128, parts.flat_map(f64::to_le_bytes).collect())
        }
        other => panic!("no numbers of type {other}"),
    };
    Tensor::from_bytes(ElementType::from(ty), shape.to_vec(), bytes).expect("a tensor")
}

/// The arguments: matrices have a large diagonal, integers ascend.
fn arguments((_, inputs, outputs): &Case, before: f64) -> Arguments {
    let mut arguments = Arguments::new();
    for operand in *inputs {
        let width = operand.2.last().copied().unwrap_or(1).max(1) as usize;
        let first = if operand.0 == "_ipiv" { 1.0 } else { 0.0 };
        let number = |k: usize| match operand.1 {
            "i32" => first + k.min(2) as f64,
            _ if k / width == k % width => 9.0,
            _ => ((k / width + k % width) % 4) as f64,
        };
        arguments.set(operand.0, tensor(operand, number));
    }
    for operand in *outputs {
        arguments.set(operand.0, tensor(operand, |_| before));
    }
    arguments
}

fn run(program: &Sdfg, mut arguments: Arguments) -> Arguments {
    let valid = validate(program.clone()).unwrap_or_else(|rejected| panic!("{rejected}"));
    let mut interpreter = Interpreter::new(&valid).expect("the interpreter runs it");
    let options = Options { libraries: Some(&BuiltIn), ..Options::default() };
    interpreter.run(&mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
    arguments
}

/// The results of a node and its expansions for two previous contents, if they are equal.
fn is_independent(case: &Case) -> bool {
    let sdfg = parsed(&program(case));
    let expanded = |expanded: Result<Sdfg, _>| expanded.unwrap_or_else(|error| panic!("{error}"));
    let ways = [sdfg.clone(), expanded(expand(&sdfg, &BuiltIn)), expanded(expand(&sdfg, &Pure))];
    let found: BTreeSet<bool> = ways
        .iter()
        .map(|way| {
            let [one, two] = [1.0, 2.0].map(|before| run(way, arguments(case, before)));
            one.tensors().all(|(name, tensor)| two.get(name) == Some(tensor))
        })
        .collect();
    assert_eq!(found.len(), 1, "expansions differ:\n{}", program(case));
    found.contains(&true)
}

fn node(sdfg: &Sdfg) -> LibraryNode {
    let nodes = sdfg.states().flat_map(|(_, state)| state.nodes());
    let mut library = nodes.filter_map(|(_, node)| match &node.kind {
        NodeKind::Library(library) => Some(library.clone()),
        _ => None,
    });
    library.next_back().expect("a library node")
}

/// Whether all outputs of a case are said to be filled, or none.
fn is_filled(case: &Case) -> bool {
    let node = node(&parsed(&program(case)));
    let said: BTreeSet<bool> = case.2.iter().map(|(name, ..)| fills_output(&node, Some(name))).collect();
    assert_eq!(said.len(), 1, "{}", case.0);
    said.contains(&true)
}

#[test]
fn outputs_that_are_filled_do_not_depend_on_what_they_held() {
    for case in FILL {
        assert!(is_filled(case), "{}", case.0);
        assert!(is_independent(case), "{}", case.0);
    }
}

#[test]
fn outputs_that_are_read_or_left_in_part_are_not_filled() {
    for case in KEEP {
        assert!(!is_filled(case), "{}", case.0);
        assert!(!is_independent(case), "{}", case.0);
    }
    // A factor that depends on symbols, and an output that is an input.
    for text in ["MatMul (_a, _b) -> (_c) { beta = N }", "Gemv (_A, _x, _c) -> (_c) {}"] {
        let text = format!(
            "sdfg p {{\n symbol N: i64\n array C: f64[2]\n state s {{\n access C\n library n: {text}\n n._c -> C\n}}\n}}"
        );
        assert!(!fills_output(&node(&parsed(&text)), Some("_c")), "{text}");
    }
    let product = node(&parsed(&program(&FILL[0])));
    assert!(!fills_output(&product, Some("_x")) && !fills_output(&product, None));
}

#[test]
fn every_operation_is_known_to_fill_or_to_keep() {
    let of = |cases: &[Case]| -> BTreeSet<String> {
        cases.iter().map(|case| node(&parsed(&program(case))).operation).collect()
    };
    let named: BTreeSet<String> = FILLING.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(of(FILL), named, "each operation has a case");
    let left: Vec<&str> = operations().filter(|name| !named.contains(*name)).collect();
    assert_eq!(left, ["Stencil"], "these leave elements as they are");
    assert!(named.iter().all(|name| operations().any(|known| known == name)));
}

/// A loop in which a product goes through a transient that all iterations share.
fn products(properties: &str) -> String {
    format!(
        "sdfg p {{
  array A: f64[4, 3]
  array x: f64[3]
  array y: f64[4]
  transient array one: f64[1]
  for rows: i = 0:4 {{
    state product {{
      access A
      access x
      access one
      library row: MatMul (_a, _b) -> (_c) {properties}
      A -> row._a: A[i, 0:3]
      x -> row._b: x[0:3]
      row._c -> one: one[0]
    }}
    state store {{
      access one
      access y
      one -> y: one[0] -> y[i]
    }}
  }}
}}"
    )
}

/// Whether a program gives the results of another one in every order.
fn gives_the_same(before: &Sdfg, after: &Sdfg) -> bool {
    let results = |program: &Sdfg, order: Order| {
        let valid = validate(program.clone()).ok()?;
        let mut arguments = Arguments::new();
        for (name, shape, factor) in [("A", &[4, 3][..], 2), ("x", &[3], 1), ("y", &[4], 3)] {
            let count = shape.iter().product::<i64>();
            let numbers: Vec<f64> = (0..count).map(|k| ((k * factor) % 5) as f64 + 1.0).collect();
            arguments.set(name, Tensor::new(shape, &numbers).expect("a tensor"));
        }
        let options = Options { order, libraries: Some(&BuiltIn), ..Options::default() };
        Interpreter::new(&valid).ok()?.run(&mut arguments, &options).ok()?;
        arguments.get("y").cloned()
    };
    let expected = results(before, Order::Fixed).expect("it runs");
    [Order::Fixed, Order::Random(1), Order::Random(2)]
        .into_iter()
        .all(|order| results(after, order).as_ref() == Some(&expected))
}

#[test]
fn iterations_with_products_of_their_own_are_independent() {
    let transformation = LoopToMap::default();
    let before = parsed(&products("{}"));
    let found = places(&before, &transformation).remove(0);
    let mut after = before.clone();
    apply(&mut after, &transformation, &found).unwrap_or_else(|error| panic!("{error}"));
    assert!(gives_the_same(&before, &after), "{}", sdfg::text::print(&after));

    // A product that is added to the one of the iteration before.
    let before = parsed(&products("{ beta = 1 }"));
    let found = places(&before, &transformation).remove(0);
    let refusal = apply(&mut before.clone(), &transformation, &found).expect_err("a refusal").to_string();
    assert!(refusal.contains("may touch the same element in different iterations"), "{refusal}");
    let mut forced = before.clone();
    let mut editor = Editor::new(&mut forced);
    let edits = transformation.apply(&mut editor, &found).is_ok();
    let is_wrong = !edits || editor.commit().is_err() || !gives_the_same(&before, &forced);
    assert!(is_wrong, "the forced rewrite is right");
}
