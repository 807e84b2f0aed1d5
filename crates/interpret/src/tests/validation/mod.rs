//! Validation held against runs: what it refuses ends badly, and what it accepts does not.

mod bounds;
mod conflicts;
mod endless;
mod mutation;
mod oracle;
mod streams;

use sdfg_graph::diagnostic::{Diagnostic, Style, render};
use sdfg_graph::text;
use sdfg_language::symbolic::with_proof_cache;
use sdfg_validate::diagnose;

/// Everything that reading and validation say about a text.
fn findings(source: &str) -> Vec<Diagnostic> {
    match text::parse("test.sdft", source) {
        Ok(sdfg) => {
            let found = diagnose(&sdfg);
            // Answers from memory are those that are worked out each time.
            let remembered = with_proof_cache(|| diagnose(&sdfg));
            assert_eq!(format!("{remembered:?}"), format!("{found:?}"));
            found
        }
        Err(errors) => errors.iter().map(Diagnostic::text).collect(),
    }
}

fn shown(source: &str, diagnostics: &[Diagnostic]) -> String {
    render(diagnostics, Some(("test.sdft", source)), Style::Plain)
}
