//! Tests of library nodes: the interpreter, the expansion and an independent reference agree.

mod bench;
mod elementwise;

use bench::{Bench, Operand};
use proptest::prelude::*;

/// The labels of operands as text, from the numbers of a random choice.
fn letters(labels: &[usize]) -> String {
    labels.iter().map(|label| char::from(b'a' + *label as u8)).collect()
}

/// The reference: goes through all values of all labels.
fn reference(
    inputs: &[(Vec<usize>, Vec<[i64; 2]>)],
    output: &[usize],
    extents: &[i64],
    (alpha, beta): (i64, i64),
    before: &[[i64; 2]],
) -> Vec<[i64; 2]> {
    let used: Vec<usize> =
        (0..extents.len()).filter(|l| inputs.iter().any(|(labels, _)| labels.contains(l))).collect();
    let place = |labels: &[usize], at: &[i64]| {
        labels.iter().fold(0, |place, label| place * extents[*label] + at[*label]) as usize
    };
    let mut sums = vec![[0; 2]; before.len()];
    let count: i64 = used.iter().map(|label| extents[*label]).product();
    for k in 0..count {
        let (mut rest, mut at) = (k, vec![0; extents.len()]);
        for label in &used {
            at[*label] = rest % extents[*label];
            rest /= extents[*label];
        }
        let mut product = [1, 0];
        for (labels, elements) in inputs {
            let [re, im] = elements[place(labels, &at)];
            product = [product[0] * re - product[1] * im, product[0] * im + product[1] * re];
        }
        let sum = &mut sums[place(output, &at)];
        *sum = [sum[0] + product[0], sum[1] + product[1]];
    }
    let scaled = |k: usize| alpha * sums[k % before.len()][k / before.len()];
    (0..before.len())
        .map(|k| [scaled(k) + beta * before[k][0], scaled(k + before.len()) + beta * before[k][1]])
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn contractions(
        labels in proptest::collection::vec(proptest::collection::vec(0..4usize, 0..=3), 1..=3),
        kept in proptest::collection::vec(any::<bool>(), 4),
        turned in any::<bool>(),
        extents in proptest::array::uniform4(0..4i64),
        (alpha, beta) in (-2..3i64, -1..3i64),
        element in 0..bench::ELEMENTS.len(),
        steps in proptest::collection::vec(1..3i64, 4),
        resolution in 0..3usize,
        symbolic in any::<bool>(),
    ) {
        let mut output: Vec<usize> =
            (0..4).filter(|label| kept[*label] && labels.iter().flatten().any(|l| l == label)).collect();
        if turned {
            output.reverse();
        }
        let mut bench = Bench::new(bench::ELEMENTS[element], symbolic);
        for (position, labels) in labels.iter().enumerate() {
            let shape: Vec<i64> = labels.iter().map(|label| extents[*label]).collect();
            bench.input(Operand::new(&format!("x{position}"), &shape, steps[position]));
        }
        let shape: Vec<i64> = output.iter().map(|label| extents[*label]).collect();
        bench.output(Operand::new("y", &shape, steps[3]));
        let resolution = ["", " wcr(sum)", " wcr(max)"][if bench.is_complex() { resolution % 2 } else { resolution }];
        bench.resolution(resolution);
        let names: Vec<String> = labels.iter().map(|labels| letters(labels)).collect();
        let properties = [
            format!("einsum_str = {}_to_{}", names.join("_"), letters(&output)),
            format!("alpha = {alpha}"),
            format!("beta = {beta}.0"),
        ];
        let before = bench.elements("y");
        let inputs: Vec<_> = labels
            .iter()
            .enumerate()
            .map(|(position, labels)| (labels.clone(), bench.elements(&format!("x{position}"))))
            .collect();
        let expected = reference(&inputs, &output, &extents, (alpha, beta), &before);
        bench.check("Einsum", &properties, &expected);
    }
}

