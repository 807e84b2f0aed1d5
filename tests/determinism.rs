//! Determinism test: two builds of every program, in two processes, give identical bytes of text, JSON, LLVM
//! IR and objects.
//!
//! The test runs its own executable twice, in different folders and environments. Each run builds everything
//! and prints hashes of the bytes.
#![expect(clippy::print_stdout, reason = "one process tells the other what it built")]

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::process::Command;

use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_programs::programs::ALL;

/// The variable that makes the test a builder.
const BUILD: &str = "SDFG_TEST_PRINT_HASHES";
/// The prefix of each line of a builder.
const MARK: &str = "built ";

#[test]
fn two_processes_build_identical_bytes() {
    if std::env::var_os(BUILD).is_some() {
        ALL.iter().for_each(|(name, build)| print_hashes(name, &build().expect("it is valid").0));
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let first = builder(Path::new("/"), "1");
    let second = builder(folder.path(), &"x".repeat(5000));
    for (what, hash) in &first {
        assert_eq!(second.get(what), Some(hash), "{what} differs between two processes");
    }
    assert_eq!(first.len(), second.len());
    // All programs have text and JSON, IR before and after optimisation and an object.
    let of_kind = |kind: &str| first.keys().filter(|what| what.ends_with(kind)).count();
    assert_eq!([of_kind(" text"), of_kind(" JSON")], [18, 18]);
    assert_eq!([of_kind(" IR"), of_kind(" optimised IR"), of_kind(" object")], [72, 36, 36]);
    let distinct: std::collections::BTreeSet<&String> = first.values().collect();
    assert!(distinct.len() > first.len() / 2, "the hashes say something");
}

/// Hashes of the outputs of a separate process, by name.
fn builder(folder: &Path, variable: &str) -> BTreeMap<String, String> {
    let executable = std::env::current_exe().expect("the test is a file");
    let output = Command::new(executable)
        .args(["two_processes_build_identical_bytes", "--exact", "--nocapture"])
        .env(BUILD, variable)
        .current_dir(folder)
        .output()
        .expect("the test can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let lines = text.lines().filter_map(|line| Some(line.split_once(MARK)?.1));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(what, hash)| (what.to_owned(), hash.to_owned()))
        .collect()
}

fn print_hashes(name: &str, program: &Validated) {
    let text = sdfg::text::print(program.sdfg());
    print_hash(&format!("{name} text"), text.as_bytes());
    print_hash(&format!("{name} JSON"), sdfg::json::to_string(program.sdfg()).as_bytes());
    let expanded = sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn).expect("it expands");
    let expanded = validate(expanded).expect("the expanded program is valid");
    let plan = lower(&expanded, &Target::cpu(), &LowerOptions::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    for level in [OptLevel::Quick, OptLevel::O3] {
        let options = CompileOptions { level, ..CompileOptions::default() };
        for (optimised, kind) in [(false, "emitted IR"), (true, "optimised IR")] {
            let ir = llvm::llvm_ir(&plan, &options, optimised).expect("it has IR");
            print_hash(&format!("{name} {level} {kind}"), ir.as_bytes());
        }
        let object = llvm::compile(&plan, &options).expect("it compiles");
        print_hash(&format!("{name} {level} object"), &object.files().concat());
    }
}

/// The keys of this hasher are fixed, so it is the same function in every process.
fn print_hash(what: &str, bytes: &[u8]) {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    println!("{MARK}{what} {:016x}-{}", hasher.finish(), bytes.len());
}
