//! Contents of a closed box: numbers of states and nodes, including nested SDFGs.

use std::fmt;

use sdfg_graph::analysis::ScopeTree;
use sdfg_graph::ir::{BlockKind, Node, NodeId, NodeKind, RegionId, Sdfg, State};

/// Numbers of states and nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ElementCounts {
    states: usize,
    nodes: usize,
}

impl ElementCounts {
    fn add(&mut self, other: ElementCounts) {
        self.states += other.states;
        self.nodes += other.nodes;
    }
}

impl fmt::Display for ElementCounts {
    /// `2 states, 14 nodes`, without what there is none of.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |count: usize, noun: &str| match count {
            0 => None,
            1 => Some(format!("1 {noun}")),
            _ => Some(format!("{count} {noun}s")),
        };
        let parts: Vec<String> =
            [part(self.states, "state"), part(self.nodes, "node")].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

/// Contents of a block; for a state, its nodes.
pub(super) fn of_block(sdfg: &Sdfg, kind: &BlockKind) -> ElementCounts {
    match kind {
        BlockKind::State(state) => sdfg.get_state(*state).map(of_state).unwrap_or_default(),
        BlockKind::Loop(body) => of_region(sdfg, body.body),
        BlockKind::Branch(branch) => {
            let mut census = ElementCounts::default();
            let regions = branch.arms.iter().map(|(_, body)| *body).chain(branch.otherwise);
            regions.for_each(|region| census.add(of_region(sdfg, region)));
            census
        }
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => ElementCounts::default(),
    }
}

/// Contents of the blocks of a region.
pub(super) fn of_region(sdfg: &Sdfg, id: RegionId) -> ElementCounts {
    let mut census = ElementCounts::default();
    let blocks = sdfg.get_region(id).map(|region| region.blocks.as_slice()).unwrap_or_default();
    for block in blocks.iter().filter_map(|id| sdfg.get_block(*id)) {
        census.states += usize::from(matches!(block.kind, BlockKind::State(_)));
        census.add(of_block(sdfg, &block.kind));
    }
    census
}

fn of_state(state: &State) -> ElementCounts {
    let mut census = ElementCounts::default();
    state.nodes().for_each(|(_, node)| census.add(of_node(node)));
    census
}

/// Contents of a scope, without its own entry and exit.
pub(super) fn of_scope(state: &State, tree: &ScopeTree, entry: NodeId) -> ElementCounts {
    let mut census = ElementCounts::default();
    let mut open = vec![entry];
    while let Some(scope) = open.pop() {
        for &id in tree.children(Some(scope)) {
            let node = state.node(id);
            census.add(of_node(node));
            if node.kind.is_scope_entry() {
                open.push(id);
            }
        }
    }
    census
}

fn of_node(node: &Node) -> ElementCounts {
    let mut census = ElementCounts { states: 0, nodes: 1 };
    if let NodeKind::Nested(nested) = &node.kind {
        census.add(of_region(&nested.sdfg, nested.sdfg.body()));
    }
    census
}
