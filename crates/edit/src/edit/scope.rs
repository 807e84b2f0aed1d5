//! Puts nodes into a map scope, and removes map scopes.

use std::collections::{BTreeMap, BTreeSet};

use sdfg_graph::analysis::symbols::bound_symbols;
use sdfg_graph::ir::{
    Access, ConflictResolution, ContainerId, Edge, EdgeId, Flow, Lifetime, Map, Memlet, Node, NodeId,
    NodeKind, Port, ScopeExit, Sdfg, State, StateId,
};
use sdfg_graph::workspace::free_symbols_inside;
use sdfg_language::subset::Range;
use sdfg_language::symbolic::Symbol;

use super::editor::Editor;
use super::streams::streams_of_scope;
use super::subgraph::{Connectors, Subgraph, cannot_cross, contents};
use super::{EditError, expect_node};

impl Editor<'_> {
    /// Runs nodes of one scope inside of a new map scope with this label. Edges across its border get connectors, one for each
    /// container and end outside, and their memlets outside are derived. Edges inside keep their ids. Gives the entry.
    ///
    /// The map binds its parameters in the nodes, which may use them already. With a range of one iteration the program means
    /// the same as before.
    ///
    /// # Errors
    /// If the nodes cannot be one ([`EditError::DifferentScopes`], [`EditError::NotConvex`]), if an edge cannot pass a scope
    /// ([`EditError::CannotCross`]), or if the label is taken.
    pub fn wrap_in_map(
        &mut self,
        state: StateId,
        nodes: &BTreeSet<NodeId>,
        label: &str,
        map: Map,
    ) -> Result<NodeId, EditError> {
        let params: BTreeSet<_> = map.params.iter().collect();
        if params.len() != map.params.len() || map.params.len() != map.ranges.rank() {
            return Err(EditError::MapShape { params: params.len(), ranges: map.ranges.rank() });
        }
        self.check_label(state, label)?;
        let subgraph = Subgraph::of(self, state, nodes)?;
        let graph = self.graph(state);
        subgraph.entering.iter().try_for_each(|edge| check_entering(graph, *edge))?;
        subgraph.leaving.iter().try_for_each(|edge| check_leaving(graph, *edge))?;
        self.attempt(|editor| {
            let node = |kind| Node { label: label.to_owned(), kind, loc: None };
            let ends = subgraph.ends(editor, state);
            let entry = editor.put_node(state, node(NodeKind::MapEntry(map)));
            let exit = editor.put_node(state, node(NodeKind::MapExit(ScopeExit { entry })));
            if let Some((first, last)) = ends {
                editor.indexed(state, |_, index| {
                    index.place_before(entry, first);
                    index.place_behind(exit, last);
                });
            }
            editor.leave_through(state, &subgraph, exit)?;
            editor.enter_through(state, &subgraph, entry)?;
            for id in subgraph.nodes {
                if editor.graph(state).each_in_edge(id).next().is_none() {
                    editor.order(state, entry, id)?;
                }
                if editor.graph(state).each_out_edge(id).next().is_none() {
                    editor.order(state, id, exit)?;
                }
            }
            Ok(entry)
        })
    }

    fn enter_through(&mut self, state: StateId, subgraph: &Subgraph, entry: NodeId) -> Result<(), EditError> {
        let mut through = Through::default();
        for id in &subgraph.entering {
            let found = self.graph(state).edge(*id).clone();
            let Some(access) = found.memlet.read_access().cloned() else {
                self.take_edge(state, *id);
                self.order(state, found.src, entry)?;
                self.order(state, entry, found.dst)?;
                continue;
            };
            let (name, is_new) =
                through.connector(self.sdfg(), (found.src, &found.src_connector), &access, None);
            self.move_edge(
                state,
                *id,
                (entry, Some(Port::Out(&name).into())),
                (found.dst, found.dst_connector),
            )?;
            if is_new {
                let end = (entry, Some(Port::In(&name).into()));
                self.connect(state, (found.src, found.src_connector), end, Memlet::read(access))?;
            }
        }
        Ok(())
    }

    fn leave_through(&mut self, state: StateId, subgraph: &Subgraph, exit: NodeId) -> Result<(), EditError> {
        let mut through = Through::default();
        for id in &subgraph.leaving {
            let found = self.graph(state).edge(*id).clone();
            let Some(to) = found.memlet.write_access().cloned() else {
                self.take_edge(state, *id);
                self.order(state, exit, found.dst)?;
                self.order(state, found.src, exit)?;
                continue;
            };
            let resolution = found.memlet.resolution().cloned();
            let end = (found.dst, &found.dst_connector);
            let (name, is_new) = through.connector(self.sdfg(), end, &to, resolution.as_ref());
            self.move_edge(
                state,
                *id,
                (found.src, found.src_connector),
                (exit, Some(Port::In(&name).into())),
            )?;
            if is_new {
                let memlet =
                    Memlet { volume: to.volume(), flow: Flow::Write { to, resolution }, declared: false };
                let end = (exit, Some(Port::Out(&name).into()));
                self.connect(state, end, (found.dst, found.dst_connector), memlet)?;
            }
        }
        Ok(())
    }

    /// Takes a map scope away and leaves its contents where it was, ordered as before. Edges inside keep their ids. The program
    /// means the same if the map has one iteration.
    ///
    /// # Errors
    /// [`EditError::SymbolBound`] if the contents use a parameter that no scope around binds, and whose range is not what its name
    /// means around the map (`i = i`): substitute it first, or give it to the map or loop around.
    pub fn unwrap_map(&mut self, state: StateId, entry: NodeId) -> Result<(), EditError> {
        let graph = self.state(state)?;
        let node = expect_node(graph, entry)?;
        let NodeKind::MapEntry(map) = &node.kind else {
            return Err(EditError::WrongKind {
                label: node.label.clone(),
                found: node.kind.noun(),
                expected: "map entries",
            });
        };
        let label = node.label.clone();
        let Some(exit) = graph.exit_of(entry) else { return Err(EditError::NoNode(entry)) };
        let kept: BTreeSet<Symbol> =
            map.params.iter().zip(&map.ranges.0).filter(is_itself).map(|(param, _)| param.clone()).collect();
        let inside = contents(self, state, entry);
        let enclosing = self.enclosing(state, entry);
        let graph = self.graph(state);
        let around: BTreeSet<_> = enclosing.iter().flat_map(|outer| bound_symbols(graph, *outer)).collect();
        let bound = bound_symbols(graph, entry);
        let used = self.indexed(state, |graph, index| {
            free_symbols_inside(graph, entry, &inside, &|id| index.scope_of(id))
        });
        let is_lost =
            |symbol: &Symbol| used.contains(symbol) && !around.contains(symbol) && !kept.contains(symbol);
        if let Some(symbol) = bound.into_iter().find(is_lost) {
            return Err(EditError::SymbolBound { label, symbol });
        }
        let streams =
            if enclosing.is_empty() { streams_of_scope(self.sdfg(), state, entry) } else { Vec::new() };
        self.attempt(|editor| {
            for id in streams {
                editor.set_container(id, |container| container.lifetime = Lifetime::State);
            }
            let (before, first) = editor.join(state, entry)?;
            let (last, after) = editor.join(state, exit)?;
            editor.take_node(state, entry);
            editor.take_node(state, exit);
            for (sources, destinations) in [(&before, &first), (&last, &after), (&before, &after)] {
                for src in sources {
                    destinations.iter().try_for_each(|dst| editor.keep_order(state, *src, *dst))?;
                }
            }
            Ok(())
        })
    }

    /// Orders two nodes that a scope node between them kept in order, unless they still are.
    fn keep_order(&mut self, state: StateId, src: NodeId, dst: NodeId) -> Result<(), EditError> {
        let graph = self.graph(state);
        let (Some(first), Some(second)) = (graph.get_node(src), graph.get_node(dst)) else { return Ok(()) };
        // An access node does nothing itself: only what comes before or after it needs an order.
        let is_first = first.kind.container().is_some() && graph.each_in_edge(src).next().is_none();
        let is_last = second.kind.container().is_some() && graph.each_out_edge(dst).next().is_none();
        if is_first || is_last || self.is_before(state, src, dst) {
            return Ok(());
        }
        self.order(state, src, dst)
    }

    /// Joins the edges at the ports of a scope node past it. Gives the nodes before it and those after it.
    ///
    /// The edge inside keeps its id, unless it goes on to several ones outside.
    fn join(
        &mut self,
        state: StateId,
        node: NodeId,
    ) -> Result<(BTreeSet<NodeId>, BTreeSet<NodeId>), EditError> {
        let graph = self.graph(state);
        let is_entry = graph.node(node).kind.is_scope_entry();
        let mut ports: BTreeMap<String, [Vec<EdgeId>; 2]> = BTreeMap::new();
        let (mut before, mut after) = (BTreeSet::new(), BTreeSet::new());
        for id in graph.in_edges(node) {
            let edge = graph.edge(id);
            before.insert(edge.src);
            if let Some(name) = edge.in_port() {
                ports.entry(name.to_owned()).or_default()[usize::from(is_entry)].push(id);
            }
        }
        for id in graph.out_edges(node) {
            let edge = graph.edge(id);
            after.insert(edge.dst);
            if let Some(name) = edge.out_port() {
                ports.entry(name.to_owned()).or_default()[usize::from(!is_entry)].push(id);
            }
        }
        for [inside, outside] in ports.into_values() {
            for inner in inside {
                for (at, outer) in outside.iter().enumerate() {
                    let outer = self.graph(state).edge(*outer).clone();
                    let inner_edge = self.graph(state).edge(inner).clone();
                    let (first, second) =
                        if is_entry { (&outer, &inner_edge) } else { (&inner_edge, &outer) };
                    let src = (first.src, first.src_connector.clone());
                    let dst = (second.dst, second.dst_connector.clone());
                    if at + 1 == outside.len() {
                        self.move_edge(state, inner, src, dst)?;
                    } else {
                        let ((src, src_connector), (dst, dst_connector)) = (src, dst);
                        self.put_edge(state, Edge { src, src_connector, dst, dst_connector, ..inner_edge })?;
                    }
                }
            }
        }
        Ok((before, after))
    }
}