/// A node whose meaning a contraction tells: operation, properties, inputs and output with shapes and labels, factors.
struct Product {
    operation: &'static str,
    properties: &'static str,
    inputs: &'static [(&'static str, &'static [i64], &'static str)],
    output: (&'static str, &'static [i64], &'static str),
    factors: (i64, i64),
}

const fn product(
    operation: &'static str,
    properties: &'static str,
    inputs: &'static [(&'static str, &'static [i64], &'static str)],
    output: (&'static str, &'static [i64], &'static str),
) -> Product {
    Product { operation, properties, inputs, output, factors: (1, 0) }
}

const fn scaled(product: Product, factors: (i64, i64)) -> Product {
    Product { factors, ..product }
}

/// The label `z` has one element.
const PRODUCTS: &[Product] = &[
    // NumPy's rules: matrices, vectors, batches, broadcasting.
    product("MatMul", "", &[("_a", &[2, 3], "ab"), ("_b", &[3, 4], "bc")], ("_c", &[2, 4], "ac")),
    product("MatMul", "", &[("_a", &[3], "b"), ("_b", &[3, 4], "bc")], ("_c", &[4], "c")),
    product("MatMul", "", &[("_a", &[2, 3], "ab"), ("_b", &[3], "b")], ("_c", &[2], "a")),
    product("MatMul", "", &[("_a", &[3], "b"), ("_b", &[3], "b")], ("_c", &[], "")),
    product("MatMul", "", &[("_a", &[3], "b"), ("_b", &[3], "b")], ("_c", &[1], "z")),
    product("MatMul", "", &[("_a", &[5, 2, 3], "dab"), ("_b", &[3, 4], "bc")], ("_c", &[5, 2, 4], "dac")),
    product("MatMul", "", &[("_a", &[2, 3], "ab"), ("_b", &[5, 3, 4], "dbc")], ("_c", &[5, 2, 4], "dac")),
    product(
        "BatchedMatMul",
        "",
        &[("_a", &[5, 2, 3], "dab"), ("_b", &[5, 3, 4], "dbc")],
        ("_c", &[5, 2, 4], "dac"),
    ),
    product(
        "MatMul",
        "",
        &[("_a", &[6, 1, 2, 3], "ezab"), ("_b", &[5, 3, 4], "dbc")],
        ("_c", &[6, 5, 2, 4], "edac"),
    ),
    product("MatMul", "", &[("_a", &[5, 2, 3], "dab"), ("_b", &[3], "b")], ("_c", &[5, 2], "da")),
    product("MatMul", "", &[("_a", &[3], "b"), ("_b", &[5, 3, 4], "dbc")], ("_c", &[5, 4], "dc")),
    // Single indices are dimensions or are not, as fits.
    product("MatMul", "", &[("_a", &[1, 3], "zb"), ("_b", &[3, 4], "bc")], ("_c", &[4], "c")),
    product("MatMul", "", &[("_a", &[1, 3], "zb"), ("_b", &[3, 4], "bc")], ("_c", &[1, 4], "zc")),
    product("MatMul", "", &[("_a", &[3, 1], "bz"), ("_b", &[3, 1], "bz")], ("_c", &[], "")),
    product("MatMul", "", &[("_a", &[1, 3], "zb"), ("_b", &[1, 3], "zb")], ("_c", &[1, 1], "zz")),
    product("MatMul", "", &[("_a", &[2, 1], "az"), ("_b", &[1, 4], "zc")], ("_c", &[2, 4], "ac")),
    product("MatMul", "", &[("_a", &[2, 1, 3], "azb"), ("_b", &[3, 4], "bc")], ("_c", &[2, 4], "ac")),
    product("MatMul", "", &[("_a", &[1, 1], "zz"), ("_b", &[1, 4], "zc")], ("_c", &[4], "c")),
    // Transposes, factors, and what is added.
    product("Gemm", "transA = True", &[("_a", &[3, 2], "ba"), ("_b", &[3, 4], "bc")], ("_c", &[2, 4], "ac")),
    product("Gemm", "transB = True", &[("_a", &[2, 3], "ab"), ("_b", &[4, 3], "cb")], ("_c", &[2, 4], "ac")),
    scaled(
        product(
            "Gemm",
            "transA = True; transB = True; alpha = 2 - 4; beta = 3.0; cin = False",
            &[("_a", &[3, 2], "ba"), ("_b", &[4, 3], "cb")],
            ("_c", &[2, 4], "ac"),
        ),
        (-2, 3),
    ),
    scaled(
        product("MatMul", "beta = 1", &[("_a", &[2, 3], "ab"), ("_b", &[3, 4], "bc")], ("_c", &[2, 4], "ac")),
        (1, 1),
    ),
    product("Gemv", "", &[("_A", &[2, 3], "ab"), ("_x", &[3], "b")], ("_y", &[2], "a")),
    scaled(
        product(
            "Gemv",
            "transA = True; alpha = 2; beta = 2",
            &[("_A", &[3, 2], "ba"), ("_x", &[3], "b")],
            ("_y", &[2], "a"),
        ),
        (2, 2),
    ),
    product("Dot", "", &[("_x", &[4], "a"), ("_y", &[4], "a")], ("_result", &[], "")),
    product("Dot", "n = 4", &[("_x", &[1, 4], "za"), ("_y", &[4, 1], "az")], ("_result", &[1], "z")),
    // Axes.
    product(
        "TensorDot",
        "left_axes_0 = 2; left_axes_1 = 0; right_axes_0 = 0; right_axes_1 = 1",
        &[("_left_tensor", &[2, 3, 4], "abc"), ("_right_tensor", &[4, 2, 5], "cad")],
        ("_out_tensor", &[3, 5], "bd"),
    ),
    product(
        "TensorDot",
        "left_axes_0 = 0; right_axes_0 = 0; permutation_0 = 2; permutation_1 = 0; permutation_2 = 1",
        &[("_left_tensor", &[2, 3, 4], "abc"), ("_right_tensor", &[2, 5], "ad")],
        ("_out_tensor", &[5, 3, 4], "dbc"),
    ),
    product("Transpose", "", &[("_inp", &[2, 3], "ab")], ("_out", &[3, 2], "ba")),
    product("Transpose", "", &[("_inp", &[1, 3], "zb")], ("_out", &[3, 1], "bz")),
    product(
        "TensorTranspose",
        "axes_0 = 2; axes_1 = 0; axes_2 = 1",
        &[("_inp_tensor", &[2, 3, 4], "abc")],
        ("_out_tensor", &[4, 2, 3], "cab"),
    ),
    scaled(
        product(
            "TensorTranspose",
            "axes_0 = 1; axes_1 = 0; alpha = 3; beta = -1",
            &[("_inp_tensor", &[2, 3], "ab")],
            ("_out_tensor", &[3, 2], "ba"),
        ),
        (3, -1),
    ),
    product("Copy", "", &[("_cpy_in", &[2, 1, 3], "azb")], ("_cpy_out", &[2, 3], "ab")),
];

