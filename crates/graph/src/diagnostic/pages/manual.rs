//! The pages as Markdown: one for `sdfg explain`, all of them for `docs/generated/diagnostics.md`.

use std::fmt;

use super::{Entry, Example, Group, Page, all, program_text};

/// One page: what the rule is, why, what to do, and how it looks.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}: {}\n", self.name, self.title)?;
        writeln!(f, "{}\n\n**Remedy.** {}", self.why, self.action)?;
        match self.example {
            Some(Example::Programs { bad, good }) => {
                let (bad, good) = (program_text(bad), program_text(good));
                writeln!(f, "\nWrong:\n\n```sdft\n{bad}\n```\n\nRight:\n\n```sdft\n{good}\n```")
            }
            Some(Example::NotInText) => f.write_str(
                "\nThe text form cannot express this: only programs that are built, rewritten or read from JSON can be \
                 wrong in this way.\n",
            ),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entry().fmt(f)
    }
}

/// The groups of codes, by the beginning of their names.
const GROUPS: [(&str, &str); 9] = [
    ("P0", "Reading a text"),
    ("V0", "Structure"),
    ("V1", "Symbols"),
    ("V2", "Containers"),
    ("V3", "Memlets"),
    ("V4", "Code"),
    ("V5", "Nodes"),
    ("V6", "Control flow"),
    ("V7", "Dataflow as a whole"),
];

/// The pages of each group: those of reading and validation, then the others.
fn groups(others: &[Group<'_>]) -> Vec<(&'static str, Vec<Entry>)> {
    let own = GROUPS.iter().map(|(prefix, title)| {
        let pages = all().filter(|page| page.code.name().starts_with(prefix));
        (*title, pages.map(Page::entry).collect())
    });
    own.chain(others.iter().map(|group| (group.title, group.entries.to_vec()))).collect()
}

/// One line for each code, by group: those of reading and validation, then the others.
pub fn overview(others: &[Group<'_>]) -> String {
    let mut text = String::new();
    for (title, entries) in groups(others) {
        text.push_str(&format!("{title}\n"));
        for entry in entries {
            text.push_str(&format!("  {}  {}\n", entry.name, entry.title));
        }
    }
    text
}

/// Every page, as one document: those of reading and validation, then the others.
pub fn manual(others: &[Group<'_>]) -> String {
    let mut text = String::from(
        "# Diagnostics\n\n\
         This document lists every diagnostic code of the command: the error, its reason, the remedy, and where possible a wrong and \
         a right program. `sdfg explain CODE` prints one page.\n\n\
         This file is generated from `crates/graph/src/diagnostic/pages`, `crates/codegen/src/lower/pages.rs` and \
         `crates/dace/src/report.rs`; `BLESS=1 cargo test -p sdfg-cli manual` writes it.\n",
    );
    let groups = groups(others);
    for (title, entries) in &groups {
        text.push_str(&format!("\n- {title}:"));
        for entry in entries {
            let anchor: String = format!("{}: {}", entry.name, entry.title)
                .to_lowercase()
                .chars()
                .filter_map(|letter| match letter {
                    ' ' => Some('-'),
                    letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter),
                    _ => None,
                })
                .collect();
            text.push_str(&format!(" [{}](#{anchor})", entry.name));
        }
    }
    text.push('\n');
    for entry in groups.iter().flat_map(|(_, entries)| entries) {
        text.push_str(&format!("\n{entry}"));
    }
    text
}
