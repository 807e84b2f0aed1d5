//! Printer of states: nodes, scopes with their braces, then their edges.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_language::tasklet::{Code, Dialect};

use super::super::names::written;
use super::super::parse::dialect_name;
use super::edge::{container_name, resolution_text};
use super::{Printer, list};
use crate::analysis::ScopeTree;
use crate::ir::{
    Connector, Consume, EdgeId, LibraryNode, Map, NestedSdfg, Node, NodeId, NodeKind, Reduce, Schedule,
    ScheduleKind, Sdfg, State, StateId, Tasklet, TaskletBody,
};
use crate::path::Target;

/// Code up to this many characters stands on the line of its tasklet.
const SHORT_CODE: usize = 80;

/// A state whose scopes are known.
struct Scopes<'g> {
    sdfg: &'g Sdfg,
    id: StateId,
    graph: &'g State,
    tree: ScopeTree,
    edges: BTreeMap<Option<NodeId>, Vec<EdgeId>>,
    /// Nodes that are printed already.
    printed: BTreeSet<NodeId>,
}

impl Printer {
    /// The braces of a state, without the line end.
    pub(super) fn state(&mut self, sdfg: &Sdfg, id: StateId) {
        let Some(graph) = sdfg.get_state(id) else { return self.push(" {}") };
        let tree = ScopeTree::of(graph);
        let mut edges: BTreeMap<Option<NodeId>, Vec<EdgeId>> = BTreeMap::new();
        for (edge, _) in graph.edges() {
            edges.entry(tree.scope_of_edge(graph, edge)).or_default().push(edge);
        }
        let mut scopes = Scopes { sdfg, id, graph, tree, edges, printed: BTreeSet::new() };
        self.braces(|printer| {
            printer.scope(&mut scopes, None);
            printer.rest(&mut scopes);
        });
    }

    /// Nodes that lie directly in a scope, then the edges that stand in it.
    fn scope(&mut self, scopes: &mut Scopes<'_>, scope: Option<NodeId>) {
        let mut nodes = scopes.tree.children(scope).to_vec();
        nodes.sort_unstable();
        for node in nodes {
            self.node(scopes, node);
        }
        for edge in scopes.edges.remove(&scope).unwrap_or_default() {
            self.edge(scopes.sdfg, scopes.id, scopes.graph, edge);
        }
    }

    /// Nodes outside of all scopes, in invalid graphs.
    fn rest(&mut self, scopes: &mut Scopes<'_>) {
        let nodes: Vec<NodeId> = scopes.graph.nodes().map(|(id, _)| id).collect();
        for node in nodes {
            self.node(scopes, node);
        }
        for edge in std::mem::take(&mut scopes.edges).into_values().flatten() {
            self.edge(scopes.sdfg, scopes.id, scopes.graph, edge);
        }
    }

    /// One node on lines of its own, a scope with everything in it; nothing if it is printed already.
    fn node(&mut self, scopes: &mut Scopes<'_>, id: NodeId) {
        if !scopes.printed.insert(id) {
            return;
        }
        let node = scopes.graph.node(id);
        let label = written(&node.label);
        match &node.kind {
            NodeKind::Access(container) => {
                let name = container_name(scopes.sdfg, *container);
                let text = if name == label {
                    format!("access {label}")
                } else {
                    format!("access {label} = {name}")
                };
                self.line(&text, Target::Node(scopes.id, id));
            }
            NodeKind::Tasklet(tasklet) => self.tasklet(scopes.id, id, &label, tasklet),
            NodeKind::MapEntry(map) => self.scope_node(scopes, id, &map_header(&label, map)),
            NodeKind::ConsumeEntry(consume) => self.scope_node(scopes, id, &consume_header(&label, consume)),
            NodeKind::MapExit(_) | NodeKind::ConsumeExit(_) => self.stray_exit(scopes, id, node),
            NodeKind::Nested(nested) => self.nested(scopes.id, id, &label, nested),
            NodeKind::Reduce(reduce) => {
                self.line(&reduce_text(&label, reduce), Target::Node(scopes.id, id));
            }
            NodeKind::Library(library) => {
                self.line(&library_text(&label, library), Target::Node(scopes.id, id));
            }
        }
    }

    fn scope_node(&mut self, scopes: &mut Scopes<'_>, entry: NodeId, header: &str) {
        let start = self.begin_line();
        self.push(header);
        self.record(start, Target::Node(scopes.id, entry));
        let exit = scopes.tree.exit_of(entry);
        scopes.printed.extend(exit);
        self.braces(|printer| printer.scope(scopes, Some(entry)));
        if let Some(exit) = exit {
            self.record(self.offset() - 1, Target::Node(scopes.id, exit));
        }
        self.text.push('\n');
    }

    /// An exit that is not printed with its entry: its entry is missing or has another exit. The text form has no word for it.
    fn stray_exit(&mut self, scopes: &Scopes<'_>, id: NodeId, node: &Node) {
        let entry_follows = node.kind.exit_of().is_some_and(|entry| {
            scopes.tree.exit_of(entry) == Some(id)
                && scopes.graph.get_node(entry).is_some_and(|n| n.kind.is_scope_entry())
        });
        if !entry_follows {
            let text = format!("# {} {} without its entry", node.kind.noun(), written(&node.label));
            self.line(&text, Target::Node(scopes.id, id));
        }
    }

