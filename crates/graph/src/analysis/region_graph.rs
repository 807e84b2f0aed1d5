//! The control-flow graph of one region: possible successors of each block, and possible ends of the region.
//!
//! It is separate from the region, because it follows from the order and the conditions of transitions.
//! Blocks with inner regions (loops, branches) are single nodes.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use sdfg_language::dtype::ScalarType;
use sdfg_language::symbolic::Expr;
use sdfg_language::syntax::{CompareOp, Expression, ExpressionKind, UnaryOp};

use crate::ir::{BlockId, BlockKind, RegionId, Sdfg, TransitionId};

/// Successors and predecessors of the blocks of a region.
///
/// It has every way that execution may take, and perhaps more: conditions are not evaluated. Only what follows by form is
/// left out: transitions behind one without a condition, and transitions out of a break, continue or return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionGraph {
    start: Option<BlockId>,
    successors: BTreeMap<BlockId, Vec<BlockId>>,
    predecessors: BTreeMap<BlockId, Vec<BlockId>>,
    ends: BTreeSet<BlockId>,
}

impl RegionGraph {
    /// The graph of a region. Transitions to blocks of other regions, which validation refuses, are left out.
    pub fn of(sdfg: &Sdfg, region: RegionId) -> Self {
        let content = sdfg.region(region);
        let own: BTreeSet<BlockId> = content.blocks.iter().copied().collect();
        let mut graph = RegionGraph {
            start: content.start.filter(|start| own.contains(start)),
            successors: own.iter().map(|block| (*block, Vec::new())).collect(),
            predecessors: own.iter().map(|block| (*block, Vec::new())).collect(),
            ends: BTreeSet::new(),
        };
        let mut leaving: BTreeMap<BlockId, Vec<TransitionId>> = BTreeMap::new();
        for id in &content.transitions {
            leaving.entry(sdfg.transition(*id).src).or_default().push(*id);
        }
        for block in own.iter().copied() {
            let tried = tried_among(sdfg, block, leaving.remove(&block).unwrap_or_default());
            for id in &tried {
                let next = sdfg.transition(*id).dst;
                let Some(before) = graph.predecessors.get_mut(&next) else { continue };
                if before.last() != Some(&block) {
                    before.push(block);
                    graph.successors.entry(block).or_default().push(next);
                }
            }
            if !one_is_taken(sdfg, &tried) {
                graph.ends.insert(block);
            }
        }
        graph
    }

    /// The block that runs first; `None` in an empty region.
    pub fn start(&self) -> Option<BlockId> {
        self.start
    }

    /// The blocks of the region by id.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = BlockId> + '_ {
        self.successors.keys().copied()
    }

    /// Blocks that may run next, each once, in the order in which their transitions are tried.
    pub fn successors(&self, block: BlockId) -> &[BlockId] {
        self.successors.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Blocks that may have run before, each once, by id.
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        self.predecessors.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Whether the region may be done, or be left by a break, continue or return, after this block: no transition may
    /// be taken.
    pub fn may_end_after(&self, block: BlockId) -> bool {
        self.ends.contains(&block)
    }

    /// The largest sets of blocks that lead to each other, in order; a single block, if it leads to itself.
    pub fn cycles(&self) -> Vec<BTreeSet<BlockId>> {
        let mut flow: DiGraph<BlockId, ()> = DiGraph::new();
        let nodes: BTreeMap<BlockId, NodeIndex> =
            self.blocks().map(|block| (block, flow.add_node(block))).collect();
        for (block, from) in &nodes {
            for next in self.successors(*block) {
                flow.add_edge(*from, nodes[next], ());
            }
        }
        let leads_back = |part: &Vec<NodeIndex>| match part.as_slice() {
            [node] => flow.contains_edge(*node, *node),
            _ => true,
        };
        let parts = kosaraju_scc(&flow).into_iter().filter(leads_back);
        let mut cycles: Vec<BTreeSet<BlockId>> =
            parts.map(|part| part.into_iter().map(|node| flow[node]).collect()).collect();
        cycles.sort();
        cycles
    }

    /// Blocks that some way from the start leads to.
    pub fn reachable(&self) -> BTreeSet<BlockId> {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<BlockId> = self.start.into_iter().collect();
        while let Some(block) = waiting.pop() {
            if found.insert(block) {
                waiting.extend(self.successors(block));
            }
        }
        found
    }
}

