//! Conversion between loops and branches as blocks and the equivalent state machine (ADR 0002).
//!
//! [`lower`] replaces all loops, branches and jumps by plain transitions: the paper's state machine.
//! [`raise`] finds loops and branches among plain transitions, including those of other front ends: guard
//! states, latches, if-then-else diamonds. Other shapes remain transitions. Both preserve the meaning of the
//! program and the order of transitions. They require valid control flow, and preserve its validity.

mod lower;
mod raise;
#[cfg(test)]
mod tests;

pub use lower::lower;
pub(crate) use lower::{lower_block, take_first_arm};
pub use raise::raise;
pub(crate) use raise::raise_one;
use sdfg_graph::ir::draft::{DraftSdfg, DraftState};
use sdfg_graph::ir::{
    Block, BlockId, BlockKind, NodeId, NodeKind, RegionId, Sdfg, State, StateId, Transition, TransitionId,
};
use sdfg_language::symbolic::Symbol;
use sdfg_language::syntax::Expression;

use crate::edit::derived_block_label;

/// Effect of a transition: a condition, and values for symbols.
type Effects = (Option<Expression>, Vec<(Symbol, Expression)>);

/// Adds an empty state that has `role` for the block labelled `origin`.
fn empty_state(sdfg: &mut Sdfg, region: RegionId, origin: &str, role: &str) -> BlockId {
    let label = derived_block_label(sdfg, origin, role);
    sdfg.add_state(region, State::new(label)).0
}

/// Whether a block is a state that does nothing.
fn is_empty(sdfg: &Sdfg, block: BlockId) -> bool {
    match sdfg.block(block).kind {
        BlockKind::State(state) => sdfg.state(state).n_nodes() == 0,
        BlockKind::Loop(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => false,
    }
}

fn is_jump(kind: &BlockKind) -> bool {
    match kind {
        BlockKind::Break | BlockKind::Continue | BlockKind::Return => true,
        BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Branch(_) => false,
    }
}

fn connect(sdfg: &mut Sdfg, src: BlockId, dst: BlockId, (condition, assignments): Effects) -> TransitionId {
    sdfg.add_transition(Transition { src, dst, condition, assignments, loc: None })
}

/// Lets what led to a block lead to another one.
fn redirect_to(sdfg: &mut Sdfg, from: BlockId, to: BlockId) {
    for id in sdfg.transitions_to(from) {
        sdfg.transition_mut(id).dst = to;
    }
    let region = sdfg.block(from).region;
    if sdfg.region(region).start == Some(from) {
        sdfg.region_mut(region).start = Some(to);
    }
}

/// Lists blocks of one region in front of another one: the order in which they are printed, which means nothing.
fn list_before(sdfg: &mut Sdfg, place: BlockId, blocks: &[BlockId]) {
    let region = sdfg.region_mut(sdfg.block(place).region);
    region.blocks.retain(|block| !blocks.contains(block));
    let at = region.blocks.iter().position(|block| *block == place).unwrap_or(region.blocks.len());
    region.blocks.splice(at..at, blocks.iter().copied());
}

/// Makes an empty state of a jump. What is written behind a jump is never tried, and must not be from now on.
fn make_empty(sdfg: &mut Sdfg, block: BlockId) {
    for id in sdfg.transitions_from(block) {
        sdfg.remove_transition(id);
    }
    let Block { label, region, .. } = sdfg.block(block).clone();
    // The arena of states hands out the id; the block that comes with it is not needed.
    let (extra, state) = sdfg.add_state(region, State::new(label));
    sdfg.block_mut(extra).kind = BlockKind::Return;
    sdfg.remove_block(extra);
    sdfg.block_mut(block).kind = BlockKind::State(state);
}

/// Applies a change to all SDFGs that are called, in all depths, and then to this one.
fn in_all(sdfg: &mut Sdfg, change: &dyn Fn(&mut Sdfg)) {
    let mut calls: Vec<(StateId, NodeId)> = Vec::new();
    for (state, graph) in sdfg.states() {
        let nested = graph.nodes().filter(|(_, node)| matches!(node.kind, NodeKind::Nested(_)));
        calls.extend(nested.map(|(node, _)| (state, node)));
    }
    for (state, node) in calls {
        if let NodeKind::Nested(nested) = &mut sdfg.state_mut(state).node_mut(node).kind {
            in_all(&mut nested.sdfg, change);
        }
    }
    change(sdfg);
}