    /// `tasklet t (x, y: f64) -> (z) { z = x + y }`, on several lines where the code needs it.
    fn tasklet(&mut self, state: StateId, id: NodeId, label: &str, tasklet: &Tasklet) {
        let start = self.begin_line();
        self.push(&format!("tasklet {label} {}", signature(&tasklet.inputs, &tasklet.outputs)));
        let code = match &tasklet.body {
            TaskletBody::External(call) => {
                self.push(&format!(" {call}"));
                self.record(start, Target::Node(state, id));
                self.text.push('\n');
                return;
            }
            TaskletBody::Code(code) => code,
        };
        if code.dialect() != Dialect::default() {
            self.push(&format!(" dialect({})", dialect_name(code.dialect())));
        }
        self.record(start, Target::Node(state, id));
        self.code(state, id, code);
        self.text.push('\n');
    }

    fn code(&mut self, state: StateId, id: NodeId, code: &Code) {
        let source = code.source();
        if source.is_empty() {
            return self.push(" {}");
        }
        // A comment would swallow the brace.
        let short = source.len() <= SHORT_CODE && !source.contains(['\n', '#']);
        if short {
            self.push(" { ");
            let start = self.offset();
            self.push(source);
            self.record_code(start, state, id);
            return self.push(" }");
        }
        self.braces(|printer| {
            let start = printer.offset();
            for line in source.lines() {
                if !line.is_empty() {
                    printer.begin_line();
                    printer.push(line);
                }
                printer.text.push('\n');
            }
            printer.record_code(start, state, id);
        });
    }

    fn nested(&mut self, state: StateId, id: NodeId, label: &str, nested: &NestedSdfg) {
        let start = self.begin_line();
        self.push(&format!("nested {label} {}", signature(&nested.inputs, &nested.outputs)));
        if !nested.symbol_mapping.is_empty() {
            let mapping = nested.symbol_mapping.iter().map(|(symbol, value)| format!("{symbol} = {value}"));
            self.push(&format!(" with ({})", list(mapping)));
        }
        self.record(start, Target::Node(state, id));
        self.text.push(' ');
        self.nested.push((state, id));
        self.sdfg(&nested.sdfg);
        self.nested.pop();
        self.text.push('\n');
    }
}

/// `(x, y: f64) -> (z)`.
fn signature(inputs: &[Connector], outputs: &[Connector]) -> String {
    let connectors = |connectors: &[Connector]| {
        list(connectors.iter().map(|connector| match connector.element {
            Some(ty) => format!("{}: {ty}", written(&connector.name)),
            None => written(&connector.name),
        }))
    };
    format!("({}) -> ({})", connectors(inputs), connectors(outputs))
}

fn map_header(label: &str, map: &Map) -> String {
    // A wrong map may have more of one than of the other.
    let count = map.params.len().max(map.ranges.rank());
    let dimensions = (0..count).map(|i| {
        let symbol = map.params.get(i).map_or("?", |symbol| symbol.as_str());
        match map.ranges.0.get(i) {
            Some(range) => format!("{symbol} = {range}"),
            None => symbol.to_owned(),
        }
    });
    format!("map {label} [{}]{}", list(dimensions), execution(&map.schedule))
}

fn consume_header(label: &str, consume: &Consume) -> String {
    let mut text = format!("consume {label} [{} = 0:{}]", consume.element, consume.elements);
    if let Some(condition) = &consume.condition {
        text.push_str(&format!(" condition({condition})"));
    }
    if !consume.chunk.is_one() {
        text.push_str(&format!(" chunk({})", consume.chunk));
    }
    text.push_str(&execution(&consume.schedule));
    text
}

/// ` schedule(s) sharing(dynamic, 16) threads(4) collapse(2)`, without what is default.
fn execution(schedule: &Schedule) -> String {
    let mut text = String::new();
    if schedule.kind() != ScheduleKind::default() {
        text.push_str(&format!(" schedule({})", schedule.kind().name()));
    }
    let attributes = schedule.attributes();
    let sharing = attributes.sharing.unwrap_or_default().name();
    match &attributes.chunk {
        Some(chunk) => text.push_str(&format!(" sharing({sharing}, {chunk})")),
        None if attributes.sharing.is_some() => text.push_str(&format!(" sharing({sharing})")),
        None => {}
    }
    if let Some(threads) = &attributes.threads {
        text.push_str(&format!(" threads({threads})"));
    }
    if let Some(collapse) = attributes.collapse {
        text.push_str(&format!(" collapse({collapse})"));
    }
    if let Some(nested) = &attributes.nested {
        text.push_str(&format!(" nested({nested})"));
    }
    if let Some(extents) = &attributes.block {
        text.push_str(&format!(" block({})", list(extents)));
    }
    text
}

fn reduce_text(label: &str, reduce: &Reduce) -> String {
    let mut text = format!("reduce {label} wcr({})", resolution_text(&reduce.resolution));
    if let Some(axes) = &reduce.axes {
        text.push_str(&format!(" axes({})", list(axes)));
    }
    if let Some(identity) = &reduce.identity {
        text.push_str(&format!(" identity({identity})"));
    }
    if reduce.schedule != ScheduleKind::default() {
        text.push_str(&format!(" schedule({})", reduce.schedule.name()));
    }
    text
}

fn library_text(label: &str, library: &LibraryNode) -> String {
    let operation = written(&library.operation);
    let mut text = format!("library {label}: {operation} {}", signature(&library.inputs, &library.outputs));
    if !library.properties.is_empty() {
        let properties =
            library.properties.iter().map(|(name, value)| format!("{} = {value}", written(name)));
        text.push_str(&format!(" {{ {} }}", properties.collect::<Vec<_>>().join("; ")));
    }
    if let Some(expansion) = &library.expansion {
        text.push_str(&format!(" expansion({})", written(expansion)));
    }
    text
}
