//! Which names can stand bare in a text, and how all others are quoted. Parser, printer and JSON agree through it.

/// Words that the expression grammar keeps for itself; see `Cursor::expect_name`.
const RESERVED: [&str; 15] = [
    "and", "or", "not", "if", "elif", "else", "for", "in", "while", "pass", "lambda", "True", "False",
    "true", "false",
];

/// Whether the lexer reads `name` as one identifier that the grammar accepts as a name.
pub(super) fn is_bare(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
        && !RESERVED.contains(&name)
}

/// The name as a text writes it: bare where that reads back, else a string.
pub(super) fn written(name: &str) -> String {
    if is_bare(name) { name.to_owned() } else { quote(name) }
}

/// A string token with these contents. Characters without an escape (other than the line end and the tab) stand for
/// themselves.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
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