#[test]
fn products_of_every_shape() {
    let numbers = |labels: &str| -> Vec<usize> {
        labels.bytes().map(|label| if label == b'z' { 6 } else { usize::from(label - b'a') }).collect()
    };
    for (product, symbolic) in PRODUCTS.iter().flat_map(|product| [(product, false), (product, true)]) {
        let mut extents = [1; 7];
        let mut bench = Bench::new(sdfg::dtype::ScalarType::F64, symbolic);
        for (name, shape, labels) in product.inputs {
            bench.input(Operand::new(name, shape, 1));
            for (label, extent) in numbers(labels).into_iter().zip(*shape) {
                extents[label] = *extent;
            }
        }
        let (name, shape, labels) = product.output;
        bench.output(Operand::new(name, shape, 1));
        let inputs: Vec<_> =
            product.inputs.iter().map(|(name, _, labels)| (numbers(labels), bench.elements(name))).collect();
        let before = bench.elements(name);
        let expected = reference(&inputs, &numbers(labels), &extents, product.factors, &before);
        let properties = [product.properties.to_owned()];
        bench.check(product.operation, &properties, &expected);
        if product.factors.1 != 0 {
            bench.read_output();
            bench.check(product.operation, &properties, &expected);
        }
    }
}

#[test]
fn elements_are_converted_to_the_type_of_the_output() {
    use sdfg::dtype::ScalarType;
    let mut bench = Bench::new(ScalarType::Complex128, true);
    bench.input(Operand::new("_a", &[2, 2], 1).typed(ScalarType::I8).holding(&[1, 2, 3, 4]));
    bench.input(Operand::new("_b", &[2], 2).typed(ScalarType::F32).holding(&[10, 20]));
    bench.output(Operand::new("_c", &[2], 1));
    let properties = ["alpha = complex(0.0, 2.0)".to_owned()];
    bench.check("MatMul", &properties, &[[0, 100], [0, 220]]);
}

