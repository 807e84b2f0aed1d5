//! Explanation pages of the codes: the reason for each error, the remedy, and a wrong and a right program.
//!
//! `sdfg explain`, the generated documentation and the tests use this table.

mod code;
mod flow;
mod manual;
mod memlets;
mod nodes;
mod structure;
mod symbols;
mod text;

pub use manual::{manual, overview};

use super::Code;

/// Explanation of a code.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The code.
    pub code: Code,
    /// Why it is wrong.
    pub why: &'static str,
    /// The remedy.
    pub action: &'static str,
    /// An example.
    pub example: Example,
}

/// A wrong program and the same one put right.
#[derive(Clone, Copy, Debug)]
pub enum Example {
    /// Two file tests: programs in the text form with commands and expectations in comments. [`program_text`] is the
    /// program alone.
    Programs {
        /// Validation answers this one with the code of the page.
        bad: &'static str,
        /// Validation accepts this one without a word.
        good: &'static str,
    },
    /// The text form cannot express it: only programs that are built or read from JSON can be wrong in this way.
    NotInText,
}

/// A file test without its commands and expectations: the program that a page shows.
pub fn program_text(test: &str) -> String {
    let lines = test.lines().filter(|line| !line.starts_with("#!"));
    let program = lines.filter_map(|line| match line.split_once("#~") {
        None => Some(line),
        Some((before, _)) => Some(before.trim_end()).filter(|before| !before.is_empty()),
    });
    program.collect::<Vec<_>>().join("\n")
}

/// Explanation of a code of any crate: `T` codes of targets and `D` codes of DaCe files are not those of
/// validation.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The stable name, such as `T001`.
    pub name: &'static str,
    /// The error, in a few words.
    pub title: &'static str,
    /// Why it is wrong.
    pub why: &'static str,
    /// The remedy.
    pub action: &'static str,
    /// An example, if one program can show it.
    pub example: Option<Example>,
}

/// Codes of another crate, with a heading.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// The heading.
    pub title: &'static str,
    /// The codes, in order of names.
    pub entries: &'a [Entry],
}

impl Page {
    /// The page without the code as a value.
    pub const fn entry(&self) -> Entry {
        Entry {
            name: self.code.name(),
            title: self.code.title(),
            why: self.why,
            action: self.action,
            example: Some(self.example),
        }
    }
}

/// All pages, in order of codes.
pub fn all() -> impl Iterator<Item = &'static Page> {
    let groups = [
        text::PAGES,
        structure::PAGES,
        symbols::PAGES,
        memlets::PAGES,
        code::PAGES,
        nodes::PAGES,
        flow::PAGES,
    ];
    groups.into_iter().flatten()
}

/// The page of a code.
pub fn page(code: Code) -> Option<&'static Page> {
    all().find(|page| page.code == code)
}
