//! Parser of edges: their two ends and memlets, and the resolution of both when all labels of the state are
//! known.

use sdfg_language::subset::Subset;
use sdfg_language::syntax::{Name, Punctuation, Span};

use super::super::error::ParseErrorKind;
use super::super::implied::access;
use super::node::{Labelled, OpenState};
use super::{Fault, Parsed, Parser};
use crate::ir::{Access, ConflictResolution, ContainerId, Edge, NodeId, Port, Sdfg, SourceLoc, Volume};
use crate::path::closest;

/// An edge as it is written.
pub(super) struct EdgeStatement {
    pub(super) form: EdgeForm,
    pub(super) src: EdgeEnd,
    pub(super) dst: EdgeEnd,
    pub(super) memlet: Option<MemletText>,
    pub(super) resolution: Option<ConflictResolution>,
    pub(super) volume: Option<Volume>,
    pub(super) span: Span,
    loc: SourceLoc,
    /// Entries of the scopes in whose braces the edge stands.
    pub(super) scopes: Vec<NodeId>,
}

/// The word in front of an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeForm {
    /// None.
    Plain,
    /// `order`.
    Order,
    /// `bind`.
    Bind,
}

/// `label`, `label.connector` or `label@connector`.
pub(super) struct EdgeEnd {
    pub(super) label: Name,
    pub(super) connector: Option<Name>,
    /// Whether the connector of a scope is named as it is, without `IN_` or `OUT_`: behind `@`.
    verbatim: bool,
}

/// The accesses of a memlet.
pub(super) struct MemletText {
    pub(super) first: Access,
    /// Written part of a copy.
    pub(super) second: Option<Access>,
}

