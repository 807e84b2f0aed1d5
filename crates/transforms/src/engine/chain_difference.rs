//! The difference of two chains: a longest common subsequence of their steps.

use super::Chain;

/// A line of the difference of two chains, with numbers of steps from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A step of both.
    Both(usize, usize),
    /// A step of the first chain alone.
    First(usize),
    /// A step of the second chain alone.
    Second(usize),
}

impl Chain {
    /// The steps of both chains in order, of which as many as possible count as common. Between two common steps, those of this
    /// chain come first.
    pub fn difference(&self, other: &Chain) -> Vec<Difference> {
        let (first, second) = (&self.steps, &other.steps);
        // `common[i][j]` is the number of common steps of the chains from steps `i` and `j` on.
        let mut common = vec![vec![0_usize; second.len() + 1]; first.len() + 1];
        for i in (0..first.len()).rev() {
            for j in (0..second.len()).rev() {
                common[i][j] = if first[i] == second[j] {
                    common[i + 1][j + 1] + 1
                } else {
                    common[i + 1][j].max(common[i][j + 1])
                };
            }
        }
        let (mut i, mut j, mut lines) = (0, 0, Vec::new());
        while i < first.len() || j < second.len() {
            let line = match (first.get(i), second.get(j)) {
                (Some(own), Some(theirs)) if own == theirs => Difference::Both(i, j),
                (Some(_), Some(_)) if common[i + 1][j] < common[i][j + 1] => Difference::Second(j),
                (Some(_), _) => Difference::First(i),
                (None, _) => Difference::Second(j),
            };
            i += usize::from(!matches!(line, Difference::Second(_)));
            j += usize::from(!matches!(line, Difference::First(_)));
            lines.push(line);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(names: &str) -> Chain {
        let step = |name: char| format!(r#"{{"transformation": "{name}"}}"#);
        let steps: Vec<String> = names.chars().map(step).collect();
        Chain::from_json(&format!(r#"{{"version": 1, "steps": [{}]}}"#, steps.join(", "))).expect("a chain")
    }

    /// Steps behind an inserted, removed or changed one are common.
    #[test]
    fn steps_behind_a_change_are_common() {
        let shown = |first: &str, second: &str| -> String {
            let (own, theirs): (Vec<char>, Vec<char>) = (first.chars().collect(), second.chars().collect());
            let lines = chain(first).difference(&chain(second)).into_iter().map(|line| match line {
                Difference::Both(i, j) if own[i] == theirs[j] => format!("{}", own[i]),
                Difference::Both(..) => "?".to_owned(),
                Difference::First(i) => format!("-{}", own[i]),
                Difference::Second(j) => format!("+{}", theirs[j]),
            });
            lines.collect()
        };
        assert_eq!(shown("abc", "abc"), "abc");
        assert_eq!(shown("abc", "xabc"), "+xabc");
        assert_eq!(shown("abcd", "acd"), "a-bcd");
        assert_eq!(shown("abc", "axc"), "a-b+xc");
        assert_eq!(shown("ab", "ba"), "-ab+a");
        assert_eq!(shown("", "ab"), "+a+b");
        assert_eq!(shown("abxcd", "cdab"), "-a-b-xcd+a+b");
    }
}
