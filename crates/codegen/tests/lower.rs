//! Plans of the example programs.

use sdfg::validate::validate;
use sdfg_codegen::lower::{Target, lower};

fn plan(source: &str) -> String {
    let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
    let validated = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    lower(&validated, &Target::cpu())
        .map_or_else(|error| format!("error: {error}\n"), |plan| plan.to_string())
}

#[test]
fn all_programs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        println!("==== {}", file.display());
        println!("{}", plan(&std::fs::read_to_string(&file).unwrap()));
    }
}
