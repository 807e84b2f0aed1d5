//! The file tests of the graph crates: the files of `filetests/`, and the `sdft` blocks of the project's documents.
//!
//! The suite stands apart from the unit tests, so that a case needs a text and no Rust. It uses the public interface
//! of `sdfg` alone, as users do.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::Arguments;
use sdfg_filetest::{NoBackEnd, document_blocks, files};

/// Documents with programs, relative to the root of the repository.
const DOCUMENTS: [&str; 8] = [
    "README.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "docs/text-format.md",
    "docs/semantics.md",
    "docs/semantics-arithmetic.md",
    "docs/library.md",
    "docs/schedules.md",
];

fn main() -> ExitCode {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let advice = "cargo nextest run -p sdfg-filetest --test filetests";
    let mut trials = files(&package.join("filetests"), advice, &NoBackEnd);
    // The programs on the pages of diagnostics.
    trials.extend(files(&package.join("../graph/filetests"), advice, &NoBackEnd));
    assert!(trials.len() >= 310, "only {} file tests", trials.len());
    trials.extend(document_blocks(&package.join("../.."), &DOCUMENTS));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
