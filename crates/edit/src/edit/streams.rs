//! Streams that begin without elements where their lifetime begins: moved to another place, they would keep what was pushed before.

use sdfg_graph::analysis::{RegionGraph, owning_scopes};
use sdfg_graph::ir::{BlockId, BlockKind, ContainerId, Lifetime, Sdfg, StateId};

use super::EditError;

/// A stream that two states use and that begins without elements in each of them.
pub fn stream_of_one_state(sdfg: &Sdfg, first: StateId, second: StateId) -> Option<ContainerId> {
    let is_used = |state: StateId, id: ContainerId| sdfg.state(state).accesses_of(id).next().is_some();
    let lives = sdfg.containers().filter(|(_, found)| found.is_stream() && found.lifetime == Lifetime::State);
    lives.map(|(id, _)| id).find(|id| is_used(first, *id) && is_used(second, *id))
}

/// The lifetime in the caller of a container that a nested SDFG owns, if the call in a state, outside of scopes, becomes the
/// contents of the SDFG.
///
/// # Errors
/// [`EditError::Container`] for a stream that would keep elements of an earlier call.
pub(super) fn lifetime_outside(
    nested: &Sdfg,
    id: ContainerId,
    caller: &Sdfg,
    call: StateId,
) -> Result<Lifetime, EditError> {
    let container = nested.container(id);
    let begins_with_call = match container.lifetime {
        Lifetime::Sdfg => true,
        Lifetime::Scope => !owning_scopes(nested).contains_key(&id),
        Lifetime::State | Lifetime::Persistent | Lifetime::External => false,
    };
    let runs_call = |kind: &BlockKind| matches!(kind, BlockKind::State(state) if *state == call);
    let is_repeated = || caller.blocks().any(|(id, block)| runs_call(&block.kind) && may_repeat(caller, id));
    if !container.is_stream() || !begins_with_call || !is_repeated() {
        return Ok(container.lifetime);
    }
    let uses = |kind: &BlockKind| matches!(kind, BlockKind::State(state) if nested.state(*state).accesses_of(id).next().is_some());
    let users = nested.blocks().filter(|(_, block)| uses(&block.kind)).map(|(id, _)| id);
    match users.collect::<Vec<_>>()[..] {
        [] => Ok(container.lifetime),
        [only] if !may_repeat(nested, only) => Ok(Lifetime::State),
        [..] => {
            let reason =
                "a stream of several states is empty when a call begins, and the call may be repeated";
            Err(EditError::Container { container: container.name.clone(), reason })
        }
    }
}

/// Whether a block may run more than once in a call of its SDFG.
fn may_repeat(sdfg: &Sdfg, mut block: BlockId) -> bool {
    loop {
        let region = sdfg.block(block).region;
        if RegionGraph::of(sdfg, region).cycles().iter().any(|cycle| cycle.contains(&block)) {
            return true;
        }
        match sdfg.region(region).parent {
            None => return false,
            Some(parent) if matches!(sdfg.block(parent).kind, BlockKind::Loop(_)) => return true,
            Some(parent) => block = parent,
        }
    }
}
