//! Tests on the given graphs, whose optima are known from the reference implementation.
#![expect(clippy::print_stderr, reason = "a test that has nothing to test says so")]

use std::fs::File;
use std::path::{Path, PathBuf};

use super::*;

/// The folder of the graphs: the variable `SDFG_STRATEGY`, else `../shared/strategy` beside the repository.
fn folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/strategy");
    std::env::var_os("SDFG_STRATEGY").map_or(beside, PathBuf::from)
}

/// The graph, or nothing, said aloud, where the graphs are not on this machine. A folder that was named has to hold it.
fn given(name: &str) -> Option<Tabulated> {
    let path = folder().join(name);
    match File::open(&path) {
        Ok(file) => Some(Tabulated::read(file).expect("a graph")),
        Err(error) if std::env::var_os("SDFG_STRATEGY").is_some() => panic!("{}: {error}", path.display()),
        Err(_) => {
            eprintln!(
                "skipped: {} is not there; SDFG_STRATEGY names the folder of the graphs",
                path.display()
            );
            None
        }
    }
}

fn costs(name: &str, expected: f64) {
    let Some(problem) = given(name) else { return };
    for n_threads in [1, 2] {
        let solution = search(&problem, &Options { n_threads, ..Options::default() }, &()).unwrap();
        let difference = (solution.cost - expected).abs() / expected;
        assert!(difference < 1e-9, "{} instead of {expected}", solution.cost);
        accepted(&problem, &solution);
    }
}

#[test]
fn alexnet_has_the_optimum_of_the_reference() {
    costs("alexnet.8.json.gz", 97_098_296_512.0);
}

#[test]
fn table_pruning_finds_the_optimum_of_alexnet() {
    let Some(problem) = given("alexnet.8.json.gz") else { return };
    let options = Options { algorithm: Algorithm::TablePruning, ..Options::default() };
    let solution = search(&problem, &options, &()).unwrap();
    assert!((solution.cost - 97_098_296_512.0).abs() < 97.0, "{}", solution.cost);
    accepted(&problem, &solution);
}

#[test]
fn inception_has_the_optimum_of_the_reference() {
    costs("inception3.8.json.gz", 782_140_602_432.0);
}

#[test]
fn a_given_graph_is_written_as_it_was_read() {
    let Some(problem) = given("inception3.8.json.gz") else { return };
    let mut written = Vec::new();
    problem.write_gzip(&mut written).unwrap();
    assert_eq!(Tabulated::read(written.as_slice()).unwrap(), problem);
}
