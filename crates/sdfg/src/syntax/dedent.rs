//! Removing the common indentation of a block of code, with the way back to the original offsets.
//!
//! Tasklet code is stored without the indentation of the file it came from, so that equal code is equal text and
//! can be printed at any depth.

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
    ///
    /// When text stands on the first line already (behind a brace), that line's own indentation is unknown and the
    /// others share theirs.
    pub fn new(original: &str) -> Self {
        let mut lines = Vec::new();
        let mut offset = 0;
        for line in original.split_inclusive('\n') {
            lines.push((offset, line.trim_end()));
            offset += line.len();
        }
        let first_full = usize::from(lines.first().is_some_and(|(_, line)| !line.is_empty()));
        let shared = common_indentation(lines.iter().skip(first_full).map(|(_, line)| *line));
        let mut dedented = Dedented { text: String::new(), lines: Vec::new() };
        let used = lines.iter().rposition(|(_, line)| !line.is_empty()).map_or(0, |last| last + 1);
        for (number, &(offset, line)) in lines[..used].iter().enumerate() {
            let removed = if number < first_full {
                line.len() - line.trim_start().len()
            } else {
                shared.min(line.len())
            };
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
        assert_eq!(Dedented::new("o = a\n      p = b\n      q = c").text(), "o = a\np = b\nq = c");
        assert_eq!(Dedented::new(" \n \n").text(), "");
    }
}
