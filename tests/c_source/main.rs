//! Golden files: the C source of four programs of `programs`, as `sdfg compile --emit c` prints it for the same target on
//! every machine. A review sees in them how generated C changes.
//!
//! Agreement tests establish that C source is correct. `BLESS=1` writes the current files; review the difference before
//! you commit it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_codegen::source::{SourceOptions, c_source};

const COMMAND: &str = "BLESS=1 cargo nextest run -p sdfg-programs --test c_source";

/// Irregular control flow as a `switch`, and scalars.
#[test]
fn branching() {
    compare("branching");
}

/// Complex numbers as pairs of real numbers.
#[test]
fn butterfly() {
    compare("butterfly");
}

/// A parallel loop with privatised copies, which are merged at its end.
#[test]
fn histogram() {
    compare("histogram");
}

/// A parallel map in a sequential loop.
#[test]
fn laplace() {
    compare("laplace");
}

fn compare(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let printed = printed(root, name);
    let golden: PathBuf = root.join("tests/c_source").join(name).with_extension("c");
    if sdfg_filetest::blesses() {
        std::fs::write(&golden, printed).expect("the golden file can be written");
        return;
    }
    let expected = std::fs::read_to_string(&golden).expect("the golden file can be read");
    if printed != expected {
        panic!("{} is not what is printed; {COMMAND}\n{}", golden.display(), difference(&expected, &printed));
    }
}

/// The C source of a program of `programs`.
fn printed(root: &Path, name: &str) -> String {
    let path = format!("programs/{name}.sdft");
    let text = std::fs::read_to_string(root.join(&path)).expect("programs can be read");
    let program = sdfg::text::parse(&path, &text).expect("programs are correct");
    let program = sdfg::validate::validate(program).expect("programs are valid");
    let plan = lower(&program, &Target::cpu(), &LowerOptions::default()).expect("programs can be lowered");
    c_source(&plan, &SourceOptions::default()).expect("programs can be printed")
}

/// The first lines that differ, with their numbers.
fn difference(expected: &str, printed: &str) -> String {
    let (expected, printed): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), printed.lines().collect());
    let first = expected.iter().zip(&printed).take_while(|(a, b)| a == b).count();
    let mut text = String::new();
    for (sign, lines) in [('-', &expected), ('+', &printed)] {
        for (at, line) in lines.iter().enumerate().skip(first).take(8) {
            let _ = writeln!(text, "{sign} {:4} {line}", at + 1);
        }
    }
    text
}
