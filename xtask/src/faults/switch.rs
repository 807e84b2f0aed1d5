//! Many faults in one build: each stands beside the correct code, and an environment variable selects the
//! fault that runs.
//!
//! A build takes longer than the tests that find a fault. Therefore a function with faults gets one body per
//! fault, behind a switch that is read once. A fault where no switch can stand (in constants, signatures, and
//! functions that return an unnamed type) is planted separately.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Fault;

/// The variable with the name of the fault that runs.
pub(crate) const VARIABLE: &str = "SDFG_PLANTED_FAULT";

/// The variable with a folder. Each test that reaches a switch leaves its name there, in a file named as the fault.
pub(crate) const REACHED: &str = "SDFG_REACHED_FAULTS";

/// The lines of a function's body, without those of its braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Body {
    /// Of the first line, in bytes.
    start: usize,
    /// Behind the last line.
    end: usize,
}

/// The text of a file with switches for as many of its faults as can be, and the names of those.
pub(crate) fn with_switches<'f>(text: &str, faults: &[&'f Fault]) -> (String, Vec<&'f str>) {
    let mut bodies: BTreeMap<Body, Vec<(&'f Fault, String)>> = BTreeMap::new();
    for &fault in faults {
        let Some(range) = fault.range_in(text) else { continue };
        let Some(body) = body_around(text, range.clone()) else { continue };
        let planted = [&text[body.start..range.start], fault.plant(), &text[range.end..body.end]].concat();
        bodies.entry(body).or_default().push((fault, planted));
    }
    let (mut out, mut names) = (text.to_owned(), Vec::new());
    // From the last, so that those before stay where they are.
    for (body, planted) in bodies.into_iter().rev() {
        let mut switched = String::new();
        for (fault, planted) in planted {
            names.push(fault.name.as_str());
            switched += &format!("if {} {{\n{planted}}} else ", switch(&fault.name));
        }
        switched += &format!("{{\n{}}}\n", &text[body.start..body.end]);
        out.replace_range(body.start..body.end, &switched);
    }
    (out, names)
}

/// Whether the fault runs, as an expression that needs nothing around it.
fn switch(name: &str) -> String {
    let record = format!(
        "if let Ok(folder) = ::std::env::var(\"{REACHED}\") {{ \
         use ::std::io::Write as _; \
         let of = |name: &str| ::std::env::var(name).unwrap_or_default(); \
         let line = format!(\"{{}} {{}}\\n\", of(\"NEXTEST_BINARY_ID\"), of(\"NEXTEST_TEST_NAME\")); \
         let path = ::std::path::Path::new(&folder).join(\"{name}\"); \
         let file = ::std::fs::OpenOptions::new().create(true).append(true).open(path); \
         let _ = file.and_then(|mut file| file.write_all(line.as_bytes())); }}"
    );
    format!(
        "{{ static ON: ::std::sync::OnceLock<bool> = ::std::sync::OnceLock::new(); *ON.get_or_init(|| {{ {record} \
         ::std::env::var(\"{VARIABLE}\").is_ok_and(|name| name == \"{name}\") }}) }}"
    )
}

/// The fault whose code is in a line of a text with switches. Lines count from 1.
pub(crate) fn fault_at(text: &str, line: usize) -> Option<&str> {
    let lines: Vec<&str> = text.lines().take(line).collect();
    for line in lines.iter().rev() {
        // Only the lines that open a branch begin so: formatted bodies are indented.
        if let Some((_, name)) = line.rsplit_once("is_ok_and(|name| name == \"") {
            return name.split_once('"').map(|(name, _)| name);
        }
        if line.starts_with("} else {") {
            return None;
        }
    }
    None
}

/// The body of the outermost function around a part of a formatted text: an inner one stands in it as it is.
fn body_around(text: &str, range: std::ops::Range<usize>) -> Option<Body> {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at, line));
        at += line.len();
    }
    let opens = |index: &usize| is_function(lines[*index].1);
    let before = (0..lines.len()).take_while(|index| lines[*index].0 <= range.start);
    before.filter(opens).find_map(|first| {
        let indent = indent(lines[first].1);
        let is_edge = |line: &str, end: &str| self::indent(line) == indent && line.trim_end().ends_with(end);
        let open = (first..lines.len()).find(|index| is_edge(lines[*index].1, "{"))?;
        let close = (open + 1..lines.len()).find(|index| is_edge(lines[*index].1, "}"))?;
        let body = Body { start: lines.get(open + 1)?.0, end: lines[close].0 };
        let signature = &text[lines[first].0..body.start];
        let has_unnamed_type = signature.split_once("->").is_some_and(|(_, result)| result.contains("impl "));
        let is_constant = lines[first].1.contains("const fn ");
        let holds = body.start <= range.start && range.end <= body.end;
        (holds && !has_unnamed_type && !is_constant).then_some(body)
    })
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a function begins in a line.
fn is_function(line: &str) -> bool {
    let words = line.split('(').next().unwrap_or_default();
    let mut words = words.split_whitespace().filter(|word| *word != "unsafe" && *word != "const");
    match words.next() {
        Some("fn") => true,
        Some(word) if word.starts_with("pub") => {
            // `pub(crate) fn`: `words` ends before the parenthesis.
            words.next() == Some("fn") || line.trim_start().starts_with("pub(") && line.contains(") fn ")
        }
        Some(_) | None => false,
    }
}

