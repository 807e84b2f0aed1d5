//! Messages of a search: its beginning, each candidate, and the table at the end.

use sdfg_transforms::tune::{Comparison, Ended, Outcome, Point, Progress, Space, Trial};

/// Rows of the table.
const ROWS: usize = 12;
/// Reasons of refusals that are listed.
const REASONS: usize = 5;

/// Milliseconds with four digits.
pub(crate) fn milliseconds(seconds: f64) -> String {
    let number = seconds * 1e3;
    let digits = if number < 10.0 { 3 } else { 2 - usize::from(number >= 100.0) };
    format!("{number:.digits$} ms")
}

/// The parameters that vary.
pub(super) fn beginning(space: &Space, recalled: usize) -> String {
    let variable = |variable: &sdfg_transforms::tune::Variable| {
        let values: Vec<String> = variable.values().iter().map(ToString::to_string).collect();
        format!("\n  {variable}={}", values.join(","))
    };
    let shown: String = space.variables().iter().map(variable).collect();
    let log = if recalled > 0 { format!("; the log has {recalled} measurements") } else { String::new() };
    format!("{} combinations{log}:{shown}", space.len())
}

/// The outcome of a candidate.
pub(super) fn line(space: &Space, progress: &Progress<'_>) -> String {
    let Progress { candidate, beside, trial, candidates, best, best_ratio, left, .. } = progress;
    let shown = space.shown(candidate, &space.start());
    let outcome = match trial {
        Trial::Refused { reason } => format!("refused: {}", reason.lines().next().unwrap_or_default()),
        Trial::Measured(Comparison { seconds, ratio, .. }) => {
            format!("{}, {ratio:.3} times {}", milliseconds(*seconds), beside_name(space, beside))
        }
    };
    let is_best = if candidate == best { "; the best so far" } else { "" };
    let left = left.as_secs();
    format!("{candidates}: {shown}: {outcome}{is_best} [best {best_ratio:.3} of the start, {left} s left]")
}

fn beside_name(space: &Space, beside: &Point) -> String {
    if *beside == space.start() { "the given chain".to_owned() } else { space.shown(beside, &space.start()) }
}

/// The table of the fastest candidates, and how the search ended.
pub(super) fn summary(space: &Space, outcome: &Outcome) -> String {
    let start = space.start();
    let mut rows = vec![["parameters".to_owned(), "median".to_owned(), "ratio".to_owned()]];
    let shown = |at: usize, point: &Point| at < ROWS || *point == start;
    for (at, found) in outcome.found.iter().enumerate() {
        if shown(at, &found.point) {
            let name = beside_name(space, &found.point);
            rows.push([name, milliseconds(found.seconds), format!("{:.3}", found.ratio)]);
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let mut text: String = rows
        .iter()
        .map(|[name, median, ratio]| {
            format!("{name:a$}  {median:>b$}  {ratio:>c$}\n", a = widths[0], b = widths[1], c = widths[2])
        })
        .collect();
    let hidden = outcome.found.len() + 1 - rows.len();
    if hidden > 0 {
        text.push_str(&format!("and {hidden} slower ones\n"));
    }
    text.push_str(&refusals(space, &outcome.refused));
    text + &ending(space, outcome)
}

/// The reasons of refusals, each with the first candidate that has it.
fn refusals(space: &Space, refused: &[(Point, String)]) -> String {
    let mut reasons: Vec<(&str, &Point, usize)> = Vec::new();
    for (point, reason) in refused {
        let line = reason.lines().next().unwrap_or_default();
        match reasons.iter_mut().find(|(known, ..)| *known == line) {
            Some((_, _, count)) => *count += 1,
            None => reasons.push((line, point, 1)),
        }
    }
    let mut text = String::new();
    for (reason, point, count) in reasons.iter().take(REASONS) {
        let others = match count - 1 {
            0 => String::new(),
            1 => " and 1 other".to_owned(),
            others => format!(" and {others} others"),
        };
        text.push_str(&format!("refused: {}{others}: {reason}\n", space.shown(point, &space.start())));
    }
    if reasons.len() > REASONS {
        text.push_str(&format!("and {} more reasons of refusals\n", reasons.len() - REASONS));
    }
    text
}

fn ending(space: &Space, outcome: &Outcome) -> String {
    let Outcome { best, confirmation, unconfirmed, measured, recalled, ended, .. } = outcome;
    let ended = match ended {
        Ended::Budget => "the time is over",
        Ended::Candidates => "as many candidates as asked for were measured",
        Ended::Exhausted => "no candidate is left",
        Ended::Stopped => "the search was ended",
    };
    let log = if *recalled > 0 { format!(", {recalled} from the log") } else { String::new() };
    let counts = format!("{measured} candidates measured{log}; {ended}");
    let start = space.start();
    let result = match (confirmation, unconfirmed) {
        (Some(last), Some(point)) => format!(
            "the given chain stays: {} was not faster in {} more turns (ratio {:.3})",
            space.shown(point, &start),
            last.turns,
            last.ratio
        ),
        (Some(Comparison { seconds, against_seconds, ratio, turns, .. }), None) => format!(
            "best: {}: {} to {}, ratio {ratio:.3} in {turns} turns",
            space.shown(best, &start),
            milliseconds(*against_seconds),
            milliseconds(*seconds)
        ),
        (None, _) if *best == start => "no candidate is faster than the given chain".to_owned(),
        (None, _) => {
            format!(
                "best: {}; there was no time to compare it with the given chain again",
                space.shown(best, &start)
            )
        }
    };
    format!("{counts}\n{result}\n")
}