/// The error of a program with one library node, which the interpreter and the expansion give alike.
fn refused(node: &str) -> String {
    let text = format!(
        "sdfg p {{\nsymbol N: i64\narray A: f64[2, 3]\narray B: f64[3, 4]\narray C: f64[2, 4]\narray I: i32[2, 4]\n\
         state main {{\naccess A\naccess B\naccess C\naccess I\n{node}\n}}\n}}\n"
    );
    let parsed = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let error = sdfg_library::expand(&parsed, &sdfg_library::BuiltIn).expect_err("it is wrong");
    error.kind.to_string()
}

#[test]
fn refusals_say_what_is_wrong() {
    let edges = "A -> n._a\nB -> n._b\nn._c -> C";
    let cases = [
        (
            "library n: MatMul (_a, _b) -> (_c) { transA = True }",
            edges,
            "shapes do not fit: _a[2, 3], _b[3, 4], _c[2, 4]",
        ),
        (
            "library n: MatMul (_a, _b) -> (_c) { gamma = 1 }",
            edges,
            "property `gamma` is none of the operation's; known: alpha",
        ),
        (
            "library n: MatMul (_a, _b) -> (_c) { transA = 7 }",
            edges,
            "`transA` is `7`; it must be `True` or `False`",
        ),
        ("library n: MatMul (_a, _b) -> (_c) {} expansion(fast)", edges, "no expansion `fast`; known: pure"),
        ("library n: Dot (_a, _b) -> (_c) {}", edges, "the connector `_x` is missing"),
        (
            "library n: MatMul (_a, _b, _d) -> (_c) {}",
            "A -> n._a\nB -> n._b\nB -> n._d\nn._c -> C",
            "`_d` is none of",
        ),
        (
            "library n: MatMul (_a, _b) -> (_c) {}",
            "A -> n._a\nB -> n._b\nn._c -> I",
            "f64 cannot be converted to i32",
        ),
        ("library n: Einsum (_a, _b) -> (_c) { einsum_str = ij_jk }", edges, "must be as `ij_jk_to_ik`"),
        ("library n: Einsum (_a, _b) -> (_c) { einsum_str = ij_to_ij }", edges, "labels for each input"),
        ("library n: Einsum (_a, _b) -> (_c) { einsum_str = ij_jk_to_il }", edges, "on an input, too"),
        (
            "library n: Einsum (_a, _b) -> (_c) { einsum_str = ijk_jk_to_ik }",
            edges,
            "`_a` has the shape [2, 3], where 3",
        ),
        (
            "library n: TensorTranspose (_inp_tensor) -> (_out_tensor) { axes_0 = 1; axes_1 = 1 }",
            "A -> n._inp_tensor\nn._out_tensor -> C",
            "axes 0 to 1 once",
        ),
    ];
    for (node, edges, expected) in cases {
        let found = refused(&format!("{node}\n{edges}"));
        assert!(found.contains(expected), "{node}: {found}");
    }
}

/// Elements that are integers.
fn whole(elements: &[i64]) -> Vec<[i64; 2]> {
    elements.iter().map(|element| [*element, 0]).collect()
}

