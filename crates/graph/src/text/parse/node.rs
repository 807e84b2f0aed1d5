//! Parser of states and their statements: nodes, scopes with their braces, and edges, which are stored until
//! the state closes.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::subset::Subset;
use sdfg_language::symbolic::Expr;
use sdfg_language::syntax::{Name, Punctuation, Span, TokenKind};
use sdfg_language::tasklet::{Code, Dialect, ExternalCall};

use super::super::error::ParseErrorKind;
use super::edge::EdgeStatement;
use super::terms::Execution;
use super::{Fault, Parsed, Parser};
use crate::ir::{
    Consume, Edge, LibraryNode, Map, Memlet, NestedSdfg, Node, NodeId, NodeKind, Reduce, Schedule,
    ScheduleKind, ScopeExit, Sdfg, SourceLoc, State, Tasklet, TaskletBody,
};

/// A state whose closing brace is not reached yet.
pub(super) struct OpenState<'g> {
    pub(super) sdfg: &'g Sdfg,
    pub(super) graph: &'g mut State,
    pub(super) labels: BTreeMap<String, Labelled>,
    pub(super) edges: Vec<EdgeStatement>,
    /// Entries of the scopes whose braces are open, outermost first.
    pub(super) scopes: Vec<NodeId>,
    /// Nodes, without exits, and the entries of the scopes in whose braces each stands, outermost first.
    pub(super) members: BTreeMap<NodeId, Vec<NodeId>>,
    /// Labels of more than one node, which is an error: what edges at them are wrong with is not told.
    pub(super) ambiguous: BTreeSet<String>,
    /// Whether a statement failed that may have been a node.
    pub(super) lost_nodes: bool,
}

/// Meaning of a label.
#[derive(Clone, Copy)]
pub(super) struct Labelled {
    /// The node, or the entry of the scope.
    pub(super) node: NodeId,
    /// The exit of the scope.
    pub(super) exit: Option<NodeId>,
}

const NODES: [&str; 7] = ["access", "tasklet", "map", "consume", "nested", "reduce", "library"];