/// Data that enters a scope comes from an access node or from a surrounding scope, and is read there.
pub(super) fn check_entering(state: &State, id: EdgeId) -> Result<(), EditError> {
    let edge = state.edge(id);
    match &edge.memlet.flow {
        Flow::Order | Flow::Read(_) | Flow::Copy { .. } => Ok(()),
        Flow::Write { .. } => {
            Err(cannot_cross(state, id, "an access node that is written goes with what writes it"))
        }
        Flow::Value => Err(cannot_cross(state, id, "a value goes straight from one code node to the other")),
        Flow::Bind(_) => Err(cannot_cross(state, id, "an alias goes with what it is bound to")),
    }
}

/// Data that leaves a scope goes to an access node or to a surrounding scope, and is written there.
pub(super) fn check_leaving(state: &State, id: EdgeId) -> Result<(), EditError> {
    let edge = state.edge(id);
    match &edge.memlet.flow {
        Flow::Order | Flow::Write { .. } | Flow::Copy { .. } => Ok(()),
        Flow::Read(_) => Err(cannot_cross(state, id, "an access node that is read goes with what reads it")),
        Flow::Value => Err(cannot_cross(state, id, "a value goes straight from one code node to the other")),
        Flow::Bind(_) => Err(cannot_cross(state, id, "an alias goes with what it is bound to")),
    }
}

