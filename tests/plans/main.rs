//! Plan tests: each program of this folder is lowered for a fixed target, and its plan must equal the file
//! `NAME.plan` beside it. Each file is one reported test.
//!
//! Lines `#! checked` and `#! reproducible` request such code. `BLESS=1` writes the current plans; review the
//! difference before you commit it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use sdfg::validate::validate;
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_library::{BuiltIn, expand};

fn main() -> ExitCode {
    let names = names();
    assert!(names.len() >= 18, "only {} programs", names.len());
    let trials = names.into_iter().map(|name| Trial::test(name.clone(), move || holds(&name)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// The names of all programs and plans.
fn names() -> BTreeSet<String> {
    let entries = folder().read_dir().unwrap_or_else(|error| panic!("{error}"));
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let of_tests = paths.filter(|path| path.extension().is_some_and(|kind| kind == "sdft" || kind == "plan"));
    of_tests.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans")
}

/// The plan of a program is that of its file.
fn holds(name: &str) -> Result<(), Failed> {
    let path = folder().join(format!("{name}.plan"));
    let found = plan(&folder().join(format!("{name}.sdft")))?;
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        return Ok(std::fs::write(path, found)?);
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if found == expected {
        return Ok(());
    }
    let (mut lines, mut wanted) = (found.lines(), expected.lines());
    let same = lines.by_ref().zip(wanted.by_ref()).take_while(|(found, wanted)| found == wanted).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("the end").trim().to_owned();
    let (found, expected) = (line(&found), line(&expected));
    Err(format!(
        "line {} of {name}.plan is `{found}` and not `{expected}`; BLESS=1 writes the plan, to be read with `git diff`",
        same + 1
    )
    .into())
}

fn plan(path: &Path) -> Result<String, Failed> {
    let text = std::fs::read_to_string(path)?;
    let program = sdfg::text::parse("program.sdft", &text).map_err(|errors| format!("{errors:?}"))?;
    let program = validate(expand(&program, &BuiltIn)?).map_err(|rejected| rejected.to_string())?;
    let asks = |word: &str| text.lines().any(|line| line.strip_prefix("#! ") == Some(word));
    let (checked, reproducible) = (asks("checked"), asks("reproducible"));
    let options = LowerOptions { checked, reproducible, ..LowerOptions::default() };
    let plan = lower(&program, &Target::cpu(), &options)?;
    Ok(plan.to_string())
}
