//! Edges that cross the border of a scope. Braces determine the scope of each node, and both ends of an edge
//! are in one scope.
//!
//! Scopes of a graph follow from its edges. Without this check, an edge could move a node to another scope
//! than the one whose braces contain it, and change the meaning of the program.

use super::super::error::ParseErrorKind;
use super::super::names::written;
use super::edge::{EdgeEnd, EdgeForm, EdgeStatement};
use super::node::{Labelled, OpenState};
use super::{Fault, Parser};
use crate::ir::{NodeId, NodeKind};

impl Parser<'_> {
    /// An error where the two ends of an edge are not in one scope.
    pub(super) fn crossing(
        &self,
        open: &OpenState<'_>,
        edge: &EdgeStatement,
        (src, dst): (NodeId, NodeId),
    ) -> Option<Fault> {
        let (behind, before) = (open.scopes_behind(src), open.scopes_before(dst));
        if behind == before {
            return None;
        }
        let shared = behind.iter().zip(&before).take_while(|(a, b)| a == b).count();
        let remedy = match (&behind[shared..], &before[shared..]) {
            _ if let Some(remedy) = open.elsewhere(edge, (src, dst)) => remedy,
            ([], entered) => self.through(open, edge, entered, true),
            (left, []) => self.through(open, edge, left, false),
            _ => "lead it out of the one scope to an access node, and from there into the other".to_owned(),
        };
        let kind = ParseErrorKind::CrossesScope {
            from: open.placed(src, &behind),
            to: open.placed(dst, &before),
            remedy,
        };
        Some(Fault::new(edge.span, kind))
    }

    /// The statements that lead the edge through the borders of the scopes, given outermost first.
    fn through(&self, open: &OpenState<'_>, edge: &EdgeStatement, scopes: &[NodeId], enters: bool) -> String {
        let source = self.cursor.source();
        let text = |end: &EdgeEnd| source.get(end.span().start as usize..end.span().end as usize);
        let (src, dst) = (text(&edge.src).unwrap_or(""), text(&edge.dst).unwrap_or(""));
        let properties = source.get(edge.dst.span().end as usize..edge.span.end as usize).unwrap_or("");
        let word = match edge.form {
            EdgeForm::Plain | EdgeForm::Bind => "",
            EdgeForm::Order => "order ",
        };
        let connector = match edge.form {
            EdgeForm::Plain | EdgeForm::Bind => format!(".{}", open.connector_name(edge, enters)),
            EdgeForm::Order => String::new(),
        };
        let (mut outer, inner) = if enters { (src.to_owned(), dst) } else { (dst.to_owned(), src) };
        let mut clauses = vec!["outside of them".to_owned()];
        let mut statements = Vec::new();
        let joined = |outer: &str, inner: &str, properties: &str| {
            let (src, dst) = if enters { (outer, inner) } else { (inner, outer) };
            format!("`{word}{src} -> {dst}{properties}`")
        };
        for scope in scopes {
            let label = written(&open.graph.node(*scope).label);
            let border = format!("{label}{connector}");
            statements.push(joined(&outer, &border, ""));
            clauses.push(format!("in the braces of `{label}`"));
            outer = border;
        }
        statements.push(joined(&outer, inner, properties));
        let parts: Vec<String> = statements
            .iter()
            .zip(&clauses)
            .rev()
            .map(|(statement, clause)| format!("{statement} {clause}"))
            .collect();
        match parts.split_last() {
            Some((last, inner)) => format!("write {} and {last}", inner.join(", ")),
            None => String::new(),
        }
    }
}

impl EdgeEnd {
    fn span(&self) -> sdfg_language::syntax::Span {
        let end = self.connector.as_ref().map_or(self.label.span.end, |name| name.span.end);
        sdfg_language::syntax::Span::new(self.label.span.start, end)
    }
}

impl OpenState<'_> {
    /// Entries of the scopes in whose braces a node stands, outermost first.
    fn scopes_around(&self, node: NodeId) -> Vec<NodeId> {
        self.members.get(&node).cloned().unwrap_or_default()
    }

    /// Entries of the scopes that what follows a node is in.
    fn scopes_behind(&self, node: NodeId) -> Vec<NodeId> {
        let kind = &self.graph.node(node).kind;
        let mut scopes = self.scopes_around(kind.exit_of().unwrap_or(node));
        scopes.extend(kind.is_scope_entry().then_some(node));
        scopes
    }

    /// Entries of the scopes that what comes before a node is in.
    fn scopes_before(&self, node: NodeId) -> Vec<NodeId> {
        let entry = self.graph.node(node).kind.exit_of();
        let mut scopes = self.scopes_around(entry.unwrap_or(node));
        scopes.extend(entry);
        scopes
    }

    /// Scope of an end of an edge, in words.
    fn placed(&self, node: NodeId, scopes: &[NodeId]) -> String {
        let label = &self.graph.node(node).label;
        match scopes.last() {
            Some(entry) if *entry == node => format!("this is the entry of `{label}`"),
            Some(entry) if self.graph.node(node).kind.exit_of() == Some(*entry) => {
                format!("this is the exit of `{label}`")
            }
            Some(entry) => format!("`{label}` is in the scope `{}`", self.graph.node(*entry).label),
            None => format!("`{label}` is outside of all scopes"),
        }
    }

    /// Remedy for an edge that would be right on the other side of the braces of a scope that it names: there
    /// the label means the other border of the scope.
    fn elsewhere(&self, edge: &EdgeStatement, (src, dst): (NodeId, NodeId)) -> Option<String> {
        let other_border = |end: &EdgeEnd, node: NodeId| {
            let Labelled { node: entry, exit } = *self.labels.get(&end.label.text)?;
            Some(if node == entry { exit? } else { entry })
        };
        let moved = |node: NodeId, from: Vec<NodeId>, to: Vec<NodeId>| {
            let entry = self.graph.node(node).kind.exit_of().unwrap_or(node);
            let side = if edge.scopes.contains(&entry) { "out of" } else { "into" };
            let label = &self.graph.node(node).label;
            (from == to).then(|| format!("move it {side} the braces of `{label}`"))
        };
        let source = other_border(&edge.src, src)
            .and_then(|other| moved(src, self.scopes_behind(other), self.scopes_before(dst)));
        source.or_else(|| {
            let other = other_border(&edge.dst, dst)?;
            moved(dst, self.scopes_behind(src), self.scopes_before(other))
        })
    }

    /// The name that connectors of the scopes would have for this edge: the container that it moves.
    fn connector_name(&self, edge: &EdgeStatement, enters: bool) -> String {
        let outer = if enters { &edge.src } else { &edge.dst };
        let named = self.labels.get(&outer.label.text).map(|named| &self.graph.node(named.node).kind);
        let container = match (named, &edge.memlet) {
            (Some(NodeKind::Access(container)), _) => Some(*container),
            (_, Some(memlet)) => Some(memlet.first.container),
            (_, None) => None,
        };
        let name = match (named, &outer.connector, container) {
            (Some(kind), Some(connector), _) if kind.is_scope_entry() => &connector.text,
            (_, _, Some(container)) => &self.sdfg.container(container).name,
            (_, _, None) => &outer.label.text,
        };
        written(name)
    }
}