/// The files and lines that the errors of a failed build are about. Files are relative to the workspace root.
pub(crate) fn places_in(messages: &str) -> Vec<(PathBuf, usize)> {
    let mut places = Vec::new();
    let mut is_error = false;
    for line in messages.lines() {
        if line.starts_with("error") || line.starts_with("warning") {
            is_error = line.starts_with("error");
        }
        let place = line.trim_start().strip_prefix("--> ").filter(|_| is_error);
        // The places that follow in a message are of its notes.
        is_error &= place.is_none();
        let place = place.and_then(|place| {
            let mut parts = place.split(':');
            Some((PathBuf::from(parts.next()?), parts.next()?.parse().ok()?))
        });
        places.extend(place);
    }
    places.sort();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::read;

    const TEXT: &str = "\
const A: i32 = 1 + 1;

pub(crate) fn first(
    a: i32,
) -> i32 {
    fn inner(a: i32) -> i32 {
        a * 2
    }
    a - inner(3)
}

impl A {
    pub fn second(&self) -> bool {
        self.is > 0
    }

    fn third(&self) -> impl Iterator<Item = i32> {
        once(self.four)
    }
}
";

    fn faults(places: &[(&str, &str)]) -> Vec<Fault> {
        let entry = |(find, plant): &(&str, &str)| {
            format!(
                "[[fault]]\nname = '{find}'\nabout = 'x'\nfile = 'f.rs'\nfind = '{find}'\nplant = '{plant}'\n"
            )
        };
        read(&places.iter().map(entry).collect::<String>()).unwrap()
    }

    #[test]
    fn each_fault_of_a_body_has_a_body_of_its_own() {
        let faults = faults(&[("a * 2", "a * 4"), ("a - i", "a + i"), ("> 0", "> 7")]);
        let (text, names) = with_switches(TEXT, &faults.iter().collect::<Vec<_>>());
        assert_eq!(names, ["> 0", "a * 2", "a - i"]);
        assert_eq!(text.matches("a * 4").count(), 1);
        assert_eq!(text.matches("a * 2\n").count(), 2);
        assert_eq!(text.matches("a + inner(3)").count(), 1);
        let second = text.split_once("pub fn second(&self) -> bool {\n").unwrap().1;
        let second: Vec<&str> = second.lines().skip(1).take(5).map(str::trim).collect();
        assert_eq!(second, ["self.is > 7", "} else {", "self.is > 0", "}", "}"]);
    }

    #[test]
    fn lines_belong_to_the_fault_whose_body_has_them() {
        let faults = faults(&[("a * 2", "a * 4"), ("a - i", "a + i")]);
        let (text, _) = with_switches(TEXT, &faults.iter().collect::<Vec<_>>());
        let found = |line: &str| {
            let index = text.lines().position(|other| other == line);
            index.and_then(|index| fault_at(&text, index + 1))
        };
        assert_eq!(found("        a * 4"), Some("a * 2"));
        assert_eq!(found("    a + inner(3)"), Some("a - i"));
        assert_eq!(found("        self.is > 0"), None);
        assert_eq!(fault_at(&text, 1), None);
    }

    #[test]
    fn constants_signatures_and_unnamed_types_have_no_place_for_a_switch() {
        let faults = faults(&[("1 + 1", "3"), ("a: i32,", "a: i64,"), ("once(self.four)", "empty()")]);
        let (text, names) = with_switches(TEXT, &faults.iter().collect::<Vec<_>>());
        assert!(names.is_empty(), "{names:?}");
        assert_eq!(text, TEXT);
    }

    #[test]
    fn messages_name_their_files() {
        let messages = "error[E0308]: wrong\n  --> crates/a/src/b.rs:3:4\n   |\nhelp: derive\n  --> crates/c.rs:1:1\nwarning: unused\n  --> crates/d.rs:1:1\n";
        assert_eq!(places_in(messages), [(PathBuf::from("crates/a/src/b.rs"), 3)]);
    }
}
