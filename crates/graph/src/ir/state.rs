//! States: acyclic dataflow multigraphs (paper section 3, Appendix A.1 "state").

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::ids::{EdgeId, Id, NodeId};
use super::memlet::Memlet;
use super::multigraph::{EdgePlace, Multigraph};
use super::names::fresh;
use super::node::{Node, NodeKind};
use super::port::{Port, Ports};
use super::revision::Revision;
use super::source::SourceLoc;

/// An edge of a state: it orders its ends and carries a memlet.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Its source.
    pub src: NodeId,
    /// Connector of the source; access nodes and reduce nodes have none.
    pub src_connector: Option<String>,
    /// Its destination.
    pub dst: NodeId,
    /// Connector of the destination; access nodes and reduce nodes have none.
    pub dst_connector: Option<String>,
    /// Its data movement.
    pub memlet: Memlet,
    /// Source location of its creation.
    pub loc: Option<SourceLoc>,
}

/// A dataflow multigraph that runs as a whole.
///
/// Nothing here is checked: `sdfg::validate` says whether the graph is acyclic, its scopes are nested and
/// its connectors are connected.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Name, unique among the blocks of its SDFG.
    pub label: String,
    /// Source location of its creation.
    pub loc: Option<SourceLoc>,
    graph: Multigraph<Node, Edge>,
    /// For entries the node that was added as their exit. It may have changed since: [`State::exit_of`] looks.
    exits: BTreeMap<NodeId, NodeId>,
    ports: Ports,
    revision: Revision,
}

impl State {
    /// A state without nodes.
    pub fn new(label: impl Into<String>) -> Self {
        State { label: label.into(), ..State::default() }
    }

    /// Revision of the nodes and edges, including nested SDFGs. Every method that changes one of these, or
    /// borrows it mutably, advances it; label and location do not count.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Adds a node. Its label is kept; see [`fresh_label`](State::fresh_label).
    pub(crate) fn add_node(&mut self, node: Node) -> NodeId {
        self.revision = Revision::next();
        let entry = node.kind.exit_of();
        let id = self.graph.add_node(node);
        if let Some(entry) = entry {
            self.exits.entry(entry).or_insert(id);
        }
        id
    }

    /// Adds an edge.
    ///
    /// # Panics
    /// If one of its ends is not a node of this state.
    pub(crate) fn add_edge(&mut self, edge: Edge) -> EdgeId {
        self.revision = Revision::next();
        let id = self.graph.add_edge(edge.src, edge.dst, edge);
        if let Some(edge) = self.graph.edge(id) {
            self.ports.insert(id, edge);
        }
        id
    }

    /// Removes a node with its edges.
    pub(crate) fn remove_node(&mut self, id: NodeId) -> Option<Node> {
        self.revision = Revision::next();
        for edge in self.graph.in_edges(id).into_iter().chain(self.graph.out_edges(id)) {
            self.remove_edge(edge);
        }
        let node = self.graph.remove_node(id)?;
        if let Some(entry) = node.kind.exit_of()
            && self.exits.get(&entry) == Some(&id)
        {
            self.exits.remove(&entry);
        }
        Some(node)
    }

    /// Gives an edge other ends and connectors; it keeps its id, its place among the edges, and its memlet.
    ///
    /// # Panics
    /// If the edge is absent, or one of the ends is not a node of this state.
    pub(crate) fn move_edge(
        &mut self,
        id: EdgeId,
        (src, src_connector): (NodeId, Option<String>),
        (dst, dst_connector): (NodeId, Option<String>),
    ) {
        self.revision = Revision::next();
        if self.graph.ends(id) != Some((src, dst)) {
            self.graph.move_edge(id, src, dst);
        }
        let edge = self.graph.edge_mut(id).unwrap_or_else(|| panic!("{id} names no edge"));
        self.ports.remove(id, edge);
        (edge.src, edge.src_connector, edge.dst, edge.dst_connector) =
            (src, src_connector, dst, dst_connector);
        self.ports.insert(id, edge);
    }

    /// Puts a removed node back under its id, without edges.
    pub(crate) fn restore_node(&mut self, id: NodeId, node: Node) {
        self.revision = Revision::next();
        if let Some(entry) = node.kind.exit_of() {
            self.exits.entry(entry).or_insert(id);
        }
        self.graph.restore_node(id, node);
    }

    /// Where an edge is among the edges of its ends, if it is present.
    pub(crate) fn place(&self, id: EdgeId) -> Option<EdgePlace> {
        self.graph.place(id)
    }

    /// Puts a removed edge back under its id, and where it was if what was beside it is there.
    pub(crate) fn restore_edge(&mut self, id: EdgeId, edge: Edge, place: Option<EdgePlace>) {
        self.revision = Revision::next();
        self.ports.insert(id, &edge);
        self.graph.restore_edge(id, (edge.src, edge.dst), edge, place);
    }

    /// Takes back the creation of the latest node.
    pub(crate) fn take_back_node(&mut self, id: NodeId) {
        self.remove_node(id);
        self.graph.take_back_node();
    }

    /// Takes back the creation of the latest edge.
    pub(crate) fn take_back_edge(&mut self, id: EdgeId) {
        self.remove_edge(id);
        self.graph.take_back_edge();
    }

    /// Removes an edge.
    pub(crate) fn remove_edge(&mut self, id: EdgeId) -> Option<Edge> {
        self.revision = Revision::next();
        let edge = self.graph.remove_edge(id)?;
        self.ports.remove(id, &edge);
        Some(edge)
    }

    /// The node, if present.
    pub fn get_node(&self, id: NodeId) -> Option<&Node> {
        self.graph.node(id)
    }

