//! Spelling of names, shared by parser, printer and JSON.

use sdfg_language::syntax::{is_name, quote};

/// The name as a text writes it: bare where that reads back, else a string.
pub(super) fn written(name: &str) -> String {
    if is_name(name) { name.to_owned() } else { quote(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_identifiers_are_quoted() {
        for (name, text) in [
            ("a", "a"),
            ("élan_2", "élan_2"),
            ("state_0 copy", "\"state_0 copy\""),
            ("for", "\"for\""),
            ("", "\"\""),
        ] {
            assert_eq!(written(name), text);
        }
        assert_eq!(written("a\"\\\n"), r#""a\"\\\n""#);
    }
}