#[test]
fn additions_and_fills() {
    use sdfg::dtype::ScalarType;
    for symbolic in [false, true] {
        let mut axpy = Bench::new(ScalarType::I32, symbolic);
        axpy.input(Operand::new("_x", &[2, 2], 1).holding(&[1, 2, 3, 4]));
        axpy.input(Operand::new("_y", &[2, 2], 2).holding(&[10, 20, 30, 40]));
        axpy.output(Operand::new("_res", &[2, 2], 1));
        axpy.check("Axpy", &["a = 3".to_owned()], &whole(&[13, 26, 39, 52]));

        let mut outer = Bench::new(ScalarType::F32, symbolic);
        outer.input(Operand::new("_x", &[2], 1).holding(&[1, 2]));
        outer.input(Operand::new("_y", &[3], 2).holding(&[1, 10, 100]));
        outer.input(Operand::new("_A", &[2, 3], 1).holding(&[1, 2, 3, 4, 5, 6]));
        outer.output(Operand::new("_res", &[2, 3], 1));
        outer.check("Ger", &["alpha = -1".to_owned()], &whole(&[0, -8, -97, 2, -15, -194]));

        let mut gemm = Bench::new(ScalarType::F64, symbolic);
        gemm.input(Operand::new("_a", &[2, 2], 1).holding(&[1, 0, 0, 1]));
        gemm.input(Operand::new("_b", &[2, 3], 1).holding(&[1, 2, 3, 4, 5, 6]));
        gemm.input(Operand::new("_cin", &[3], 1).holding(&[10, 20, 30]));
        gemm.output(Operand::new("_c", &[2, 3], 1));
        gemm.check("Gemm", &["beta = 2.0".to_owned()], &whole(&[21, 42, 63, 24, 45, 66]));

        for resolution in ["", " wcr(max)"] {
            let mut fill = Bench::new(ScalarType::I64, symbolic);
            fill.output(Operand::new("_fill_out", &[3], 2));
            fill.resolution(resolution);
            fill.check("Fill", &["value = 7".to_owned()], &whole(&[7, 7, 7]));
            fill.input(Operand::new("_fill_val", &[1], 1).holding(&[-5]));
            fill.check("Fill", &[], &whole(&[-5, -5, -5]));
        }
        let mut zeros = Bench::new(ScalarType::I64, symbolic);
        zeros.output(Operand::new("_mset_out", &[3], 2));
        zeros.check("Memset", &[], &whole(&[0, 0, 0]));
    }
}

#[test]
fn a_dot_product_may_take_the_conjugate_of_one_vector() {
    use sdfg::dtype::ScalarType;
    for (element, symbolic) in
        [(ScalarType::Complex128, false), (ScalarType::Complex64, true), (ScalarType::F64, false)]
    {
        for (flag, sign) in [("True", -1), ("False", 1)] {
            let mut bench = Bench::new(element, symbolic);
            bench.input(Operand::new("_x", &[4], 2));
            bench.input(Operand::new("_y", &[4], 1));
            bench.output(Operand::new("_result", &[1], 1));
            let (x, y) = (bench.elements("_x"), bench.elements("_y"));
            let expected = x.iter().zip(&y).fold([0, 0], |sum, ([a, b], [c, d])| {
                let b = sign * b;
                [sum[0] + a * c - b * d, sum[1] + a * d + b * c]
            });
            bench.check("Dot", &[format!("conjugate = {flag}")], &[expected]);
        }
    }
}

