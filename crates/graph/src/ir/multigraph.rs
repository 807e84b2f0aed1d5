//! A directed multigraph with our own ids.
//!
//! Ids are never reused. The edges of a node are in two doubly linked lists, one for each direction. Adding,
//! removing and redirecting an edge therefore takes constant time for any degree. petgraph's graphs have
//! singly linked lists and search all neighbours for an edge.

use super::ids::{Arena, EdgeId, NodeId};

/// A directed multigraph with nodes of type `N` and edges of type `E`.
#[derive(Clone, Debug)]
pub struct Multigraph<N, E> {
    nodes: Arena<NodeId, NodeSlot<N>>,
    edges: Arena<EdgeId, EdgeSlot<E>>,
    n_nodes: usize,
    n_edges: usize,
}

/// A node and the edges that head its lists.
#[derive(Clone, Debug)]
struct NodeSlot<N> {
    node: N,
    first: [Option<EdgeId>; 2],
}

/// An edge and its neighbours in the list of its source and in that of its destination.
#[derive(Clone, Debug)]
struct EdgeSlot<E> {
    edge: E,
    ends: [NodeId; 2],
    next: [Option<EdgeId>; 2],
    previous: [Option<EdgeId>; 2],
}

/// The neighbours of an edge in the lists of its ends, by which it is put back where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgePlace {
    previous: [Option<EdgeId>; 2],
    next: [Option<EdgeId>; 2],
}

/// The list that holds the edges that leave a node. Their ends have the node at this place.
const OUT: usize = 0;
/// The list that holds the edges that enter a node.
const IN: usize = 1;

impl<N, E> Default for Multigraph<N, E> {
    fn default() -> Self {
        Multigraph { nodes: Arena::new(), edges: Arena::new(), n_nodes: 0, n_edges: 0 }
    }
}

impl<N> NodeSlot<N> {
    const fn new(node: N) -> Self {
        NodeSlot { node, first: [None; 2] }
    }
}

impl<E> EdgeSlot<E> {
    const fn new(src: NodeId, dst: NodeId, edge: E) -> Self {
        EdgeSlot { edge, ends: [src, dst], next: [None; 2], previous: [None; 2] }
    }
}

impl<N, E> Multigraph<N, E> {
    /// Adds a node without edges.
    pub fn add_node(&mut self, node: N) -> NodeId {
        self.n_nodes += 1;
        self.nodes.insert(NodeSlot::new(node))
    }

    /// Adds an edge; parallel edges and edges between any two present nodes are allowed.
    ///
    /// # Panics
    /// If an end is not a node of this graph.
    pub fn add_edge(&mut self, src: NodeId, dst: NodeId, edge: E) -> EdgeId {
        let id = self.edges.insert(EdgeSlot::new(src, dst, edge));
        self.n_edges += 1;
        self.link(id);
        id
    }

    /// Removes a node together with its edges.
    pub fn remove_node(&mut self, id: NodeId) -> Option<N> {
        for list in [OUT, IN] {
            while let Some(edge) = self.nodes.get(id)?.first[list] {
                self.remove_edge(edge);
            }
        }
        self.n_nodes -= 1;
        self.nodes.remove(id).map(|slot| slot.node)
    }

    /// Removes an edge.
    pub fn remove_edge(&mut self, id: EdgeId) -> Option<E> {
        self.edges.get(id)?;
        self.unlink(id);
        self.n_edges -= 1;
        self.edges.remove(id).map(|slot| slot.edge)
    }

    /// Gives an edge other ends; it keeps its id. Nothing happens if the edge is absent.
    ///
    /// # Panics
    /// If an end is not a node of this graph.
    pub fn move_edge(&mut self, id: EdgeId, src: NodeId, dst: NodeId) {
        if self.edges.get(id).is_some() {
            self.unlink(id);
            self.edges[id].ends = [src, dst];
            self.link(id);
        }
    }

    /// Puts a removed node back under its id, without edges.
    pub(super) fn restore_node(&mut self, id: NodeId, node: N) {
        self.n_nodes += 1;
        self.nodes.restore(id, NodeSlot::new(node));
    }

    /// Where an edge is among the edges of its ends, if it is present.
    pub(super) fn place(&self, id: EdgeId) -> Option<EdgePlace> {
        self.edges.get(id).map(|slot| EdgePlace { previous: slot.previous, next: slot.next })
    }

    /// Puts a removed edge back under its id, in a list where its neighbours of before still follow each other between them,
    /// otherwise at the head.
    ///
    /// # Panics
    /// If an end is not a node of this graph.
    pub(super) fn restore_edge(
        &mut self,
        id: EdgeId,
        (src, dst): (NodeId, NodeId),
        edge: E,
        place: Option<EdgePlace>,
    ) {
        self.n_edges += 1;
        self.edges.restore(id, EdgeSlot::new(src, dst, edge));
        for list in [OUT, IN] {
            let place = place.map(|place| (place.previous[list], place.next[list]));
            match place.filter(|place| self.is_gap(id, list, *place)) {
                Some((Some(previous), next)) => {
                    (self.edges[id].next[list], self.edges[id].previous[list]) = (next, Some(previous));
                    self.edges[previous].next[list] = Some(id);
                    if let Some(next) = next {
                        self.edges[next].previous[list] = Some(id);
                    }
                }
                Some((None, _)) | None => self.link_at_head(id, list),
            }
        }
    }

