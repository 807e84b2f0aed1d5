//! Round trips through text and JSON: a program that is read, printed and read again is the same, with its
//! derived memlets.

use sdfg::ir::Sdfg;
use sdfg::text::{PrintOptions, print_with};
use sdfg::{json, text};

/// Text to graph to text, graph to JSON to graph, and JSON to text to JSON.
pub(crate) fn check(sdfg: &Sdfg) -> Result<(), String> {
    let all = |sdfg: &Sdfg| print_with(sdfg, PrintOptions { derived: true }).text;
    let same = |what: &str, left: &str, right: &str| {
        if left == right { Ok(()) } else { Err(format!("{what}: from\n{left}\nto\n{right}")) }
    };
    let printed = text::print(sdfg);
    let again = text::parse("printed", &printed).map_err(|errors| format!("{errors:?}\nin\n{printed}"))?;
    same("printing and reading changes the program", &all(sdfg), &all(&again))?;
    same("printing twice differs", &printed, &text::print(&again))?;
    let document = json::to_string(sdfg);
    let read = json::parse(&document).map_err(|error| format!("{error}\nin\n{document}"))?;
    same("JSON changes the program", &all(sdfg), &all(&read))?;
    same("writing JSON twice differs", &document, &json::to_string(&read))?;
    // Ids are given out by the order of the text, so that documents are compared from there on.
    let (from_json, from_text) = (reread(&text::print(&read))?, reread(&printed)?);
    same("JSON and text differ", &json::to_string(&from_text), &json::to_string(&from_json))
}

fn reread(printed: &str) -> Result<Sdfg, String> {
    text::parse("printed", printed).map_err(|errors| format!("{errors:?}\nin\n{printed}"))
}
