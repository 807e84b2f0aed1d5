//! A directed multigraph under ids of our own.
//!
//! petgraph's `StableDiGraph` is the storage; it gives freed indices out again and lists neighbours in an order of its
//! own, so it stays private. Everything here is listed in order of ids.

use petgraph::Direction;
use petgraph::stable_graph::{EdgeIndex, NodeIndex, StableDiGraph};

use super::ids::{Arena, EdgeId, Id, NodeId};

/// A directed multigraph with nodes of type `N` and edges of type `E`.
#[derive(Clone, Debug)]
pub struct Multigraph<N, E> {
    graph: StableDiGraph<(NodeId, N), (EdgeId, E)>,
    nodes: Arena<NodeId, NodeIndex>,
    edges: Arena<EdgeId, EdgeIndex>,
}

impl<N, E> Default for Multigraph<N, E> {
    fn default() -> Self {
        Multigraph { graph: StableDiGraph::default(), nodes: Arena::new(), edges: Arena::new() }
    }
}

impl<N, E> Multigraph<N, E> {
    /// Adds a node without edges.
    pub fn add_node(&mut self, node: N) -> NodeId {
        let id = NodeId::from_index(self.nodes_created());
        let index = self.graph.add_node((id, node));
        self.nodes.insert(index)
    }

    /// Adds an edge; parallel edges and edges between any two present nodes are allowed.
    ///
    /// # Panics
    /// If an end is not a node of this graph.
    pub fn add_edge(&mut self, src: NodeId, dst: NodeId, edge: E) -> EdgeId {
        let id = EdgeId::from_index(self.edges_created());
        let index = self.graph.add_edge(self.nodes[src], self.nodes[dst], (id, edge));
        self.edges.insert(index)
    }

    /// Removes a node together with its edges.
    pub fn remove_node(&mut self, id: NodeId) -> Option<N> {
        for edge in self.in_edges(id).into_iter().chain(self.out_edges(id)) {
            self.remove_edge(edge);
        }
        let index = self.nodes.remove(id)?;
        self.graph.remove_node(index).map(|(_, node)| node)
    }

    /// Removes an edge.
    pub fn remove_edge(&mut self, id: EdgeId) -> Option<E> {
        let index = self.edges.remove(id)?;
        self.graph.remove_edge(index).map(|(_, edge)| edge)
    }

    /// Gives an edge other ends; it keeps its id. Nothing happens if the edge is absent.
    ///
    /// # Panics
    /// If an end is not a node of this graph.
    pub fn move_edge(&mut self, id: EdgeId, src: NodeId, dst: NodeId) {
        let (src, dst) = (self.nodes[src], self.nodes[dst]);
        let Some(slot) = self.edges.get_mut(id) else { return };
        if let Some(weight) = self.graph.remove_edge(*slot) {
            *slot = self.graph.add_edge(src, dst, weight);
        }
    }

    /// Puts a removed node back under its id, without edges.
    pub(super) fn restore_node(&mut self, id: NodeId, node: N) {
        let index = self.graph.add_node((id, node));
        self.nodes.restore(id, index);
    }

    /// Puts a removed edge back under its id.
    ///
    /// # Panics
    /// If an end is not a node of this graph.
    pub(super) fn restore_edge(&mut self, id: EdgeId, src: NodeId, dst: NodeId, edge: E) {
        let index = self.graph.add_edge(self.nodes[src], self.nodes[dst], (id, edge));
        self.edges.restore(id, index);
    }

    /// Takes back the creation of the latest node, which has no edges any more and may be removed already.
    pub(super) fn take_back_node(&mut self) {
        if let Some(index) = self.nodes.take_back() {
            self.graph.remove_node(index);
        }
    }

    /// Takes back the creation of the latest edge, which may be removed already.
    pub(super) fn take_back_edge(&mut self) {
        if let Some(index) = self.edges.take_back() {
            self.graph.remove_edge(index);
        }
    }

    /// The node, if present.
    pub fn node(&self, id: NodeId) -> Option<&N> {
        self.graph.node_weight(*self.nodes.get(id)?).map(|(_, node)| node)
    }

    /// The node for change, if present.
    pub fn node_mut(&mut self, id: NodeId) -> Option<&mut N> {
        self.graph.node_weight_mut(*self.nodes.get(id)?).map(|(_, node)| node)
    }