#[test]
fn products_with_sparse_matrices() {
    use sdfg::dtype::ScalarType;
    // [[0, 2, 0], [0, 0, 0], [3, 0, 4], [0, 0, 5]]
    for (operation, width, symbolic, transposed) in [
        ("CSRMV", None, true, false),
        ("CSRMM", Some(2), false, false),
        ("CSRMM", Some(2), true, false),
        ("CSRMM", Some(2), false, true),
        ("CSRMM", Some(2), true, true),
    ] {
        for (alpha, beta, resolution) in [(1, 0, ""), (2, 3, ""), (1, 0, " wcr(sum)"), (-1, 1, " wcr(sum)")] {
            let mut bench = Bench::new(ScalarType::F64, symbolic);
            bench.input(Operand::new("_a_rows", &[5], 1).typed(ScalarType::I32).holding(&[0, 1, 1, 3, 4]));
            bench.input(Operand::new("_a_cols", &[4], 2).typed(ScalarType::U32).holding(&[1, 0, 2, 2]));
            bench.input(Operand::new("_a_vals", &[4], 1).holding(&[2, 3, 4, 5]));
            let shape = |rows: i64| -> Vec<i64> { [rows].into_iter().chain(width).collect() };
            let right: Vec<i64> = if transposed { shape(3).into_iter().rev().collect() } else { shape(3) };
            bench.input(Operand::new("_b", &right, 1));
            bench.output(Operand::new("_c", &shape(4), 2));
            bench.resolution(resolution);
            let (b, before) = (bench.elements("_b"), bench.elements("_c"));
            let width = width.unwrap_or(1) as usize;
            let dense = [[0, 2, 0], [0, 0, 0], [3, 0, 4], [0, 0, 5]];
            let expected: Vec<[i64; 2]> = (0..4 * width)
                .map(|k| {
                    let at = |j: usize| if transposed { k % width * 3 + j } else { j * width + k % width };
                    let sum: i64 = (0..3).map(|j| dense[k / width][j] * b[at(j)][0]).sum();
                    [alpha * sum + beta * before[k][0], 0]
                })
                .collect();
            let mut properties = vec![format!("alpha = {alpha}"), format!("beta = {beta}")];
            properties.extend(transposed.then(|| "transB = True".to_owned()));
            bench.check(operation, &properties, &expected);
        }
    }
}

/// The numbers of `A`, which are 0, 1, 2 and so on before, after a run of the program and of its expansion.
fn numbers_after(text: &str, shape: [i64; 2]) -> [Vec<f64>; 2] {
    let parsed = sdfg::text::parse("p.sdft", text).expect("it is right");
    let expanded = sdfg_library::expand(&parsed, &sdfg_library::BuiltIn).expect("it expands");
    [parsed, expanded].map(|sdfg| {
        let validated = sdfg::validate::validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        let numbers: Vec<f64> = (0..shape[0] * shape[1]).map(|k| k as f64).collect();
        let mut arguments = sdfg::interpret::Arguments::new();
        arguments.set("A", sdfg::tensor::Tensor::new(&shape, &numbers).expect("as many"));
        let libraries = Some(&sdfg_library::BuiltIn as &dyn sdfg::interpret::Libraries);
        let options = sdfg::interpret::Options { libraries, ..Default::default() };
        let mut interpreter = sdfg::interpret::Interpreter::new(&validated).expect("it runs");
        interpreter.run(&mut arguments, &options).unwrap_or_else(|error| panic!("{error}"));
        arguments.get("A").expect("A").to_vec().expect("numbers")
    })
}

#[test]
fn an_input_may_be_overwritten() {
    let text = "sdfg p {
  array A: f64[3, 3]
  state main {
    access A
    access after = A
    library n: Transpose (_inp) -> (_out) {}
    A -> n._inp
    n._out -> after
  }
}
";
    for found in numbers_after(text, [3, 3]) {
        assert_eq!(found, [0.0, 3.0, 6.0, 1.0, 4.0, 7.0, 2.0, 5.0, 8.0]);
    }
}

