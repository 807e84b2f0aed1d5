//! `sdfg explain`: what a code of a finding means.

use clap::Args;
use sdfg::diagnostic::{Code, pages};

use crate::failure::Failure;
use crate::output;

/// Explain a code such as V304: what the rule is, why, what to do, and a wrong and a right program.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg explain V304\n  sdfg explain")]
pub(crate) struct Explain {
    /// The code, as findings show it in brackets; without one, all codes are listed.
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

impl Explain {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let Some(wanted) = &self.code else { return output::print(pages::overview().as_bytes()) };
        let page = wanted.trim().parse().ok().and_then(pages::page).ok_or_else(|| unknown(wanted.trim()))?;
        output::print(page.to_string().as_bytes())
    }
}

/// Names codes that begin in the same way, that differ in one letter, or whose page has the word.
fn unknown(wanted: &str) -> Failure {
    const MOST: usize = 5;
    let lower = wanted.to_lowercase();
    let number = lower.trim_start_matches(['v', 'p', 'e']);
    let matches = |code: &Code| {
        let name = code.name().to_lowercase();
        let is_start =
            !lower.is_empty() && (name.starts_with(&lower) || name.ends_with(number) && !number.is_empty());
        let is_near =
            name.len() == lower.len() && name.bytes().zip(lower.bytes()).filter(|(a, b)| a != b).count() == 1;
        let says = |page: &pages::Page| page.code.title().contains(&lower) || page.why.contains(&lower);
        is_start || is_near || (lower.len() > 2 && pages::page(*code).is_some_and(says))
    };
    let found = Code::ALL.iter().copied().filter(matches).take(MOST);
    let found: Vec<String> = found.map(|code| format!("{code} ({})", code.title())).collect();
    let failure = Failure::usage(format_args!("no finding has the code `{wanted}`"));
    if found.is_empty() {
        failure.help("codes look like V304; `sdfg explain` lists them all")
    } else {
        failure.help(format_args!("did you mean {}? `sdfg explain` lists them all", found.join(", or ")))
    }
}
