//! Where transients live: the scope whose iterations each have a container of their own (`docs/semantics.md`, "Programs").

use super::frame::Frames;
use super::site::Site;
use crate::analysis::accesses::control_flow_reads;
use crate::ir::{ContainerId, Lifetime, NodeId, State, StateId};

/// The innermost scope that holds all uses of a transient, which has an instance for each iteration of it.
pub(super) fn home(site: &Site<'_>, frames: &Frames, container: ContainerId) -> Option<NodeId> {
    let found = site.sdfg.get_container(container)?;
    let in_scope = found.transient && found.lifetime == Lifetime::Scope && found.constant.is_none();
    if !in_scope || control_flow_reads(site.sdfg).contains(&container) {
        return None;
    }
    let is_used =
        |(id, state): (StateId, &State)| id != site.id && state.accesses_of(container).next().is_some();
    if site.sdfg.states().any(is_used) {
        return None;
    }
    let mut uses = site.state.accesses_of(container);
    let first: Vec<NodeId> = frames.scopes.enclosing(uses.next()?).collect();
    let others: Vec<NodeId> = uses.collect();
    first
        .into_iter()
        .find(|scope| others.iter().all(|node| frames.scopes.enclosing(*node).any(|entry| entry == *scope)))
}
