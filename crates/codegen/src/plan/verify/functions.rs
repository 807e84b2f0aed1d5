//! Rules of functions: an outlined function captures or creates everything that it uses.

use sdfg::symbolic::Symbol;

use super::PlanError;
use super::position::PlanPosition;
use super::walk::Found;
use crate::plan::{Allocation, BufferId, Captures, Plan, QueueOwner};

/// Looks at every use in every function around it.
pub(super) fn check(plan: &Plan, found: &Found<'_>, errors: &mut Vec<PlanError>) {
    for (variable, place) in &found.read {
        let lacks = |(function, captures): &(usize, &Captures)| {
            !captures.variables.contains(variable)
                && comes_from_outside(plan, found, variable, place, *function)
        };
        if functions(found, place).any(|function| lacks(&function)) {
            errors.push(PlanError::VariableNotGiven { variable: variable.clone() });
        }
    }
    for (buffer, place) in &found.touched {
        let defined = plan.buffer(*buffer).defined;
        for buffer in std::iter::once(*buffer).chain(defined) {
            let lacks = |(function, captures): &(usize, &Captures)| {
                !has(captures, buffer) && is_from_outside(plan, found, buffer, place, *function)
            };
            if functions(found, place).any(|function| lacks(&function)) {
                errors.push(PlanError::BufferNotGiven { buffer: plan.named(buffer) });
            }
        }
    }
    for (buffer, place) in &found.contested {
        let is_its_own = |(function, captures): &(usize, &Captures)| {
            let given = captures.buffers.iter().find(|given| given.buffer == *buffer);
            *function != 0 && given.is_some_and(|given| !given.contested)
        };
        if functions(found, place).any(|function| is_its_own(&function)) {
            errors.push(PlanError::Contested { buffer: plan.named(*buffer) });
        }
    }
}

/// The functions around a place, with what they are given.
fn functions<'f>(
    found: &'f Found<'_>,
    place: &'f PlanPosition,
) -> impl Iterator<Item = (usize, &'f Captures)> {
    place.functions.iter().filter_map(|function| Some((*function, *found.captures.get(function)?)))
}

fn has(captures: &Captures, buffer: BufferId) -> bool {
    captures.stack.contains(&buffer) || captures.buffers.iter().any(|given| given.buffer == buffer)
}

/// Whether a variable may have a value at a place that it got outside of a function around that.
fn comes_from_outside(
    plan: &Plan,
    found: &Found<'_>,
    variable: &Symbol,
    place: &PlanPosition,
    function: usize,
) -> bool {
    let is_argument = plan.symbols.iter().any(|symbol| symbol.name == *variable);
    // The program's own function is around everything: each look at all places would take time with the square of their number.
    if function == 0 {
        return is_argument;
    }
    let set = found.set.get(variable).into_iter().flatten();
    let is_set = |set: &PlanPosition| !set.is_in_function(function) && set.may_precede(place);
    let mut loops = found.counted.get(variable).into_iter().flatten();
    // Loops outside of a function stand before its statement.
    is_argument || set.into_iter().any(is_set) || loops.any(|each| *each < function && place.is_in(*each))
}

/// Whether a buffer that is used at a place may have got its memory outside of a function around that, or before its first statement.
fn is_from_outside(
    plan: &Plan,
    found: &Found<'_>,
    buffer: BufferId,
    place: &PlanPosition,
    function: usize,
) -> bool {
    let mut made = found.made.get(&buffer).into_iter().flatten();
    let mut owners = found.owned.get(&buffer).into_iter().flatten();
    match &plan.buffer(buffer).allocation {
        Allocation::Constant(_) => false,
        Allocation::Argument(_)
        | Allocation::Handle
        | Allocation::Persistent
        | Allocation::Queues { owner: QueueOwner::Handle | QueueOwner::Caller, .. } => true,
        Allocation::Dynamic
        | Allocation::Reference(_)
        | Allocation::Queues { owner: QueueOwner::Statements, .. } => {
            made.any(|made| !made.is_in_function(function) && made.may_precede(place))
        }
        Allocation::Stack if !found.owned.contains_key(&buffer) => true,
        Allocation::Stack | Allocation::Thread => {
            owners.any(|owner| *owner < function && place.is_in(*owner))
        }
    }
}
