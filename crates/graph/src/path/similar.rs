//! Suggestions of similar names for messages.

/// The candidate that looks most like a name, if one is close enough to be meant: a third of the letters may differ. Case and
/// swapped neighbours count little or nothing. The name itself is no candidate.
pub fn closest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
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

/// The positions of the candidates that look most like a name, the nearest first, `count` at most; a third of the letters
/// may differ.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>, count: usize) -> Vec<usize> {
    let limit = (name.chars().count() / 3).max(1);
    let candidates = candidates.into_iter().enumerate();
    let mut near: Vec<(usize, usize)> = candidates
        .map(|(at, candidate)| (distance(name, candidate), at))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort_unstable();
    near.into_iter().take(count).map(|(_, at)| at).collect()
}

/// Insertions, removals, replacements and swaps of neighbours that lead from one name to the other (optimal string
/// alignment); a difference in case counts as no change.
fn distance(a: &str, b: &str) -> usize {
    let letters = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// `did you mean ...?`, if a candidate is close.
pub fn did_you_mean<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
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
        assert_eq!(closest("rwos", names), Some("rows"));
        assert_eq!(closest("values", names), None);
    }
}
