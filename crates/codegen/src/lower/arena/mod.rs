//! Assigns buffers with disjoint lifetimes to the same memory ([decision
//! 11](../../../../docs/adr/0011-memory-plan.md)).
//!
//! Two buffers may share memory if they are never live at the same time (`lifetimes`). Greedy colouring of
//! the interference graph, in order of decreasing size, selects the slots. A smaller buffer that fits into an
//! existing slot then costs nothing.

mod flow;
mod lifetimes;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use sdfg::symbolic::Expr;

use crate::plan::{Allocation, BufferId, Plan, Slot};
use flow::{Flow, FlowStep};
use lifetimes::Conflicts;

/// The value that symbols are taken to have when sizes are put in order. Every order is right; this one serves programs whose
/// symbols are extents of like size.
const USUAL: i64 = 1000;

/// Decides which buffers of the arena share a place; none if they are to lie `apart`.
pub(crate) fn assign_slots(plan: &mut Plan, apart: bool) {
    let mut buffers: Vec<BufferId> = Vec::new();
    for (index, buffer) in plan.buffers.iter().enumerate() {
        if buffer.allocation == Allocation::Handle {
            buffers.push(BufferId(index as u32));
        }
    }
    if plan.checked || apart {
        // Of checked plans, the bytes that say what was written are touched by no statement of their own.
        plan.slots = buffers.into_iter().map(|id| Slot { buffers: vec![id] }).collect();
        return;
    }
    let mut flow = Flow::of(&mut plan.body);
    flow.resolve(&|buffer| plan.owners(buffer));
    // What nobody touches needs no memory.
    let touched: BTreeSet<BufferId> = flow.steps.iter().flat_map(FlowStep::touched).collect();
    buffers.retain(|id| touched.contains(id));
    let conflicts = Conflicts::of(&flow, &buffers);
    buffers.sort_by_key(|id| Reverse(usual_bytes(&plan.buffer(*id).bytes())));
    let mut slots: Vec<Slot> = Vec::new();
    for id in buffers {
        let bytes = plan.buffer(id).bytes();
        let has_room = |slot: &&mut Slot| slot.buffers.iter().all(|other| !conflicts.between(id, *other));
        let as_large = |slot: &&mut Slot| slot.buffers.iter().any(|o| plan.buffer(*o).bytes() == bytes);
        let found = match slots.iter_mut().filter(has_room).find(as_large) {
            Some(slot) => Some(slot),
            None => slots.iter_mut().find(has_room),
        };
        match found {
            Some(slot) => slot.buffers.push(id),
            None => slots.push(Slot { buffers: vec![id] }),
        }
    }
    plan.slots = slots;
}

/// A guess at the value of a size.
fn usual_bytes(bytes: &Expr) -> i64 {
    bytes.eval(&|_| Some(USUAL)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
