//! References that tasks set for others: the address and the layout are in memory that the tasks share.
//!
//! Without tasks, a reference is variables of the function around. Each task has its own copy of these, so a
//! task that sets a reference keeps it in memory, and each node recalls the references that it uses. A scope
//! that uses no stream recalls them once: nothing sets them while it runs.

use std::collections::BTreeSet;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{ContainerId, ContainerKind, Memlet};
use sdfg::symbolic::Expr;
use sdfg::syntax::Expression;

use super::Lowering;
use super::call_frame::CallFrame;
use super::memory::RootShape;
use crate::plan::{Allocation, Buffer, BufferId, KeptReference, Statement};

/// A reference that tasks around the current place share.
#[derive(Clone, Debug)]
pub(super) struct SharedReference {
    kept: KeptReference,
    /// Number of loops around the tasks.
    n_loops: usize,
}

/// Statements around tasks that share references.
pub(super) struct Sharing {
    /// Number of shared references outside.
    n_outside: usize,
    pub(super) before: Vec<Statement>,
    pub(super) after: Vec<Statement>,
}

impl<'g> Lowering<'g> {
    /// Begins tasks that set these references.
    pub(super) fn share_references(&mut self, frame: &CallFrame<'g>, set: &BTreeSet<ContainerId>) -> Sharing {
        let (n_outside, n_loops) = (self.shared.len(), self.loops.len());
        let mut sharing = Sharing { n_outside, before: Vec::new(), after: Vec::new() };
        for id in set {
            let Some(bound) = frame.containers.get(id) else { continue };
            let reference = bound.origin.buffer;
            if self.shared.iter().any(|shared| shared.kept.reference == reference) {
                continue;
            }
            let layout = bound.axes.iter().flat_map(|axis| [&axis.stride, &axis.extent]);
            let size = &self.plan.buffer(reference).size;
            let all = [&bound.origin.offset, size].into_iter().chain(layout);
            let own = all.filter(|value| value.as_symbol().is_some() && !self.plan.is_of_caller(value));
            let mut variables: Vec<Expr> = Vec::new();
            for value in own {
                if !variables.contains(value) {
                    variables.push(value.clone());
                }
            }
            let name = self.take_name(&format!("{}_kept", frame.sdfg.container(*id).name));
            let n_elements = KeptReference::ADDRESSES + variables.len();
            let size = Expr::int(i64::try_from(n_elements).unwrap_or(i64::MAX));
            let root = RootShape::packed(vec![size.clone()]);
            let element = ElementType::scalar(ScalarType::I64);
            let place = self.push_buffer(Buffer::new(name, element, size, Allocation::Stack), root);
            let kept = KeptReference { reference, place, variables };
            sharing.before.push(Statement::Keep(kept.clone()));
            sharing.after.push(Statement::Recall(kept.clone()));
            self.shared.push(SharedReference { kept, n_loops });
        }
        sharing
    }

    /// Ends tasks that share references.
    pub(super) fn end_sharing(&mut self, sharing: Sharing, tasks: Vec<Statement>) -> Vec<Statement> {
        self.shared.truncate(sharing.n_outside);
        sharing.before.into_iter().chain(tasks).chain(sharing.after).collect()
    }

    /// Tells the tasks around of a reference that was set, if they share it.
    pub(super) fn keep(&self, reference: BufferId) -> Option<Statement> {
        let shared = self.shared.iter().find(|shared| shared.kept.reference == reference)?;
        Some(Statement::Keep(shared.kept.clone()))
    }

    /// Recalls the shared references that memlets use.
    pub(super) fn recall<'m>(
        &self,
        frame: &CallFrame<'g>,
        memlets: impl Iterator<Item = &'m Memlet>,
    ) -> Vec<Statement> {
        if self.shared.is_empty() {
            return Vec::new();
        }
        let used = memlets.flat_map(|memlet| memlet.accesses().map(|access| access.container));
        self.kept(frame, &used.collect()).map(Statement::Recall).collect()
    }

    /// Recalls the shared references of a call.
    pub(super) fn recall_all(&self, frame: &CallFrame<'g>) -> Vec<Statement> {
        if self.shared.is_empty() {
            return Vec::new();
        }
        let all = frame.sdfg.containers().map(|(id, _)| id).collect();
        self.kept(frame, &all).map(Statement::Recall).collect()
    }

    /// The shared references among containers that are recalled at the current place.
    fn kept(
        &self,
        frame: &CallFrame<'g>,
        used: &BTreeSet<ContainerId>,
    ) -> impl Iterator<Item = KeptReference> {
        // What a nested call was given stays what it is: only the name of the reference itself follows it.
        let is_reference =
            |id: &&ContainerId| matches!(frame.sdfg.container(**id).kind, ContainerKind::Reference(_));
        let bound = used.iter().filter(is_reference).filter_map(|id| frame.containers.get(id));
        let buffers: BTreeSet<BufferId> = bound.map(|bound| bound.origin.buffer).collect();
        // Threads of a team, which wait for nobody, have what the task had before.
        let is_apart = |shared: &SharedReference| {
            self.loops.iter().skip(shared.n_loops).any(|open| open.parallel || open.lanes)
        };
        let recalled =
            self.shared.iter().filter(|shared| buffers.contains(&shared.kept.reference) && !is_apart(shared));
        recalled.map(|shared| shared.kept.clone()).collect::<Vec<_>>().into_iter()
    }

    /// The shared references that a condition reads, which is tested again and again.
    pub(super) fn recalls_of_condition(
        &self,
        frame: &CallFrame<'g>,
        condition: &Expression,
    ) -> Vec<KeptReference> {
        let named = condition.names().into_iter().filter_map(|name| frame.sdfg.find_container(name));
        self.kept(frame, &named.collect()).collect()
    }
}
