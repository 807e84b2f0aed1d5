//! Where the elements of a graph stand in its printed text, for carets under graphs that never had a text of their own.

use std::collections::BTreeMap;

use crate::ir::{BlockId, ContainerId, EdgeId, NodeId, StateId, TransitionId};
use crate::symbolic::Symbol;
use crate::syntax::Span;

/// An element of one SDFG that has a place in its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrintedElement {
    /// The SDFG: the header up to its brace.
    Sdfg,
    /// The declaration of a symbol.
    Symbol(Symbol),
    /// The declaration of a container.
    Container(ContainerId),
    /// A block: the header up to its brace.
    Block(BlockId),
    /// A transition: its arrow. One that only goes on with the next block has no text.
    Transition(TransitionId),
    /// A node: its line, or the header up to its brace; of a scope's exit, the closing brace.
    Node(StateId, NodeId),
    /// The code of a tasklet. Line breaks and indentation are those of the text, not of the code.
    Code(StateId, NodeId),
    /// An edge: its line.
    Edge(StateId, EdgeId),
}

/// Spans of elements, by the calls that lead to their SDFG.
#[derive(Clone, Debug, Default)]
pub struct SpanTable {
    spans: BTreeMap<(Vec<(StateId, NodeId)>, PrintedElement), Span>,
}

impl SpanTable {
    /// The span of an element; `nested` are the nested nodes that lead to its SDFG, outermost first.
    pub fn get(&self, nested: &[(StateId, NodeId)], element: &PrintedElement) -> Option<Span> {
        self.spans.get(&(nested.to_vec(), element.clone())).copied()
    }

    /// Every element with its span, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (&[(StateId, NodeId)], &PrintedElement, Span)> {
        self.spans.iter().map(|((nested, element), span)| (nested.as_slice(), element, *span))
    }

    pub(super) fn insert(&mut self, nested: &[(StateId, NodeId)], element: PrintedElement, span: Span) {
        self.spans.insert((nested.to_vec(), element), span);
    }
}
