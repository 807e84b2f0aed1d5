//! Surroundings of a match: the control flow and the scopes that admit the values of symbols for which a check proves facts.

use sdfg::analysis::{ScopeTree, scope_around};
use sdfg::ir::{BlockKind, Branch, Loop, NodeId, NodeKind, RegionId, Sdfg, StateId};

use super::{Match, Matched};
use crate::loops::state_block;

/// The branches, loops, scopes and calls around a match, from the outside, each in words with its condition, its range or its
/// values of symbols. Facts of the match hold for what all of them admit.
pub(super) fn surroundings(program: &Sdfg, found: &Match) -> Vec<String> {
    let (mut all, mut sdfg) = (Vec::new(), program);
    for (state, node) in &found.calls {
        of_scope(sdfg, *state, Some(*node), &mut all);
        let Some(NodeKind::Nested(nested)) =
            sdfg.get_state(*state).and_then(|graph| graph.get_node(*node)).map(|node| &node.kind)
        else {
            return all;
        };
        let label = &sdfg.state(*state).node(*node).label;
        let renamed = nested.symbol_mapping.iter().filter(|(own, value)| value.as_symbol() != Some(own));
        all.extend(renamed.map(|(own, value)| format!("{own} = {value} (call `{label}`)")));
        sdfg = &nested.sdfg;
    }
    match &found.elements {
        Matched::Nodes(state, nodes) => {
            let first = nodes.first().and_then(|node| scope_of(sdfg, *state, *node));
            of_scope(sdfg, *state, first, &mut all);
        }
        Matched::Blocks(blocks) => {
            if let Some(block) = blocks.first().and_then(|block| sdfg.get_block(*block)) {
                of_region(sdfg, block.region, &mut all);
            }
        }
        Matched::Sdfg => {}
    }
    all
}

/// The scope around a node; `None` outside of all scopes.
fn scope_of(sdfg: &Sdfg, state: StateId, node: NodeId) -> Option<NodeId> {
    sdfg.get_state(state)
        .filter(|graph| graph.get_node(node).is_some())
        .and_then(|graph| scope_around(graph, node))
}

/// Adds what is around the contents of a scope, and the scope itself. A call counts as a scope without a range.
fn of_scope(sdfg: &Sdfg, state: StateId, scope: Option<NodeId>, all: &mut Vec<String>) {
    if let Some(block) = state_block(sdfg, state) {
        of_region(sdfg, sdfg.block(block).region, all);
    }
    let Some(graph) = sdfg.get_state(state) else { return };
    let mut scopes: Vec<NodeId> = ScopeTree::of(graph).enclosing_scope(scope).collect();
    scopes.reverse();
    for entry in scopes {
        if let NodeKind::MapEntry(map) = &graph.node(entry).kind {
            let label = &graph.node(entry).label;
            let ranges = map.params.iter().zip(&map.ranges.0);
            all.extend(ranges.map(|(symbol, range)| format!("{symbol} in {range} (map `{label}`)")));
        }
    }
}

/// Adds the blocks around a region.
fn of_region(sdfg: &Sdfg, region: RegionId, all: &mut Vec<String>) {
    let Some(parent) = sdfg.region(region).parent else { return };
    let block = sdfg.block(parent);
    of_region(sdfg, block.region, all);
    match &block.kind {
        BlockKind::Branch(branch) => {
            let admitted = admitted(branch, region);
            all.extend(admitted.into_iter().map(|text| format!("{text} (branch `{}`)", block.label)));
        }
        BlockKind::Loop(repeated) => all.push(format!("{} (loop `{}`)", iterations(repeated), block.label)),
        BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
    }
}

/// The condition of an arm, and that no arm before it is taken.
fn admitted(branch: &Branch, region: RegionId) -> Vec<String> {
    let mut all = Vec::new();
    for (condition, arm) in &branch.arms {
        if *arm == region {
            all.push(condition.to_string());
            return all;
        }
        all.push(format!("not ({condition})"));
    }
    all
}

fn iterations(repeated: &Loop) -> String {
    let Loop { symbol, init, condition, update, .. } = repeated;
    match (symbol, init, update) {
        (Some(symbol), Some(init), Some(update)) => {
            format!("{symbol} = {init}, then {symbol} = {update}, while {condition}")
        }
        (Some(_) | None, Some(_) | None, Some(_) | None) => format!("while {condition}"),
    }
}
