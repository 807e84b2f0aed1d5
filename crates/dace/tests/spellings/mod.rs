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

/// Numbers that code computes of a number or complex number `z` and a number `y`.
fn computed(code: &str, ty: &str, z: &[f64], y: f64) -> Vec<f64> {
    let graph = Graph::new()
        .array("Z", "float64", &["2"])
        .array("Y", "float64", &["1"])
        .with("z", json!({"type": "Scalar", "attributes": {"dtype": ty, "transient": true}}))
        .array("O", "float64", &["2"])
        .nodes(vec![
            access("Z"),
            access("Y"),
            tasklet(
                if ty.starts_with("complex") { "o = complex(p[0], p[1])" } else { "o = p[0]" },
                &["p"],
                &["o"],
            ),
            access("z"),
            tasklet(code, &["z", "y"], &["a", "b"]),
            access("O"),
        ])
        .edges(vec![
            edge(0, "", 2, "p", memlet("Z", "0:1", "2")),
            edge(2, "o", 3, "", memlet("z", "0:0", "1")),
            edge(3, "", 4, "z", memlet("z", "0:0", "1")),
            edge(1, "", 4, "y", memlet("Y", "0:0", "1")),
            edge(4, "a", 5, "", memlet("O", "0:0", "1")),
            edge(4, "b", 5, "", memlet("O", "1:1", "1")),
        ]);
    let z = [z[0], z.get(1).copied().unwrap_or_default()];
    let sdfg = read(graph.document().to_string().as_bytes());
    run(&sdfg, &[("Z", &z), ("Y", &[y]), ("O", &[0.0; 2])], "O")
}

#[test]
fn parts_of_complex_numbers_are_attributes_or_methods() {
    for ty in ["complex64", "complex128"] {
        assert_eq!(computed("a = z.real\nb = z.imag + y", ty, &[1.5, -2.0], 1.0), [1.5, -1.0]);
        assert_eq!(computed("a = z.real()\nb = (- z.imag())", ty, &[1.5, -2.0], 1.0), [1.5, 2.0]);
        let code = "w = z.conj() * z\na = w.real\nb = z.conjugate().imag"
            .replace("z.conjugate().imag", "imag(z.conjugate())");
        assert_eq!(computed(&code, ty, &[1.5, -2.0], 1.0), [6.25, 2.0]);
    }
}

#[test]
fn functions_for_floats_compute_in_floats() {
    // 0.1 is another number as a float.
    let narrow = f64::from(0.1_f32);
    assert_eq!(computed("a = fabsf(z)\nb = fmaxf(z, y)", "float64", &[-0.1], -1.0), [narrow, -narrow]);
    assert_eq!(computed("a = expf(z)\nb = powf(y, 2)", "float64", &[0.0], 0.1).first(), Some(&1.0));
    assert_eq!(computed("a = ldexpf(z, 3)\nb = lroundf(y)", "float64", &[0.75], -2.5), [6.0, -3.0]);
    assert_eq!(computed("a = sqrtf(z)\nb = std.fmodf(y, 2)", "float32", &[2.25], 5.5), [1.5, 1.5]);
}

#[test]
fn functions_of_the_runtime_are_formulas() {
    assert_eq!(computed("a = sign_numpy_2(z)\nb = sign_numpy_2(y)", "float64", &[-3.0], 0.5), [-1.0, 1.0]);
    assert_eq!(
        computed("a = real(sign_numpy_2(z))\nb = imag(sign_numpy_2(z))", "complex128", &[3.0, -4.0], 0.0),
        [0.6, -0.8]
    );
    // DaCe's function has no sign on the axes.
    assert_eq!(
        computed("a = real(sign_numpy_2(z))\nb = imag(sign_numpy_2(z))", "complex128", &[3.0, 0.0], 0.0),
        [0.0, 0.0]
    );
    assert_eq!(computed("a = sgn(z)\nb = heaviside(y)", "float64", &[-3.0], 0.0), [-1.0, 0.0]);
    assert_eq!(computed("a = fdim(z, y)\nb = fdim(y, z)", "float64", &[-3.0], 0.5), [0.0, 3.5]);
    // Nearest integers, halves away from zero; the sum with a half would round up.
    assert_eq!(
        computed("a = iround(z)\nb = llround(y)", "float64", &[0.499_999_999_999_999_94], 2.5),
        [0.0, 3.0]
    );
    assert_eq!(computed("a = __dace_sign(z, y)\nb = lrint(z)", "float64", &[2.5], -0.5), [-2.5, 2.0]);
    assert_eq!(computed("a = norm(z)\nb = imag(polar(y, 0.0))", "complex128", &[3.0, 4.0], 2.0), [25.0, 0.0]);
    assert_eq!(
        computed("a = clamp(z, y, 1.0)\nb = imag(dace.complex128(y, z))", "float64", &[2.5], 0.5),
        [1.0, 2.5]
    );
    assert_eq!(
        computed("a = isunordered(z, y)\nb = islessgreater(z, y)", "float64", &[2.5], 0.5),
        [0.0, 1.0]
    );
    assert_eq!(computed("a = floor_mod(z, y)\nb = exp10(y)", "float64", &[-2.5], 2.0), [1.5, 100.0]);
    assert_eq!(computed("a = scalbn(z, 2)\nb = dace.cmath.exp(y)", "float64", &[2.5], 0.0), [10.0, 1.0]);
}

