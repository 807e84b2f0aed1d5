//! Checks references from documents and comments to files.

use std::path::{Component, Path, PathBuf};

use super::source::Source;
use super::{File, Finding};

/// Folders whose names in backticks are taken to be paths of this project.
const FOLDERS: [&str; 8] =
    ["crates/", "docs/", "xtask/", "tests/", "examples/", "programs/", "benches/", ".ci/"];

/// Every relative link of a Markdown file leads to a file or folder, and every anchor to a heading.
pub(super) fn links(file: &File, files: &[File], findings: &mut Vec<Finding>) {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    for (index, line) in prose(&file.text) {
        for (_, rest) in line.match_indices("](").map(|(at, _)| line.split_at(at + 2)) {
            let link = rest.split([')', ' ']).next().unwrap_or("");
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = if target.is_empty() { file.path.clone() } else { plain(&folder.join(target)) };
            let document = files.iter().find(|file| file.path == path && file.is("md"));
            let leads_somewhere = match document {
                Some(document) if !anchor.is_empty() => headings(&document.text).any(|found| found == anchor),
                _ => exists(&path, files),
            };
            if !leads_somewhere {
                let message = format!("the link `{link}` leads nowhere");
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

/// Every identifier in backticks on a page of `docs/adding` occurs in a file of the project: the pages walk through the code.
pub(super) fn quoted_identifiers(file: &File, files: &[File], findings: &mut Vec<Finding>) {
    if !file.path.starts_with("docs/adding") {
        return;
    }
    for (index, line) in prose(&file.text) {
        for quoted in line.split('`').skip(1).step_by(2) {
            let is_identifier = quoted.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c));
            let name = quoted.rsplit("::").next().unwrap_or(quoted);
            let occurs = || files.iter().any(|file| !file.is("md") && contains_word(&file.text, name));
            if is_identifier && !occurs() {
                let message = format!("no file has the name `{name}`");
                findings.push(Finding::new("link", &file.path, Some(index + 1), message));
            }
        }
    }
}

/// Whether a text has a name that is not part of a longer one.
fn contains_word(text: &str, name: &str) -> bool {
    let continues = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        !continues(before) && !continues(after)
    })
}

/// The anchors of a document: its headings in lower case, with dashes for blanks and without punctuation.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter_map(|(_, line)| {
        let title = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
        let kept = |c: char| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            _ => c.is_alphanumeric().then_some(c),
        };
        Some(title.to_lowercase().chars().filter_map(kept).collect())
    })
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
