//! Subgraph monomorphisms by VF2 (Cordella, Foggia, Sansone, Vento: A (sub)graph isomorphism algorithm for matching large
//! graphs, 2004), for directed multigraphs.
//!
//! Nodes of the pattern are assigned in an order in which each, after the first of a component, is a neighbour of an earlier
//! one, so that its candidates are neighbours, too. A candidate needs at least as many edges to and from each assigned node
//! as the pattern has, and at least its degrees.

use super::Host;

/// A pattern as a plain multigraph over positions.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The number of nodes.
    pub nodes: usize,
    /// Edges, with repetition.
    pub edges: Vec<(usize, usize)>,
}

/// Every way to assign the nodes of a pattern to different nodes of a graph, so that `fits` holds of each and the edges of the
/// pattern have different edges of the graph. The assignments come in lexicographical order of the search.
pub fn monomorphisms<N: Copy + Ord>(
    host: &Host<N>,
    shape: &Shape,
    fits: &dyn Fn(usize, N) -> bool,
) -> Vec<Vec<N>> {
    let mut search = Search { host, shape, fits, assigned: vec![None; shape.nodes], found: Vec::new() };
    let order = search_order(shape);
    search.extend(&order);
    search.found
}

struct Search<'s, N> {
    host: &'s Host<N>,
    shape: &'s Shape,
    fits: &'s dyn Fn(usize, N) -> bool,
    assigned: Vec<Option<N>>,
    found: Vec<Vec<N>>,
}

impl<N: Copy + Ord> Search<'_, N> {
    fn extend(&mut self, order: &[usize]) {
        let Some((next, rest)) = order.split_first() else {
            self.found.push(self.assigned.iter().copied().flatten().collect());
            return;
        };
        for candidate in self.candidates(*next) {
            if self.is_feasible(*next, candidate) {
                self.assigned[*next] = Some(candidate);
                self.extend(rest);
                self.assigned[*next] = None;
            }
        }
    }

    /// Nodes that a node of the pattern may stand for: the neighbours of an assigned neighbour, or all.
    fn candidates(&self, node: usize) -> Vec<N> {
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
        let mut candidates = neighbours.unwrap_or(self.host.nodes()).to_vec();
        candidates.dedup();
        candidates
    }

    fn is_feasible(&self, node: usize, candidate: N) -> bool {
        let edges = |src: usize, dst: usize| {
            self.shape.edges.iter().filter(|(from, to)| (*from, *to) == (src, dst)).count()
        };
        let out = self.shape.edges.iter().filter(|(src, _)| *src == node).count();
        let into = self.shape.edges.iter().filter(|(_, dst)| *dst == node).count();
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
fn search_order(shape: &Shape) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(shape.nodes);
    while order.len() < shape.nodes {
        let is_next = |node: &usize| {
            let touches = |(src, dst): &(usize, usize)| {
                (*src == *node && order.contains(dst)) || (*dst == *node && order.contains(src))
            };
            !order.contains(node) && shape.edges.iter().any(touches)
        };
        let connected = (0..shape.nodes).find(is_next);
        let next = connected.or_else(|| (0..shape.nodes).find(|node| !order.contains(node)));
        order.extend(next);
    }
    order
}
