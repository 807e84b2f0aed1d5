//! Carets under programs that were not read from a text: their elements are looked up in the printed text form.

use std::collections::BTreeMap;

use super::{Code, Diagnostic, Element, ElementPath, End, locate};
use crate::ir::{BlockKind, NodeId, NodeKind, Sdfg, StateId};
use crate::syntax::{Dedented, Span};
use crate::text::{PrintedElement, print_with_spans};

/// How the printed text is called in messages.
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
    for (nested, element, span) in table.iter() {
        let spans = if matches!(element, PrintedElement::Code(..)) { &mut codes } else { &mut spans };
        for path in paths(sdfg, nested, element) {
            spans.entry(path).or_insert(span);
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

/// What holds an element that has no text of its own.
fn container_of(path: &ElementPath) -> ElementPath {
    match &path.element {
        Element::Node(end) => path.to(Element::Node(End::node(&end.node))),
        Element::Transition { source, .. } => path.to(Element::Block(source.clone())),
        Element::Scope
        | Element::Block(_)
        | Element::Container(_)
        | Element::Symbol(_)
        | Element::Edge { .. } => path.to(Element::Scope),
    }
}

/// The paths by which diagnostics name a printed element.
fn paths(root: &Sdfg, nested: &[(StateId, NodeId)], element: &PrintedElement) -> Vec<ElementPath> {
    let mut sdfg = root;
    let mut path = ElementPath::sdfg(&root.name);
    for (state, node) in nested {
        let Some(found) = sdfg.get_state(*state).and_then(|state| state.get_node(*node)) else {
            return Vec::new();
        };
        let NodeKind::Nested(call) = &found.kind else { return Vec::new() };
        path = path.enter(state_label(sdfg, *state)).enter(&found.label);
        sdfg = &call.sdfg;
    }
    let in_state = |state: &StateId| Some((path.enter(state_label(sdfg, *state)), sdfg.get_state(*state)?));
    match element {
        PrintedElement::Sdfg => vec![path],
        PrintedElement::Symbol(symbol) => vec![path.to(Element::Symbol(symbol.as_str().to_owned()))],
        PrintedElement::Container(id) => {
            let name = sdfg.get_container(*id).map(|container| container.name.clone());
            name.map(|name| path.to(Element::Container(name))).into_iter().collect()
        }
        PrintedElement::Block(id) => {
            let label = sdfg.get_block(*id).map(|block| block.label.clone());
            label.map_or_else(Vec::new, |label| vec![path.enter(&label), path.to(Element::Block(label))])
        }
        PrintedElement::Transition(id) => {
            let Some(transition) = sdfg.get_transition(*id) else { return Vec::new() };
            let label = |id| sdfg.get_block(id).map(|block| block.label.clone()).unwrap_or_default();
            let (source, destination) = (label(transition.src), label(transition.dst));
            vec![path.to(Element::Transition { source, destination })]
        }
        PrintedElement::Node(state, node) | PrintedElement::Code(state, node) => {
            let Some((path, graph)) = in_state(state) else { return Vec::new() };
            // An exit has the label of its entry, which is what messages mean.
            let is_exit = graph.get_node(*node).is_none_or(|node| node.kind.exit_of().is_some());
            if is_exit { Vec::new() } else { vec![path.to(Element::Node(End::of(graph, *node, None)))] }
        }
        PrintedElement::Edge(state, edge) => {
            let Some((path, graph)) = in_state(state) else { return Vec::new() };
            graph.get_edge(*edge).map(|edge| path.to(Element::edge(graph, edge))).into_iter().collect()
        }
    }
}

fn state_label(sdfg: &Sdfg, state: StateId) -> String {
    let runs = |kind: &BlockKind| matches!(kind, BlockKind::State(id) if *id == state);
    sdfg.blocks()
        .find(|(_, block)| runs(&block.kind))
        .map_or_else(|| state.to_string(), |(_, block)| block.label.clone())
}
