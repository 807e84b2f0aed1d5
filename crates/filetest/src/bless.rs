//! Rewrites a file so that it expects the actual results. Satisfied expectations are unchanged.

use std::fmt::Write as _;

use crate::command::Command;
use crate::expectation::pair;
use crate::outcome::Outcome;
use crate::test_file::{Line, TestFile};

/// Lines longer than this are broken where the format allows it.
const WIDTH: usize = 120;

/// The text of the file with new expectations.
pub(crate) fn rewritten(file: &TestFile, outcome: &Outcome) -> String {
    let mut text = String::new();
    for (number, line) in file.lines.iter().enumerate() {
        match line {
            Line::Command(position) => command(&mut text, file, outcome, *position),
            Line::Dropped => {}
            Line::Variants(variants) => {
                let _ = writeln!(text, "#! for {variants}");
            }
            Line::Program(program) => {
                text.push_str(program);
                expectations(&mut text, program.chars().count(), file, outcome, number);
            }
        }
    }
    while text.ends_with("\n\n") {
        text.pop();
    }
    for (name, content) in &outcome.blocks {
        let _ = writeln!(text, "\n#= {name}");
        for line in content.trim_end().lines() {
            let _ = writeln!(text, "{}", format!("#| {line}").trim_end());
        }
    }
    text
}

/// The head of a command, with the results that were found.
fn command(text: &mut String, file: &TestFile, outcome: &Outcome, position: usize) {
    match &file.commands[position] {
        Command::Interpret(call) => {
            let found = outcome.results.iter().find(|(of, _)| *of == position).map(|(_, found)| found);
            let is_met = outcome.failures.iter().all(|failure| !failure.contains(&call.given));
            let expected = match found {
                Some(found) if !is_met || call.expected().is_empty() => found.to_string(),
                Some(_) | None => call.expected().to_owned(),
            };
            let line = format!("#! test interpret {}", call.given);
            let joint =
                if line.chars().count() + expected.chars().count() > WIDTH { "\n#!   -> " } else { " -> " };
            let _ = writeln!(text, "{}{joint}{expected}", line.trim_end());
        }
        Command::Parse
        | Command::Check
        | Command::Propagate
        | Command::Roundtrip
        | Command::Canonical
        | Command::Print
        | Command::Render
        | Command::Survive
        | Command::Edit(_)
        | Command::Plan(_)
        | Command::Lower(_)
        | Command::Native(_) => {
            let _ = writeln!(text, "#! test {}", file.texts[position].trim());
        }
    }
}

/// The comments behind and below a line of the program, and its line end.
fn expectations(text: &mut String, width: usize, file: &TestFile, outcome: &Outcome, number: usize) {
    let pairs = pair(&file.expectations, &outcome.findings);
    let here = outcome.findings.iter().enumerate().filter(|(_, finding)| finding.line == number);
    let comments: Vec<String> = here
        .map(|(j, finding)| {
            let kept = pairs.iter().find(|(_, paired)| *paired == j).map(|(i, _)| &file.expectations[*i]);
            kept.unwrap_or(finding).to_string()
        })
        .collect();
    let mut up = 0;
    for (i, comment) in comments.iter().enumerate() {
        if i == 0 && width + comment.chars().count() + 5 <= WIDTH {
            let _ = write!(text, "  #~ {comment}");
        } else {
            up += 1;
            let _ = write!(text, "\n#~{} {comment}", "^".repeat(up));
        }
    }
    text.push('\n');
}