    /// The edge, if present.
    pub fn get_edge(&self, id: EdgeId) -> Option<&Edge> {
        self.graph.edge(id)
    }

    /// The node.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub fn node(&self, id: NodeId) -> &Node {
        self.graph.node(id).unwrap_or_else(|| panic!("{id} names no node"))
    }

    /// The node for change.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.revision = Revision::next();
        self.graph.node_mut(id).unwrap_or_else(|| panic!("{id} names no node"))
    }

    /// The edge.
    ///
    /// # Panics
    /// If it is absent: that is a fault of the calling code.
    pub fn edge(&self, id: EdgeId) -> &Edge {
        self.graph.edge(id).unwrap_or_else(|| panic!("{id} names no edge"))
    }

    /// Gives the ends of an edge other connectors; the nodes at its ends never change.
    ///
    /// # Panics
    /// If the edge is absent: that is a fault of the calling code.
    pub(crate) fn set_connectors(&mut self, id: EdgeId, src: Option<String>, dst: Option<String>) {
        self.revision = Revision::next();
        let edge = self.graph.edge_mut(id).unwrap_or_else(|| panic!("{id} names no edge"));
        self.ports.remove(id, edge);
        edge.src_connector = src;
        edge.dst_connector = dst;
        self.ports.insert(id, edge);
    }

    /// The memlet of an edge for change. The ends of an edge never change.
    ///
    /// # Panics
    /// If the edge is absent: that is a fault of the calling code.
    pub(crate) fn memlet_mut(&mut self, id: EdgeId) -> &mut Memlet {
        self.revision = Revision::next();
        &mut self.graph.edge_mut(id).unwrap_or_else(|| panic!("{id} names no edge")).memlet
    }

    /// Nodes in order of creation.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> {
        self.graph.node_ids().map(|id| (id, self.node(id)))
    }

    /// Edges in order of creation.
    pub fn edges(&self) -> impl DoubleEndedIterator<Item = (EdgeId, &Edge)> {
        self.graph.edge_ids().map(|id| (id, self.edge(id)))
    }

    /// Edges that end at a node, in order of creation.
    pub fn in_edges(&self, id: NodeId) -> Vec<EdgeId> {
        self.graph.in_edges(id)
    }

    /// Edges that start at a node, in order of creation.
    pub fn out_edges(&self, id: NodeId) -> Vec<EdgeId> {
        self.graph.out_edges(id)
    }

    /// Edges that end at a port of a scope node, or start there, in order of creation; found without a look at other edges
    /// of the node.
    pub fn edges_at(&self, node: NodeId, port: Port<'_>) -> &[EdgeId] {
        self.ports.edges(node, port)
    }

    /// Edges that end at a node with their ids, in no order.
    pub fn each_in_edge(&self, id: NodeId) -> impl Iterator<Item = (EdgeId, &Edge)> {
        self.graph.each_in_edge(id)
    }

    /// Edges that start at a node with their ids, in no order.
    pub fn each_out_edge(&self, id: NodeId) -> impl Iterator<Item = (EdgeId, &Edge)> {
        self.graph.each_out_edge(id)
    }

    /// One more than the largest index of a node that ever was, for tables by index.
    pub fn nodes_created(&self) -> usize {
        self.graph.nodes_created()
    }

    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.graph.n_nodes()
    }

    /// Number of edges.
    pub fn n_edges(&self) -> usize {
        self.graph.n_edges()
    }

    /// The node that ends the scope of `entry`, if there is one; in constant time, where there is one.
    pub fn exit_of(&self, entry: NodeId) -> Option<NodeId> {
        let ends = |id: &NodeId| self.get_node(*id).is_some_and(|node| node.kind.exit_of() == Some(entry));
        if let Some(exit) = self.exits.get(&entry).copied().filter(ends) {
            return Some(exit);
        }
        self.nodes().find(|(_, node)| node.kind.exit_of() == Some(entry)).map(|(id, _)| id)
    }

    /// The node with this label; of a scope's two nodes, the entry.
    pub fn find(&self, label: &str) -> Option<NodeId> {
        self.nodes().find(|(_, node)| node.label == label && node.kind.exit_of().is_none()).map(|(id, _)| id)
    }

    /// `wanted`, or if a node has this label, `wanted_1`, `wanted_2`, ... whichever is free first.
    pub fn fresh_label(&self, wanted: &str) -> String {
        fresh(wanted, |label| self.nodes().any(|(_, node)| node.label == label))
    }

    /// Nodes such that every edge goes forward, the smallest id first among those that are ready; `None` if there is a
    /// cycle.
    pub fn topological_order(&self) -> Option<Vec<NodeId>> {
        // By index: how many edges into a node have not been passed.
        let mut waiting = vec![0_usize; self.nodes_created()];
        for (_, edge) in self.edges() {
            waiting[edge.dst.index()] += 1;
        }
        let mut ready: BinaryHeap<Reverse<NodeId>> =
            self.nodes().map(|(id, _)| id).filter(|id| waiting[id.index()] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(self.n_nodes());
        while let Some(Reverse(id)) = ready.pop() {
            order.push(id);
            for (_, edge) in self.graph.each_out_edge(id) {
                let left = &mut waiting[edge.dst.index()];
                *left -= 1;
                if *left == 0 {
                    ready.push(Reverse(edge.dst));
                }
            }
        }
        (order.len() == self.n_nodes()).then_some(order)
    }

    /// Access nodes of a container, in order of creation.
    pub fn accesses_of(&self, container: super::ids::ContainerId) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes()
            .filter(move |(_, node)| matches!(node.kind, NodeKind::Access(id) if id == container))
            .map(|(id, _)| id)
    }
}
