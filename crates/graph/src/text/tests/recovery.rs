//! Tests of error recovery: each broken line of a program is one error at that line, and no other line has
//! one.

use std::collections::BTreeSet;

use super::{parse, programs};

/// Lines that can be broken each by itself: all but blank ones, comments, closing braces, and the code of tasklets, whose
/// lines hang together by their indentation.
fn breakable(source: &str) -> Vec<usize> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (number, line) in source.lines().enumerate() {
        let line = line.trim();
        in_code &= line != "}";
        if !in_code && !matches!(line.chars().next(), None | Some('#' | '}')) {
            lines.push(number);
        }
        in_code |= line.starts_with("tasklet") && line.ends_with('{');
    }
    lines
}

/// The text with these lines broken in one of several ways, each of which leaves braces alone.
fn broken(source: &str, lines: &[usize], how: usize) -> String {
    let mut text = String::new();
    for (number, line) in source.lines().enumerate() {
        if lines.contains(&number) {
            let (indentation, code) = line.split_at(line.len() - line.trim_start().len());
            text.push_str(indentation);
            match how {
                // A character of no token.
                0 => text.push_str(&format!("$ {code}")),
                // A word in front, with which nothing begins.
                1 => text.push_str(&format!("zz {code}")),
                // An operator where a name should be.
                _ => text.push_str(&format!("* {code}")),
            }
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

/// Broken lines that stand between the braces of another one, which are passed as a whole.
fn hidden(source: &str, lines: &[usize]) -> BTreeSet<usize> {
    let (mut depth, mut passed_from, mut hidden) = (0_usize, None, BTreeSet::new());
    for (number, line) in source.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        let (opens, closes) = (code.matches('{').count(), code.matches('}').count());
        if passed_from.is_some_and(|from| depth + opens - closes <= from) {
            // The closing brace may open the next part, as `} else {` does.
            passed_from = None;
            hidden.insert(number);
        } else if passed_from.is_some() {
            hidden.insert(number);
        } else if lines.contains(&number) && opens > closes {
            passed_from = Some(depth);
        }
        depth = depth + opens - closes;
    }
    hidden
}

#[track_caller]
fn check(name: &str, source: &str, lines: &[usize], how: usize) {
    let text = broken(source, lines, how);
    let errors = parse(name, &text).err().unwrap_or_default();
    let found: BTreeSet<usize> = errors.iter().map(|error| error.loc.line as usize - 1).collect();
    let broken: BTreeSet<usize> = lines.iter().copied().collect();
    let hidden = hidden(source, lines);
    let told = broken.difference(&hidden).all(|line| found.contains(line));
    assert!(
        told && found.is_subset(&broken) && found.len() == errors.len(),
        "{name}, way {how}: broken {lines:?}, {:?}\n{text}",
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    );
}

#[test]
fn one_broken_line_is_one_error() {
    for (name, source) in programs() {
        for line in breakable(&source) {
            for how in 0..3 {
                check(&name, &source, &[line], how);
            }
        }
    }
}

#[test]
fn broken_lines_are_told_all_at_once() {
    for (name, source) in programs() {
        let lines = breakable(&source);
        for stride in [2, 3, 5, 9] {
            for how in 0..3 {
                let some: Vec<usize> = lines.iter().copied().skip(1).step_by(stride).collect();
                check(&name, &source, &some, how);
            }
        }
    }
}
