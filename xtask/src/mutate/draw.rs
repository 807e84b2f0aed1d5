//! The list of mutations, by cargo-mutants, and the draw.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Options;
use crate::faults::Fault;
use crate::{step, workspace};

/// The version is fixed, so that a seed draws the same mutations everywhere.
const VERSION: &str = "27.1.0";

/// One mechanical change.
#[derive(Debug)]
pub(super) struct Mutation {
    /// Its position in the draw, from 1.
    pub(super) number: usize,
    /// `replace > with < in offsets`.
    pub(super) change: String,
    /// The first line that changes, without its indentation.
    pub(super) code: String,
    /// `FILE:LINE:COLUMN`.
    pub(super) place: String,
    /// The change as a fault named `mNUMBER`.
    pub(super) fault: Fault,
}

/// An entry of `cargo mutants --list --json`.
#[derive(Debug, Deserialize)]
struct Entry {
    file: PathBuf,
    name: String,
    replacement: String,
    span: Span,
}

#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    start: Place,
    end: Place,
}

/// A line and a column in characters, both from 1.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    line: usize,
    column: usize,
}

/// All mutations of the chosen files, in the order of the draw.
///
/// # Errors
/// If cargo-mutants is missing and cannot be installed, or a file cannot be read.
pub(super) fn draw(root: &Path, options: &Options) -> Result<Vec<Mutation>> {
    let mut entries = entries(root, options)?;
    entries
        .sort_by(|one, other| (&one.file, one.span, &one.name).cmp(&(&other.file, other.span, &other.name)));
    shuffle(&mut entries, options.seed);
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut drawn = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        if !texts.contains_key(&entry.file) {
            let text = fs::read_to_string(root.join(&entry.file))
                .with_context(|| format!("cannot read {}", entry.file.display()))?;
            texts.insert(entry.file.clone(), text);
        }
        drawn.push(mutation(index + 1, &entry, &texts[&entry.file])?);
    }
    Ok(drawn)
}

fn mutation(number: usize, entry: &Entry, text: &str) -> Result<Mutation> {
    let Some(range) = range_of(text, entry.span) else {
        bail!("cargo-mutants names a place that {} does not have: {}", entry.file.display(), entry.name)
    };
    let Place { line, column } = entry.span.start;
    let place = format!("{}:{line}:{column}", entry.file.display());
    // `name` begins with the place.
    let change = entry.name.strip_prefix(&format!("{place}: ")).unwrap_or(&entry.name).to_owned();
    let code = text.lines().nth(line - 1).unwrap_or_default().trim().to_owned();
    let fault = Fault::at(
        format!("m{number}"),
        change.clone(),
        entry.file.clone(),
        (text, range),
        &entry.replacement,
    );
    Ok(Mutation { number, change, code, place, fault })
}

/// The bytes of a span.
fn range_of(text: &str, span: Span) -> Option<Range<usize>> {
    let offset = |place: Place| {
        let start: usize = text.split_inclusive('\n').take(place.line.checked_sub(1)?).map(str::len).sum();
        let columns: usize =
            text.get(start..)?.chars().take(place.column.checked_sub(1)?).map(char::len_utf8).sum();
        Some(start + columns)
    };
    let range = offset(span.start)?..offset(span.end)?;
    text.get(range.clone()).map(|_| range)
}

fn entries(root: &Path, options: &Options) -> Result<Vec<Entry>> {
    let mut command = Command::new(cargo_mutants()?);
    command.args(["mutants", "--list", "--json"]).current_dir(root);
    for package in options.packages() {
        command.args(["--package", &package]);
    }
    for files in &options.files {
        let files = files.trim_end_matches('/');
        command.args(["--file", files, "--file", &format!("{files}/**")]);
    }
    for left_out in super::LEFT_OUT {
        command.args(["--exclude", left_out]);
    }
    let output = command.output().context("cannot run cargo-mutants")?;
    if !output.status.success() {
        bail!("cargo-mutants failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let entries: Vec<Entry> =
        serde_json::from_slice(&output.stdout).context("cannot read the list of cargo-mutants")?;
    if entries.is_empty() {
        bail!("there is nothing to mutate in {}", options.files.join(", "));
    }
    Ok(entries)
}

/// The program, which is installed below `target` if it is missing.
fn cargo_mutants() -> Result<PathBuf> {
    let tools = workspace::target_folder().join("tools");
    let is_right = |program: &Path| {
        let output = Command::new(program).args(["mutants", "--version"]).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(VERSION))
    };
    for program in [PathBuf::from("cargo-mutants"), tools.join("bin/cargo-mutants")] {
        if is_right(&program) {
            return Ok(program);
        }
    }
    println!("==> cargo-mutants {VERSION} is installed in {}", tools.display());
    let mut install = step::cargo(["install", "cargo-mutants", "--locked", "--version", VERSION, "--root"]);
    step::check(install.arg(&tools))?;
    Ok(tools.join("bin/cargo-mutants"))
}

/// Shuffles by Fisher and Yates, with the numbers of `SplitMix64`.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    for last in (1..items.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        items.swap(last, (mixed % (last as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: (usize, usize), end: (usize, usize)) -> Span {
        let place = |(line, column)| Place { line, column };
        Span { start: place(start), end: place(end) }
    }

    #[test]
    fn spans_count_characters_from_one() {
        let text = "a\n  é > b;\n}\n";
        assert_eq!(range_of(text, span((2, 5), (2, 6))).map(|range| &text[range]), Some(">"));
        assert_eq!(range_of(text, span((1, 1), (3, 2))).map(|range| &text[range]), Some("a\n  é > b;\n}"));
    }

    #[test]
    fn a_mutation_is_planted_at_its_place_even_if_its_text_occurs_elsewhere() {
        let text = "f(a > b);\ng(a > b);\n";
        let entry = Entry {
            file: "f.rs".into(),
            name: "f.rs:2:5: replace > with < in h".into(),
            replacement: "<".into(),
            span: span((2, 5), (2, 6)),
        };
        let mutation = mutation(3, &entry, text).unwrap();
        assert_eq!(
            (mutation.change.as_str(), mutation.code.as_str()),
            ("replace > with < in h", "g(a > b);")
        );
        assert_eq!(mutation.fault.name, "m3");
        assert_eq!(mutation.fault.plant_in(text).unwrap(), "f(a > b);\ng(a < b);\n");
    }

    #[test]
    fn a_seed_determines_the_order() {
        let order = |seed| {
            let mut items: Vec<usize> = (0..50).collect();
            shuffle(&mut items, seed);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
