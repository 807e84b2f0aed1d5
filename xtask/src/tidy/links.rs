//! Checks references from documents and comments to files.

use std::path::{Component, Path, PathBuf};

use super::source::Source;
use super::{File, Finding};

/// Folders whose names in backticks are taken to be paths of this project.
const FOLDERS: [&str; 8] =
    ["crates/", "docs/", "xtask/", "tests/", "examples/", "programs/", "benches/", ".ci/"];

/// Every relative link of a Markdown file leads to a file or folder.
pub(super) fn links(file: &File, files: &[File], findings: &mut Vec<Finding>) {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    for (index, line) in prose(&file.text) {
        for (_, rest) in line.match_indices("](").map(|(at, _)| line.split_at(at + 2)) {
            let target = rest.split([')', '#', ' ']).next().unwrap_or("");
            let elsewhere = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
            if !elsewhere && !exists(&plain(&folder.join(target)), files) {
                let message = format!("the link `{target}` leads nowhere");
                findings.push(Finding::new("link", &file.path, Some(index + 1), message));
            }
        }
    }
}

/// Every path of this project that a Markdown file names in backticks exists.
///
/// Decision records and the change log are left out: they speak of the day on which they were written.
pub(super) fn quoted_paths(file: &File, files: &[File], findings: &mut Vec<Finding>) {
    if file.path.starts_with("docs/adr") || file.path == Path::new("CHANGELOG.md") {
        return;
    }
    for (index, line) in prose(&file.text) {
        for path in line.split('`').skip(1).step_by(2) {
            check_path(path, index + 1, file, files, findings);
        }
    }
}

/// Every document that a comment names in backticks exists.
pub(super) fn documents_in_comments(
    file: &File,
    source: &Source,
    files: &[File],
    findings: &mut Vec<Finding>,
) {
    for (index, line) in source.comments.lines().enumerate() {
        for path in line.split('`').skip(1).step_by(2).filter(|path| path.ends_with(".md")) {
            check_path(path, index + 1, file, files, findings);
        }
    }
}

fn check_path(path: &str, line: usize, file: &File, files: &[File], findings: &mut Vec<Finding>) {
    // Anything with these is a command, a pattern or a path with a placeholder.
    let is_path = FOLDERS.iter().any(|folder| path.starts_with(folder))
        && !path.contains([' ', '*', '<', '{', '$', '…'])
        && !path.contains("NAME");
    if is_path && !exists(&plain(Path::new(path)), files) {
        let message = format!("there is no `{path}`");
        findings.push(Finding::new("link", &file.path, Some(line), message));
    }
}

/// The lines outside of fenced blocks, with their indices.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

fn exists(path: &Path, files: &[File]) -> bool {
    path == Path::new("") || files.iter().any(|file| file.path.starts_with(path))
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}
