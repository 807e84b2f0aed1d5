//! Names: how the text writes them, and which one was meant where one is misspelt. Parser, printer and JSON share it.

use crate::syntax::{is_name, quote};

/// The name as a text writes it: bare where that reads back, else a string.
pub(super) fn written(name: &str) -> String {
    if is_name(name) { name.to_owned() } else { quote(name) }
}

/// The candidate that `name` is most likely a misspelling of: at most a third of its letters differ.
pub(crate) fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

/// Levenshtein's distance: insertions, removals and replacements of characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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

    #[test]
    fn the_closest_name_is_a_small_edit_away() {
        let names = ["columns", "rows", "A"];
        assert_eq!(closest("colums", names.into_iter()).as_deref(), Some("columns"));
        assert_eq!(closest("B", names.into_iter()).as_deref(), Some("A"));
        assert_eq!(closest("values", names.into_iter()), None);
    }
}