#[test]
fn files_of_the_first_versions_are_refused_by_name() {
    let graph = Graph::new().array("A", "float64", &["1"]);
    let old = json!({"type": "Tasklet", "label": "t", "attributes": {
        "code": {"string_data": "o = 1.0", "language": "Python"},
        "in_connectors": [], "out_connectors": ["o"]}});
    let document = graph
        .nodes(vec![old, access("A")])
        .edges(vec![edge(0, "o", 1, "", memlet("A", "0:0", "1"))])
        .document();
    let refused =
        sdfg_dace::read(document.to_string().as_bytes(), &sdfg_dace::Options::default()).unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("`in_connectors` is a list") && told.contains("before 0.10"), "{told}");
}

/// The size of `A` is the value of `K` at the call. The graph reads `K` in a size, as data and between states.
#[test]
fn a_scalar_sizes_an_argument() {
    let graph = Graph::new()
        .with("K", super::graph::scalar("int32"))
        .array("A", "float64", &["K"])
        .next()
        .nodes(vec![access("K"), tasklet("o = k + K + n", &["k"], &["o"]), access("A")])
        .edges(vec![
            edge(0, "", 1, "k", memlet("K", "0:0", "1")),
            edge(1, "o", 2, "", memlet("A", "K - 1:K - 1", "1")),
        ]);
    let mut document = graph.document();
    assign(&mut document, 0, json!({"n": "K + K[0]"}));
    let sdfg = read(document.to_string().as_bytes());
    assert_eq!(run(&sdfg, &[("A", &[0.0; 3])], "A"), [0.0, 0.0, 12.0]);
    assert!(sdfg.find_container("K").is_none());
}

#[test]
fn a_scalar_that_sizes_an_argument_and_is_written_is_named() {
    let graph = Graph::new()
        .with("K", super::graph::scalar("int64"))
        .array("A", "float64", &["K"])
        .nodes(vec![tasklet("o = 1", &[], &["o"]), access("K"), tasklet("o = 1.0", &[], &["o"]), access("A")])
        .edges(vec![
            edge(0, "o", 1, "", memlet("K", "0:0", "1")),
            edge(2, "o", 3, "", memlet("A", "0:0", "1")),
        ]);
    let document = graph.document().to_string();
    let refused = sdfg_dace::read(document.as_bytes(), &sdfg_dace::Options::default()).unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("`K` stands in an index, size or bound, and sizes the argument `A`"), "{told}");
    assert!(!told.contains("__value_of"), "{told}");
}

#[test]
fn headers_of_dace_are_refused_before_anything_is_compiled() {
    let code = |code: &str| json!({"string_data": code, "language": "CPP"});
    let foreign = json!({"type": "Tasklet", "label": "t", "attributes": {
        "code": code("for (int i = 0; i < 2; ++i) { o[i] = 1; }"),
        "in_connectors": {}, "out_connectors": {"o": null}}});
    let graph = Graph::new()
        .array("A", "float64", &["2"])
        .nodes(vec![foreign, access("A")])
        .edges(vec![edge(0, "o", 1, "", memlet("A", "0:1", "2"))]);
    let mut document = graph.document();
    let options = sdfg_dace::Options { allow_external: true, ..Default::default() };
    document["attributes"]["global_code"] =
        json!({"frame": code("#include <cmath>\n#include \"vector.h\"\n")});
    assert!(sdfg_dace::read(document.to_string().as_bytes(), &options).is_ok());
    document["attributes"]["global_code"] =
        json!({"frame": code("#include <cmath>\n# include \"dace/vectorizable_math.h\"\n")});
    let refused = sdfg_dace::read(document.to_string().as_bytes(), &options).unwrap_err();
    assert!(refused.to_string().contains("`dace/vectorizable_math.h`"), "{refused}");
}
