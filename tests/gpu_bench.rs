//! The folder of `cargo xtask bench gpu`: its script runs and compares all programs with a stand-in for CUDA, and tells what fails.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]

#[path = "../examples/bench_gpu/package.rs"]
mod package;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A Python with NumPy: the interpreter, that of the active environment, or that of `cargo xtask python test`.
fn with_numpy() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap_or(Path::new("target"));
    let environment = std::env::var_os("VIRTUAL_ENV").map(|folder| Path::new(&folder).join("bin/python"));
    let candidates = [Some("python3".into()), environment, Some(target.join("test-venv/bin/python"))];
    let has_numpy = |python: &PathBuf| {
        let output = Command::new(python).args(["-c", "import numpy"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    candidates.into_iter().flatten().find(has_numpy)
}

/// Runs the script of a folder without a GPU, and gives its lines.
fn quick(python: &Path, folder: &Path, names: &[&str]) -> (Output, String) {
    let mut command = Command::new(python);
    command
        .arg(folder.join("bench.py"))
        .arg("--quick")
        .args(names)
        .env("SDFG_GPU_BUILD", folder.join("build"));
    let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", python.display()));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

/// Puts a text in the place of another one in a program.
fn plant(folder: &Path, name: &str, from: &str, to: &str) {
    let file = folder.join(name).with_extension("cu");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(text.contains(from), "{name} has no `{from}`");
    std::fs::write(&file, text.replace(from, to)).unwrap_or_else(|error| panic!("{name}: {error}"));
}

#[test]
fn all_programs_are_compared_and_faults_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let count = package::write(folder).unwrap_or_else(|error| panic!("{error}"));
    let Some(python) = with_numpy() else {
        println!("skipped: no Python with NumPy; `cargo xtask python test` installs one");
        return;
    };

    let (output, text) = quick(&python, folder, &[]);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("{count} measured, 0 failed")), "{text}");
    let line = |text: &str, name: &str| {
        let found = text.lines().find(|line| line.split_whitespace().next() == Some(name));
        found.unwrap_or_else(|| panic!("no line for {name}:\n{text}")).to_owned()
    };
    assert!(line(&text, "matmul").contains("NumPy"), "{text}");
    assert!(line(&text, "transpose").contains("copy"), "{text}");
    assert!(line(&text, "spmv").ends_with("no peer, so no ratio"), "{text}");
    assert_eq!(text.matches(", ratio ").count(), count - 1, "{text}");
    let json = std::fs::read_to_string(folder.join("build/bench.json")).expect("the file of all times");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let benchmarks = json["benchmarks"].as_array().expect("benchmarks");
    assert_eq!(benchmarks.len(), count);
    assert!(benchmarks.iter().all(|benchmark| benchmark["times"]["ours"].is_array()), "{json}");

    // A wrong result, a program that does not compile, and one that ends with a signal, beside one that is right.
    plant(folder, "sum", "total_private += ", "total_private -= ");
    plant(folder, "axpy", "#include <stddef.h>", "#include <no_such_file.h>");
    plant(folder, "spmv", "if (handle == NULL) {", "if (*(volatile int *)NULL == 0) {");
    let (output, text) = quick(&python, folder, &["sum", "axpy", "spmv", "query"]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("1 measured, 3 failed"), "{text}");
    assert!(line(&text, "sum").contains("failed: `total` differs from NumPy's"), "{text}");
    let refused = line(&text, "axpy");
    assert!(refused.contains("failed: g++: ") && refused.contains("no_such_file.h"), "{text}");
    assert!(line(&text, "spmv").contains("failed: status -11"), "{text}");
    assert!(line(&text, "query").contains(", ratio "), "{text}");

    // No time is left.
    let (output, text) = quick(&python, folder, &["query", "--seconds", "0"]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(line(&text, "query").ends_with("failed: no time is left"), "{text}");
}
