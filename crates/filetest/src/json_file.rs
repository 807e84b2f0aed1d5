//! JSON documents: a `.txt` file beside each holds the expected message of the reader, or `valid`.
//!
//! They have separate files because JSON has no comments.

use std::path::Path;

use libtest_mimic::Failed;
use sdfg::json;
use sdfg::validate::validate;

use crate::{roundtrip, survive};

/// Reads a document and, if that is one, validates it and sends it round.
pub(crate) fn run(path: &Path, bless: bool) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    survive::document(&text);
    let found = match json::parse(&text) {
        Err(error) => format!("{error}\n"),
        Ok(sdfg) => {
            // Derived memlets of a document need not be those that propagation derives, so that only the document itself
            // has to come back.
            let document = json::to_string(&sdfg);
            let again = json::parse(&document).map_err(|error| format!("{error}\nin\n{document}"))?;
            if json::to_string(&again) != document {
                return Err(format!("writing twice differs:\n{document}").into());
            }
            match validate(sdfg) {
                Ok(validated) => {
                    roundtrip::check(validated.sdfg())?;
                    "valid\n".to_owned()
                }
                Err(rejected) => {
                    rejected.diagnostics.iter().map(|diagnostic| format!("{diagnostic}\n")).collect()
                }
            }
        }
    };
    let beside = path.with_extension("txt");
    if bless {
        std::fs::write(&beside, &found).map_err(|error| format!("{}: {error}", beside.display()))?;
    }
    let expected = std::fs::read_to_string(&beside).unwrap_or_default();
    if expected == found {
        return Ok(());
    }
    Err(format!("expected:\n{expected}found:\n{found}BLESS=1 rewrites what is expected").into())
}