/// Views of other containers share no element with the result, so the expansion writes it in place. A view of the result itself does.
#[test]
fn only_operands_in_the_memory_of_the_result_need_a_copy() {
    let program = |of: &str| {
        let text = format!(
            "sdfg p {{
  array A: f64[3, 3]
  array B: f64[9]
  view V: f64[3, 3]
  view W: f64[3, 3]
  state main {{
    access source = {of}
    access V
    access W
    access after = A
    library n: Transpose (_inp) -> (_out) {{}}
    bind source -> V: {of}[{whole}]
    bind V -> W: V[0:3, 0:3]
    W -> n._inp
    n._out -> after
  }}
}}
",
            whole = if of == "B" { "0:9" } else { "0:3, 0:3" }
        );
        let parsed = sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
        sdfg::text::print(
            &sdfg_library::expand(&parsed, &sdfg_library::BuiltIn).expect("it has an expansion"),
        )
    };
    assert!(!program("B").contains("__result"));
    assert!(program("A").contains("__result"));
}

/// Arguments of a called SDFG may be parts of one container, also where a view names one of them.
#[test]
fn operands_of_a_called_program_may_share_memory() {
    let text = "sdfg p {
  array A: f64[3, 3]
  state main {
    access A
    access after = A
    nested called (a) -> (c) sdfg called {
      array a: f64[3, 3]
      array c: f64[3, 3]
      view V: f64[3, 3]
      state turn {
        access a
        access V
        access c
        library n: Transpose (_inp) -> (_out) {}
        bind a -> V: a[0:3, 0:3]
        V -> n._inp
        n._out -> c
      }
    }
    A -> called.a
    called.c -> after
  }
}
";
    for found in numbers_after(text, [3, 3]) {
        assert_eq!(found, [0.0, 3.0, 6.0, 1.0, 4.0, 7.0, 2.0, 5.0, 8.0]);
    }
}

#[test]
fn factors_depend_on_scopes() {
    let text = "sdfg p {
  array A: f64[3, 2]
  state main {
    access A
    access after = A
    map rows [row = 0:3] {
      library n: TensorTranspose (_inp_tensor) -> (_out_tensor) { alpha = 10 * row; beta = row }
      rows.A -> n._inp_tensor: A[row, 0:2]
      n._out_tensor -> rows.after: A[row, 0:2]
    }
    A -> rows.A
    rows.after -> after
  }
}
";
    for found in numbers_after(text, [3, 2]) {
        assert_eq!(found, [0.0, 0.0, 22.0, 33.0, 88.0, 110.0]);
    }
}

/// Each page of a code has a node that is refused with it, and one that is not refused.
#[test]
fn the_pages_of_codes_show_them() {
    let codes = |source: &str| {
        let parsed = sdfg::text::parse("p.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let validated = sdfg::validate::validate(parsed).unwrap_or_else(|rejected| panic!("{rejected}"));
        let failed = sdfg_library::expand_all(validated.sdfg(), &sdfg_library::BuiltIn).err();
        failed.unwrap_or_default().iter().map(|error| error.kind.code()).collect::<Vec<_>>()
    };
    for page in sdfg_library::PAGES {
        let Some(sdfg::diagnostic::pages::Example::Programs { bad, good }) = page.example else { continue };
        assert_eq!(codes(bad), [page.name], "{bad}");
        assert_eq!(codes(good), [""; 0], "{good}");
    }
}

#[test]
fn every_node_without_an_expansion_is_told() {
    let text = "sdfg p {
  array A: f64[3, 3]
  state main {
    access A
    access B = A
    library n: Convolution (_inp) -> (_out) {}
    library m: Transpose (_inp) -> (_out) { alfa = 2 }
    A -> n._inp
    n._out -> B
    B -> m._inp
    access C = A
    m._out -> C
  }
}
";
    let parsed = sdfg::text::parse("p.sdft", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let failed = sdfg_library::expand_all(&parsed, &sdfg_library::BuiltIn).unwrap_err();
    let told: Vec<String> = failed.iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with("p/main/n: the operation `Convolution` is not known"), "{told:?}");
    assert!(
        told[1].contains("p/main/m: the property `alfa` is none of") && told[1].ends_with("(L002)"),
        "{told:?}"
    );
    assert_eq!(told.len(), 2);
    // The interface for one error gives the first.
    let first = sdfg_library::expand(&parsed, &sdfg_library::BuiltIn).unwrap_err();
    assert_eq!(first, failed[0]);
}
