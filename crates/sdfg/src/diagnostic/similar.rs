//! Names that were probably meant: suggestions for messages.

/// The candidate that looks most like a name, if one is close enough to be meant: a third of its letters may differ.
pub(crate) fn closest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let length = name.chars().count();
    // Of one letter, only its case can be wrong: any other letter is as close as the next.
    let limit = if length == 1 { 0 } else { (length / 3).max(1) };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance; a difference in case counts as no change.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// `did you mean ...?`, if a candidate is close.
pub(crate) fn did_you_mean<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    closest(name, candidates).map(|found| format!("did you mean `{found}`?"))
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn the_closest_name_is_near() {
        let names = ["rows", "cols", "N", "A"];
        assert_eq!(closest("row", names), Some("rows"));
        assert_eq!(closest("n", names), Some("N"));
        assert_eq!(closest("colss", names), Some("cols"));
        assert_eq!(closest("B", names), None);
        assert_eq!(closest("values", names), None);
    }
}