impl Parser<'_> {
    /// `source -> destination: memlet properties`.
    pub(super) fn edge(&mut self, open: &OpenState<'_>) -> Parsed<EdgeStatement> {
        let start = self.cursor.peek().span.start;
        let word_is_label = {
            let behind = self.cursor.peek_nth(1).kind;
            use sdfg_language::syntax::TokenKind::Punctuation as P;
            matches!(behind, P(Punctuation::Arrow | Punctuation::Dot | Punctuation::At))
        };
        let form = if word_is_label {
            EdgeForm::Plain
        } else if self.cursor.eat_word("order") {
            EdgeForm::Order
        } else if self.cursor.eat_word("bind") {
            EdgeForm::Bind
        } else {
            EdgeForm::Plain
        };
        let src = self.edge_end()?;
        self.cursor.expect(Punctuation::Arrow)?;
        let dst = self.edge_end()?;
        let memlet = if self.cursor.eat(Punctuation::Colon) { Some(self.memlet(open.sdfg)?) } else { None };
        let mut edge = EdgeStatement {
            form,
            src,
            dst,
            memlet,
            resolution: None,
            volume: None,
            span: Span::default(),
            loc: self.loc_from(start),
            scopes: open.scopes.clone(),
        };
        while self.expect_statement_end().is_err() {
            self.edge_property(&mut edge)?;
        }
        edge.span = self.cursor.span_from(start);
        edge.loc = self.loc(edge.span);
        Ok(edge)
    }

    fn edge_end(&mut self) -> Parsed<EdgeEnd> {
        let label = self.name()?;
        let verbatim = self.cursor.at(Punctuation::At);
        let connector = if self.cursor.eat(Punctuation::Dot) || self.cursor.eat(Punctuation::At) {
            Some(self.name()?)
        } else {
            None
        };
        Ok(EdgeEnd { label, connector, verbatim })
    }

    /// `A[i, 0:K]` or `A[0:K] -> B[2:K + 2]`.
    fn memlet(&mut self, sdfg: &Sdfg) -> Parsed<MemletText> {
        let first = self.container_access(sdfg)?;
        let second =
            if self.cursor.eat(Punctuation::Arrow) { Some(self.container_access(sdfg)?) } else { None };
        Ok(MemletText { first, second })
    }

    /// `A[i, 0:K]`, or `A` for a scalar or single queue.
    fn container_access(&mut self, sdfg: &Sdfg) -> Parsed<Access> {
        let name = self.name()?;
        let id = self.container(sdfg, &name)?;
        let subset = if self.cursor.at(Punctuation::OpenBracket) {
            self.subset(sdfg.container(id).shape())?
        } else {
            Subset(Vec::new())
        };
        Ok(access(sdfg, id, subset))
    }

    pub(super) fn container(&self, sdfg: &Sdfg, name: &Name) -> Parsed<ContainerId> {
        sdfg.find_container(&name.text).ok_or_else(|| {
            let similar = closest(&name.text, sdfg.containers().map(|(_, c)| c.name.as_str()));
            let similar = similar.map(str::to_owned);
            let kind = ParseErrorKind::Unknown { what: "container", name: name.text.clone(), similar };
            Fault::new(name.span, kind)
        })
    }

    /// `wcr(sum)`, `volume(n)`, `atmost(n)` or `dynamic`.
    fn edge_property(&mut self, edge: &mut EdgeStatement) -> Parsed<()> {
        let span = self.cursor.peek().span;
        if self.cursor.eat_word("wcr") {
            let resolution = self.resolution()?;
            if edge.resolution.replace(resolution).is_some() {
                return Err(Fault::new(
                    span,
                    ParseErrorKind::Repeated { what: "how conflicts are resolved" },
                ));
            }
            return Ok(());
        }
        let volume = if self.cursor.eat_word("volume") {
            Volume::Exact(self.argument(Self::symbolic)?)
        } else if self.cursor.eat_word("atmost") {
            Volume::AtMost(self.argument(Self::symbolic)?)
        } else if self.cursor.eat_word("dynamic") {
            Volume::Dynamic
        } else {
            return Err(self
                .cursor
                .expected("`wcr`, `volume`, `atmost`, `dynamic` or the end of the line")
                .into());
        };
        if edge.volume.replace(volume).is_some() {
            return Err(Fault::new(span, ParseErrorKind::Repeated { what: "how much moves" }));
        }
        Ok(())
    }

    /// Adds the edges of a state, now that all labels are known.
    pub(super) fn connect(&mut self, open: &mut OpenState<'_>) {
        let mut underived = Vec::new();
        for edge in std::mem::take(&mut open.edges) {
            if [&edge.src, &edge.dst].iter().any(|end| open.ambiguous.contains(&end.label.text)) {
                continue;
            }
            let (src, dst) = (self.resolve(open, &edge, true), self.resolve(open, &edge, false));
            let ((src, src_connector), (dst, dst_connector)) = match (src, dst) {
                (Ok(src), Ok(dst)) => (src, dst),
                (src, dst) => {
                    // A node that was lost to another error may be the one that is missing.
                    for fault in [src.err(), dst.err()].into_iter().flatten().filter(|_| !open.lost_nodes) {
                        self.report(fault);
                    }
                    continue;
                }
            };
            // A scope that was lost to another error may be the one that the edge is in.
            if let Some(fault) = self.crossing(open, &edge, (src, dst)).filter(|_| !open.lost_nodes) {
                self.report(fault);
                continue;
            }
            let loc = Some(edge.loc.clone());
            let mut added =
                Edge { src, src_connector, dst, dst_connector, memlet: crate::ir::Memlet::order(), loc };
            match super::flow::memlet(open, edge, &added) {
                Ok(Some(memlet)) => {
                    added.memlet = memlet;
                    open.graph.add_edge(added);
                }
                Ok(None) => underived.push(open.graph.add_edge(added)),
                Err(fault) => self.report(fault),
            }
        }
        open.enclose_members();
        super::outer::name_containers(open.sdfg, open.graph, &underived);
    }

    /// The node and connector that one end of an edge means.
    fn resolve(
        &self,
        open: &OpenState<'_>,
        edge: &EdgeStatement,
        is_source: bool,
    ) -> Parsed<(NodeId, Option<String>)> {
        let end = if is_source { &edge.src } else { &edge.dst };
        let Some(&Labelled { node, exit }) = open.labels.get(&end.label.text) else {
            let similar = closest(&end.label.text, open.labels.keys().map(String::as_str));
            let similar = similar.map(str::to_owned);
            let kind = ParseErrorKind::Unknown { what: "node", name: end.label.text.clone(), similar };
            return Err(Fault::new(end.label.span, kind));
        };
        let connector = end.connector.as_ref().map(|name| name.text.clone());
        if !open.graph.node(node).kind.is_scope_entry() {
            return Ok((node, connector));
        }
        // Inside its braces, a scope begins where edges start and ends where they end; outside, the other way round.
        let inside = edge.scopes.contains(&node);
        let node = if inside == is_source { node } else { exit.unwrap_or(node) };
        let port = |name: &str| String::from(if is_source { Port::Out(name) } else { Port::In(name) });
        Ok((node, connector.map(|name| if end.verbatim { name } else { port(&name) })))
    }
}