impl Parser<'_> {
    /// `{ nodes and edges }` of a state.
    pub(super) fn state(&mut self, sdfg: &Sdfg, graph: &mut State) -> Parsed<()> {
        let mut open = OpenState {
            sdfg,
            graph,
            labels: BTreeMap::new(),
            edges: Vec::new(),
            scopes: Vec::new(),
            members: BTreeMap::new(),
            ambiguous: BTreeSet::new(),
            lost_nodes: false,
        };
        self.braces(|parser| parser.state_statement(&mut open))?;
        self.connect(&mut open);
        Ok(())
    }

    /// One node with its braces, or one edge.
    fn state_statement(&mut self, open: &mut OpenState<'_>) -> Parsed<()> {
        let word = self.cursor.peek();
        let behind = self.cursor.peek_nth(1).kind;
        let names_an_end =
            matches!(behind, TokenKind::Punctuation(Punctuation::Arrow | Punctuation::Dot | Punctuation::At));
        if names_an_end
            || word.kind == TokenKind::String
            || self.cursor.at_word("order")
            || self.cursor.at_word("bind")
        {
            let edge = self.edge(open)?;
            open.edges.push(edge);
            return Ok(());
        }
        let result = self.node(open);
        open.lost_nodes |= result.is_err();
        result
    }

    fn node(&mut self, open: &mut OpenState<'_>) -> Parsed<()> {
        let start = self.cursor.peek().span.start;
        let word = self.cursor.advance();
        let keyword = if word.kind == TokenKind::Identifier { self.cursor.text(word) } else { "" };
        if !NODES.contains(&keyword) {
            let mut known = NODES.to_vec();
            known.extend(["order", "bind"]);
            let word_text = self.cursor.text(word).to_owned();
            let kind = ParseErrorKind::UnknownWord { what: "node or edge", word: word_text, known };
            return Err(Fault::new(word.span, kind));
        }
        let label = self.name()?;
        match keyword {
            "map" => self.map(open, start, label),
            "consume" => self.consume(open, start, label),
            _ => {
                let kind = match keyword {
                    "access" => self.access(open, &label)?,
                    "tasklet" => self.tasklet()?,
                    "nested" => self.nested()?,
                    "reduce" => self.reduce()?,
                    _ => self.library()?,
                };
                let header_end = label.span.end;
                let loc = match kind {
                    // The place of a call is its header: the called SDFG has places of its own.
                    NodeKind::Nested(_) => self.loc(Span::new(start, header_end)),
                    _ => self.loc_from(start),
                };
                self.add_node(open, label, kind, loc);
                Ok(())
            }
        }
    }

    /// Adds a node under its label and remembers which scope it stands in.
    fn add_node(&mut self, open: &mut OpenState<'_>, label: Name, kind: NodeKind, loc: SourceLoc) -> NodeId {
        let node = open.graph.add_node(Node { label: label.text.clone(), kind, loc: Some(loc) });
        open.members.insert(node, open.scopes.clone());
        let named = Labelled { node, exit: None };
        if open.labels.insert(label.text.clone(), named).is_some() {
            open.ambiguous.insert(label.text.clone());
            self.report(Fault::new(label.span, ParseErrorKind::Duplicate { what: "node", name: label.text }));
        }
        node
    }

    /// `access a = A`.
    fn access(&mut self, open: &OpenState<'_>, label: &Name) -> Parsed<NodeKind> {
        let container = if self.cursor.eat(Punctuation::Assign) { self.name()? } else { label.clone() };
        Ok(NodeKind::Access(self.container(open.sdfg, &container)?))
    }

    /// `(x, y: f64) -> (z) { z = x + y }`, perhaps with `dialect(c)`, or `external ...`.
    fn tasklet(&mut self) -> Parsed<NodeKind> {
        let inputs = self.connectors()?;
        self.cursor.expect(Punctuation::Arrow)?;
        let outputs = self.connectors()?;
        if self.cursor.at_word("external") {
            let body = TaskletBody::External(ExternalCall::parse(&mut self.cursor)?);
            return Ok(NodeKind::Tasklet(Tasklet { inputs, outputs, body }));
        }
        let mut dialect = Dialect::default();
        if self.cursor.eat_word("dialect") {
            let dialects = [Dialect::Python, Dialect::C];
            dialect = self.argument(|parser| parser.word("dialect", &dialects, |d| dialect_name(*d)))?;
        }
        let mut errors = match Code::parse_braced(&mut self.cursor, dialect) {
            Ok(code) => {
                let body = TaskletBody::Code(code);
                return Ok(NodeKind::Tasklet(Tasklet { inputs, outputs, body }));
            }
            Err(errors) => errors.into_iter().map(Fault::from),
        };
        let Some(first) = errors.next() else { return Err(self.cursor.expected("code").into()) };
        for error in errors {
            self.report(error);
        }
        Err(first)
    }

    /// `with (K = N - 1) sdfg inner { ... }` behind the connectors.
    fn nested(&mut self) -> Parsed<NodeKind> {
        let inputs = self.connectors()?;
        self.cursor.expect(Punctuation::Arrow)?;
        let outputs = self.connectors()?;
        let mut symbol_mapping = Vec::new();
        if self.cursor.eat_word("with") {
            symbol_mapping = self.parenthesized(|parser| {
                let symbol = parser.symbol()?;
                parser.cursor.expect(Punctuation::Assign)?;
                Ok((symbol, parser.symbolic()?))
            })?;
        }
        let sdfg = self.sdfg()?;
        Ok(NodeKind::Nested(Box::new(NestedSdfg { sdfg, inputs, outputs, symbol_mapping })))
    }

    /// `wcr(sum) axes(0, 1) identity(0.0) schedule(s)`.
    fn reduce(&mut self) -> Parsed<NodeKind> {
        let mut axes = None;
        let mut resolution = None;
        let mut identity = None;
        let mut schedule = ScheduleKind::default();
        while self.expect_statement_end().is_err() {
            if self.cursor.eat_word("wcr") {
                resolution = Some(self.resolution()?);
            } else if self.cursor.eat_word("axes") {
                axes = Some(self.parenthesized(|parser| Ok(parser.small_integer()? as usize))?);
            } else if self.cursor.eat_word("identity") {
                identity = Some(self.argument(Self::expression)?);
            } else if self.cursor.eat_word("schedule") {
                schedule = self.argument(Self::schedule)?;
            } else {
                return Err(self.cursor.expected("`wcr`, `axes`, `identity` or `schedule`").into());
            }
        }
        let Some(resolution) = resolution else { return Err(self.cursor.expected("`wcr(...)`").into()) };
        Ok(NodeKind::Reduce(Reduce { axes, resolution, identity, schedule }))
    }

    /// `: MatMul (a, b) -> (c) { alpha = 1.0 } expansion(pure)`.
    fn library(&mut self) -> Parsed<NodeKind> {
        self.cursor.expect(Punctuation::Colon)?;
        let operation = self.name()?.text;
        let inputs = self.connectors()?;
        self.cursor.expect(Punctuation::Arrow)?;
        let outputs = self.connectors()?;
        let mut properties = Vec::new();
        if self.cursor.at(Punctuation::OpenBrace) {
            self.braces(|parser| {
                let name = parser.name()?.text;
                parser.cursor.expect(Punctuation::Assign)?;
                properties.push((name, parser.expression()?));
                Ok(())
            })?;
        }
        let expansion =
            if self.cursor.eat_word("expansion") { Some(self.argument(Self::name)?.text) } else { None };
        Ok(NodeKind::Library(LibraryNode { operation, inputs, outputs, properties, expansion }))
    }

    /// `[i = 0:N, j = i:M:2] schedule(s) { ... }`.
    fn map(&mut self, open: &mut OpenState<'_>, start: u32, label: Name) -> Parsed<()> {
        let header = self.header(|parser| {
            let dimensions = parser.in_brackets(|parser| {
                let symbol = parser.symbol()?;
                parser.cursor.expect(Punctuation::Assign)?;
                Ok((symbol, parser.range()?))
            })?;
            let (params, ranges) = dimensions.into_iter().unzip();
            let mut map = Map::new(params, Subset(ranges));
            let mut execution = Execution::default();
            while parser.execution(&mut execution)? {}
            map.schedule = execution.finish()?;
            Ok(map)
        })?;
        let map = header.unwrap_or_else(|| Map::new(Vec::new(), Subset(Vec::new())));
        self.scope(open, start, label, NodeKind::MapEntry(map), NodeKind::MapExit)
    }

    /// `[p = 0:P] condition(e) chunk(4) schedule(s) { ... }`.
    fn consume(&mut self, open: &mut OpenState<'_>, start: u32, label: Name) -> Parsed<()> {
        let header = self.header(Self::consume_header)?;
        let kind = match header {
            Some(consume) => NodeKind::ConsumeEntry(consume),
            None => NodeKind::MapEntry(Map::new(Vec::new(), Subset(Vec::new()))),
        };
        self.scope(open, start, label, kind, NodeKind::ConsumeExit)
    }

    fn consume_header(&mut self) -> Parsed<Consume> {
        self.cursor.expect(Punctuation::OpenBracket)?;
        let element = self.symbol()?;
        self.cursor.expect(Punctuation::Assign)?;
        let begin = self.cursor.peek();
        if self.cursor.expect_integer().ok() != Some(0) {
            let found = format!("`{}`", self.cursor.text(begin));
            let kind = sdfg_language::syntax::ParseErrorKind::Expected { expected: "`0:`", found };
            return Err(sdfg_language::syntax::ParseError::new(begin.span, kind).into());
        }
        self.cursor.expect(Punctuation::Colon)?;
        let elements = self.symbolic()?;
        self.cursor.expect(Punctuation::CloseBracket)?;
        let mut consume =
            Consume { element, elements, chunk: Expr::one(), condition: None, schedule: Schedule::default() };
        let mut execution = Execution::default();
        loop {
            if self.cursor.eat_word("condition") {
                consume.condition = Some(self.argument(Self::expression)?);
            } else if self.cursor.eat_word("chunk") {
                consume.chunk = self.argument(Self::symbolic)?;
            } else if !self.execution(&mut execution)? {
                consume.schedule = execution.finish()?;
                return Ok(consume);
            }
        }
    }

    /// The braces of a scope: its entry, what is inside, its exit.
    fn scope(
        &mut self,
        open: &mut OpenState<'_>,
        start: u32,
        label: Name,
        entry: NodeKind,
        exit: impl FnOnce(ScopeExit) -> NodeKind,
    ) -> Parsed<()> {
        let loc = self.loc_from(start);
        let key = label.text.clone();
        let entry = self.add_node(open, label, entry, loc);
        open.scopes.push(entry);
        let result = self.braces(|parser| parser.state_statement(open));
        open.scopes.pop();
        result?;
        let brace = self.cursor.previous_end();
        let loc = Some(self.loc(Span::new(brace.saturating_sub(1), brace)));
        let exit = open.graph.add_node(Node { label: key.clone(), kind: exit(ScopeExit { entry }), loc });
        if let Some(named) = open.labels.get_mut(&key).filter(|named| named.node == entry) {
            named.exit = Some(exit);
        }
        Ok(())
    }
}

