//! Dependencies between crates: compares the manifests with the crate table of ARCHITECTURE.md.

use super::{File, Finding};

/// Each crate of the workspace with those of the workspace that it may depend on, tests included.
const EDGES: [(&str, &[&str]); 17] = [
    ("sdfg-language", &[]),
    ("sdfg-graph", &["sdfg-language"]),
    ("sdfg-validate", &["sdfg-language", "sdfg-graph"]),
    ("sdfg-interpret", &["sdfg-language", "sdfg-graph", "sdfg-validate"]),
    // Tests of edits compare runs.
    ("sdfg-edit", &["sdfg-language", "sdfg-graph", "sdfg-validate", "sdfg-interpret"]),
    ("sdfg", &["sdfg-language", "sdfg-graph", "sdfg-validate", "sdfg-interpret", "sdfg-edit"]),
    ("sdfg-runtime", &[]),
    ("sdfg-transforms", &["sdfg"]),
    ("sdfg-library", &["sdfg", "sdfg-transforms"]),
    ("sdfg-filetest", &["sdfg"]),
    ("sdfg-codegen", &["sdfg", "sdfg-runtime", "sdfg-filetest"]),
    ("sdfg-dace", &["sdfg"]),
    ("sdfg-symbolica", &["sdfg"]),
    ("sdfg-fuzz", &["sdfg", "sdfg-dace"]),
    ("sdfg-cli", &ALL),
    ("sdfg-programs", &ALL),
    // xtask sets a machine up, so it must build without the tools that it installs.
    ("xtask", &[]),
];

/// Crates of the table that are separate workspaces.
const OUTSIDE: [&str; 2] = ["sdfg-symbolica", "sdfg-fuzz"];

const ALL: [&str; 7] =
    ["sdfg", "sdfg-runtime", "sdfg-transforms", "sdfg-library", "sdfg-codegen", "sdfg-dace", "sdfg-filetest"];

/// Third-party crates with requirements on the machine, and the only crates that may depend on them.
const NATIVE: [(&str, &[&str]); 3] =
    [("inkwell", &["sdfg-codegen"]), ("llvm-sys", &["sdfg-codegen"]), ("symbolica", &["sdfg-symbolica"])];

/// The crates of this workspace that may depend on a crate, directly or through others.
pub(crate) fn dependents(name: &str) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    // The table lists a crate after the crates that it depends on.
    for (user, used) in EDGES.iter().filter(|(user, _)| !OUTSIDE.contains(user)) {
        if used.iter().any(|used| *used == name || found.contains(used)) {
            found.push(user);
        }
    }
    found
}

/// Every dependency of a manifest is one that the tables allow.
pub(super) fn edges(file: &File, findings: &mut Vec<Finding>) {
    let manifest = Manifest::of(&file.text);
    let Some(name) = &manifest.name else { return };
    let Some((_, allowed)) = EDGES.iter().find(|(known, _)| known == name) else {
        let message = format!("crate `{name}` is not in the crate table (xtask/src/tidy/crates.rs)");
        findings.push(Finding::new("crate-edge", &file.path, None, message));
        return;
    };
    for (line, dependency) in &manifest.dependencies {
        let ours = EDGES.iter().any(|(known, _)| known == dependency);
        let native = NATIVE.iter().find(|(known, _)| known == dependency);
        let refused = (ours && !allowed.contains(&dependency.as_str()))
            || native.is_some_and(|(_, users)| !users.contains(&name.as_str()));
        if refused {
            let message = format!("`{name}` may not depend on `{dependency}` (ARCHITECTURE.md, crates)");
            findings.push(Finding::new("crate-edge", &file.path, Some(*line), message));
        }
    }
}

/// The part of a manifest that this rule reads.
///
/// Read line by line, because cargo's own readers would be this program's largest dependency; cargo itself
/// refuses a manifest that is not TOML.
struct Manifest {
    /// The package's name; a virtual manifest has none.
    name: Option<String>,
    /// Each dependency of any kind, under the name of its package, with its line.
    dependencies: Vec<(usize, String)>,
}

impl Manifest {
    fn of(text: &str) -> Self {
        let mut manifest = Self { name: None, dependencies: Vec::new() };
        let mut section = "";
        for (index, line) in text.lines().enumerate() {
            let line = line.split(" #").next().unwrap_or(line).trim();
            if let Some(header) = line.strip_prefix('[') {
                section = header.trim_end_matches(']').trim();
                if let Some((kind, name)) = section.rsplit_once('.')
                    && is_dependencies(kind)
                {
                    manifest.dependencies.push((index + 1, name.trim_matches('"').to_owned()));
                }
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let key = key.trim();
            if section == "package" && key == "name" {
                manifest.name = Some(unquoted(value).to_owned());
            } else if is_dependencies(section) {
                let renamed = value.split_once("package").and_then(|(_, rest)| rest.split_once('='));
                let package = renamed.map(|(_, name)| unquoted(name));
                // `name.workspace = true` is short for `name = { workspace = true }`.
                let short = key.split('.').next().unwrap_or(key).trim_matches('"');
                manifest.dependencies.push((index + 1, package.unwrap_or(short).to_owned()));
            }
        }
        manifest
    }
}

/// Whether a section lists dependencies of the package; `workspace.dependencies` only names versions.
fn is_dependencies(section: &str) -> bool {
    let kind = section.rsplit('.').next().unwrap_or(section);
    matches!(kind, "dependencies" | "dev-dependencies" | "build-dependencies")
        && !section.starts_with("workspace")
}

/// The text between the first pair of quotes.
fn unquoted(value: &str) -> &str {
    value.split('"').nth(1).unwrap_or("")
}