    /// The edge, if present.
    pub fn edge(&self, id: EdgeId) -> Option<&E> {
        self.graph.edge_weight(*self.edges.get(id)?).map(|(_, edge)| edge)
    }

    /// The edge for change, if present.
    pub fn edge_mut(&mut self, id: EdgeId) -> Option<&mut E> {
        self.graph.edge_weight_mut(*self.edges.get(id)?).map(|(_, edge)| edge)
    }

    /// Source and destination of an edge, if present.
    pub fn ends(&self, id: EdgeId) -> Option<(NodeId, NodeId)> {
        let (src, dst) = self.graph.edge_endpoints(*self.edges.get(id)?)?;
        Some((self.graph[src].0, self.graph[dst].0))
    }

    /// Ids of all nodes, ascending.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        self.nodes.ids()
    }

    /// Ids of all edges, ascending.
    pub fn edge_ids(&self) -> impl DoubleEndedIterator<Item = EdgeId> + '_ {
        self.edges.ids()
    }

    /// Edges that end at a node, ascending; none if the node is absent.
    pub fn in_edges(&self, id: NodeId) -> Vec<EdgeId> {
        self.adjacent(id, Direction::Incoming)
    }

    /// Edges that start at a node, ascending; none if the node is absent.
    pub fn out_edges(&self, id: NodeId) -> Vec<EdgeId> {
        self.adjacent(id, Direction::Outgoing)
    }

    /// Edges that end at a node, in no order, without a list of them.
    pub fn each_in_edge(&self, id: NodeId) -> impl Iterator<Item = (EdgeId, &E)> {
        self.each_adjacent(id, Direction::Incoming)
    }

    /// Edges that start at a node, in no order, without a list of them.
    pub fn each_out_edge(&self, id: NodeId) -> impl Iterator<Item = (EdgeId, &E)> {
        self.each_adjacent(id, Direction::Outgoing)
    }

    /// How many nodes are present.
    pub fn n_nodes(&self) -> usize {
        self.graph.node_count()
    }

    /// How many edges are present.
    pub fn n_edges(&self) -> usize {
        self.graph.edge_count()
    }

    fn adjacent(&self, id: NodeId, direction: Direction) -> Vec<EdgeId> {
        let mut found: Vec<EdgeId> = self.each_adjacent(id, direction).map(|(edge, _)| edge).collect();
        found.sort_unstable();
        found
    }

    fn each_adjacent(&self, id: NodeId, direction: Direction) -> impl Iterator<Item = (EdgeId, &E)> {
        let index = self.nodes.get(id).copied().into_iter();
        let edges = index.flat_map(move |index| self.graph.edges_directed(index, direction));
        edges.map(|edge| {
            let (id, edge) = edge.weight();
            (*id, edge)
        })
    }

    /// One more than the largest index of a node that ever was.
    pub fn nodes_created(&self) -> usize {
        self.nodes.created()
    }

    fn edges_created(&self) -> usize {
        self.edges.created()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_never_reused_and_edges_are_listed_in_order() {
        let mut graph: Multigraph<&str, u32> = Multigraph::default();
        let a = graph.add_node("a");
        let b = graph.add_node("b");
        let first = graph.add_edge(a, b, 1);
        let second = graph.add_edge(a, b, 2);
        assert_eq!(graph.out_edges(a), [first, second]);
        assert_eq!(graph.remove_edge(first), Some(1));
        assert_eq!(graph.remove_edge(first), None);
        let third = graph.add_edge(a, b, 3);
        assert!(third > second);
        assert_eq!(graph.in_edges(b), [second, third]);
        graph.move_edge(second, b, a);
        assert_eq!((graph.in_edges(a), graph.in_edges(b)), (vec![second], vec![third]));
        assert_eq!((graph.ends(second), graph.edge(second)), (Some((b, a)), Some(&2)));
        graph.remove_node(a);
        assert_eq!((graph.n_nodes(), graph.n_edges()), (1, 0));
        let c = graph.add_node("c");
        assert!(c > b);
        assert_eq!(graph.node(a), None);
        let loop_edge = graph.add_edge(c, c, 4);
        assert_eq!(graph.ends(loop_edge), Some((c, c)));
        graph.remove_node(c);
        assert_eq!(graph.edge_ids().count(), 0);
    }
}