    /// Whether two edges follow each other in a list of the node that an edge has at that end.
    fn is_gap(&self, id: EdgeId, list: usize, (previous, next): (Option<EdgeId>, Option<EdgeId>)) -> bool {
        let node = self.edges[id].ends[list];
        let is_here = |edge: EdgeId| self.edges.get(edge).is_some_and(|slot| slot.ends[list] == node);
        previous.is_none_or(|edge| is_here(edge) && self.edges[edge].next[list] == next)
            && next.is_none_or(|edge| is_here(edge) && self.edges[edge].previous[list] == previous)
    }

    /// Takes back the creation of the latest node, which is removed already.
    pub(super) fn take_back_node(&mut self) {
        let left = self.nodes.take_back();
        debug_assert!(left.is_none(), "a node is removed before its creation is taken back");
    }

    /// Takes back the creation of the latest edge, which is removed already.
    pub(super) fn take_back_edge(&mut self) {
        let left = self.edges.take_back();
        debug_assert!(left.is_none(), "an edge is removed before its creation is taken back");
    }

    /// Puts an edge at the head of the lists of its ends.
    fn link(&mut self, id: EdgeId) {
        for list in [OUT, IN] {
            self.link_at_head(id, list);
        }
    }

    fn link_at_head(&mut self, id: EdgeId, list: usize) {
        let node = self.edges[id].ends[list];
        let next = self.nodes[node].first[list].replace(id);
        let edge = &mut self.edges[id];
        (edge.next[list], edge.previous[list]) = (next, None);
        if let Some(next) = next {
            self.edges[next].previous[list] = Some(id);
        }
    }

    /// Takes an edge out of the lists of its ends.
    fn unlink(&mut self, id: EdgeId) {
        for list in [OUT, IN] {
            let edge = &self.edges[id];
            let (node, next, previous) = (edge.ends[list], edge.next[list], edge.previous[list]);
            match previous {
                Some(previous) => self.edges[previous].next[list] = next,
                None => self.nodes[node].first[list] = next,
            }
            if let Some(next) = next {
                self.edges[next].previous[list] = previous;
            }
        }
    }

    /// The node, if present.
    pub fn node(&self, id: NodeId) -> Option<&N> {
        self.nodes.get(id).map(|slot| &slot.node)
    }

    /// The node for change, if present.
    pub fn node_mut(&mut self, id: NodeId) -> Option<&mut N> {
        self.nodes.get_mut(id).map(|slot| &mut slot.node)
    }

    /// The edge, if present.
    pub fn edge(&self, id: EdgeId) -> Option<&E> {
        self.edges.get(id).map(|slot| &slot.edge)
    }

    /// The edge for change, if present.
    pub fn edge_mut(&mut self, id: EdgeId) -> Option<&mut E> {
        self.edges.get_mut(id).map(|slot| &mut slot.edge)
    }

    /// Source and destination of an edge, if present.
    pub fn ends(&self, id: EdgeId) -> Option<(NodeId, NodeId)> {
        self.edges.get(id).map(|slot| (slot.ends[OUT], slot.ends[IN]))
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
        self.adjacent(id, IN)
    }

    /// Edges that start at a node, ascending; none if the node is absent.
    pub fn out_edges(&self, id: NodeId) -> Vec<EdgeId> {
        self.adjacent(id, OUT)
    }

    /// Edges that end at a node, in no order, without a list of them.
    pub fn each_in_edge(&self, id: NodeId) -> impl Iterator<Item = (EdgeId, &E)> {
        self.each_adjacent(id, IN)
    }

    /// Edges that start at a node, in no order, without a list of them.
    pub fn each_out_edge(&self, id: NodeId) -> impl Iterator<Item = (EdgeId, &E)> {
        self.each_adjacent(id, OUT)
    }

    /// Number of nodes.
    pub const fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    /// Number of edges.
    pub const fn n_edges(&self) -> usize {
        self.n_edges
    }

    fn adjacent(&self, id: NodeId, list: usize) -> Vec<EdgeId> {
        let mut found: Vec<EdgeId> = self.each_adjacent(id, list).map(|(edge, _)| edge).collect();
        found.sort_unstable();
        found
    }

