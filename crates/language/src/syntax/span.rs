//! Spans: byte ranges of source text. Every later layer stores them, and none changes them.

use std::ops::Range;

/// A half-open range of byte offsets into a source text.
///
/// Offsets count from the start of the file (or of the single line) that was given to the lexer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span as an index range.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text under the span, if `source` is the text that the offsets count in.
    pub fn slice(self, source: &str) -> Option<&str> {
        source.get(self.range())
    }
}
