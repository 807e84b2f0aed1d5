//! Graphs that are transformed before they run, in a folder of the layout of a corpus.

use std::path::PathBuf;

use sdfg::npy;
use sdfg::tensor::Tensor;
use sdfg_transforms::{Chain, Pipeline};
use tempfile::TempDir;

use super::{Engine, Outcome, Rewrite, check_rewritten, graphs};

const PROGRAM: &str = "sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array t: f64[N]
  state s {
    access A
    access t
    map m [i = 0:N] {
      tasklet twice (a) -> (b) { b = 2.0 * a }
      m.A -> twice.a: A[i]
      twice.b -> m.t: t[i]
    }
    A -> m.A
    m.t -> t
  }
  -> s1
  state s1 {
    access t
    access B
    t -> B: t[0:N] -> B[0:N]
  }
}
";

/// A folder with the program, inputs, and `factor` times the inputs as expected outputs.
fn folder(factor: f64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let program = sdfg::text::parse("p.sdft", PROGRAM).unwrap_or_else(|errors| panic!("{errors:?}"));
    let graph = sdfg_dace::write(&program, sdfg_dace::Form::Plain).unwrap_or_else(|error| panic!("{error}"));
    let values = [1.0, -2.0, 3.5];
    let results: Vec<f64> = values.iter().map(|value| factor * value).collect();
    let meta = r#"{"symbols": {"N": 3}, "tolerance": {"rtol": 1e-9, "atol": 1e-12, "norm_error": 0}, "args": [
        {"name": "A", "shape": [3], "input": "A.npy"},
        {"name": "B", "shape": [3], "expected": "B.npy"}
    ]}"#;
    let io = folder.path().join("p/io");
    let files = [
        (folder.path().join("p/raw.sdfg"), graph),
        (io.join("meta.json"), meta.into()),
        (io.join("A.npy"), npy::write(&Tensor::vector(&values))),
        (io.join("B.npy"), npy::write(&Tensor::vector(&results))),
    ];
    std::fs::create_dir_all(&io).unwrap_or_else(|error| panic!("{error}"));
    for (path, bytes) in files {
        std::fs::write(path, bytes).unwrap_or_else(|error| panic!("{error}"));
    }
    let [graph] = &graphs(folder.path()).unwrap_or_else(|error| panic!("{error}"))[..] else {
        panic!("one graph was written")
    };
    (folder, graph.clone())
}

fn every_match(only: Option<&str>) -> Rewrite {
    Rewrite::EveryMatch { only: only.map(str::to_owned), most: 2 }
}

#[test]
fn transformed_graphs_have_the_expected_outputs() {
    let (_folder, graph) = folder(2.0);
    let mut pipeline =
        Pipeline::on(sdfg::text::parse("p.sdft", PROGRAM).unwrap_or_else(|errors| panic!("{errors:?}")));
    pipeline.simplify(&sdfg_library::transformations(), None);
    for engine in [Engine::Interpreter, Engine::Native] {
        for rewrite in [Rewrite::Simplify, Rewrite::Chain(pipeline.chain()), every_match(None)] {
            let mut steps = Vec::new();
            let found = check_rewritten(&graph, engine, &rewrite, &mut |step| steps.push(step.to_owned()));
            assert_eq!(found.outcome, Outcome::Passed, "{rewrite:?} {steps:?}");
            assert!(!steps.is_empty());
        }
    }
    let simplified = check_rewritten(&graph, Engine::Interpreter, &Rewrite::Simplify, &mut |_| {});
    assert!(simplified.applications["StateFusion"].applied == 1, "{simplified:?}");
    let [before, after] = simplified.sizes.unwrap_or_default();
    assert!(before.all() > after.all(), "{simplified:?}");
    let tiled = check_rewritten(&graph, Engine::Interpreter, &every_match(Some("MapTiling")), &mut |_| {});
    assert!(tiled.applications.keys().eq(["MapTiling"].iter()), "{tiled:?}");
    assert!(tiled.applications["MapTiling"].applied == 2, "{tiled:?}");
}

/// `SDFG_DACE_PYTHON` names a Python with DaCe 1.0.2.
#[test]
fn transformed_graphs_have_the_expected_outputs_in_dace() {
    if std::env::var_os("SDFG_DACE_PYTHON").is_none() {
        return;
    }
    let rewrites = [Rewrite::Simplify, every_match(Some("MapTiling")), every_match(Some("MapToForLoop"))];
    for (factor, rewrite) in rewrites.iter().map(|rewrite| (2.0, rewrite)).chain([(3.0, &rewrites[0])]) {
        let (_folder, graph) = folder(factor);
        let found = check_rewritten(&graph, Engine::Dace, rewrite, &mut |_| {});
        let is_expected = match &found.outcome {
            Outcome::Passed => factor == 2.0,
            Outcome::Failed(_) => factor == 3.0,
            Outcome::Refused { .. } => false,
        };
        assert!(is_expected && found.applications.values().any(|found| found.applied > 0), "{found:?}");
    }
}

#[test]
fn other_outputs_and_chains_that_do_not_apply_are_told() {
    let (_folder, graph) = folder(3.0);
    let run = |rewrite| check_rewritten(&graph, Engine::Interpreter, &rewrite, &mut |_| {}).outcome;
    assert!(matches!(run(Rewrite::Simplify), Outcome::Failed(what) if what.contains("`B` differs")));
    // The graph itself has other outputs, which no transformation is to blame for.
    assert!(matches!(run(every_match(None)), Outcome::Failed(what) if !what.contains("wrong")));
    let chain = r#"{"version": 1, "steps": [{"transformation": "LoopToMap", "at": ["p/gone"]}]}"#;
    let chain = Chain::from_json(chain).unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(run(Rewrite::Chain(chain)), Outcome::Refused { code, .. } if code == "chain"));
}
