//! Tests of the rules: each finds its planted fault and accepts the same place without the fault.

use super::{File, Finding, check};

fn file(path: &str, text: &str) -> File {
    File { path: path.into(), text: text.to_owned() }
}

/// A small project in order.
fn project() -> Vec<File> {
    let manifest =
        "[package]\nname = \"sdfg-codegen\"\n\n[dependencies]\nsdfg.workspace = true\ninkwell = \"0.11\"\n";
    vec![
        file("ARCHITECTURE.md", "See [the semantics](docs/semantics.md#traps) and `crates/sdfg`.\n"),
        file("CHANGELOG.md", "# Changes\n\n## [Unreleased]\n"),
        file("CONTRIBUTING.md", "Rules.\n"),
        file("LICENSE-APACHE", ""),
        file("LICENSE-MIT", ""),
        file("README.md", "[Architecture](./ARCHITECTURE.md), [elsewhere](https://example.org/x).\n"),
        file("crates/codegen/Cargo.toml", manifest),
        file("crates/sdfg/src/lib.rs", "//! Graphs; see `docs/semantics.md`.\n\npub fn f() {}\n"),
        file("docs/semantics.md", "# Semantics\n\n## Traps\n"),
    ]
}

/// The rules that are broken when `planted` joins the project, replacing a file of the same path.
fn broken(planted: File) -> Vec<(&'static str, Option<usize>)> {
    let mut files = project();
    files.retain(|file| file.path != planted.path);
    files.push(planted);
    let hard = |finding: &Finding| !finding.soft;
    check(&files).iter().filter(|finding| hard(finding)).map(|finding| (finding.rule, finding.line)).collect()
}

#[test]
fn a_project_in_order_has_no_findings() {
    assert_eq!(check(&project()), []);
}

#[test]
fn files_without_module_documentation() {
    assert_eq!(broken(file("crates/sdfg/src/a.rs", "pub fn f() {}\n")), [("module-documentation", Some(1))]);
}

#[test]
fn names_of_ports_outside_of_their_file() {
    let text = "//! Edges.\n\nfn f() {\n    g(\"IN_A\");\n    g(\"OUT_DIR\");\n    // As \"IN_A\".\n}\n";
    let planted = |path: &str, text: &str| broken(file(path, text));
    assert_eq!(planted("crates/sdfg/src/a.rs", text), [("port", Some(4))]);
    assert_eq!(planted("src/a.rs", &text.replace("\"IN_A\"", "format!(\"OUT_{x}\")")), [("port", Some(4))]);
    for path in ["crates/graph/src/ir/port.rs", "crates/sdfg/src/a/tests.rs", "crates/sdfg/tests/a.rs"] {
        assert_eq!(planted(path, text), []);
    }
    let tests = text.replace("fn f() {", "mod tests {");
    assert_eq!(planted("crates/sdfg/src/a.rs", &tests), []);
}

#[test]
fn names_without_meaning() {
    assert_eq!(broken(file("crates/sdfg/src/utils.rs", "//! Things.\n")), [("name", None)]);
    assert_eq!(broken(file("crates/sdfg/src/helpers/a.rs", "//! Things.\n")), [("name", None)]);
}

#[test]
fn back_ends_and_plans_that_name_lowering() {
    let named = |path: &str, line: &str| {
        broken(file(&format!("crates/codegen/src/{path}"), &format!("//! A module.\n{line}\n")))
    };
    let found = [("module-edge", Some(2))];
    assert_eq!(named("llvm/a.rs", "use crate::lower::Target;"), found);
    assert_eq!(named("cuda/a.rs", "use crate::{lower, plan};"), found);
    assert_eq!(named("cuda/a.rs", "use crate::{lower::Target, plan};"), found);
    assert_eq!(named("plan/a.rs", "use super::super::lower::Target;"), found);
    assert_eq!(named("lower/a.rs", "use crate::llvm::compile;"), found);
    assert_eq!(named("llvm/a.rs", "// crate::lower makes plans: self.lower(), lowering::f()"), []);
    assert_eq!(named("llvm/a.rs", "use crate::llvm::lower_case; use crate::llvm::function;"), []);
    assert_eq!(named("llvm/tests/a.rs", "use crate::lower::Target;"), []);
    assert_eq!(named("compile.rs", "use crate::{llvm, lower};"), []);
    assert_eq!(named("lower/a.rs", "use crate::lower::error;"), []);
}

#[test]
fn long_files_and_the_limits_around_them() {
    let lines = |count: usize| format!("//! Long.\n{}", "// line\n".repeat(count - 1));
    assert_eq!(broken(file("crates/sdfg/src/a.rs", &lines(801))), [("file-length", None)]);
    assert_eq!(broken(file("crates/sdfg/src/a.rs", &lines(800))), []);
    let mut files = project();
    files.push(file("crates/sdfg/src/a.rs", &lines(501)));
    assert!(check(&files).iter().all(|finding| finding.soft && finding.rule == "file-length"));
    assert_eq!(check(&files).len(), 1);
}

#[test]
fn long_functions_and_the_limits_around_them() {
    let function =
        |lines: usize| format!("//! Long.\nfn f() {{\n{}}}\n", "    g(\"}\");\n".repeat(lines - 2));
    assert_eq!(broken(file("crates/sdfg/src/a.rs", &function(151))), [("function-length", Some(2))]);
    assert_eq!(broken(file("crates/sdfg/src/a.rs", &function(150))), []);
}

