//! Causes: messages without the names and numbers of one graph, and the table that counts them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value as Json;

use super::Verdict;

/// The text in one line of at most `limit` characters.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(limit).collect()
}

/// A message without what belongs to one graph: its path in front, quoted names other than those of functions,
/// and numbers.
pub(super) fn cause(message: &str) -> String {
    let line = one_line(message, 2_000);
    let line = without_place(&line);
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        out += &without_numbers(&rest[..start]);
        let quoted = &rest[start + 1..];
        let Some(end) = quoted.find('`') else {
            rest = quoted;
            break;
        };
        // Functions of the program itself, such as C functions of its tasklets, belong to one graph.
        let is_known_function =
            out.trim_end().ends_with("function") && !out.trim_end().ends_with("C function");
        let is_kept = is_known_function || out.trim_end().ends_with("of kind");
        let is_kept =
            is_kept || out.trim_end().ends_with("property") || out.trim_end().ends_with("operation");
        out += &format!("`{}`", if is_kept { &quoted[..end] } else { "_" });
        rest = &quoted[end + 1..];
    }
    out += &without_numbers(rest);
    out.chars().take(160).collect()
}

/// The message behind a path such as `program/nodes[0]/edges[3]: `.
fn without_place(message: &str) -> &str {
    match message.split_once(": ") {
        Some((place, rest)) if place.contains('/') && !place.contains('`') => without_place(rest),
        _ => message,
    }
}

/// The text with `N` for every number and every word that contains a digit.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let is_mark = |c: char| !(c.is_alphanumeric() || c == '_');
        let (name, end) = word.split_at(word.find(is_mark).unwrap_or(word.len()));
        let is_type =
            ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"].contains(&name);
        out += if !is_type && name.chars().any(|c| c.is_ascii_digit()) { "N" } else { name };
        out += end;
    }
    out
}

/// Counts of one cause.
#[derive(Default)]
struct Count {
    graphs: BTreeSet<usize>,
    alone: usize,
}

/// The table of causes of the given lines, largest first, and the totals.
///
/// Every distinct graph counts once for each of its causes; `alone` counts the graphs that have no other cause.
pub fn table(lines: &[Json]) -> String {
    let mut counts: BTreeMap<(Verdict, String, String, String), Count> = BTreeMap::new();
    let mut reached: BTreeMap<&str, usize> = BTreeMap::new();
    let names: Vec<&str> = lines.iter().map(|line| line["file"].as_str().unwrap_or_default()).collect();
    for (at, line) in lines.iter().enumerate() {
        *reached.entry(line["outcome"].as_str().unwrap_or_default()).or_default() += 1;
        let mut own = BTreeSet::new();
        for found in line["obstacles"].as_array().into_iter().flatten() {
            let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
            if let Some(verdict) = Verdict::parse(&text("verdict")) {
                own.insert((verdict, text("stage"), text("code"), text("cause")));
            }
        }
        let is_alone = own.len() == 1;
        for key in own {
            let count = counts.entry(key).or_default();
            count.graphs.insert(at);
            count.alone += usize::from(is_alone);
        }
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by(|(a, x), (b, y)| y.graphs.len().cmp(&x.graphs.len()).then_with(|| a.cmp(b)));
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{:>6} {:>6}  {:8} {:9} {:5} cause, and the first graph",
        "graphs", "alone", "verdict", "stage", "code"
    );
    for ((verdict, stage, code, cause), count) in &rows {
        let first = count.graphs.first().map_or("", |at| names[*at]);
        let (graphs, alone, verdict) = (count.graphs.len(), count.alone, verdict.name());
        let _ = writeln!(out, "{graphs:6} {alone:6}  {verdict:8} {stage:9} {code:5} {cause}");
        let _ = writeln!(out, "{:40}{first}", "");
    }
    let _ = write!(out, "\n{} graphs", lines.len());
    for (outcome, count) in &reached {
        let _ = write!(out, ", {count} {outcome}");
    }
    out.push('\n');
    let is_valid = |line: &&Json| line["dace"]["original"]["valid"] == true;
    let counted: Vec<&Json> = lines.iter().filter(is_valid).filter(|line| needs(line).is_none()).collect();
    if !counted.is_empty() {
        let passed = counted.iter().filter(|line| line["outcome"] == "passed").count();
        let percent = 100.0 * passed as f64 / counted.len() as f64;
        let all = counted.len();
        let _ = writeln!(
            out,
            "{passed} of {all} that DaCe accepts, for CPUs and without callbacks, passed: {percent:.1} %"
        );
    }
    out
}

/// What a graph needs besides a CPU, as its obstacles tell: an accelerator, or a Python to call back.
fn needs(line: &Json) -> Option<&'static str> {
    let found = |words: &[&str], codes: &[&str]| {
        line["obstacles"].as_array().into_iter().flatten().any(|obstacle| {
            let text = |key: &str| obstacle[key].as_str().unwrap_or_default();
            codes.contains(&text("code")) || words.iter().any(|word| text("message").contains(word))
        })
    };
    // C++ code may call an accelerator's libraries, and V512 tells of memory of accelerators.
    let words = [
        "of an accelerator",
        "SystemVerilog",
        "cublas",
        "DACE_GPU_CHECK",
        "cudaStream",
        "unreachable memory",
    ];
    if found(&words, &["T001", "T002", "V512"]) {
        Some("accelerator")
    } else if found(&["callback", "called back"], &[]) {
        Some("callback")
    } else {
        None
    }
}
