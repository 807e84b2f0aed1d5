//! Carets under programs without source text: elements are located in the printed text form.

use std::collections::BTreeMap;

use sdfg_language::syntax::{Dedented, Span};

use super::{Code, Diagnostic, Element, ElementPath, End, locate};
use crate::ir::Sdfg;
use crate::text::print_with_spans;

/// Name of the printed text in messages.
pub(super) const PRINTED: &str = "(printed program)";

/// The text of a program, and diagnostics with places in it; where an element was made becomes a note.
///
/// `None` for a graph that is too broken to be printed.
pub(super) fn place_in_printed(diagnostics: &[Diagnostic], sdfg: &Sdfg) -> Option<(String, Vec<Diagnostic>)> {
    let is_broken = |diagnostic: &Diagnostic| {
        matches!(diagnostic.code, Code::DanglingReference | Code::MalformedRegion | Code::NestingTooDeep)
    };
    if diagnostics.iter().any(is_broken) {
        return None;
    }
    let (text, table) = print_with_spans(sdfg);
    let mut spans: BTreeMap<ElementPath, Span> = BTreeMap::new();
    let mut codes: BTreeMap<ElementPath, Span> = BTreeMap::new();
    for (place, span) in table.iter() {
        if let Some(path) = place.path(sdfg) {
            spans.entry(path).or_insert(span);
        }
    }
    for (tasklet, span) in table.codes() {
        if let Some(path) = tasklet.path(sdfg) {
            codes.entry(path).or_insert(span);
        }
    }
    let find = |path: &ElementPath| spans.get(path).or_else(|| spans.get(&container_of(path))).copied();
    let placed = diagnostics.iter().cloned().map(|mut diagnostic| {
        if let Some(span) = find(&diagnostic.path)
            && let Some(made_at) = diagnostic.loc.replace(locate(PRINTED, &text, span))
        {
            diagnostic.notes.push(format!("made at {made_at}"));
        }
        if let Some(excerpt) = &mut diagnostic.excerpt {
            let code = codes.get(&container_of(&diagnostic.path)).zip(excerpt.in_code);
            excerpt.in_file = code.and_then(|(code, span)| in_printed(&text, *code, span));
        }
        for secondary in &mut diagnostic.secondary {
            if let Some(span) = find(&secondary.path) {
                secondary.loc = Some(locate(PRINTED, &text, span));
            }
        }
        diagnostic
    });
    let placed = placed.collect();
    Some((text, placed))
}

/// The place of a part of a tasklet's code. Printing indents all lines by the same, as reading takes away.
fn in_printed(text: &str, code: Span, part: Span) -> Option<Span> {
    Some(Dedented::new(code.slice(text)?).to_original(part, code.start))
}

/// The container of an element that has no text of its own.
fn container_of(path: &ElementPath) -> ElementPath {
    let holder = path.holder();
    match path.element() {
        Element::Node(end) => holder.enter(&end.node),
        // Of a transition; an edge is in the text.
        Element::Edge { source: End { node, connector: None }, .. } => holder.enter(node),
        Element::Scope
        | Element::Block(_)
        | Element::Container(_)
        | Element::Symbol(_)
        | Element::Exit(_)
        | Element::Transition { .. }
        | Element::Edge { .. } => holder,
    }
}