#[test]
fn things_to_do_without_an_issue() {
    let word = concat!("TO", "DO");
    assert_eq!(
        broken(file("crates/sdfg/src/a.rs", &format!("//! A.\n// {word}: it\n"))),
        [("to-do", Some(2))]
    );
    assert_eq!(broken(file("docs/a.md", &format!("{word} later\n"))), [("to-do", Some(1))]);
    assert_eq!(broken(file("crates/sdfg/src/a.rs", &format!("//! A.\n// {word}(#3): it\n"))), []);
    assert_eq!(broken(file("crates/sdfg/src/a.rs", &format!("//! A.\nconst A: &str = \"{word}\";\n"))), []);
}

#[test]
fn white_space_at_the_end() {
    assert_eq!(
        broken(file("docs/a.md", "one \ntwo")),
        [("trailing-space", None), ("trailing-space", Some(1))]
    );
}

#[test]
fn links_that_lead_nowhere() {
    assert_eq!(broken(file("docs/a.md", "[x](gone.md)\n")), [("link", Some(1))]);
    assert_eq!(broken(file("docs/a.md", "[x](semantics.md) [y](../README.md)\n")), []);
    assert_eq!(broken(file("docs/a.md", "[x](semantics.md#traps) [y](#two-words)\n\n# Two `words`!\n")), []);
    assert_eq!(broken(file("docs/a.md", "[x](semantics.md#trap)\n")), [("link", Some(1))]);
    assert_eq!(broken(file("docs/a.md", "\nin `crates/sdfg/src/gone.rs`\n")), [("link", Some(2))]);
    assert_eq!(broken(file("docs/a.md", "```\n[x](gone.md)\n```\n")), []);
    assert_eq!(broken(file("crates/sdfg/src/a.rs", "//! See `docs/gone.md`.\n")), [("link", Some(1))]);
}

#[test]
fn code_maps_that_differ_from_the_modules() {
    let module = "//! Graphs of [`Node`]s, see [the paper](x.md) and `a[0]`. More of it.\n";
    let map = |rows: &str| {
        let text = format!("# A\n\n## Code maps\n\nTables.\n\n### `sdfg` (`crates/sdfg/src`)\n\n{rows}");
        file("ARCHITECTURE.md", &text)
    };
    let broken = |rows: &str| {
        let mut files = project();
        files.retain(|file| file.path != std::path::Path::new("ARCHITECTURE.md"));
        files.extend([
            map(rows),
            file("crates/sdfg/src/a/mod.rs", module),
            file("crates/sdfg/src/b.rs", "//! B.\n"),
        ]);
        files.push(file("crates/sdfg/src/a/tests.rs", "//! Tests.\n"));
        check(&files).iter().map(|finding| (finding.rule, finding.line)).collect::<Vec<_>>()
    };
    let head = "| module | contents |\n|---|---|\n";
    let a = "| `a` | Graphs of `Node`s, see the paper and `a[0]` |\n";
    assert_eq!(broken(&format!("{head}{a}| `b` | B |\n")), []);
    assert_eq!(broken(&format!("{head}{a}")), [("code-map", Some(12))]);
    assert_eq!(broken(&format!("{head}{a}| `b` | C |\n")), [("code-map", Some(12))]);
}

#[test]
fn pages_that_walk_through_code_which_is_not_there() {
    let page = |text: &str| broken(file("docs/adding/a.md", text));
    assert_eq!(page("Call `f`, as `graph::f` does.\n"), []);
    assert_eq!(page("Call `g`.\n"), [("link", Some(1))]);
    assert_eq!(page("Run `cargo xtask test`, see `g(x)`.\n"), []);
    assert_eq!(broken(file("docs/a.md", "Call `g`.\n")), []);
}

#[test]
fn crates_that_know_whom_they_must_not() {
    let manifest = |name: &str, rest: &str| {
        file("crates/x/Cargo.toml", &format!("[package]\nname = \"{name}\"\n{rest}"))
    };
    let edge = |line| vec![("crate-edge", Some(line))];
    assert_eq!(broken(manifest("sdfg", "[dependencies]\nsdfg-codegen.workspace = true\n")), edge(4));
    assert_eq!(
        broken(manifest("sdfg-dace", "[dev-dependencies]\nsdfg-transforms = { path = \"../t\" }\n")),
        edge(4)
    );
    assert_eq!(
        broken(manifest("sdfg-dace", "[dependencies]\nx = { package = \"sdfg-codegen\", path = \"y\" }\n")),
        edge(4)
    );
    assert_eq!(
        broken(manifest("sdfg-transforms", "[dependencies.sdfg-library]\npath = \"../l\"\n")),
        edge(3)
    );
    assert_eq!(broken(manifest("sdfg", "[target.'cfg(unix)'.dependencies]\ninkwell = \"0.11\"\n")), edge(4));
    assert_eq!(broken(manifest("xtask", "[dependencies]\nsdfg.workspace = true\n")), edge(4));
    assert_eq!(broken(manifest("sdfg-new", "")), vec![("crate-edge", None)]);
    assert_eq!(broken(manifest("sdfg-cli", "[dependencies]\nsdfg-codegen.workspace = true\n")), vec![]);
}

#[test]
fn the_files_that_readers_expect() {
    assert_eq!(broken(file("CHANGELOG.md", "# Changes\n")), [("required-file", None)]);
    let mut files = project();
    files.retain(|file| file.path.to_str() != Some("LICENSE-MIT"));
    assert_eq!(check(&files).len(), 1);
}
