//! Removal of the common indentation of a block of code, with a mapping to the original offsets.
//!
//! Tasklet code is stored without the indentation of its file, so that equal code is equal text and can be
//! printed at any depth.

use super::span::Span;

/// A text without blank edges and common indentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dedented {
    text: String,
    /// For each line of `text`: its offset there, and the offset of the same character in the original.
    lines: Vec<(u32, u32)>,
}

impl Dedented {
    /// Removes blank lines at both ends, blanks at line ends and the indentation that all lines share.
    pub fn new(original: &str) -> Self {
        let lines = split(original);
        let shared = common_indentation(lines.iter().map(|(_, line)| *line));
        Self::remove(&lines, shared, shared)
    }

    /// As [`Dedented::new`], for a text that starts behind an opening brace.
    ///
    /// If a statement stands on the line of the brace, its own indentation is not known: it is taken for that of the
    /// least indented other line, or for less if it opens a block that this line belongs to.
    pub fn behind_brace(original: &str) -> Self {
        let lines = split(original);
        let Some(((_, first), others)) = lines.split_first().filter(|((_, first), _)| !first.is_empty())
        else {
            return Self::new(original);
        };
        let shared = common_indentation(others.iter().map(|(_, line)| *line));
        let next = common_indentation(
            others.iter().map(|(_, line)| *line).find(|line| !line.is_empty()).into_iter(),
        );
        let opens_block = first.ends_with(':') && next == shared;
        let others = if opens_block { shared.saturating_sub(if shared > 4 { 4 } else { 1 }) } else { shared };
        Self::remove(&lines, first.len() - first.trim_start().len(), others)
    }

    /// Removes so many bytes from the first line and from each other one.
    fn remove(lines: &[(usize, &str)], first: usize, others: usize) -> Self {
        let mut dedented = Dedented { text: String::new(), lines: Vec::new() };
        let used = lines.iter().rposition(|(_, line)| !line.is_empty()).map_or(0, |last| last + 1);
        for (number, &(offset, line)) in lines[..used].iter().enumerate() {
            let removed = if number == 0 { first } else { others }.min(line.len());
            if dedented.lines.is_empty() && line.is_empty() {
                continue;
            }
            if !dedented.lines.is_empty() {
                dedented.text.push('\n');
            }
            dedented.lines.push((dedented.text.len() as u32, (offset + removed) as u32));
            dedented.text.push_str(&line[removed..]);
        }
        dedented
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The span in the original text, shifted by `base`, of a span of the dedented text.
    pub fn to_original(&self, span: Span, base: u32) -> Span {
        let map = |offset: u32| {
            let line = self.lines.iter().rev().find(|(start, _)| *start <= offset);
            base + line.map_or(offset, |(start, original)| original + (offset - start))
        };
        Span::new(map(span.start), map(span.end))
    }
}

/// The lines with their offsets, without blanks at their ends.
fn split(original: &str) -> Vec<(usize, &str)> {
    let mut offset = 0;
    original
        .split_inclusive('\n')
        .map(|text| {
            let start = offset;
            offset += text.len();
            (start, text.trim_end())
        })
        .collect()
}

/// The number of bytes of the longest run of blanks that starts every line which is not blank.
fn common_indentation<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let mut common: Option<&str> = None;
    for line in lines.filter(|line| !line.is_empty()) {
        let blanks = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        common = Some(match common {
            None => blanks,
            Some(shared) => {
                let equal = shared.bytes().zip(blanks.bytes()).take_while(|(a, b)| a == b).count();
                &shared[..equal]
            }
        });
    }
    common.map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_relative_indentation_and_maps_back() {
        let original = "\n    a = b\n\n    if c:  \n        d = e\n  ";
        let dedented = Dedented::new(original);
        assert_eq!(dedented.text(), "a = b\n\nif c:\n    d = e");
        let at = dedented.text().find("d = e").unwrap() as u32;
        let span = dedented.to_original(Span::new(at, at + 5), 0);
        assert_eq!(span.slice(original), Some("d = e"));
        assert_eq!(Dedented::new(" o = a; p = b ").text(), "o = a; p = b");
        assert_eq!(Dedented::new("if a:\n  o = b").text(), "if a:\n  o = b");
        for (braced, expected) in [
            (" o = a\n      p = b\n      q = c ", "o = a\np = b\nq = c"),
            (" if a:\n      o = b\n", "if a:\n    o = b"),
            (" if a:\n      o = b\n  else:\n      o = c", "if a:\n    o = b\nelse:\n    o = c"),
            ("\n  if a:\n    o = b", "if a:\n  o = b"),
        ] {
            assert_eq!(Dedented::behind_brace(braced).text(), expected);
        }
        assert_eq!(Dedented::new(" \n \n").text(), "");
    }
}