/// The name of a connector for an edge of a container: that of the scope outside, or of the container.
fn connector_name(sdfg: &Sdfg, end: Option<&str>, access: &Access) -> String {
    let outside = end.and_then(Port::parse).map(Port::name);
    let container = || sdfg.get_container(access.container).map_or("data", |found| found.name.as_str());
    outside.unwrap_or_else(container).to_owned()
}

/// Connectors of one scope node: each serves one container and end outside.
#[derive(Default)]
struct Through {
    names: Connectors,
    known: Vec<(Key, String)>,
}

/// Data of one connector: the outer end, the container, and the resolution of writes.
type Key = (NodeId, Option<String>, ContainerId, Option<ConflictResolution>);

impl Through {
    /// The connector for an edge, and whether it is new.
    fn connector(
        &mut self,
        sdfg: &Sdfg,
        (node, connector): (NodeId, &Option<String>),
        access: &Access,
        resolution: Option<&ConflictResolution>,
    ) -> (String, bool) {
        let key = (node, connector.clone(), access.container, resolution.cloned());
        if let Some((_, name)) = self.known.iter().find(|(known, _)| *known == key) {
            return (name.clone(), false);
        }
        let name = self.names.fresh(&connector_name(sdfg, connector.as_deref(), access));
        self.known.push((key, name.clone()));
        (name, true)
    }
}

/// Whether a parameter has the value that its name has around the map.
fn is_itself((param, range): &(&Symbol, &Range)) -> bool {
    **range == Range::index((*param).clone())
}
