//! Callbacks: functions that the caller of a program passes. Calls of them have effects that no memlet states.

use std::collections::BTreeSet;

use sdfg_language::tasklet::{ExternalCall, ExternalOrigin};

use super::ScopeTree;
use crate::ir::{NodeId, NodeKind, Sdfg, State, TaskletBody};

/// The call of a callback that a node is.
pub fn callback_of(node: &NodeKind) -> Option<&ExternalCall> {
    let NodeKind::Tasklet(tasklet) = node else { return None };
    match &tasklet.body {
        TaskletBody::External(call) => (call.origin == ExternalOrigin::Callback).then_some(call),
        TaskletBody::Code(_) => None,
    }
}

/// Whether a node calls callbacks, by itself or in a nested SDFG.
pub fn calls_back(node: &NodeKind) -> bool {
    match node {
        NodeKind::Nested(nested) => nested.sdfg.states().any(|(_, state)| state_calls_back(state)),
        NodeKind::Tasklet(_)
        | NodeKind::Access(_)
        | NodeKind::MapEntry(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => callback_of(node).is_some(),
    }
}

/// Whether a node of a state calls callbacks.
pub fn state_calls_back(state: &State) -> bool {
    state.nodes().any(|(_, node)| calls_back(&node.kind))
}

/// Whether a node inside of a scope calls callbacks.
pub fn scope_calls_back(state: &State, tree: &ScopeTree, entry: NodeId) -> bool {
    state.nodes().any(|(id, node)| calls_back(&node.kind) && tree.enclosing(id).any(|scope| scope == entry))
}

/// The names of the callbacks of a program, those of nested SDFGs included.
pub fn callbacks(sdfg: &Sdfg) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (_, node) in sdfg.states().flat_map(|(_, state)| state.nodes()) {
        names.extend(callback_of(&node.kind).map(|call| call.symbol.as_str()));
        if let NodeKind::Nested(nested) = &node.kind {
            names.extend(callbacks(&nested.sdfg));
        }
    }
    names
}
