//! Dominators and post-dominators of the blocks of a region.
//!
//! A block dominates another one if every path from the start to the other passes through it. It
//! post-dominates another one if every path from the other to an end of the region passes through it. The
//! computation uses petgraph's `simple_fast` (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
//! Algorithm", 2001), on the region's graph and on its reverse with one additional end.

use std::collections::BTreeMap;

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

use super::region_graph::RegionGraph;
use crate::ir::BlockId;

/// The blocks that dominate each block, or post-dominate it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DominatorTree {
    /// For each block that has dominators, itself included: the nearest other one.
    immediate: BTreeMap<BlockId, Option<BlockId>>,
    /// The first and last position of each block and those below it, in an order in which they follow each other: one look
    /// tells whether a block is above another one, whatever the length of the way between them.
    spans: BTreeMap<BlockId, (usize, usize)>,
}

impl DominatorTree {
    /// Dominators: the tree holds the blocks that the start reaches.
    pub fn dominators(graph: &RegionGraph) -> Self {
        let (nodes, mut flow) = indexed(graph);
        for (block, from) in &nodes {
            for next in graph.successors(*block) {
                flow.add_edge(*from, nodes[next], ());
            }
        }
        let root = graph.start().map(|start| nodes[&start]);
        Self::from_root(&nodes, &flow, root)
    }

    /// Post-dominators: the tree holds the blocks from which the region may end; a block in an endless loop has none.
    ///
    /// Where ways end at several blocks, those blocks have no immediate post-dominator. What leaves the region early (a
    /// break, continue or return) ends it here.
    pub fn post_dominators(graph: &RegionGraph) -> Self {
        let (nodes, mut flow) = indexed(graph);
        let end = flow.add_node(None);
        for (block, from) in &nodes {
            for next in graph.successors(*block) {
                flow.add_edge(nodes[next], *from, ());
            }
            if graph.may_end_after(*block) {
                flow.add_edge(end, *from, ());
            }
        }
        Self::from_root(&nodes, &flow, Some(end))
    }

    fn from_root(
        nodes: &BTreeMap<BlockId, NodeIndex>,
        flow: &DiGraph<Option<BlockId>, ()>,
        root: Option<NodeIndex>,
    ) -> Self {
        let Some(root) = root else { return Self::of_immediate(BTreeMap::new()) };
        let tree = simple_fast(flow, root);
        let reached = nodes.iter().filter(|(_, node)| tree.dominators(**node).is_some());
        let nearest = |node: NodeIndex| tree.immediate_dominator(node).and_then(|above| flow[above]);
        Self::of_immediate(reached.map(|(block, node)| (*block, nearest(*node))).collect())
    }

    fn of_immediate(immediate: BTreeMap<BlockId, Option<BlockId>>) -> Self {
        let mut children: BTreeMap<Option<BlockId>, Vec<BlockId>> = BTreeMap::new();
        for (block, above) in &immediate {
            children.entry(*above).or_default().push(*block);
        }
        let mut spans: BTreeMap<BlockId, (usize, usize)> = BTreeMap::new();
        let mut position = 0;
        // A block is met before those below it, and again after them.
        let mut waiting = children.remove(&None).unwrap_or_default();
        while let Some(block) = waiting.pop() {
            match spans.get_mut(&block) {
                Some((_, last)) => *last = position - 1,
                None => {
                    spans.insert(block, (position, position));
                    position += 1;
                    if let Some(below) = children.remove(&Some(block)) {
                        waiting.push(block);
                        waiting.extend(below);
                    }
                }
            }
        }
        DominatorTree { immediate, spans }
    }

    /// Whether the block has dominators: for dominators whether the start reaches it, for post-dominators whether an
    /// end can be reached from it.
    pub fn contains(&self, block: BlockId) -> bool {
        self.immediate.contains_key(&block)
    }

    /// The nearest other block that dominates this one.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.immediate.get(&block).copied().flatten()
    }

    /// The blocks that dominate this one, itself first, then the nearest; none if the tree does not hold it.
    pub fn of(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let first = self.contains(block).then_some(block);
        std::iter::successors(first, |block| self.immediate(*block))
    }

    /// Whether every way to `block` (for post-dominators: from it) passes `dominator`. Every block dominates itself; a
    /// block that the tree does not hold is dominated by none.
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        match (self.spans.get(&dominator), self.spans.get(&block)) {
            (Some(above), Some(below)) => above.0 <= below.0 && below.1 <= above.1,
            (Some(_) | None, Some(_) | None) => false,
        }
    }

    /// The nearest block that dominates both.
    pub fn nearest_common(&self, first: BlockId, second: BlockId) -> Option<BlockId> {
        self.of(first).find(|above| self.dominates(*above, second))
    }

    /// Blocks with this immediate dominator, by id; with `None` the roots.
    pub fn children(&self, block: Option<BlockId>) -> Vec<BlockId> {
        self.immediate.iter().filter(|(_, above)| **above == block).map(|(child, _)| *child).collect()
    }
}

fn indexed(graph: &RegionGraph) -> (BTreeMap<BlockId, NodeIndex>, DiGraph<Option<BlockId>, ()>) {
    let mut flow = DiGraph::new();
    let nodes = graph.blocks().map(|block| (block, flow.add_node(Some(block)))).collect();
    (nodes, flow)
}