impl OpenState<'_> {
    /// Makes what stands in a scope lie between its entry and its exit: whatever nothing precedes is ordered after the
    /// entry, whatever nothing follows before the exit.
    pub(super) fn enclose_members(&mut self) {
        let members = std::mem::take(&mut self.members);
        for (node, scopes) in &members {
            let label = self.graph.node(*node).label.clone();
            let end =
                self.labels.get(&label).filter(|named| named.node == *node).and_then(|named| named.exit);
            let last = end.unwrap_or(*node);
            if let Some(&entry) = scopes.last()
                && let Some(exit) = self.graph.exit_of(entry)
            {
                if self.graph.in_edges(*node).is_empty() {
                    self.order(entry, *node);
                }
                if self.graph.out_edges(last).is_empty() {
                    self.order(last, exit);
                }
            }
        }
        for entry in members.keys() {
            if self.graph.node(*entry).kind.is_scope_entry()
                && self.graph.out_edges(*entry).is_empty()
                && let Some(exit) = self.graph.exit_of(*entry)
            {
                self.order(*entry, exit);
            }
        }
    }

    fn order(&mut self, src: NodeId, dst: NodeId) {
        let loc = self.graph.node(dst).loc.clone();
        let (src_connector, dst_connector) = (None, None);
        self.graph.add_edge(Edge { src, src_connector, dst, dst_connector, memlet: Memlet::order(), loc });
    }
}

/// The name of a dialect in texts and JSON.
pub(crate) fn dialect_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Python => "python",
        Dialect::C => "c",
    }
}
