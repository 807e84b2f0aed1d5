//! Tests of small DaCe programs, one for each construct. `programs/programs.py` contains the sources.
//! `programs/make.py` wrote the graphs that DaCe makes of them (raw, simplified, with regions), the inputs,
//! and the results of NumPy.

use std::path::{Path, PathBuf};

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::{NodeKind, Sdfg};
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::validate::validate;
use sdfg::value::{Complex, Value};
use serde_json::Value as Json;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Every graph, with the name of its program.
fn graphs() -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sdfg"))
        .map(|path| (path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned(), path))
        .collect();
    found.sort();
    found
}

/// The numbers of a tensor, complex ones in two.
fn flat(tensor: &Tensor) -> Vec<f64> {
    let parts = |value: Value| match cast(value, ScalarType::Complex128) {
        Value::Complex128(both) if value.ty().is_complex() => vec![both.re, both.im],
        Value::Complex128(both) => vec![both.re],
        _ => Vec::new(),
    };
    tensor.values().flat_map(parts).collect()
}

fn tensor(sdfg: &Sdfg, name: &str, data: &Json) -> Tensor {
    let container = sdfg.container(sdfg.find_container(name).unwrap());
    let (lane, rank) = (container.element.lane(), container.shape().len());
    let numbers: Vec<f64> =
        data["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let is_complex = data["dtype"].as_str().unwrap().starts_with("complex");
    let values: Vec<Value> = if is_complex {
        numbers.chunks(2).map(|pair| Value::Complex128(Complex::new(pair[0], pair[1]))).collect()
    } else {
        numbers.into_iter().map(Value::F64).collect()
    };
    let mut bytes = vec![0; values.len() * lane.size()];
    for (value, place) in values.into_iter().zip(bytes.chunks_mut(lane.size())) {
        cast(value, lane).write(place);
    }
    let shape: Vec<i64> = data["shape"].as_array().unwrap().iter().filter_map(Json::as_i64).collect();
    let shape = if shape.is_empty() { vec![1; rank] } else { shape };
    Tensor::from_bytes(container.element, shape, bytes).unwrap()
}

/// Runs a graph on the inputs of its program; after it was written and read again, if asked for and possible.
fn run(name: &str, path: &Path, again: bool) -> Option<(Arguments, Json)> {
    let data: Json =
        serde_json::from_slice(&std::fs::read(folder().join(format!("{name}.json"))).unwrap()).unwrap();
    let import = sdfg_dace::read(&std::fs::read(path).unwrap(), &sdfg_dace::Options::default())
        .unwrap_or_else(|refused| panic!("{}: {}", path.display(), refused.report));
    let sdfg = if again {
        let bytes = sdfg_dace::write(&import.sdfg, sdfg_dace::Form::Plain).ok()?;
        sdfg_dace::read(&bytes, &sdfg_dace::Options::default()).unwrap().sdfg
    } else {
        import.sdfg
    };
    let validated = validate(sdfg).unwrap_or_else(|rejected| panic!("{}: {rejected}", path.display()));
    let sdfg = validated.sdfg();
    let mut arguments = Arguments::new();
    for (name, value) in data["inputs"].as_object().unwrap() {
        if sdfg.find_container(name).is_some_and(|id| sdfg.container(id).is_argument()) {
            arguments.set(name, tensor(sdfg, name, value));
        } else if sdfg.symbols().any(|(symbol, _)| symbol.as_str() == name) {
            arguments.set_symbol(name, value["values"][0].as_i64().unwrap());
        }
    }
    let mut interpreter = Interpreter::new(&validated).unwrap();
    let result = interpreter.run(&mut arguments, &Options::default());
    result.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Some((arguments, data))
}

/// Graphs with library nodes, some of which were calls of BLAS and LAPACK, with operation and what it transposes.
const LIBRARY_NODES: [(&str, &[&str]); 8] = [
    ("turned", &["Gemm transA=false transB=false", "Gemm transA=false transB=false"]),
    ("factors", &["Cholesky", "Solve"]),
    ("lapack", &["Getrf", "Getri", "Getrs", "Potrf"]),
    ("offsets", &["Stencil", "Stencil"]),
    ("swept", &["Stencil"]),
    ("transforms.version2", &["All", "Any", "FFT", "IFFT", "Memset"]),
    ("rolled.version2", &["Broadcast", "CShift", "CShift", "CShift", "Merge"]),
    (
        "spelled",
        &[
            "Axpy",
            "Cholesky",
            "Dot",
            "Gemm transA=false transB=true",
            "Gemv transA=false",
            "Ger",
            "Inv",
            "Solve",
            "TensorDot",
            "TensorTranspose",
            "Transpose",
        ],
    ),
];

#[test]
fn calls_of_blas_and_lapack_are_library_nodes() {
    for (name, expected) in LIBRARY_NODES {
        let bytes = std::fs::read(folder().join(format!("{name}.sdfg"))).unwrap();
        let import = sdfg_dace::read(&bytes, &sdfg_dace::Options::default()).unwrap();
        let validated = validate(import.sdfg).unwrap();
        let nodes = validated.sdfg().states().flat_map(|(_, state)| state.nodes());
        let mut found: Vec<String> = nodes
            .filter_map(|(_, node)| match &node.kind {
                NodeKind::Library(library) => Some(library),
                _ => None,
            })
            .map(|library| {
                let transposed = library.properties.iter().filter(|(name, _)| name.starts_with("trans"));
                let flags =
                    transposed.map(|(name, value)| format!(" {name}={}", value.to_string().to_lowercase()));
                library.operation.clone() + &flags.collect::<String>()
            })
            .collect();
        found.sort();
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn what_code_prints_is_told() {
    let text = std::fs::read_to_string(folder().join("axpy.simplified.sdfg")).unwrap();
    for (code, language) in
        [(r#"__out = __inp;\nprintf(\"%f\", __inp);"#, "CPP"), (r"__out = __inp\nprint(__inp)", "Python")]
    {
        let code = format!(r#""{code}","language":"{language}""#);
        let printing = text.replace(r#""__out = __inp","language":"Python""#, &code);
        assert_ne!(printing, text);
        let import = sdfg_dace::read(printing.as_bytes(), &sdfg_dace::Options::default()).unwrap();
        let told: Vec<_> =
            import.report.findings.iter().filter(|found| found.message.contains("prints")).collect();
        assert_eq!(told.len(), 1, "{language}: {:?}", import.report);
    }
}

#[test]
fn implementations_are_told_and_kept() {
    let bytes = std::fs::read(folder().join("spelled.sdfg")).unwrap();
    let import = sdfg_dace::read(&bytes, &sdfg_dace::Options::default()).unwrap();
    let told = import.report.findings.iter().filter(|found| found.message.contains("implementation `pure`"));
    assert_eq!(told.count(), 1, "{}", import.report);
    let written = sdfg_dace::write(&import.sdfg, sdfg_dace::Form::Plain).unwrap();
    let text = String::from_utf8(written).unwrap().replace(": ", ":");
    assert!(text.contains(r#""implementation":"pure""#));
}

#[test]
fn structs_of_earlier_versions_are_those_of_later_ones() {
    let text = std::fs::read_to_string(folder().join("largest_at.simplified.sdfg")).unwrap();
    let list = r#""data":[["idx","int32"],["val","float64"]],"length":[]"#;
    let earlier = text.replace(list, r#""data":{"idx":"int32","val":"float64"},"length":{}"#);
    assert_ne!(earlier, text);
    let [later, earlier] = [text, earlier].map(|text| {
        let import = sdfg_dace::read(text.as_bytes(), &sdfg_dace::Options::default());
        import.unwrap_or_else(|refused| panic!("{}", refused.report)).sdfg
    });
    assert_eq!(sdfg::text::print(&later), sdfg::text::print(&earlier));
}

#[test]
fn tasklets_without_code_do_nothing() {
    let text = r#"{"type":"SDFG","attributes":{"name":"p"},"edges":[],"start_block":0,"nodes":[{"type":"SDFGState","label":"s",
        "id":0,"attributes":{},"edges":[],"nodes":[{"type":"Tasklet","label":"t","id":0,"attributes":{"label":"t"}}]}]}"#;
    let import = sdfg_dace::read(text.as_bytes(), &sdfg_dace::Options::default()).unwrap();
    assert!(validate(import.sdfg).is_ok());
}

#[test]
fn programs_compute_what_numpy_computes() {
    assert!(check_all(false) > 50);
}

#[test]
fn written_programs_compute_what_numpy_computes() {
    assert!(check_all(true) > 50);
}

/// Compares the outputs of every graph, and counts the graphs.
fn check_all(again: bool) -> usize {
    let mut count = 0;
    for (name, path) in graphs() {
        // What library nodes compute is known elsewhere.
        if LIBRARY_NODES.iter().any(|(graph, _)| path.ends_with(format!("{graph}.sdfg"))) {
            continue;
        }
        let Some((arguments, data)) = run(&name, &path, again) else { continue };
        count += 1;
        for (output, expected) in data["outputs"].as_object().unwrap() {
            let found = flat(arguments.get(output).unwrap());
            let expected: Vec<f64> =
                expected["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
            let is_right = found.len() == expected.len() && found.iter().zip(&expected).all(near);
            assert!(is_right, "{}: `{output}` is {found:?} and not {expected:?}", path.display());
        }
    }
    count
}
