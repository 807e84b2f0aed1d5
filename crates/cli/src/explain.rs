//! `sdfg explain`: explains the code of a diagnostic.

use clap::Args;
use sdfg::diagnostic::pages::{self, Entry, Group};

use crate::check::INTERPRETED;
use crate::failure::Failure;
use crate::output;

/// Explain a code such as V304: the rule, its reason, the remedy, and a wrong and a right program.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg explain V304\n  sdfg explain")]
pub(crate) struct Explain {
    /// The code that a diagnostic shows in brackets. Without a code, all codes are listed.
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

impl Explain {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let others = others();
        let groups = groups(&others);
        let Some(wanted) = &self.code else { return output::print(pages::overview(&groups).as_bytes()) };
        let wanted = wanted.trim();
        let all = pages::all()
            .map(pages::Page::entry)
            .chain(others.iter().flat_map(|(_, entries)| entries).copied());
        let all: Vec<Entry> = all.collect();
        let found = all.iter().find(|entry| entry.name.eq_ignore_ascii_case(wanted));
        let page = found.ok_or_else(|| unknown(wanted, &all))?;
        output::print(page.to_string().as_bytes())
    }
}

/// The page of what the interpreter refuses.
const INTERPRETER: Entry = Entry {
    name: INTERPRETED,
    title: "the interpreter does not support a construct",
    why: "The interpreter runs the graph as it is. A few constructs that native code resolves while it is lowered have no \
          meaning there yet. The message names the construct.",
    action: "Run native code, or rewrite the construct as the message says.",
    example: None,
};

/// Codes that neither reading nor validation give out.
fn others() -> [(&'static str, Vec<Entry>); 4] {
    [
        ("Library nodes", sdfg_library::PAGES.to_vec()),
        ("Interpreter", vec![INTERPRETER]),
        ("Targets", sdfg_codegen::lower::PAGES.to_vec()),
        ("Files of DaCe's", sdfg_dace::Code::ALL.iter().map(|code| code.page()).collect()),
    ]
}

fn groups<'a>(others: &'a [(&'static str, Vec<Entry>)]) -> Vec<Group<'a>> {
    others.iter().map(|(title, entries)| Group { title, entries }).collect()
}

/// Names codes that begin in the same way, that differ in one letter, or whose page has the word.
fn unknown(wanted: &str, all: &[Entry]) -> Failure {
    const MOST: usize = 5;
    let lower = wanted.to_lowercase();
    let number = lower.trim_start_matches(['v', 'p', 't', 'd', 'e', 'l', 'i']);
    let matches = |entry: &&Entry| {
        let name = entry.name.to_lowercase();
        let is_start =
            !lower.is_empty() && (name.starts_with(&lower) || name.ends_with(number) && !number.is_empty());
        let is_near =
            name.len() == lower.len() && name.bytes().zip(lower.bytes()).filter(|(a, b)| a != b).count() == 1;
        let says = entry.title.contains(&lower) || entry.why.contains(&lower);
        is_start || is_near || (lower.len() > 2 && says)
    };
    let found: Vec<String> = all
        .iter()
        .filter(matches)
        .take(MOST)
        .map(|entry| format!("{} ({})", entry.name, entry.title))
        .collect();
    let failure = Failure::usage(format_args!("no finding has the code `{wanted}`"));
    if found.is_empty() {
        failure.help("codes look like V304; `sdfg explain` lists them all")
    } else {
        failure.help(format_args!("did you mean {}? `sdfg explain` lists them all", found.join(", or ")))
    }
}

#[cfg(test)]
mod tests {
    use sdfg::diagnostic::pages;

    use super::{groups, others};

    /// The generated document is the pages; `BLESS=1` writes it.
    #[test]
    fn the_manual_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/generated/diagnostics.md");
        let manual = pages::manual(&groups(&others()));
        if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
            std::fs::write(path, &manual).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == manual,
            "docs/generated/diagnostics.md is stale: run `BLESS=1 cargo test -p sdfg-cli manual`"
        );
    }
}
