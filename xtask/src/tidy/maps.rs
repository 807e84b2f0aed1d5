//! Code maps: the tables of modules in ARCHITECTURE.md, derived from the documentation of the modules.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::{File, Finding};

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Code maps\n";

/// Every table of the code maps is the one that the modules give.
pub(super) fn stale(files: &[File], findings: &mut Vec<Finding>) {
    let Some(document) = files.iter().find(|file| file.path == Path::new(DOCUMENT)) else { return };
    let Some(current) = updated(files) else { return };
    if current != document.text {
        let pairs = current.lines().zip(document.text.lines());
        let line = pairs.take_while(|(new, old)| new == old).count() + 1;
        let message = "the code maps are stale: run `cargo xtask tidy --maps`";
        findings.push(Finding::new("code-map", &document.path, Some(line), message));
    }
}

/// ARCHITECTURE.md with current tables; `None` if it has no code maps.
pub(super) fn updated(files: &[File]) -> Option<String> {
    let document = files.iter().find(|file| file.path == Path::new(DOCUMENT))?;
    let (before, maps) = document.text.split_once(HEADING)?;
    let introduction = maps.split("### ").next().unwrap_or_default();
    let mut text = format!("{before}{HEADING}{}\n", introduction.trim_end());
    for (name, folder) in sections(maps) {
        let _ = write!(text, "\n### `{name}` (`{folder}`)\n\n| module | contents |\n|---|---|\n");
        for (module, contents) in modules(Path::new(folder), files) {
            let _ = writeln!(text, "| `{module}` | {contents} |");
        }
    }
    Some(text)
}

/// The crates with their folders, as the headings name them.
fn sections(maps: &str) -> impl Iterator<Item = (&str, &str)> {
    maps.lines().filter_map(|line| {
        let mut quoted = line.strip_prefix("### ")?.split('`').skip(1).step_by(2);
        Some((quoted.next()?, quoted.next()?))
    })
}

/// The modules of a crate to the second level, and to the third below its only module, with the first sentences of their
/// documentation.
fn modules(folder: &Path, files: &[File]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.is("rs")) {
        let Ok(relative) = file.path.strip_prefix(folder) else { continue };
        let mut parts: Vec<&str> = relative.iter().filter_map(|part| part.to_str()).collect();
        let Some(last) = parts.pop().and_then(|name| name.strip_suffix(".rs")) else { continue };
        let is_root = parts.is_empty() && ["lib", "main"].contains(&last);
        if is_root || last == "tests" || parts.contains(&"tests") {
            continue;
        }
        if last != "mod" {
            parts.push(last);
        }
        found.push((
            parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>(),
            first_sentence(&file.text),
        ));
    }
    found.sort();
    let tops: BTreeSet<&String> = found.iter().filter_map(|(parts, _)| parts.first()).collect();
    let limit = if tops.len() == 1 { 3 } else { 2 };
    let shown = found.iter().filter(|(parts, _)| parts.len() <= limit);
    shown.map(|(parts, contents)| (parts.join("::"), contents.clone())).collect()
}

/// The first sentence of a module's documentation, without links.
fn first_sentence(text: &str) -> String {
    let head = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph = head.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let plain = without_links(&paragraph);
    let ends = |at: usize| {
        let before = plain[..at].chars().next_back();
        let mut after = plain[at + 1..].chars();
        let goes_on = before.is_some_and(|c| c == '.' || c.is_ascii_digit());
        match after.next() {
            None => true,
            Some(' ') => !goes_on && after.next().is_some_and(|c| c.is_uppercase() || c == '`'),
            Some(_) => false,
        }
    };
    let end = plain.match_indices('.').map(|(at, _)| at).find(|at| ends(*at)).unwrap_or(plain.len());
    plain[..end].replace('|', "\\|")
}

/// Markdown with the text of each link in place of the link.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        // A bracket without a target is a link only around code: `[`Expr`]`.
        let is_link = link.split_once(']').is_some_and(|(shown, behind)| {
            behind.starts_with('(') || (shown.starts_with('`') && shown.ends_with('`') && shown.len() > 1)
        });
        match link.split_once(']').filter(|_| is_link) {
            Some((shown, behind)) => {
                plain.push_str(shown);
                let target = behind.strip_prefix('(').and_then(|target| target.split_once(')'));
                rest = target.map_or(behind, |(_, behind)| behind);
            }
            None => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain.push_str(rest);
    plain
}
