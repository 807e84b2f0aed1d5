//! Positions of graph elements in the printed text, for carets under graphs without source text.

use std::collections::BTreeMap;

use sdfg_language::syntax::Span;

use crate::path::ElementPlace;

/// Spans of the elements of a printed program.
///
/// The SDFG, blocks and scopes have the header up to the brace, exits of scopes the closing brace; declarations, other nodes and edges
/// have their line, and transitions their arrow. A transition that only goes on with the next block has no text. Connectors are no
/// lines of their own.
#[derive(Clone, Debug, Default)]
pub struct SpanTable {
    elements: BTreeMap<ElementPlace, Span>,
    codes: BTreeMap<ElementPlace, Span>,
}

impl SpanTable {
    /// The span of an element.
    pub fn get(&self, place: &ElementPlace) -> Option<Span> {
        self.elements.get(place).copied()
    }

    /// The span of the code of a tasklet. Line breaks and indentation are those of the text, not of the code.
    pub fn code(&self, tasklet: &ElementPlace) -> Option<Span> {
        self.codes.get(tasklet).copied()
    }

    /// Every element with its span, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (&ElementPlace, Span)> {
        self.elements.iter().map(|(place, span)| (place, *span))
    }

    /// Every tasklet whose code is in the text, with the span of the code, in a fixed order.
    pub fn codes(&self) -> impl Iterator<Item = (&ElementPlace, Span)> {
        self.codes.iter().map(|(place, span)| (place, *span))
    }

    pub(super) fn insert(&mut self, place: ElementPlace, span: Span) {
        self.elements.insert(place, span);
    }

    pub(super) fn insert_code(&mut self, tasklet: ElementPlace, span: Span) {
        self.codes.insert(tasklet, span);
    }
}
