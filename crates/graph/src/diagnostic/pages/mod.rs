//! The pages behind the codes: why each is an error, what to do, and a wrong and a right program.
//!
//! This is the one table that `sdfg explain`, the generated documentation and the tests are made from.

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

/// What there is to say about a code.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The code.
    pub code: Code,
    /// Why it is wrong.
    pub why: &'static str,
    /// What to do.
    pub action: &'static str,
    /// How it looks.
    pub example: Example,
}

/// A wrong program and the same one put right.
#[derive(Clone, Copy, Debug)]
pub enum Example {
    /// Two programs in the text form.
    Programs {
        /// Validation answers this one with the code of the page.
        bad: &'static str,
        /// Validation accepts this one without a word.
        good: &'static str,
    },
    /// The text form cannot express it: only programs that are built or read from JSON can be wrong in this way.
    NotInText,
}

/// What is told of a code, whichever crate gives it out: `T` codes of targets and `D` codes of DaCe's files are not those of validation.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The stable name, such as `T001`.
    pub name: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// Why it is wrong.
    pub why: &'static str,
    /// What to do.
    pub action: &'static str,
    /// How it looks, if one program can show it.
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
