//! The graphs that patterns are searched in: states and regions as plain directed multigraphs.

use std::collections::BTreeMap;

use sdfg::ir::{BlockId, NodeId, RegionId, Revision, Sdfg, State};

use super::{NodeClass, Shape, monomorphisms};

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
        // A hub has as many edges as the graph, and is looked at for each of them: nothing here is linear.
        let first = self.nodes.partition_point(|other| *other < node);
        let number = self.nodes[first..].partition_point(|other| *other == node);
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
    /// Nodes that call SDFGs.
    calls: Vec<NodeId>,
    /// What earlier searches found, by pattern.
    found: Vec<(PatternOfNodes, Vec<Vec<NodeId>>)>,
}

/// The classes of the nodes of a pattern, and its edges.
type PatternOfNodes = (Vec<NodeClass>, Vec<(usize, usize)>);

impl Hosts {
    /// Begins a search. Graphs of states that the last search did not ask for are dropped.
    pub fn begin(&mut self) {
        self.last = std::mem::take(&mut self.now);
    }

    /// The dataflow graph of a state.
    pub fn of_state(&mut self, state: &State) -> &mut HostOfState {
        let last = &mut self.last;
        let revision = state.revision();
        self.now
            .entry(revision)
            .or_insert_with(|| last.remove(&revision).unwrap_or_else(|| HostOfState::of(state)))
    }
}

impl HostOfState {
    fn of(state: &State) -> Self {
        let mut has = [false; NodeClass::ALL.len()];
        let mut calls = Vec::new();
        for (id, node) in state.nodes() {
            for (has, class) in has.iter_mut().zip(NodeClass::ALL) {
                *has |= class.fits(&node.kind);
            }
            if NodeClass::Nested.fits(&node.kind) {
                calls.push(id);
            }
        }
        let classes = NodeClass::ALL.into_iter().zip(has).filter(|(_, has)| *has).map(|(class, _)| class);
        HostOfState { host: Host::of_state(state), classes: classes.collect(), calls, found: Vec::new() }
    }

    /// Nodes that call SDFGs, by id.
    pub fn calls(&self) -> &[NodeId] {
        &self.calls
    }

    /// Every place of a pattern in the state, searched once. The state is that of the graph.
    pub fn matches(
        &mut self,
        state: &State,
        nodes: &[(&'static str, NodeClass)],
        shape: &Shape,
    ) -> &[Vec<NodeId>] {
        let classes = || nodes.iter().map(|(_, class)| *class);
        if !classes().all(|class| self.has(class)) {
            return &[];
        }
        let is_same =
            |(own, edges): &PatternOfNodes| own.iter().copied().eq(classes()) && *edges == shape.edges;
        let at = match self.found.iter().position(|(pattern, _)| is_same(pattern)) {
            Some(at) => at,
            None => {
                let fits = |at: usize, node: NodeId| {
                    nodes.get(at).is_some_and(|(_, class)| class.fits(&state.node(node).kind))
                };
                let all = monomorphisms(&self.host, shape, &fits);
                self.found.push(((classes().collect(), shape.edges.clone()), all));
                self.found.len() - 1
            }
        };
        &self.found[at].1
    }

    /// Whether the state has a node of a class.
    pub fn has(&self, class: NodeClass) -> bool {
        self.classes.contains(&class)
    }
}
