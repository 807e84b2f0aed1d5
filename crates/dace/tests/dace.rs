//! Tests of written graphs in DaCe itself: DaCe 1.0.2 loads, validates, compiles and runs them, and results
//! are compared.
//!
//! The tests need a Python with DaCe 1.0.2, named by `SDFG_DACE_PYTHON`. Without it they report that nothing
//! was tested. DaCe takes several seconds for each graph; `SDFG_DACE_GRAPHS` selects the graphs whose path
//! contains a text.
#![expect(clippy::print_stderr, reason = "a test that others run by hand shows what it did")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sdfg_dace::{Form, Options, read, write};

/// Every graph of a folder with the place of its inputs and outputs.
fn own_graphs() -> Vec<(PathBuf, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if file.ends_with(".sdfg") {
            let program = file.split('.').next().unwrap_or_default();
            found.push((path, folder.join(format!("{program}.json"))));
        }
    }
    found.sort();
    found
}

/// Every graph of the corpus with the folder of its inputs and outputs.
fn corpus_graphs(corpus: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for source in ["npbench", "dace"] {
        for program in std::fs::read_dir(corpus.join(source)).unwrap() {
            let program = program.unwrap().path();
            for file in std::fs::read_dir(&program).unwrap() {
                let path = file.unwrap().path();
                if path.to_string_lossy().ends_with(".sdfg.gz") {
                    found.push((path, program.join("io")));
                }
            }
        }
    }
    found.sort();
    found
}

/// A Python with DaCe and the graphs to test, which are those of the corpus too if there is one.
fn chosen(corpus: Option<PathBuf>) -> Option<(OsString, Vec<(PathBuf, PathBuf)>)> {
    let Some(python) = std::env::var_os("SDFG_DACE_PYTHON") else {
        eprintln!("SDFG_DACE_PYTHON names no Python with DaCe 1.0.2: nothing was tested");
        return None;
    };
    let mut graphs = own_graphs();
    if let Some(corpus) = corpus {
        graphs.extend(corpus_graphs(&corpus));
    }
    let chosen = std::env::var("SDFG_DACE_GRAPHS").unwrap_or_default();
    graphs.retain(|(path, _)| path.to_string_lossy().contains(&chosen));
    Some((python, graphs))
}

/// DaCe's answers about graphs as they are written, a line for each: with inputs it runs them, otherwise it validates them.
fn answers(python: OsString, graphs: &[(PathBuf, PathBuf)], with_inputs: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (mut lines, mut refused) = (String::new(), 0);
    for (at, (path, io)) in graphs.iter().enumerate() {
        let Ok(import) = read(&std::fs::read(path).unwrap(), &Options::default()) else { continue };
        match write(&import.sdfg, Form::Plain) {
            Ok(bytes) => {
                let name = path.to_string_lossy().replace(['/', '\\'], "_");
                let written = folder.path().join(format!("{at}{name}"));
                std::fs::write(&written, bytes).unwrap();
                let io = if with_inputs { io.display().to_string() } else { "-".to_owned() };
                lines.push_str(&format!("{}\t{io}\n", written.display()));
            }
            Err(error) => {
                refused += 1;
                eprintln!("{}: {error}", path.display());
            }
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dace/run.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("SDFG_DACE_PYTHON must be a Python with DaCe 1.0.2");
    // The pipe of answers is small, so another thread asks.
    let mut input = child.stdin.take().unwrap();
    let asking = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    asking.join().unwrap();
    eprintln!("refused {refused}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The lines whose stage is none of those, and how many have each stage.
fn others(answers: &str, good: &[&str]) -> (Vec<String>, BTreeMap<String, usize>) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in answers.lines() {
        let stage = line.split('\t').nth(1).unwrap_or_default();
        *counts.entry(stage.to_owned()).or_default() += 1;
        if !good.contains(&stage) {
            wrong.push(line.to_owned());
        }
    }
    eprintln!("{counts:?}");
    (wrong, counts)
}

#[test]
fn dace_computes_what_was_written() {
    let Some((python, graphs)) = chosen(std::env::var_os("SDFG_CORPUS").map(PathBuf::from)) else { return };
    let answers = answers(python, &graphs, true);
    answers.lines().filter(|line| !line.contains("\tsame\t")).for_each(|line| eprintln!("{line}"));
    // What DaCe's own code generator cannot do is no fault of the file; a wrong result or no valid graph is.
    let (wrong, counts) = others(&answers, &["same", "valid"]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(counts.contains_key("same"), "DaCe ran nothing");
}

/// Validation takes DaCe a fraction of a second, so this test covers the whole corpus.
#[test]
fn dace_validates_what_was_written() {
    let corpus = std::env::var_os("SDFG_CORPUS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = corpus.or_else(|| beside.is_dir().then_some(beside));
    let Some((python, graphs)) = chosen(corpus) else { return };
    let (wrong, counts) = others(&answers(python, &graphs, false), &["valid"]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(counts.contains_key("valid"), "DaCe validated nothing");
}
