//! Plan tests: file tests whose command `#! test plan` lowers the program for a fixed target. The plan must equal the
//! block of output `plan` at the end of the file. Each file is one reported test. The programs on the pages of `T`
//! codes have the command `#! test lower`.
//!
//! `checked` and `reproducible` behind the command request such code, and `cuda` a target with a device. `BLESS=1` writes the current plans; review the
//! difference before you commit it.

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::Arguments;
use sdfg::ir::Sdfg;
use sdfg::validate::validate;
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_filetest::{BackEnd, Native, PlanOptions, files};
use sdfg_library::{BuiltIn, expand};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let advice = "cargo nextest run -p sdfg-programs --test plans";
    let mut trials = files(&root, advice, &Lowered);
    assert!(trials.len() >= 18, "only {} programs", trials.len());
    // The programs on the pages of `T` codes.
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/codegen/filetests");
    trials.extend(files(&pages, advice, &Lowered));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Lowers programs for a target that is the same on every machine.
struct Lowered;

impl BackEnd for Lowered {
    fn plan(&self, program: &Sdfg, options: PlanOptions) -> Result<String, String> {
        let expanded = expand(program, &BuiltIn).map_err(|error| error.to_string())?;
        let program = validate(expanded).map_err(|rejected| rejected.to_string())?;
        let PlanOptions { checked, reproducible, cuda } = options;
        // One thread of the host gives a device commands.
        let options =
            LowerOptions { checked, reproducible, serial_components: cuda, ..LowerOptions::default() };
        let target = if cuda { Target::cuda() } else { Target::cpu() };
        let plan = lower(&program, &target, &options).map_err(|error| error.to_string())?;
        Ok(plan.to_string())
    }

    fn run(&self, _: &Sdfg, _: &Native) -> Result<(), String> {
        Err("native runs belong in `crates/codegen/tests/agreement`".to_owned())
    }
}
