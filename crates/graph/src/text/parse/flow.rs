//! Flow of an edge, from its memlet text and the kinds of its ends.

use super::super::error::ParseErrorKind;
use super::super::implied::{is_outer, whole, whole_copy};
use super::edge::{EdgeForm, EdgeStatement, MemletText};
use super::node::OpenState;
use super::{Fault, Parsed};
use crate::ir::{ConflictResolution, ContainerId, Edge, Flow, Memlet, NodeKind, State};

/// The memlet of an edge; `None` for an outer segment that says nothing and is derived.
pub(super) fn memlet(open: &OpenState<'_>, statement: EdgeStatement, edge: &Edge) -> Parsed<Option<Memlet>> {
    let EdgeStatement { form, memlet: text, resolution, volume, span, .. } = statement;
    let fault = |kind| Fault::new(span, kind);
    let outer = is_outer(open.graph, edge);
    let bare = text.is_none() && resolution.is_none() && volume.is_none();
    if outer && form == EdgeForm::Plain && bare {
        return Ok(None);
    }
    let mut memlet = match (form, text) {
        (EdgeForm::Order, None) => Memlet::order(),
        (EdgeForm::Order, Some(_)) => return Err(fault(ParseErrorKind::MemletOnOrder)),
        (EdgeForm::Bind, Some(MemletText { second: Some(_), .. })) => {
            return Err(fault(ParseErrorKind::TwoSidedMemlet));
        }
        (EdgeForm::Bind, Some(MemletText { first, second: None })) => Memlet::bind(first),
        (EdgeForm::Bind, None) => match bound_container(open, edge) {
            Some(target) => Memlet::bind(whole(open.sdfg, target)),
            None => return Err(fault(ParseErrorKind::MissingMemlet)),
        },
        (EdgeForm::Plain, Some(text)) => written(open.graph, edge, text, outer).map_err(fault)?,
        (EdgeForm::Plain, None) => implied(open, edge).map_err(fault)?,
    };
    if let Some(resolution) = resolution
        && !set_resolution(&mut memlet.flow, resolution)
    {
        return Err(fault(ParseErrorKind::ResolutionWithoutWrite));
    }
    if let Some(volume) = volume {
        memlet.volume = volume;
    }
    memlet.declared = outer && form == EdgeForm::Plain;
    Ok(Some(memlet))
}

/// The memlet that a text gives: a copy, or the read or write that the ends ask for.
fn written(graph: &State, edge: &Edge, text: MemletText, outer: bool) -> Result<Memlet, ParseErrorKind> {
    let MemletText { first, second } = text;
    if let Some(second) = second {
        return Ok(Memlet::copy(first, second));
    }
    let (src, dst) = (&graph.node(edge.src).kind, &graph.node(edge.dst).kind);
    match (src.is_code(), dst.is_code()) {
        (true, true) => Err(ParseErrorKind::MemletOnValue),
        (true, false) => Ok(Memlet::write(first)),
        (false, true) => Ok(Memlet::read(first)),
        (false, false) if dst.is_scope_entry() => Ok(Memlet::read(first)),
        (false, false) if outer => Ok(Memlet::write(first)),
        (false, false) => Err(ParseErrorKind::OneSidedCopy),
    }
}

/// The memlet of an edge without a text, which is no outer segment.
fn implied(open: &OpenState<'_>, edge: &Edge) -> Result<Memlet, ParseErrorKind> {
    if let Some(copy) = whole_copy(open.sdfg, open.graph, edge) {
        return Ok(copy);
    }
    let (src, dst) = (&open.graph.node(edge.src).kind, &open.graph.node(edge.dst).kind);
    match (src, dst) {
        (NodeKind::Access(from), code) if code.is_code() => Ok(Memlet::read(whole(open.sdfg, *from))),
        (code, NodeKind::Access(to)) if code.is_code() => Ok(Memlet::write(whole(open.sdfg, *to))),
        (src, dst) if src.is_code() && dst.is_code() => Ok(Memlet::value()),
        _ => Err(ParseErrorKind::MissingMemlet),
    }
}

/// The container at the end of a binding edge that is not the alias itself.
fn bound_container(open: &OpenState<'_>, edge: &Edge) -> Option<ContainerId> {
    let ends = [edge.src, edge.dst].map(|node| open.graph.node(node).kind.container());
    let is_target = |id: &ContainerId| !open.sdfg.container(*id).is_alias();
    ends.into_iter().flatten().find(is_target).or(ends[0])
}

/// Gives a write its resolution; false if the flow writes nothing.
fn set_resolution(flow: &mut Flow, resolution: ConflictResolution) -> bool {
    match flow {
        Flow::Write { resolution: slot, .. } | Flow::Copy { resolution: slot, .. } => {
            *slot = Some(resolution);
            true
        }
        Flow::Order | Flow::Read(_) | Flow::Value | Flow::Bind(_) => false,
    }
}
