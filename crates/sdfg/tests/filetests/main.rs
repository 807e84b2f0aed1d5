//! File tests: text programs with commands in their heads and expectations in their comments, one reported test for each
//! file of `filetests/`, and one for each `sdft` block of the project's documents. CONTRIBUTING.md tells how they are
//! written.
//!
//! `BLESS=1` rewrites expectations to what was found. It stands apart from the unit tests so that a case takes a text
//! and no Rust, and it uses the public interface alone, as users do.

mod bless;
mod collect;
mod command;
mod expectation;
mod interpret;
mod json_file;
mod outcome;
mod planted;
mod roundtrip;
mod survive;
mod tensor_text;
mod test_file;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = collect::files();
    trials.extend(collect::document_blocks());
    trials.extend(planted::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}
