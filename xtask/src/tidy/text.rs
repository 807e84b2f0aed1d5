//! Rules on names and lines of files.

use std::path::Path;

use super::source::Source;
use super::{File, Finding};

/// Names that do not describe the contents of a file, so that the file collects unrelated code.
const EMPTY_NAMES: [&str; 8] = ["utils", "util", "helpers", "helper", "common", "misc", "shared", "prelude"];

/// Files that a reader expects at the root.
const REQUIRED: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// No file or folder of the source has a name without meaning.
pub(super) fn name(file: &File, findings: &mut Vec<Finding>) {
    if !file.is("rs") {
        return;
    }
    for part in file.path.with_extension("").iter() {
        if let Some(name) = EMPTY_NAMES.iter().find(|name| part == **name) {
            let message = format!("`{name}` says nothing about what is inside; name the concept");
            findings.push(Finding::new("name", &file.path, None, message));
        }
    }
}

/// Every Rust file opens with its contents and the reason for being separate.
pub(super) fn module_documentation(file: &File, findings: &mut Vec<Finding>) {
    if !file.text.starts_with("//!") {
        let message = "a file opens with `//!`: what it holds and why it is apart";
        findings.push(Finding::new("module-documentation", &file.path, Some(1), message));
    }
}

/// No line ends in white space, and the last line ends.
pub(super) fn trailing_space(file: &File, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            let message = "white space at the end of the line";
            findings.push(Finding::new("trailing-space", &file.path, Some(index + 1), message));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(Finding::new("trailing-space", &file.path, None, "the last line does not end"));
    }
}

/// The names of ports are spelled in one file, so that all others pair them by type.
pub(super) fn ports(file: &File, source: &Source, findings: &mut Vec<Finding>) {
    let is_test = |part: &str| part == "tests" || part.ends_with("tests.rs");
    if file.path.ends_with("crates/graph/src/ir/port.rs")
        || file.path.iter().any(|part| part.to_str().is_some_and(is_test))
    {
        return;
    }
    let lines = file.text.lines().zip(source.comments.lines()).zip(source.code.lines());
    for (index, ((line, comment), code)) in lines.enumerate() {
        if code.trim_start().starts_with("mod tests {") {
            return;
        }
        let spells = ["IN", "OUT"].map(|side| format!("\"{side}_")).iter().any(|literal| {
            line.match_indices(literal.as_str()).any(|(at, _)| {
                // Two names that are unrelated to ports.
                !["DIR", "OF_MEMORY"].iter().any(|other| line[at + literal.len()..].starts_with(other))
            })
        });
        if spells && comment.trim().is_empty() {
            let message = "the name of a port outside of `crates/graph/src/ir/port.rs`; use `sdfg::ir::Port`";
            findings.push(Finding::new("port", &file.path, Some(index + 1), message));
        }
    }
}

/// Open work has an issue.
pub(super) fn to_do(file: &File, findings: &mut Vec<Finding>) {
    to_do_in(&file.path, &file.text, findings);
}

/// The same rule for comments of a Rust file.
pub(super) fn to_do_in_comments(file: &File, source: &Source, findings: &mut Vec<Finding>) {
    to_do_in(&file.path, &source.comments, findings);
}

fn to_do_in(path: &Path, text: &str, findings: &mut Vec<Finding>) {
    // Written in two pieces where it is not in a comment, so that this file can be searched like any other.
    let words = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
    for (index, line) in text.lines().enumerate() {
        for word in words {
            let numbered = |after: &str| after.starts_with("(#");
            let whole = |before: &str, after: &str| {
                !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
            };
            let bare = line.match_indices(word).any(|(at, _)| {
                let (before, after) = (&line[..at], &line[at + word.len()..]);
                whole(before, after) && !numbered(after)
            });
            if bare {
                let message = format!("`{word}` without the issue that will do it, as in `(#12)`");
                findings.push(Finding::new("to-do", path, Some(index + 1), message));
            }
        }
    }
}

/// The files at the root are there.
pub(super) fn required_files(files: &[File], findings: &mut Vec<Finding>) {
    for name in REQUIRED {
        if !files.iter().any(|file| file.path == Path::new(name)) {
            findings.push(Finding::new("required-file", Path::new(name), None, "the project has this file"));
        }
    }
    let unreleased = |file: &File| file.path == Path::new("CHANGELOG.md") && !file.text.contains("## [");
    if let Some(changelog) = files.iter().find(|file| unreleased(file)) {
        let message = "the change log has a section for each release, as in `## [Unreleased]`";
        findings.push(Finding::new("required-file", &changelog.path, None, message));
    }
}
