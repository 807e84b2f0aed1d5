//! Dependencies between modules of `sdfg-codegen`: lowering and the back ends depend on plans, but not on
//! each other.

use std::path::Path;

use super::source::Source;
use super::{File, Finding};

/// The folder that the rules are about.
const WITHIN: &str = "crates/codegen/src";

/// A module that few may name.
struct Hidden {
    name: &'static str,
    /// Files and folders that may name it.
    users: &'static [&'static str],
    /// Why others may not.
    reason: &'static str,
}

const HIDDEN: [Hidden; 2] = [
    Hidden {
        name: "lower",
        // `externals.rs` makes plans of its own.
        users: &["lower", "lib.rs", "compile.rs", "processor.rs", "externals.rs"],
        reason: "plans and what prints them decide nothing",
    },
    Hidden {
        name: "llvm",
        users: &["llvm", "lib.rs", "compile.rs", "processor.rs", "cache/objects.rs", "externals.rs"],
        reason: "plans and lowering know no back end",
    },
];

/// No code but that of its users names a hidden module.
pub(super) fn hidden(file: &File, source: &Source, findings: &mut Vec<Finding>) {
    let Ok(path) = file.path.strip_prefix(WITHIN) else { return };
    let is_test = path.ends_with("tests.rs") || path.iter().any(|part| part == "tests");
    for module in HIDDEN.iter().filter(|_| !is_test) {
        if module.users.iter().any(|user| path.starts_with(Path::new(user))) {
            continue;
        }
        for (index, line) in source.code.lines().enumerate() {
            if names(line, module.name) {
                let message = format!("this may not name `{}`: {}", module.name, module.reason);
                findings.push(Finding::new("module-edge", &file.path, Some(index + 1), message));
            }
        }
    }
}

/// Whether a line has a path through a module of the crate.
fn names(line: &str, module: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(module).any(|(at, _)| {
        let (before, behind) = (&line[..at], &line[at + module.len()..]);
        let is_whole = !before.ends_with(is_word) && !behind.starts_with(is_word);
        let is_path = before.ends_with("crate::") || before.ends_with("super::") || behind.starts_with("::");
        is_whole && (is_path || before.contains("crate::{"))
    })
}
