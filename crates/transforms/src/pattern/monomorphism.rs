//! Subgraph monomorphisms by VF2 (Cordella, Foggia, Sansone, Vento: A (sub)graph isomorphism algorithm for matching large
//! graphs, 2004), for directed multigraphs.
//!
//! Nodes of the pattern are assigned in an order in which each, after the first of a component, is a neighbour of an earlier
//! one, so that its candidates are neighbours, too. A candidate needs at least as many edges to and from each assigned node
//! as the pattern has, and at least its degrees.

use super::Host;

/// A pattern as a plain multigraph over positions, with the order of the search.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The number of nodes.
    pub(super) nodes: usize,
    /// Edges, with repetition.
    pub(super) edges: Vec<(usize, usize)>,
    order: Vec<usize>,
    /// The numbers of edges from and to each node.
    degrees: Vec<(usize, usize)>,
}

impl Shape {
    /// A pattern of so many nodes with edges between their positions, with repetition.
    pub fn new(nodes: usize, edges: Vec<(usize, usize)>) -> Self {
        let degree = |node| {
            let out = edges.iter().filter(|(src, _)| *src == node).count();
            (out, edges.iter().filter(|(_, dst)| *dst == node).count())
        };
        let degrees = (0..nodes).map(degree).collect();
        let order = search_order(nodes, &edges);
        Shape { nodes, edges, order, degrees }
    }
}

/// Every way to assign the nodes of a pattern to different nodes of a graph, so that `fits` holds of each and the edges of the
/// pattern have different edges of the graph. The assignments come in lexicographical order of the search.
pub fn monomorphisms<N: Copy + Ord>(
    host: &Host<N>,
    shape: &Shape,
    fits: &dyn Fn(usize, N) -> bool,
) -> Vec<Vec<N>> {
    let mut search = Search { host, shape, fits, assigned: vec![None; shape.nodes], found: Vec::new() };
    search.extend(&shape.order);
    search.found
}

struct Search<'s, N> {
    host: &'s Host<N>,
    shape: &'s Shape,
    fits: &'s dyn Fn(usize, N) -> bool,
    assigned: Vec<Option<N>>,
    found: Vec<Vec<N>>,
}

impl<'s, N: Copy + Ord> Search<'s, N> {
    fn extend(&mut self, order: &[usize]) {
        let Some((next, rest)) = order.split_first() else {
            self.found.push(self.assigned.iter().copied().flatten().collect());
            return;
        };
        let candidates = self.candidates(*next);
        for (at, candidate) in candidates.iter().copied().enumerate() {
            // Parallel edges lead to the same node.
            let is_new = at == 0 || candidates[at - 1] != candidate;
            if is_new && self.is_feasible(*next, candidate) {
                self.assigned[*next] = Some(candidate);
                self.extend(rest);
                self.assigned[*next] = None;
            }
        }
    }

    /// Nodes that a node of the pattern may stand for: the neighbours of an assigned neighbour, or all.
    fn candidates(&self, node: usize) -> &'s [N] {
        let neighbours = self.shape.edges.iter().find_map(|(src, dst)| {
            if *dst == node
                && let Some(found) = self.assigned[*src]
            {
                return Some(self.host.successors(found));
            }
            if *src == node
                && let Some(found) = self.assigned[*dst]
            {
                return Some(self.host.predecessors(found));
            }
            None
        });
        neighbours.unwrap_or(self.host.nodes())
    }

    fn is_feasible(&self, node: usize, candidate: N) -> bool {
        let edges = |src: usize, dst: usize| {
            self.shape.edges.iter().filter(|(from, to)| (*from, *to) == (src, dst)).count()
        };
        let (out, into) = self.shape.degrees[node];
        if self.assigned.contains(&Some(candidate))
            || !(self.fits)(node, candidate)
            || self.host.successors(candidate).len() < out
            || self.host.predecessors(candidate).len() < into
            || self.host.edges_between(candidate, candidate) < edges(node, node)
        {
            return false;
        }
        let assigned = self.assigned.iter().enumerate().filter_map(|(at, found)| Some((at, (*found)?)));
        let mut pairs = assigned.filter(|(at, _)| *at != node);
        pairs.all(|(at, found)| {
            self.host.edges_between(candidate, found) >= edges(node, at)
                && self.host.edges_between(found, candidate) >= edges(at, node)
        })
    }
}

/// The order of assignment: each node after a neighbour, if its component has an earlier node.
fn search_order(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(nodes);
    while order.len() < nodes {
        let is_next = |node: &usize| {
            let touches = |(src, dst): &(usize, usize)| {
                (*src == *node && order.contains(dst)) || (*dst == *node && order.contains(src))
            };
            !order.contains(node) && edges.iter().any(touches)
        };
        let connected = (0..nodes).find(is_next);
        let next = connected.or_else(|| (0..nodes).find(|node| !order.contains(node)));
        order.extend(next);
    }
    order
}