    fn each_adjacent(&self, id: NodeId, list: usize) -> impl Iterator<Item = (EdgeId, &E)> {
        let first = self.nodes.get(id).and_then(|slot| slot.first[list]);
        let slot = |id: EdgeId| (id, &self.edges[id]);
        let slots = std::iter::successors(first.map(slot), move |(_, found)| found.next[list].map(slot));
        slots.map(|(id, found)| (id, &found.edge))
    }

    /// One more than the largest index of a node that ever was.
    pub fn nodes_created(&self) -> usize {
        self.nodes.created()
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

    /// Against a plain list of edges, in which everything is looked for.
    #[test]
    fn lists_of_edges_are_what_a_search_finds() {
        let mut state = 1_usize;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut graph: Multigraph<(), usize> = Multigraph::default();
        let nodes: Vec<NodeId> = (0..4).map(|_| graph.add_node(())).collect();
        let mut edges: Vec<(EdgeId, NodeId, NodeId)> = Vec::new();
        let mut removed: Vec<EdgeId> = Vec::new();
        for step in 0..4_000 {
            let (src, dst) = (nodes[next(4)], nodes[next(4)]);
            match next(4) {
                0 if !edges.is_empty() => {
                    let (id, ..) = edges.remove(next(edges.len()));
                    assert!(graph.remove_edge(id).is_some());
                    removed.push(id);
                }
                1 if !edges.is_empty() => {
                    let at = next(edges.len());
                    graph.move_edge(edges[at].0, src, dst);
                    (edges[at].1, edges[at].2) = (src, dst);
                }
                2 if !removed.is_empty() => {
                    let id = removed.remove(next(removed.len()));
                    graph.restore_edge(id, (src, dst), step, None);
                    edges.push((id, src, dst));
                }
                _ => edges.push((graph.add_edge(src, dst, step), src, dst)),
            }
            let sorted = |mut found: Vec<EdgeId>| {
                found.sort_unstable();
                found
            };
            for node in &nodes {
                let into = edges.iter().filter(|edge| edge.2 == *node).map(|edge| edge.0).collect();
                let out = edges.iter().filter(|edge| edge.1 == *node).map(|edge| edge.0).collect();
                assert_eq!(graph.in_edges(*node), sorted(into));
                assert_eq!(graph.out_edges(*node), sorted(out));
            }
            assert_eq!(graph.n_edges(), edges.len());
        }
    }

    /// Edges are taken back the latest first, so each finds its neighbours of before.
    #[test]
    fn restored_edges_are_where_they_were() {
        let mut graph: Multigraph<(), usize> = Multigraph::default();
        let (hub, other) = (graph.add_node(()), graph.add_node(()));
        let edges: Vec<EdgeId> = (0..5).map(|at| graph.add_edge(hub, other, at)).collect();
        let order = |graph: &Multigraph<(), usize>| -> [Vec<EdgeId>; 2] {
            let ids = |edges: &mut dyn Iterator<Item = (EdgeId, &usize)>| edges.map(|(id, _)| id).collect();
            [ids(&mut graph.each_out_edge(hub)), ids(&mut graph.each_in_edge(other))]
        };
        let before = order(&graph);
        let mut removed = Vec::new();
        for at in [2, 4, 1, 0, 3] {
            let place = graph.place(edges[at]);
            let edge = graph.remove_edge(edges[at]).unwrap();
            removed.push((edges[at], edge, place));
        }
        for (id, edge, place) in removed.into_iter().rev() {
            graph.restore_edge(id, (hub, other), edge, place);
        }
        assert_eq!(order(&graph), before);
        // One that is moved and moved back, too.
        let place = graph.place(edges[2]);
        graph.move_edge(edges[2], other, hub);
        let edge = graph.remove_edge(edges[2]).unwrap();
        graph.restore_edge(edges[2], (hub, other), edge, place);
        assert_eq!(order(&graph), before);
        // Neighbours that are elsewhere now are no place.
        let place = graph.place(edges[2]);
        let edge = graph.remove_edge(edges[2]).unwrap();
        graph.move_edge(edges[3], other, hub);
        graph.restore_edge(edges[2], (hub, other), edge, place);
        assert_eq!(graph.out_edges(hub), [edges[0], edges[1], edges[2], edges[4]]);
        assert_eq!(graph.in_edges(other), [edges[0], edges[1], edges[2], edges[4]]);
    }

    /// In the square of the degree, this takes minutes.
    #[test]
    fn edges_of_a_large_fan_are_removed_one_by_one() {
        const FAN: usize = 200_000;
        let mut graph: Multigraph<(), ()> = Multigraph::default();
        let (hub, other) = (graph.add_node(()), graph.add_node(()));
        let edges: Vec<EdgeId> = (0..FAN).map(|_| graph.add_edge(hub, other, ())).collect();
        for edge in &edges[..FAN / 2] {
            graph.move_edge(*edge, other, hub);
        }
        for edge in edges {
            graph.remove_edge(edge);
        }
        assert_eq!((graph.n_edges(), graph.out_edges(hub)), (0, Vec::new()));
    }
}
