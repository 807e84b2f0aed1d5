//! The pages as Markdown: one for `sdfg explain`, all of them for `docs/generated/diagnostics.md`.

use std::fmt;

use super::{Code, Example, Page, all};

/// One page: what the rule is, why, what to do, and how it looks.
impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}: {}\n", self.code, self.code.title())?;
        writeln!(f, "{}\n\n**What to do.** {}\n", self.why, self.action)?;
        match self.example {
            Example::Programs { bad, good } => {
                writeln!(f, "Wrong:\n\n```sdft\n{bad}\n```\n\nRight:\n\n```sdft\n{good}\n```")
            }
            Example::NotInText => f.write_str(
                "The text form cannot express this: only programs that are built, rewritten or read from JSON can be \
                 wrong in this way.\n",
            ),
        }
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

/// One line for each code, by group.
pub fn overview() -> String {
    let mut text = String::new();
    for (prefix, title) in GROUPS {
        text.push_str(&format!("{title}\n"));
        for code in Code::ALL.iter().filter(|code| code.name().starts_with(prefix)) {
            text.push_str(&format!("  {code}  {}\n", code.title()));
        }
    }
    text
}

/// Every page, as one document.
pub fn manual() -> String {
    let mut text = String::from(
        "# Diagnostics\n\n\
         Every code that reading and validation answer with: what is wrong, why, what to do, and a wrong and a right program. \
         `sdfg explain CODE` prints one page.\n\n\
         This file is generated from `crates/sdfg/src/diagnostic/pages`; `BLESS=1 cargo test -p sdfg manual` writes it.\n",
    );
    for (prefix, title) in GROUPS {
        text.push_str(&format!("\n- {title}:"));
        for code in Code::ALL.iter().filter(|code| code.name().starts_with(prefix)) {
            let anchor: String = format!("{code}: {}", code.title())
                .to_lowercase()
                .chars()
                .filter_map(|letter| match letter {
                    ' ' => Some('-'),
                    letter if letter.is_alphanumeric() || letter == '-' || letter == '_' => Some(letter),
                    _ => None,
                })
                .collect();
            text.push_str(&format!(" [{code}](#{anchor})"));
        }
    }
    text.push('\n');
    for page in all() {
        text.push_str(&format!("\n{page}"));
    }
    text
}
