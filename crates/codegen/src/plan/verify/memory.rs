//! Rules of memory: memory exists before its use, and its allocation fits its use.

use std::collections::{BTreeMap, BTreeSet};

use super::PlanError;
use super::position::PlanPosition;
use super::walk::Found;
use crate::plan::{Allocation, Argument, BufferId, Plan, QueueOwner};

/// Looks at the buffers of a plan and at every use of them.
pub(super) fn check(plan: &Plan, found: &Found<'_>, errors: &mut Vec<PlanError>) {
    described(plan, errors);
    used(plan, found, errors);
    let mut is_not = |buffer: BufferId, what| {
        errors.push(PlanError::Allocation { buffer: plan.named(buffer), what });
    };
    for buffer in found.owned.keys() {
        if !matches!(plan.buffer(*buffer).allocation, Allocation::Thread | Allocation::Stack) {
            is_not(*buffer, "one of each thread's own");
        }
    }
    for buffer in found.begun.keys() {
        if plan.buffer(*buffer).allocation != Allocation::Handle {
            is_not(*buffer, "begun");
        }
    }
    for (reference, to) in &found.pointed {
        match &plan.buffer(*reference).allocation {
            Allocation::Reference(targets) if targets.contains(to) => {}
            Allocation::Reference(_) => is_not(*to, "what this reference names"),
            Allocation::Argument(_)
            | Allocation::Stack
            | Allocation::Handle
            | Allocation::Persistent
            | Allocation::Thread
            | Allocation::Dynamic
            | Allocation::Queues { .. }
            | Allocation::Constant(_) => is_not(*reference, "set to name another buffer"),
        }
    }
}

/// Sizes, contents and names of buffers, and the slots that some of them share.
fn described(plan: &Plan, errors: &mut Vec<PlanError>) {
    let mut names = BTreeSet::new();
    for (position, buffer) in plan.buffers.iter().enumerate() {
        let mut is_not = |what| errors.push(PlanError::Allocation { buffer: buffer.name.clone(), what });
        if !names.insert(&buffer.name) {
            is_not("called as another buffer is");
        }
        match &buffer.allocation {
            Allocation::Argument(argument) => {
                let is_its = |argument: &Argument| argument.buffer.index() == position;
                if !plan.arguments.get(*argument).is_some_and(is_its) {
                    is_not("this argument");
                }
            }
            Allocation::Stack if buffer.size.as_int().is_none() => {
                is_not("on the stack: its size is no constant");
            }
            Allocation::Handle if !plan.is_of_caller(&buffer.size) => {
                is_not("in the arena: its size is not known to the caller");
            }
            Allocation::Constant(values) => {
                // Values are those of lanes.
                let lanes = buffer.element.lanes() as i64;
                let count = buffer.size.as_int().map(|size| size * lanes);
                if count != i64::try_from(values.len()).ok() {
                    is_not("constant: it has another number of values");
                }
            }
            Allocation::Stack
            | Allocation::Handle
            | Allocation::Persistent
            | Allocation::Thread
            | Allocation::Dynamic
            | Allocation::Queues { .. }
            | Allocation::Reference(_) => {}
        }
    }
    for buffer in plan.slots.iter().flat_map(|slot| &slot.buffers) {
        if plan.buffer(*buffer).allocation != Allocation::Handle {
            let what = "in a slot of the arena";
            errors.push(PlanError::Allocation { buffer: plan.named(*buffer), what });
        }
    }
}

/// Accessed memory was allocated before, is accessed inside of its owner, and lies in one place.
fn used(plan: &Plan, found: &Found<'_>, errors: &mut Vec<PlanError>) {
    let before = |places: &BTreeMap<BufferId, Vec<PlanPosition>>, buffer: &BufferId, place: &PlanPosition| {
        let places = places.get(buffer);
        places.is_some_and(|places| places.iter().any(|made| made.may_precede(place)))
    };
    let mut in_arena = BTreeSet::new();
    for (buffer, place) in &found.touched {
        let owners = found.owned.get(buffer);
        let is_owned = owners.is_some_and(|owners| owners.iter().any(|owner| place.is_in(*owner)));
        match &plan.buffer(*buffer).allocation {
            Allocation::Dynamic
            | Allocation::Reference(_)
            | Allocation::Queues { owner: QueueOwner::Statements, .. } => {
                if !before(&found.made, buffer, place) {
                    errors.push(PlanError::BeforeMade { buffer: plan.named(*buffer) });
                }
            }
            Allocation::Thread => {
                if !is_owned {
                    errors.push(PlanError::Outside { buffer: plan.named(*buffer) });
                }
            }
            Allocation::Stack => {
                if owners.is_some() && !is_owned {
                    errors.push(PlanError::Outside { buffer: plan.named(*buffer) });
                }
            }
            Allocation::Handle => {
                in_arena.insert(*buffer);
                if !before(&found.begun, buffer, place) {
                    errors.push(PlanError::BeforeBegun { buffer: plan.named(*buffer) });
                }
            }
            Allocation::Argument(_)
            | Allocation::Persistent
            | Allocation::Queues { owner: QueueOwner::Handle | QueueOwner::Caller, .. }
            | Allocation::Constant(_) => {}
        }
    }
    let mut slots: BTreeMap<BufferId, usize> = BTreeMap::new();
    for buffer in plan.slots.iter().flat_map(|slot| &slot.buffers) {
        *slots.entry(*buffer).or_default() += 1;
    }
    for buffer in in_arena {
        let n = slots.get(&buffer).copied().unwrap_or_default();
        if n != 1 {
            errors.push(PlanError::Slots { buffer: plan.named(buffer), n });
        }
    }
}