/// Transitions out of a block that may be taken, in the order in which they are tried: none after a break, continue or
/// return, and none behind one without a condition.
pub fn tried_transitions(sdfg: &Sdfg, block: BlockId) -> Vec<TransitionId> {
    tried_among(sdfg, block, sdfg.transitions_from(block))
}

/// As [`tried_transitions`], given all transitions out of the block.
fn tried_among(sdfg: &Sdfg, block: BlockId, mut tried: Vec<TransitionId>) -> Vec<TransitionId> {
    match sdfg.block(block).kind {
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => return Vec::new(),
        BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Branch(_) => {}
    }
    if let Some(last) = tried.iter().position(|id| is_always(sdfg.transition(*id).condition.as_ref())) {
        tried.truncate(last + 1);
    }
    tried
}

/// Whether one of these transitions is taken, whatever the values: the last has no condition, or one condition is the
/// negation of another.
pub fn one_is_taken(sdfg: &Sdfg, tried: &[TransitionId]) -> bool {
    let conditions: Vec<Option<&Expression>> =
        tried.iter().map(|id| sdfg.transition(*id).condition.as_ref()).collect();
    conditions.iter().enumerate().any(|(at, condition)| {
        is_always(*condition)
            || condition.is_some_and(|condition| {
                conditions[..at].iter().flatten().any(|other| are_complementary(sdfg, condition, other))
            })
    })
}

fn is_always(condition: Option<&Expression>) -> bool {
    condition.is_none_or(|condition| condition.kind == ExpressionKind::Bool(true))
}

/// Whether exactly one of two conditions holds, by their form.
fn are_complementary(sdfg: &Sdfg, first: &Expression, second: &Expression) -> bool {
    negates(first, second) || negates(second, first) || are_opposite_comparisons(sdfg, first, second)
}

fn negates(first: &Expression, second: &Expression) -> bool {
    matches!(&first.kind, ExpressionKind::Unary { op: UnaryOp::Not, operand } if **operand == *second)
}

/// `a < b` and `a >= b` or `b <= a`, of integers: with a NaN neither holds.
fn are_opposite_comparisons(sdfg: &Sdfg, first: &Expression, second: &Expression) -> bool {
    let [Some((left, op, right)), Some((other_left, other_op, other_right))] =
        [first, second].map(single_comparison)
    else {
        return false;
    };
    let straight = left == other_left && right == other_right && opposite(op) == other_op;
    let turned = left == other_right && right == other_left && opposite(op).turned_around() == other_op;
    (straight || turned) && is_integer(sdfg, left) && is_integer(sdfg, right)
}

fn single_comparison(expression: &Expression) -> Option<(&Expression, CompareOp, &Expression)> {
    let ExpressionKind::Compare { first, rest } = &expression.kind else { return None };
    match rest.as_slice() {
        [(op, right)] => Some((first, *op, right)),
        _ => None,
    }
}

fn opposite(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::GreaterEqual,
        CompareOp::LessEqual => CompareOp::Greater,
        CompareOp::Greater => CompareOp::LessEqual,
        CompareOp::GreaterEqual => CompareOp::Less,
        CompareOp::Equal => CompareOp::NotEqual,
        CompareOp::NotEqual => CompareOp::Equal,
    }
}

/// Whether the value is an integer by its form: integer arithmetic over symbols and scalar containers of integers.
fn is_integer(sdfg: &Sdfg, expression: &Expression) -> bool {
    let is_integer_name = |name: &str| {
        let element = sdfg.find_container(name).map(|id| sdfg.container(id).element);
        element.is_none_or(|element| element.as_scalar().is_some_and(ScalarType::is_integer))
    };
    Expr::from_expression(expression).is_ok() && expression.names().into_iter().all(is_integer_name)
}

#[cfg(test)]
mod tests;
