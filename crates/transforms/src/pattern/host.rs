//! The graphs that patterns are searched in: states and regions as plain directed multigraphs.

use std::collections::BTreeMap;

use sdfg::ir::{BlockId, NodeId, RegionId, Revision, Sdfg, State};

use super::NodeClass;

/// A directed multigraph over ordered node ids.
#[derive(Clone, Debug)]
pub struct Host<N> {
    nodes: Vec<N>,
    out: Ends<N>,
    into: Ends<N>,
}

/// The other ends of the edges of each node: two lists of the same length, sorted by node and end.
#[derive(Clone, Debug)]
struct Ends<N> {
    nodes: Vec<N>,
    ends: Vec<N>,
}

impl<N: Copy + Ord> Ends<N> {
    fn of(mut edges: Vec<(N, N)>) -> Self {
        edges.sort_unstable();
        Ends {
            nodes: edges.iter().map(|(node, _)| *node).collect(),
            ends: edges.iter().map(|(_, end)| *end).collect(),
        }
    }

    fn get(&self, node: N) -> &[N] {
        let first = self.nodes.partition_point(|other| *other < node);
        let number = self.nodes[first..].iter().take_while(|other| **other == node).count();
        &self.ends[first..first + number]
    }
}

impl<N: Copy + Ord> Host<N> {
    /// A graph of nodes and edges. Nodes are searched in their order.
    pub fn new(nodes: impl IntoIterator<Item = N>, edges: impl IntoIterator<Item = (N, N)>) -> Self {
        let mut nodes: Vec<N> = nodes.into_iter().collect();
        nodes.sort_unstable();
        let edges: Vec<(N, N)> = edges.into_iter().collect();
        let back = edges.iter().map(|(src, dst)| (*dst, *src)).collect();
        Host { nodes, out: Ends::of(edges), into: Ends::of(back) }
    }

    /// The nodes in order.
    pub fn nodes(&self) -> &[N] {
        &self.nodes
    }

    /// Destinations of the edges of a node, sorted; parallel edges give one each.
    pub fn successors(&self, node: N) -> &[N] {
        self.out.get(node)
    }

    /// Sources of the edges to a node, sorted; parallel edges give one each.
    pub fn predecessors(&self, node: N) -> &[N] {
        self.into.get(node)
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

/// The dataflow graphs of the states of a program, kept while states stay the same: most searches of a series meet most states
/// as they were.
#[derive(Debug, Default)]
pub struct Hosts {
    last: BTreeMap<Revision, HostOfState>,
    now: BTreeMap<Revision, HostOfState>,
}

/// The dataflow graph of a state, with the classes that it has nodes of.
#[derive(Debug)]
pub struct HostOfState {
    /// The graph.
    pub host: Host<NodeId>,
    classes: Vec<NodeClass>,
}

impl Hosts {
    /// Begins a search. Graphs of states that the last search did not ask for are dropped.
    pub fn begin(&mut self) {
        self.last = std::mem::take(&mut self.now);
    }

    /// The dataflow graph of a state.
    pub fn of_state(&mut self, state: &State) -> &HostOfState {
        let last = &mut self.last;
        let revision = state.revision();
        self.now
            .entry(revision)
            .or_insert_with(|| last.remove(&revision).unwrap_or_else(|| HostOfState::of(state)))
    }
}

impl HostOfState {
    fn of(state: &State) -> Self {
        let mut classes = Vec::new();
        for class in NodeClass::ALL {
            if state.nodes().any(|(_, node)| class.fits(&node.kind)) {
                classes.push(class);
            }
        }
        HostOfState { host: Host::of_state(state), classes }
    }

    /// Whether the state has a node of a class.
    pub fn has(&self, class: NodeClass) -> bool {
        self.classes.contains(&class)
    }
}
