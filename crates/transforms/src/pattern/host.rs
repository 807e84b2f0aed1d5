//! The graphs that patterns are searched in: states and regions as plain directed multigraphs.

use std::collections::BTreeMap;

use sdfg::ir::{BlockId, NodeId, RegionId, Sdfg, State};

/// A directed multigraph over ordered node ids.
#[derive(Clone, Debug)]
pub struct Host<N> {
    nodes: Vec<N>,
    out: BTreeMap<N, Vec<N>>,
    into: BTreeMap<N, Vec<N>>,
}

impl<N: Copy + Ord> Host<N> {
    /// A graph of nodes and edges. Nodes are searched in their order.
    pub fn new(nodes: impl IntoIterator<Item = N>, edges: impl IntoIterator<Item = (N, N)>) -> Self {
        let mut host = Host {
            nodes: nodes.into_iter().collect(),
            out: BTreeMap::<N, Vec<N>>::new(),
            into: BTreeMap::<N, Vec<N>>::new(),
        };
        host.nodes.sort_unstable();
        for (src, dst) in edges {
            host.out.entry(src).or_default().push(dst);
            host.into.entry(dst).or_default().push(src);
        }
        host.out.values_mut().chain(host.into.values_mut()).for_each(|ends| ends.sort_unstable());
        host
    }

    /// The nodes in order.
    pub fn nodes(&self) -> &[N] {
        &self.nodes
    }

    /// Destinations of the edges of a node, sorted; parallel edges give one each.
    pub fn successors(&self, node: N) -> &[N] {
        self.out.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Sources of the edges to a node, sorted; parallel edges give one each.
    pub fn predecessors(&self, node: N) -> &[N] {
        self.into.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The number of edges from one node to another.
    pub fn edges_between(&self, src: N, dst: N) -> usize {
        let out = self.successors(src);
        out.partition_point(|node| *node <= dst) - out.partition_point(|node| *node < dst)
    }
}

impl Host<NodeId> {
    /// The dataflow graph of a state.
    pub fn of_state(state: &State) -> Self {
        Host::new(state.nodes().map(|(id, _)| id), state.edges().map(|(_, edge)| (edge.src, edge.dst)))
    }
}

impl Host<BlockId> {
    /// The blocks of a region.
    pub fn of_region(sdfg: &Sdfg, region: RegionId) -> Self {
        let region = sdfg.region(region);
        let transitions = region.transitions.iter().map(|id| sdfg.transition(*id));
        Host::new(
            region.blocks.iter().copied(),
            transitions.map(|transition| (transition.src, transition.dst)),
        )
    }
}
