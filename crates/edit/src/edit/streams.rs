//! Streams that begin without elements where their lifetime begins: moved to another place, they would keep what was pushed before.

use sdfg_graph::analysis::accesses::control_flow_reads;
use sdfg_graph::analysis::executions::ExecutionTable;
use sdfg_graph::analysis::owning_scopes;
use sdfg_graph::ir::{BlockId, BlockKind, ContainerId, Lifetime, NodeId, Sdfg, StateId};

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
    if !container.is_stream() || !begins_with_call || !state_may_repeat(caller, call) {
        return Ok(container.lifetime);
    }
    let uses = |kind: &BlockKind| matches!(kind, BlockKind::State(state) if nested.state(*state).accesses_of(id).next().is_some());
    let users = nested.blocks().filter(|(_, block)| uses(&block.kind)).map(|(id, _)| id);
    match users.collect::<Vec<_>>()[..] {
        [] => Ok(container.lifetime),
        // Control flow cannot read what ends with a state.
        [only] if !may_repeat(nested, only) && !control_flow_reads(nested).contains(&id) => {
            Ok(Lifetime::State)
        }
        [..] => {
            let reason =
                "a stream that outlives a state is empty when a call begins, and the call may be repeated";
            Err(EditError::Container { container: container.name.clone(), reason })
        }
    }
}

/// Whether a state may run more than once in a call of its SDFG.
fn state_may_repeat(sdfg: &Sdfg, state: StateId) -> bool {
    let runs_it = |kind: &BlockKind| matches!(kind, BlockKind::State(own) if *own == state);
    sdfg.blocks().any(|(id, block)| runs_it(&block.kind) && may_repeat(sdfg, id))
}

/// The streams that begin without elements in each iteration of a scope in no other one, and would keep elements without the
/// scope, because its state may run more than once.
pub(super) fn streams_of_scope(sdfg: &Sdfg, state: StateId, entry: NodeId) -> Vec<ContainerId> {
    if !sdfg.containers().any(|(_, container)| container.is_stream()) || !state_may_repeat(sdfg, state) {
        return Vec::new();
    }
    let owned = owning_scopes(sdfg).into_iter().filter(|(_, owner)| *owner == (state, entry));
    let streams = owned.filter(|(id, _)| sdfg.container(*id).is_stream() && sdfg.container(*id).transient);
    streams.map(|(id, _)| id).collect()
}

/// Whether a block may run more than once in a call of its SDFG.
fn may_repeat(sdfg: &Sdfg, block: BlockId) -> bool {
    ExecutionTable::of(sdfg).of_block(sdfg, block).may_repeat()
}
