//! Prints diagnostics for people: carets under the source if its text is available, otherwise the location in
//! words.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::printed::{PRINTED, place_in_printed};
use super::{Diagnostic, Severity};
use crate::ir::{Sdfg, SourceLoc};

/// Options of printing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Without escape codes, the same on every system.
    #[default]
    Plain,
    /// With colours, for terminals.
    Color,
}

/// Prints diagnostics in the given order, each ended by a blank line.
///
/// `source` is the name and the text of the file that the program was read from; locations in other files are told by
/// line and column.
pub fn render(diagnostics: &[Diagnostic], source: Option<(&str, &str)>, style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Color => Renderer::styled(),
    };
    let mut out = String::new();
    for diagnostic in diagnostics {
        let pinpointed = source.map(|(name, text)| diagnostic.clone().pinpoint(name, text));
        out.push_str(&renderer.render(&[group(pinpointed.as_ref().unwrap_or(diagnostic), source)]));
        out.push_str("\n\n");
    }
    out
}

/// As [`render`], for a program that was built, not read: carets stand under its printed text form.
pub fn render_built(diagnostics: &[Diagnostic], sdfg: &Sdfg, style: Style) -> String {
    match place_in_printed(diagnostics, sdfg) {
        Some((text, placed)) => render(&placed, Some((PRINTED, &text)), style),
        None => render(diagnostics, None, style),
    }
}

/// Title, source or origin, other places, facts and suggestion of one diagnostic.
fn group<'a>(diagnostic: &'a Diagnostic, source: Option<(&'a str, &'a str)>) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(&diagnostic.message).id(diagnostic.code.name()));
    match (&diagnostic.loc, source) {
        (Some(loc), Some((name, text))) if *loc.file == *name && loc.span.is_some() => {
            group = group.element(snippet(diagnostic, loc, name, text));
        }
        (Some(loc), _) => group = group.element(origin(loc)),
        (None, _) => {}
    }
    if !diagnostic.path.is_empty() {
        group = group.element(Level::NOTE.message(format!("at {}", diagnostic.path)));
    }
    for secondary in &diagnostic.secondary {
        let shown = source.is_some_and(|(name, text)| span_in(secondary.loc.as_ref(), name, text).is_some());
        if !shown {
            group = group.element(Level::NOTE.message(format!("{}: {}", secondary.path, secondary.message)));
        }
    }
    if let Some(excerpt) = &diagnostic.excerpt {
        let is_shown = excerpt.in_file.is_some()
            && source.is_some_and(|(name, text)| span_in(diagnostic.loc.as_ref(), name, text).is_some());
        if !is_shown {
            group = group.element(Level::NOTE.message(format!("in `{}`", excerpt.line)));
        }
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note));
    }
    match &diagnostic.suggestion {
        Some(suggestion) => group.element(Level::HELP.message(suggestion)),
        None => group,
    }
}

fn snippet<'a>(
    diagnostic: &'a Diagnostic,
    loc: &'a SourceLoc,
    name: &'a str,
    text: &'a str,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let mut snippet = Snippet::source(text).path(name).fold(true);
    if let Some(span) = span_in(Some(loc), name, text) {
        snippet = snippet.annotation(AnnotationKind::Primary.span(span));
    }
    for secondary in &diagnostic.secondary {
        if let Some(span) = span_in(secondary.loc.as_ref(), name, text) {
            snippet = snippet.annotation(AnnotationKind::Context.span(span).label(&secondary.message));
        }
    }
    snippet
}

fn origin(loc: &SourceLoc) -> Origin<'_> {
    Origin::path(&*loc.file).line(loc.line as usize).char_column(loc.column as usize)
}

/// The span of a place in this text, cut to the text and to whole characters; `None` if it lies in another file.
fn span_in(loc: Option<&SourceLoc>, name: &str, text: &str) -> Option<Range<usize>> {
    let loc = loc.filter(|loc| *loc.file == *name)?;
    let span = loc.span?;
    let start = text.floor_char_boundary(span.start as usize);
    let end = text.ceil_char_boundary((span.end as usize).min(text.len()));
    Some(start..end.max(start))
}
